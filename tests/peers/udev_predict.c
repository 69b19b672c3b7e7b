/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udev_predict ROOT ACTION DEVICE PATH...: prints the effects of the rules below ROOT on one event of the device, one
 * assignment per line: "sure|maybe TAB FILE:LINE TAB KEY TAB path or name TAB value"; then per kernel file "ask TAB path
 * TAB value TAB setter TAB possible setter". "-" stands for unknown. For udevadm.py.
 */
#include <stdio.h>
#include <string.h>
#include "tune/boot/udev.h"

struct event {
	const struct tn_udev *u;
	const struct tn_udev_device *d;
};

static void did(void *ctx, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on)
{
	const struct event *e = ctx;
	gt_autofree char *what = tn_udev_sets(t, "ATTR") ? gt_xasprintf("%s/%s", e->d->path, t->name) :
							   gt_xstrdup(t->name ? t->name : "-");

	printf("%s\t%s:%u\t%s\t%s\t%s\n", depends_on ? "maybe" : "sure", e->u->files.v[r->file], r->line, t->key, what,
	       t->literal ? t->value : "-");
}

int main(int argc, char **argv)
{
	gt_auto(gt_fsroot) *fs = NULL;
	struct gt_err err = {0};
	struct tn_udev_device d;
	struct tn_udev u;

	if (argc < 4 || gt_fs_open(argv[1], &fs, &err) < 0 || !tn_udev_device_open(fs, argv[3], &d)) {
		fprintf(stderr, "udev_predict: %s\n", err.msg[0] ? err.msg : "no such device");
		return 64;
	}
	tn_udev_load(fs, SC_NOW, &u);
	tn_udev_event(&u, &d, argv[2], did, &(struct event){&u, &d});
	for (int i = 4; i < argc; i++) {
		struct tn_udev_answer a;

		tn_udev_ask(&u, argv[i], NULL, &a);
		printf("ask\t%s\t%s\t%s\t%s\n", argv[i], a.value ? a.value : "-", a.by ? a.by : "-",
		       a.may ? a.may : "-");
		tn_udev_answer_clear(&a);
	}
	tn_udev_clear(&u);
	tn_udev_device_clear(&d);
	return 0;
}
