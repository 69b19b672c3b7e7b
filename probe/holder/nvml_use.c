/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include "probe/holder/holder.h"
#include "probe/holder/nvml_use.h"

#define MOST_PROCESSES 1024 /* of one GPU */

static bool has_pid(const json_t *list, unsigned pid)
{
	const json_t *p;
	size_t i;

	json_array_foreach(list, i, p)
		if (gt_json_get_int(p, "pid", 0) == pid)
			return true;
	return false;
}

/* Returns NVML's code. A process can be in several lists; the first entry counts. */
static int add_list(int (*query)(void *, unsigned *, struct pr_nvml_process *), void *dev, json_t *list)
{
	gt_autofree struct pr_nvml_process *found = gt_xcalloc(MOST_PROCESSES, sizeof(*found));
	unsigned n = MOST_PROCESSES;
	int r = query ? query(dev, &n, found) : -1;

	for (unsigned i = 0; !r && i < n && i < MOST_PROCESSES; i++) {
		json_t *p;

		if (has_pid(list, found[i].pid))
			continue;
		p = json_pack("{s:I}", "pid", (json_int_t)found[i].pid);
		if (found[i].memory_bytes <= INT64_MAX)
			json_object_set_new(p, "memory_bytes", json_integer((json_int_t)found[i].memory_bytes));
		json_array_append_new(list, p);
	}
	return r;
}

void pr_nvml_add_processes(const struct pr_nvml_use *u, void *dev, json_t *d)
{
	json_t *list = json_array();
	int r = add_list(u->compute, dev, list);

	if (!r) {
		add_list(u->graphics, dev, list);
		add_list(u->mps, dev, list);
		json_object_set(d, "processes", list);
	}
	json_decref(list);
}

void pr_nvml_add_use(const struct pr_nvml_use *u, void *dev, json_t *d)
{
	struct pr_nvml_use_memory memory;
	struct pr_nvml_use_percent percent;

	pr_nvml_add_processes(u, dev, d);
	if (u->memory && !u->memory(dev, &memory))
		json_object_set_new(d, "memory_used_bytes", json_integer((json_int_t)memory.used));
	if (u->percent && !u->percent(dev, &percent))
		json_object_set_new(d, "compute_percent", json_integer(percent.gpu));
}

bool pr_nvml_use_is_doubtful(const json_t *d)
{
	const json_t *list = json_object_get(d, "processes"), *p;
	size_t i;

	if (json_is_array(list) && !json_array_size(list))
		return gt_json_get_int(d, "memory_used_bytes", 0) >= PR_GPU_IN_USE_BYTES;
	json_array_foreach(list, i, p)
		if (kill((pid_t)gt_json_get_int(p, "pid", 0), 0) < 0 && errno == ESRCH)
			return true;
	return false;
}
