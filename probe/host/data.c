/* SPDX-License-Identifier: Apache-2.0 */
/* Storage of a data set: the mount that contains a directory, and the underlying disk. */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

/* Decodes the \040 escapes of mountinfo in place. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		unsigned v;

		if (*s == '\\' && sscanf(s + 1, "%3o", &v) == 1 && strspn(s + 1, "01234567") >= 3) {
			*out++ = (char)v;
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

static bool is_below(const char *path, const char *mount)
{
	size_t n = strcmp(mount, "/") ? strlen(mount) : 0;

	return !strncmp(path, mount, n) && (!path[n] || path[n] == '/');
}

/* Parses "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". The last mount on the longest matching path wins. */
static void take_mount(struct pr_host *h, char *line, const char *path, size_t *best, char device[32])
{
	char *rest = line, *words[6], *dash = strstr(line, " - "), *type, *source;

	for (size_t i = 0; i < GT_ARRAY_SIZE(words); i++) {
		words[i] = gt_cut(&rest, " ");
		if (!words[i])
			return;
	}
	if (!dash)
		return;
	unescape(words[4]);
	if (!is_below(path, words[4]) || strlen(words[4]) < *best)
		return;
	rest = dash + 3;
	type = gt_cut(&rest, " ");
	source = gt_cut(&rest, " ");
	if (!source)
		return;
	*best = strlen(words[4]);
	snprintf(device, 32, "%s", words[2]);
	h->data.mount = pr_keep(h, words[4]);
	h->data.fstype = pr_keep(h, type);
	h->data.source = pr_keep(h, source);
}

/* Finds the disk whose directory in /sys contains the device. For a mapped device (LVM, encryption, RAID): the first
 * disk below it. */
static void find_disk(struct gt_fsroot *fs, struct pr_host *h, const char *device)
{
	gt_autofree char *link = gt_xasprintf("/sys/dev/block/%s", device), *real = NULL, *slaves = NULL;
	gt_auto_strv names = {0};

	if (gt_fs_realpath(fs, link, &real) < 0)
		return;
	slaves = gt_xasprintf("%s/slaves", real);
	gt_fs_list(fs, slaves, &names);
	for (size_t i = 0; i < h->n_block && !h->data.disk; i++) {
		gt_autofree char *part = gt_xasprintf("/%s/", h->block[i].name),
				 *whole = gt_xasprintf("/%s", h->block[i].name);

		if (strstr(real, part) || gt_ends_with(real, whole) ||
		    (names.n && gt_starts_with(names.v[0], h->block[i].name)))
			h->data.disk = &h->block[i];
	}
}

void pr_discover_data(struct gt_fsroot *fs, struct pr_host *h, const char *dir)
{
	gt_autofree char *real = NULL, *text = NULL;
	char device[32] = "";
	struct statvfs v;
	size_t best = 0;
	int r;

	h->data.path = pr_keep(h, dir);
	r = gt_fs_realpath(fs, dir, &real);
	if (!r)
		r = gt_fs_read_prefix(fs, "/proc/self/mountinfo", 1 << 20, &text, NULL);
	h->data.state = pr_state_of(r);
	gt_each_line(line, text)
		take_mount(h, line, real, &best, device);
	if (!h->data.mount)
		return;
	find_disk(fs, h, device);
	r = gt_fs_statvfs(fs, dir, &v);
	h->data.free_bytes = r < 0 ? (struct pr_num){pr_state_of(r), 0} : pr_value((int64_t)(v.f_bavail * v.f_frsize));
}
