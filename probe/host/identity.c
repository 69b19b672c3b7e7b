/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the identity of the machine from values that do not change between runs. Measured numbers are excluded. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/host/reading.h"

static void part(struct pr_host *h, const char *key, json_t *value)
{
	json_object_set_new(h->identity_parts, key, value);
}

static json_t *gpu_models(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_gpu; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s %04x", h->gpu[i].pci->address, h->gpu[i].pci->device);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

void pr_discover_identity(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_str machine = pr_read_str(h, fs, "/etc/machine-id"),
		      board = pr_read_str(h, fs, "/sys/class/dmi/id/board_name"),
		      vendor = pr_read_str(h, fs, "/sys/class/dmi/id/sys_vendor");
	gt_autofree char *fact = NULL;
	char *text;

	/* the machine id is private, so only its hash is used; a capture records the hash as a fact */
	if (gt_fs_fact(fs, "machine_id_hash", &fact, NULL) < 0 && machine.v && strspn(machine.v, "0123456789abcdef") == 32)
		fact = gt_xasprintf("%016lx", gt_hash64(machine.v, strlen(machine.v), 0));
	part(h, "machine_id_hash", fact ? gt_json_str(gt_strip(fact)) : json_null());
	part(h, "board", pr_str_json(board));
	part(h, "vendor", pr_str_json(vendor));
	part(h, "cpu", pr_str_json(h->cpu.model_name));
	part(h, "cpu_stepping", json_integer(h->cpu.stepping));
	part(h, "packages", json_integer(h->cpu.n_packages));
	part(h, "cores", json_integer(h->cpu.n_cores));
	part(h, "cpus", json_integer((json_int_t)h->cpu.n_cpu));
	part(h, "nodes", json_integer((json_int_t)h->n_node));
	part(h, "gpus", gpu_models(h));
	text = json_dumps(h->identity_parts, JSON_COMPACT | JSON_SORT_KEYS);
	h->identity = pr_own(h, gt_xasprintf("%016lx", gt_hash64(text, strlen(text), 0)));
	free(text);
}
