/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVIDIA driver's nodes in /dev, and their device numbers. Most kinds get a free major number when their module is
 * loaded. A node that was created earlier, in a container or by hand, may have an invalid number.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

#define MOST_OF_A_KIND 16 /* maximum number of nodes; the nodes of MIG instances all have the same state */

/* Before branch 550, /proc/devices listed "nvidia-frontend" for the first three. */
#define FRONTEND "nvidia nvidia-frontend"
static const struct {
	const char *name; /* name in /dev; a directory if it ends with '/' */
	const char *kinds; /* possible names in /proc/devices; the first one that exists is used */
} nodes[] = {
	{"nvidiactl", "nvidiactl " FRONTEND},
	{"nvidia-modeset", "nvidia-modeset " FRONTEND},
	{"nvidia-uvm", "nvidia-uvm"},
	{"nvidia-uvm-tools", "nvidia-uvm"},
	{"nvidia-caps/", "nvidia-caps"},
	{"nvidia-caps-imex-channels/", "nvidia-caps-imex-channels"},
};

/*
 * Returns the major number of a kind of character device: "511 nvidia-uvm". Absent: the kernel has no device of that
 * kind now.
 */
static struct pr_num major_of(const char *devices, const char *kind)
{
	const char *line = strstr(devices, "Character devices:"), *end = strstr(devices, "Block devices:");

	for (line = line ? gt_next_line(line) : NULL; line && (!end || line < end); line = gt_next_line(line)) {
		char name[64] = "";
		unsigned number;

		if (sscanf(line, "%u %63s", &number, name) == 2 && !strcmp(name, kind))
			return pr_value(number);
	}
	return (struct pr_num){PR_ABSENT, 0};
}

static void add_node(struct gt_fsroot *fs, struct pr_host *h, const char *path, const char *kinds, const char *devices)
{
	gt_autofree char *copy = gt_xstrdup(kinds);
	struct pr_devnode n = {.now = {PR_ABSENT, 0}};
	char *rest = copy, *kind = gt_cut(&rest, " ");

	if (gt_fs_device(fs, path, &n.major, &n.minor) < 0)
		return;
	n.path = pr_keep(h, path);
	n.kind = pr_keep(h, kind);
	for (; kind && !pr_has(n.now); kind = gt_cut(&rest, " "))
		n.now = major_of(devices, kind);
	h->device_nodes.node = gt_xrealloc(h->device_nodes.node, (h->device_nodes.n_node + 1) * sizeof(n));
	h->device_nodes.node[h->device_nodes.n_node++] = n;
}

static void add_dir(struct gt_fsroot *fs, struct pr_host *h, const char *dir, const char *kinds, const char *devices)
{
	gt_auto_strv names = {0};

	gt_fs_list(fs, dir, &names);
	for (size_t i = 0; i < names.n && i < MOST_OF_A_KIND; i++) {
		gt_autofree char *path = gt_xasprintf("%s%s", dir, names.v[i]);

		add_node(fs, h, path, kinds, devices);
	}
}

void pr_discover_nodes(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *devices = NULL;
	gt_auto_strv names = {0};

	if (h->driver.module_version.state != PR_PRESENT || gt_fs_read(fs, "/proc/devices", &devices, NULL) < 0)
		return;
	for (size_t i = 0; i < GT_ARRAY_SIZE(nodes); i++) {
		gt_autofree char *path = gt_xasprintf("/dev/%s", nodes[i].name);

		if (gt_ends_with(path, "/"))
			add_dir(fs, h, path, nodes[i].kinds, devices);
		else
			add_node(fs, h, path, nodes[i].kinds, devices);
	}
	gt_fs_list(fs, "/dev", &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("/dev/%s", names.v[i]);

		if (gt_starts_with(names.v[i], "nvidia") && isdigit((unsigned char)names.v[i][6]))
			add_node(fs, h, path, FRONTEND, devices);
	}
}

void pr_device_nodes_clear(struct pr_device_nodes *n)
{
	free(n->node);
}
