/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/file.h"
#include "tests/unit/tune_launch.h"
#include "tests/unit/fixtures.h"

char *no_env[] = { NULL };
char *python[] = { "/usr/bin/python3", "train.py", NULL };

struct tn_run *make(const char *host, char *const *argv, char *const *envp, const char *allocator)
{
	struct tn_run_opts o = { .argv = argv, .envp = envp, .allocator = allocator };
	struct tn_run *run = NULL;
	struct gt_err err = { 0 };
	struct box b;

	box_open(&b, host);
	ck_assert_msg(tn_run_make(b.fs, NULL, &o, &run, &err) == 0, "%s", err.msg);
	box_close(&b);
	return run;
}

const struct tn_var *var(const struct tn_run *r, const char *name)
{
	for (size_t i = 0; i < r->n_var; i++)
		if (!strcmp(r->var[i].name, name))
			return &r->var[i];
	return NULL;
}

struct gt_fsroot *open_with(const char *host, const char *more)
{
	gt_autofree char *path = gt_xasprintf("%s/%s.host", fixture_dir(), host),
			 *text = NULL, *all = NULL;
	char file[] = "/tmp/check-run.XXXXXX";
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };
	size_t len;
	int fd = mkstemp(file);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(gt_file_read(path, 64u << 20, &text, &len, NULL), 0);
	all = gt_xasprintf("%s%s", text, more);
	ck_assert_int_eq(write(fd, all, strlen(all)), (ssize_t)strlen(all));
	close(fd);
	ck_assert_msg(gt_fs_open(file, &fs, &err) == 0, "%s", err.msg);
	unlink(file);
	return fs;
}
