/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sc_predict now|next-boot ROOT KEY...: prints KEY=VALUE per key, as the kernel will show it; KEY alone if no file sets
 * it, or if the kernel refuses the value. For systemd_sysctl.py.
 */
#include <stdio.h>
#include <string.h>
#include "sysctl/sysctl.h"

int main(int argc, char **argv)
{
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(sc_conf) *conf = NULL;
	struct gt_err err = { 0 };

	enum sc_when when = argc > 1 && !strcmp(argv[1], "next-boot") ? SC_NEXT_BOOT : SC_NOW;

	if (argc < 4 || gt_fs_open(argv[2], &fs, &err) < 0 || sc_conf_load(fs, when, NULL, &conf, &err) < 0) {
		fprintf(stderr, "sc_predict: %s\n", err.msg);
		return 64;
	}
	for (int i = 3; i < argc; i++) {
		const struct sc_assign *a = sc_boot_value(conf, argv[i]);
		gt_autofree char *taken = NULL;
		bool set = a && sc_read_value(argv[i], a->value, &taken, NULL, NULL) >= 0;

		printf(set ? "%s=%s\n" : "%s\n", argv[i], set ? taken : "");
	}
	return 0;
}
