/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/file.h"
#include "tests/unit/check_tune.h"
#include "tests/unit/fixtures.h"
#include "tune/model/value.h"

void box_open(struct box *b, const char *name)
{
	gt_autofree char *path = gt_xasprintf("%s/%s.host", fixture_dir(), name), *text = NULL;
	struct gt_err err = { 0 };
	size_t len;
	int fd;

	ck_assert_msg(gt_file_read(path, 64u << 20, &text, &len, &err) == 0, "%s", err.msg);
	/* uses /dev/shm if present: a tree is made hundreds of times */
	strcpy(b->dir, access("/dev/shm", W_OK) ? "/tmp/check-tune.XXXXXX" : "/dev/shm/check-tune.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->dir));
	fd = open(b->dir, O_PATH | O_DIRECTORY);
	ck_assert_msg(gt_capture_unpack(text, len, name, fd, &err) == 0, "%s", err.msg);
	close(fd);
	ck_assert_int_eq(gt_fs_open(b->dir, &b->fs, NULL), 0);
}

void box_copy(struct box *to, const struct box *from)
{
	gt_autofree char *command = NULL;

	strcpy(to->dir, from->dir);
	strcpy(to->dir + strlen(to->dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(to->dir));
	command = gt_xasprintf("exec cp -a %s/. %s", from->dir, to->dir);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(gt_fs_open(to->dir, &to->fs, NULL), 0);
}

void box_reopen(struct box *b)
{
	gt_fs_close(b->fs);
	ck_assert_int_eq(gt_fs_open(b->dir, &b->fs, NULL), 0);
}

static int rm_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void box_close(struct box *b)
{
	gt_fs_close(b->fs);
	ck_assert_int_eq(nftw(b->dir, rm_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void box_put(struct box *b, const char *path, const char *text)
{
	gt_autofree char *parent = gt_xstrndup(path, (size_t)(strrchr(path, '/') - path));

	ck_assert_int_eq(gt_fs_mkdirs(b->fs, parent, 0755), 0);
	ck_assert_int_eq(gt_fs_write_atomic(b->fs, path, text, strlen(text), 0644), 0);
}

void box_link(struct box *b, const char *path, const char *target)
{
	gt_autofree char *parent = gt_xstrndup(path, (size_t)(strrchr(path, '/') - path)),
			 *full = gt_xasprintf("%s%s", b->dir, path);

	ck_assert_int_eq(gt_fs_mkdirs(b->fs, parent, 0755), 0);
	ck_assert_int_eq(symlink(target, full), 0);
}

void box_add_port(struct box *b)
{
	box_put(b, BOX_PORT "/vendor", "0x15b3\n");
	box_put(b, BOX_PORT "/class", "0x020000\n");
	box_put(b, BOX_PORT "/numa_node", "1\n");
	box_put(b, BOX_PORT "/msi_irqs/200", "msix\n");
	box_put(b, BOX_PORT "/msi_irqs/201", "msix\n");
	box_put(b, BOX_PORT "/msi_irqs/202", "msix\n"); /* without a file in /proc/irq: unused */
	box_link(b, "/sys/bus/pci/devices/0000:c1:00.0", "../../../devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0");
	box_put(b, "/sys/class/net/eth9/speed", "100000\n");
	box_put(b, "/sys/class/net/eth9/mtu", "1500\n");
	box_put(b, "/sys/class/net/eth9/statistics/rx_missed_errors", "7\n");
	box_link(b, "/sys/class/net/eth9/device", "../../../devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0");
	box_put(b, "/.facts/ethtool", "eth9 ring 1024 of 8192 queues 4 of 63\nlong ring 1\n");
	box_put(b, "/proc/irq/200/smp_affinity_list", "0-63\n");
	box_put(b, "/proc/irq/201/smp_affinity_list", "0-63\n");
}

void box_remove(struct box *b, const char *path)
{
	ck_assert_int_eq(gt_fs_unlink(b->fs, path), 0);
}

char *box_get(struct box *b, const char *path)
{
	char *value = NULL;

	return tn_value_read(b->fs, path, &value) < 0 ? gt_xstrdup("?") : value;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void picture_of(const char *dir, size_t skip, struct gt_buf *out)
{
	struct dirent **e;
	int n = scandir(dir, &e, NULL, by_name);

	ck_assert_int_ge(n, 0);
	for (int i = 0; i < n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, e[i]->d_name), *text = NULL;
		char target[512] = "";
		struct stat st;
		size_t len;

		if (strcmp(e[i]->d_name, ".") && strcmp(e[i]->d_name, "..") && strcmp(path + skip, TN_STATE_DIR) &&
		    strcmp(path + skip, "/var") && strcmp(path + skip, "/var/lib")) {
			ck_assert_int_eq(lstat(path, &st), 0);
			gt_buf_printf(out, "%s %o\n", path + skip, st.st_mode);
			if (S_ISLNK(st.st_mode) && readlink(path, target, sizeof(target) - 1) > 0)
				gt_buf_printf(out, "-> %s\n", target);
			if (S_ISREG(st.st_mode) && gt_file_read(path, 1u << 24, &text, &len, NULL) == 0) {
				for (char *p = text; (p = memchr(p, '\0', (size_t)(text + len - p)));)
					*p = '\1'; /* strings of a device tree end in one; binary files are stored as strings */
				gt_buf_add(out, text, len);
			}
			if (S_ISDIR(st.st_mode))
				picture_of(path, skip, out);
		}
		free(e[i]);
	}
	free(e);
}

char *box_picture(struct box *b)
{
	struct gt_buf out = { 0 };

	picture_of(b->dir, strlen(b->dir), &out);
	return gt_buf_take(&out);
}

bool box_has_journal(struct box *b)
{
	return gt_fs_exists(b->fs, TN_STATE_DIR "/journal");
}

struct tn_plan *box_plan(struct box *b)
{
	struct tn_plan *plan = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(tn_plan_make(b->fs, NULL, &(struct tn_plan_opts){ .optional = true }, &plan, &err) == 0, "%s", err.msg);
	return plan;
}

struct tn_item *box_item(const struct tn_plan *p, const char *id, const char *instance)
{
	for (size_t i = 0; i < p->n_item; i++)
		if (gt_streq(p->item[i].knob->id, id) && (!instance || gt_streq(p->item[i].instance, instance)))
			return &p->item[i];
	ck_abort_msg("no %s", id);
	return NULL;
}

struct gt_strv box_fixtures(void)
{
	struct gt_strv names = { 0 };
	struct dirent **e;
	int n = scandir(fixture_dir(), &e, NULL, by_name);

	ck_assert_int_gt(n, 0);
	for (int i = 0; i < n; i++) {
		if (gt_ends_with(e[i]->d_name, ".host"))
			gt_strv_take(&names, gt_xstrndup(e[i]->d_name, strlen(e[i]->d_name) - 5));
		free(e[i]);
	}
	free(e);
	return names;
}
