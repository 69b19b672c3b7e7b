/* SPDX-License-Identifier: Apache-2.0 */
/* Two sources for one fact: where hwloc and sysfs, or two files of sysfs, disagree, neither is believed in silence. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "probe/reading.h"

#define MOST	8 /* more of the same teach nothing */

static void GT_PRINTF(2, 3) note(struct pr_host *h, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (h->contradictions.n >= MOST)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_strv_add(&h->contradictions, text);
}

static int read_set(const struct pr_host *h, struct gt_fsroot *fs, const char *path, bool cpus, struct gt_set *ret)
{
	gt_autofree char *line = NULL;
	int r = gt_fs_read_line(fs, path, &line);

	if (r >= 0)
		r = gt_parse_cpulist(line, ret);
	if (r >= 0 && cpus)
		gt_set_and(ret, &h->cpu.online);
	return r;
}

static const struct pr_node *find_node(const struct pr_host *h, int64_t id)
{
	for (size_t i = 0; i < h->n_node; i++)
		if (h->node[i].id == id)
			return &h->node[i];
	return NULL;
}

static void compare_nodes(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_set online = { 0 };

	if (read_set(h, fs, "/sys/devices/system/node/online", false, &online) < 0)
		return;
	gt_set_for_each(id, &online) {
		gt_autofree char *path = gt_xasprintf("/sys/devices/system/node/node%d/cpulist", id), *one = NULL, *two = NULL;
		const struct pr_node *n = find_node(h, id);
		gt_auto_set cpus = { 0 };

		if (!n) {
			note(h, "sysfs has node %d, hwloc has not", id);
			continue;
		}
		if (read_set(h, fs, path, true, &cpus) < 0 || gt_set_equal(&cpus, &n->cpus))
			continue;
		one = gt_set_format(&cpus);
		two = gt_set_format(&n->cpus);
		note(h, "node %d has CPUs %s by sysfs, %s by hwloc", id, *one ? one : "none", *two ? two : "none");
	}
}

/* Storage, network, display and accelerator devices: the ones whose place matters. */
static bool place_matters(const struct pr_pci *d)
{
	unsigned base = d->class_code >> 16;

	return base == 1 || base == 2 || base == 3 || base == 0x12;
}

static void compare_device(struct pr_host *h, const struct pr_pci *d)
{
	const struct pr_node *n = pr_has(d->numa_node) ? find_node(h, d->numa_node.v) : NULL;
	gt_autofree char *node = NULL;
	gt_auto_set near = { 0 };

	if (pr_has(d->numa_node) && !n) {
		note(h, "%s lies on node %d, which does not exist", d->address, (int)d->numa_node.v);
		return;
	}
	if (!n || !gt_set_count(&n->cpus) || !d->local_cpulist.v || gt_parse_cpulist(d->local_cpulist.v, &near) < 0)
		return;
	gt_set_and(&near, &h->cpu.online);
	if (gt_set_equal(&near, &n->cpus))
		return;
	node = gt_set_format(&n->cpus);
	note(h, "%s lies on node %d (CPUs %s), but its local_cpulist is %s", d->address, n->id, node,
	     *d->local_cpulist.v ? d->local_cpulist.v : "empty");
}

void pr_find_contradictions(struct gt_fsroot *fs, struct pr_host *h)
{
	compare_nodes(fs, h);
	for (size_t i = 0; i < h->n_pci; i++)
		if (place_matters(&h->pci[i]))
			compare_device(h, &h->pci[i]);
}
