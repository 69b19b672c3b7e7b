/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and links from sysfs. */
#include <stdio.h>
#include <string.h>
#include "probe/topo/topo.h"

static size_t count_slashes(const char *s)
{
	size_t n = 0;

	for (; (s = strchr(s, '/')); s++)
		n++;
	return n;
}

/*
 * The point where the two paths in /sys/devices diverge determines how many bridges are between the devices. The NUMA
 * node matters only between different root complexes.
 */
const char *pr_pcie_path(const struct pr_host *h, const struct pr_pci *a, const struct pr_pci *b, const char **ret_from)
{
	static const char top[] = "/sys/devices/";
	size_t same = 0, root;

	*ret_from = "itself";
	if (a == b)
		return "X";
	*ret_from = "unknown";
	if (!gt_starts_with(a->path, top) || !gt_starts_with(b->path, top))
		return "?";
	for (size_t i = 0; a->path[i] && a->path[i] == b->path[i]; i++)
		if (a->path[i] == '/')
			same = i;
	root = strlen(top) + strcspn(a->path + strlen(top), "/"); /* end of the root complex's name */
	*ret_from = "pci tree";
	if (same > root) /* devices below one switch diverge at its ports, so at most one port and the device differ */
		return GT_MAX(count_slashes(a->path + same), count_slashes(b->path + same)) <= 2 ? "PIX" : "PXB";
	if (same == root)
		return "PHB";
	if (h->n_node > 1 && (!pr_has(a->numa_node) || !pr_has(b->numa_node))) {
		*ret_from = "unknown";
		return "?"; /* never guess the node */
	}
	*ret_from = h->n_node > 1 ? "numa nodes" : "one node";
	return h->n_node > 1 && a->numa_node.v != b->numa_node.v ? "SYS" : "NODE";
}

static double gigatransfers(struct pr_str s)
{
	double v = 0;

	return s.v && sscanf(s.v, "%lf GT/s", &v) == 1 && v > 0 && v < 1e4 ? v : 0;
}

static int lanes(struct pr_num n)
{
	return pr_has(n) && n.v > 0 && n.v <= 64 ? (int)n.v : 0; /* bridges inside the processor report 0 or 255 */
}

static double least(double a, double b)
{
	return a > 0 && b > 0 ? GT_MIN(a, b) : GT_MAX(a, b);
}

struct pr_link pr_link_of(const struct pr_pci *d)
{
	return (struct pr_link){.width = lanes(d->link_width),
				.max_width = (int)least(lanes(d->max_link_width), lanes(d->parent_max_width)),
				.speed = gigatransfers(d->link_speed),
				.max_speed =
					least(gigatransfers(d->max_link_speed), gigatransfers(d->parent_max_speed))};
}

const char *pr_link_state(const struct pr_link *l, bool gpu)
{
	if (!l->width || !l->max_width)
		return "unknown";
	if (l->width < l->max_width)
		return "narrow";
	if (l->speed > 0 && l->speed < l->max_speed)
		return gpu ? "resting" : "slow";
	return "full";
}
