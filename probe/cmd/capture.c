/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpuprobe capture: runs the discovery and records the files that it reads. Writes these files with NVML's answers and
 * hwloc's export. Scrubs words that identify a machine or a person; equal words get equal replacements.
 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/capture_write.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/cmd/bundle.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/loader/ldcache.h"
#include "probe/loader/loader.h"
#include "probe/host/reading.h"
#include "probe/nvml/settings.h"
#include "probe/scrub/scrub.h"

#define ATTRIBUTE_MAX 65536 /* bytes */

/*
 * Directories of kernel settings, for gputune and gpubench (tests/agree/capture.py): a new tunable needs no line here. `names`
 * lists the attributes that are captured. `never` lists the exceptions: keys, actions, and attributes that act when they are read.
 */
static const struct subtree {
	const char *dir, *names, *never; /* dir: a pattern. names, never: patterns, separated by blanks. */
} subtrees[] = {
	{ "/proc/sys/vm", "*", "compact_memory drop_caches stat_refresh" },
	{ "/proc/sys/kernel", "nmi_watchdog numa_* pid_max sched_* shm* threads-max watchdog*", "" },
	{ "/proc/sys/fs", "aio-max-nr file-max nr_open protected_*", "" },
	{ "/proc/sys/fs/inotify", "*", "" },
	{ "/proc/sys/net/core", "*", "netdev_rss_key" },
	{ "/proc/sys/net/ipv4", "tcp_*", "tcp_fastopen_key" },
	{ "/proc/sys/net/ipv4/conf/all", "arp_*", "" },
	{ "/proc/sys/sunrpc", "*_slot_table_entries", "" },
	{ "/sys/kernel/mm/ksm", "run", "" },
	{ "/sys/kernel/mm/transparent_hugepage", "*enabled defrag use_zero_page", "" },
	{ "/sys/module/nvme_core/parameters", "*", "" },
	{ "/sys/module/pcie_aspm/parameters", "*", "" },
	{ "/sys/devices/system/cpu/intel_pstate", "*_perf_pct", "" },
	{ "/sys/devices/system/cpu/cpufreq", "boost", "" },
	{ "/sys/devices/system/cpu/cpufreq/policy*", "energy_performance_*", "" },
	{ "/sys/devices/system/cpu/cpu[0-9]*/power", "energy_perf_bias pm_qos_resume_latency_us", "" },
	{ "/sys/block/*/queue", "nomerges nr_requests rq_affinity *_kb wbt_lat_usec write_cache", "" },
};

/* Further files. A component may be a pattern. After '?' only the existence of the file is captured, not its content. */
static const char *const also[] = {
	"/proc/net/softnet_stat",
	"?/proc/sys/net/ipv4/tcp_fastopen_key", /* names a secret; sysctl.d may contain it */
	"/proc/net/route",
	"/proc/self/limits",
	"/proc/swaps",
	"/sys/firmware/acpi/platform_profile*",
	"/sys/devices/system/cpu/cpu0/cpuidle/state*/latency",
	"/run/tuned/tuned.pid",
	"/run/tlp/last_pwr",
	"/etc/systemd/system/*.target.wants/*",
	"/etc/debian_version",
	"/etc/nccl.conf",
	"/etc/sysctl.conf",
	"/etc/sysctl.d/*.conf",
	"/run/sysctl.d/*.conf",
	"/usr/local/lib/sysctl.d/*.conf",
	"/usr/lib/sysctl.d/*.conf",
	"/etc/tmpfiles.d/*.conf",
	"/usr/local/lib/tmpfiles.d/*.conf",
	"/sys/class/net/*/brif/*/port_no",
	"/sys/class/net/*/lower_*/mtu",
	"/etc/udev/rules.d/*.rules",
	"/usr/local/lib/udev/rules.d/*.rules",
	"/etc/modprobe.d/*",
	"/usr/lib/modprobe.d/*.conf",
	"/etc/default/grub",
	"/etc/default/grub.d/*",
	"/etc/security/limits.conf",
	"/etc/security/limits.d/*.conf",
	"/etc/tuned/*/tuned.conf",
	"/etc/tuned/profiles/*/tuned.conf",
	"/proc/driver/nvidia/params",
	"/nvml/*/*", /* if the host is itself a capture */
	"?/etc/grub2*.cfg",
	"?/etc/sysconfig/irqbalance",
	/* libraries that gputune run may preload into a program */
	"?/usr/lib/*-linux-gnu/openblas-openmp/libblas.so.3",
	"?/usr/lib/*-linux-gnu/blis-openmp/libblas.so.3",
	"?/usr/lib/*-linux-gnu/libtcmalloc_minimal.so.4",
	"?/usr/lib/*-linux-gnu/libjemalloc.so.2",
	"?/usr/lib/*-linux-gnu/libmimalloc.so.[23]",
	"?/usr/lib/lib*malloc*.so.[234]",
	"?/usr/local/lib/lib*malloc*.so.[234]",
	"?/usr/lib/llvm-*/lib/libomp.so.5",
	"?/opt/intel/oneapi/compiler/latest/lib/libiomp5.so",
	"?/opt/intel/oneapi/compiler/latest/linux/compiler/lib/intel64_lin/libiomp5.so",
};

/* Adds the paths that match the pattern: `at` is its component below dir. */
static void add_also(struct gt_fsroot *fs, const char *dir, const char *at, bool content, struct gt_strv *ret)
{
	size_t n = strcspn(at, "/");
	gt_autofree char *part = gt_xstrndup(at, n);
	gt_auto_strv names = { 0 };

	if (strpbrk(part, "*["))
		gt_fs_list(fs, dir, &names);
	else
		gt_strv_add(&names, part);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);

		if (fnmatch(part, names.v[i], FNM_PERIOD))
			continue;
		if (at[n])
			add_also(fs, path, at + n + 1, content, ret);
		else
			gt_strv_take(ret, gt_xasprintf("%s%s", content ? "" : "?", path));
	}
}

static bool matches(const char *patterns, const char *name)
{
	gt_each_word(p, patterns, " ")
		if (!fnmatch(p, name, FNM_PERIOD))
			return true;
	return false;
}

static void add_subtree(struct gt_fsroot *fs, const struct subtree *t, struct gt_strv *ret)
{
	gt_auto_strv dirs = { 0 };

	add_also(fs, "", t->dir + 1, true, &dirs);
	for (size_t i = 0; i < dirs.n; i++) {
		gt_auto_strv names = { 0 };

		gt_fs_list(fs, dirs.v[i], &names);
		for (size_t k = 0; k < names.n; k++) {
			gt_autofree char *path = gt_xasprintf("%s/%s", dirs.v[i], names.v[k]);
			struct stat st;

			if (matches(t->names, names.v[k]) && !matches(t->never, names.v[k]) && gt_fs_stat(fs, path, &st) >= 0 &&
			    S_ISREG(st.st_mode) && st.st_size <= ATTRIBUTE_MAX)
				gt_strv_take(ret, gt_take(path));
		}
	}
}

/* Adds the CPUs that handle the interrupts of network ports. */
static void add_irqs(const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_net; i++)
		for (size_t k = 0; k < h->net[i].irqs.n; k++)
			gt_strv_take(ret, gt_xasprintf("/proc/irq/%s/smp_affinity_list", h->net[i].irqs.v[k]));
}

static char *machine_id_hash(const struct pr_host *h)
{
	const char *hash = gt_json_get_str(h->identity_parts, "machine_id_hash", NULL);

	return hash ? gt_xstrdup(hash) : NULL;
}

/* Returns the directories of kernel settings that are on a read-only file system, as the fact "read_only"; NULL: none. */
static char *read_only(struct gt_fsroot *fs)
{
	static const char *const dirs[] = { "/proc/sys/fs", "/proc/sys/kernel", "/proc/sys/net", "/proc/sys/vm", "/sys" };
	struct gt_buf b = { 0 };
	char *known = NULL;
	struct statvfs v;

	if (!gt_fs_is_live(fs)) {
		gt_fs_fact(fs, "read_only", &known, NULL);
		return known;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(dirs); i++)
		if (gt_fs_statvfs(fs, dirs[i], &v) >= 0 && v.f_flag & ST_RDONLY)
			gt_buf_printf(&b, "%s\n", dirs[i]);
	return b.s ? gt_buf_take(&b) : NULL;
}

/* If the host is itself a capture, its facts are files. A file that was read is already in the new capture. */
static bool is_recorded(struct gt_fsroot *fs, const struct gt_strv *paths, const char *path)
{
	return gt_strv_has(paths, path) && gt_fs_exists(fs, path);
}

/*
 * Captures only the parts of a library that a loader reads, and only the lines of the loader's cache that a search has used.
 */
static void add_elf_cache(struct gt_fsroot *fs, const struct gt_strv *paths, const struct pr_host *h, struct gt_buf *out)
{
	char *name, *text;

	for (size_t i = 0; pr_elf_cache_fact(h->elf_cache, i, &name, &text); i++) {
		gt_autofree char *n = name, *t = text, *path = n ? gt_xasprintf("/.facts/%s", n) : NULL;

		if (path && !is_recorded(fs, paths, path))
			gt_capture_file(out, path, t, strlen(t));
	}
}

static char *cached_lines(const struct pr_host *h)
{
	gt_autofree char *known = pr_ldcache_fact(h), *used = pr_elf_cache_cached(h->elf_cache);
	struct gt_buf b = { 0 };

	if (!known)
		return NULL;
	gt_buf_puts(&b, known);
	gt_each_line(line, used) {
		gt_autofree char *whole = gt_xasprintf("%s\n", line);

		if (!strstr(b.s, whole))
			gt_buf_puts(&b, whole);
	}
	return gt_buf_take(&b);
}

/* Adds facts: readings that are not files, and extracts of files that are too long to be reviewed by a person. */
static void add_facts(struct gt_fsroot *fs, const struct gt_strv *paths, const struct pr_host *h, struct gt_buf *out)
{
	char *name = NULL;
	const struct {
		const char *name;
		char *text;
	} facts[] = { { "nvml", pr_nvml_fact(h) },
		      { "gpu_holders", pr_holders_fact(h) },
		      { "cpu_codename", h->cpu.codename.v ? gt_xstrdup(h->cpu.codename.v) : NULL },
		      { "hypervisor", h->hypervisor.v ? gt_xstrdup(h->hypervisor.v) : NULL },
		      { "container", h->container.v ? gt_xstrdup(h->container.v) : NULL },
		      { "ldcache", cached_lines(h) },
		      { "acs", pr_acs_fact(h) },
		      { "device_control", pr_device_control_fact(h) },
		      { "read_only", read_only(fs) },
		      { "shm_huge", h->mem.shm_huge ? gt_xstrdup("always\n") : NULL },
		      { "packages", pr_packages_fact(h) },
		      { "kernel_log", pr_kernel_log_fact(h) },
		      { "kernel_log_source", pr_log_source_fact(h) },
		      { "cuda", pr_cuda_fact(h) },
		      { "openblas", pr_openblas_fact(h) },
		      { "keys", pr_keys_fact(h) },
		      { "environment", pr_environment_fact(h) },
		      { "ethtool", pr_ethtool_fact(h) },
		      { "kernel_config", pr_kernel_config_fact(h) },
		      { "machine_id_hash", machine_id_hash(h) },
		      /* lstopo needs these files; hwloc opens them by itself, so they are not among the recorded ones */
		      { "hwloc.xml", pr_hwloc_xml(fs) } };

	gt_autofree char *signature = pr_signature_fact(h, &name), *signature_path = gt_xasprintf("/.facts/%s", name ? name : "");

	free(name);
	if (signature && !is_recorded(fs, paths, signature_path))
		gt_capture_file(out, signature_path, signature, strlen(signature));
	for (size_t i = 0; i < GT_ARRAY_SIZE(facts); i++) {
		gt_autofree char *text = facts[i].text, *path = gt_xasprintf("/.facts/%s", facts[i].name);

		if (text && !is_recorded(fs, paths, path))
			gt_capture_file(out, path, text, strlen(text));
	}
}

/* Adds the settings of the GPUs as the files that gputune reads in a capture. */
static void add_gpu_settings(struct gt_fsroot *fs, const struct pr_host *h, struct gt_buf *out)
{
	const char *address, *name;
	gt_auto_json *doc = NULL;
	json_t *gpu, *value;

	if (!h->live || h->nvml.answer != PR_NVML_OK || pr_nvml_settings(pr_nvml_timeout_s > 0 ? pr_nvml_timeout_s : 10, &doc) < 0)
		return;
	json_object_foreach(json_object_get(doc, "gpus"), address, gpu)
		json_object_foreach(gpu, name, value) {
			gt_autofree char *path = gt_xasprintf("/nvml/%s/%s", address, name),
					 *record = gt_xasprintf(PR_NVML_RECORDS "%s", path), *locked = NULL, *text = NULL;

			gt_fs_read_line(fs, record, &locked);
			text = gt_xasprintf("%s\n", locked ? locked : json_string_value(value));
			gt_capture_file(out, path, text, strlen(text));
		}
}

static bool as_bundle;

/* Writes the capture or the bundle to the user's file. */
static int write_result(const struct gt_buf *capture, const char *path, struct gt_err *err)
{
	gt_auto_buf bundle = { 0 };
	int r;

	if (!as_bundle)
		return gt_file_write(path, capture->s, capture->len, 0644, err);
	r = pr_bundle(capture, &bundle, err);
	return r < 0 ? r : gt_file_write(path, bundle.s, bundle.len, 0644, err);
}

static int run_capture(struct gt_cli *cli, int argc, char **argv)
{
	struct pr_context c = { .fs = cli->fs };
	gt_auto(pr_host) *h = NULL;
	gt_autofree struct pr_judged *judged = NULL;
	gt_autofree char *hostname = NULL;
	gt_auto_buf out = { 0 };
	gt_auto_strv paths = { 0 };
	const struct gt_strv *seen;
	int r;

	r = gt_file_try(argv[0], &cli->err);
	if (r < 0)
		return r;
	gt_fs_record(cli->fs);
	r = pr_discover_as_asked(cli, &h);
	if (r < 0)
		return r;
	c.host = h;
	pr_judge(&c, &judged); /* a check may read further files, such as the note in a library or an administrator's tables */
	seen = gt_fs_recorded(cli->fs);
	for (size_t i = 0; i < seen->n; i++)
		if (strcmp(seen->v[i], PR_LDCACHE) && strcmp(seen->v[i], PR_DPKG_STATUS))
			gt_strv_add(&paths, seen->v[i]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(also); i++)
		add_also(cli->fs, "", strchr(also[i], '/') + 1, *also[i] != '?', &paths);
	for (size_t i = 0; i < GT_ARRAY_SIZE(subtrees); i++)
		add_subtree(cli->fs, &subtrees[i], &paths);
	add_irqs(h, &paths);
	gt_capture_write(cli->fs, &paths, &out);
	add_facts(cli->fs, &paths, h, &out);
	add_gpu_settings(cli->fs, h, &out);
	add_elf_cache(cli->fs, &paths, h, &out);
	gt_fs_read_line(cli->fs, "/proc/sys/kernel/hostname", &hostname);
	pr_scrub_capture(&out, hostname);
	return write_result(&out, argv[0], &cli->err);
}

static const struct gt_opt capture_opts[] = {
	{ 0, "bundle", NULL, "write a support bundle (.tar.gz) with report and log", GT_OPT_FLAG, &as_bundle },
	PR_OPT_CUDA, PR_OPT_DATA, PR_OPT_NVML_TIMEOUT, { 0 } };
const struct gt_cmd pr_cmd_capture = {
	.name = "capture",
	.args = "FILE",
	.group = "Record and look up",
	.summary = "Save this host as one text file",
	.help = "Writes the files and links that discovery reads, the answers of NVML and the hwloc topology to FILE (-: "
		"standard output). Replaces host name, machine id, serial numbers, UUIDs, MAC addresses, user names, "
		"passwords and other secrets. gpuprobe, gputune and gpubench read the file with --root FILE. With --bundle "
		"the file is a .tar.gz for a support ticket: the capture, the report, kernel log lines and versions.",
	.ignores = GT_JSON_IGNORED,
	.opts = capture_opts,
	.min_args = 1,
	.max_args = 1,
	.only_reads = true,
	.run = run_capture,
};
