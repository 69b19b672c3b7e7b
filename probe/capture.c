/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpuprobe capture: run the discovery with the door recording, then write what it read, plus what is no file: NVML's
 * answers and hwloc's export. What identifies a machine or a person is scrubbed, the same word always to the same word.
 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/file.h"
#include "lib/json.h"
#include "probe/gpuprobe.h"
#include "probe/reading.h"

/* More than discovery reads, so that gputune and gpubench can be tried on a captured host as well. */
static const char *const also[] = {
	"/proc/sys/vm/dirty_ratio",	   "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_bytes",
	"/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/swappiness",	  "/proc/sys/vm/zone_reclaim_mode",
	"/proc/sys/vm/max_map_count",	   "/proc/sys/vm/overcommit_memory",	  "/proc/sys/vm/min_free_kbytes",
	"/proc/sys/net/core/rmem_max",	   "/proc/sys/net/core/wmem_max",	  "/proc/sys/kernel/numa_balancing",
	"/etc/sysctl.conf",		   "/etc/debian_version",		  "/proc/swaps",
};

/* Host name and machine id, wherever they stand. */
static void scrub_word(struct gt_buf *b, const char *word, const char *instead)
{
	gt_auto_buf out = { 0 };
	const char *at = b->s, *hit;
	size_t n = strlen(word);

	if (n < 3 || !b->s)
		return;
	while ((hit = strstr(at, word))) {
		gt_buf_add(&out, at, (size_t)(hit - at));
		gt_buf_puts(&out, instead);
		at = hit + n;
	}
	gt_buf_puts(&out, at);
	gt_buf_clear(b);
	*b = out;
	out = (struct gt_buf){ 0 };
}

static void scrub(struct gt_fsroot *fs, struct gt_buf *b)
{
	gt_autofree char *host = NULL, *machine = NULL, *boot = NULL;

	if (gt_fs_read_line(fs, "/proc/sys/kernel/hostname", &host) >= 0 && strlen(host) > 5)
		scrub_word(b, host, "host");
	if (gt_fs_read_line(fs, "/etc/machine-id", &machine) >= 0)
		scrub_word(b, machine, "00000000000000000000000000000000");
	if (gt_fs_read_line(fs, "/proc/sys/kernel/random/boot_id", &boot) >= 0)
		scrub_word(b, boot, "00000000-0000-0000-0000-000000000000");
}

static int run_capture(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto(pr_host) *h = NULL;
	gt_autofree char *nvml = NULL, *xml = NULL;
	gt_auto_buf out = { 0 };
	gt_auto_strv paths = { 0 };
	const struct gt_strv *seen;
	int r;

	gt_fs_record(cli->fs);
	r = pr_host_discover(cli->fs, NULL, &h, &cli->err);
	if (r < 0)
		return r;
	seen = gt_fs_recorded(cli->fs);
	for (size_t i = 0; i < seen->n; i++)
		gt_strv_add(&paths, seen->v[i]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(also); i++)
		gt_strv_add(&paths, also[i]);
	gt_capture_write(cli->fs, &paths, &out);
	/* hwloc reads its files by itself: they are not among the recorded ones, but its export says the same */
	if (!gt_fs_exists(cli->fs, "/.facts/hwloc.xml"))
		xml = pr_hwloc_xml(cli->fs);
	if (xml)
		gt_capture_file(&out, "/.facts/hwloc.xml", xml, strlen(xml));
	if (h->live) { /* of a captured host they are files already */
		nvml = pr_nvml_fact(h);
		if (nvml)
			gt_capture_file(&out, "/.facts/nvml", nvml, strlen(nvml));
		if (h->cpu.codename.v)
			gt_capture_file(&out, "/.facts/cpu_codename", h->cpu.codename.v, strlen(h->cpu.codename.v));
	}
	scrub(cli->fs, &out);
	return gt_file_write(argv[0], out.s, out.len, 0644, &cli->err);
}

const struct gt_cmd pr_cmd_capture = {
	.name = "capture",
	.args = "FILE",
	.summary = "write this host as one reviewable text file",
	.help = "Writes what discovery reads (files and links of /proc, /sys and /etc, NVML's answers, hwloc's export) to FILE, or "
		"to standard output for \"-\". Host name, machine id and boot id are scrubbed. Any tool of the suite takes the file "
		"as --root FILE.",
	.min_args = 1,
	.max_args = 1,
	.run = run_capture,
};
