/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apt_sources ROOT PACKAGE: prints apt's sources below the directory ROOT and their versions of the package, for
 * apt_targets.py.
 * One per line: "source TAB FILE TAB LINE TAB URI TAB SUITE TAB COMPONENTS TAB ORIGIN" and
 * "offer TAB VERSION TAB SUITE TAB COMPONENT TAB ORIGIN".
 */
#include <stdio.h>
#include "tune/provision/deb.h"

static const char *const origins[] = {"debian", "security", "backports", "nvidia", "other"};

int main(int argc, char **argv)
{
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto_strv names = {0};
	struct tn_sources sources;
	struct tn_offers offers;
	struct gt_err err = {0};

	if (argc != 3 || gt_fs_open(argv[1], &fs, &err) < 0) {
		fprintf(stderr, "apt_sources: %s\n", err.msg[0] ? err.msg : "usage: apt_sources ROOT PACKAGE");
		return 64;
	}
	gt_strv_add(&names, argv[2]);
	tn_sources_load(fs, &sources);
	for (size_t i = 0; i < sources.n; i++) {
		const struct tn_source *s = &sources.source[i];

		printf("source\t%s\t%u\t%s\t%s\t%s\t%s\n", s->file, s->line, s->uri, s->suite, s->components, origins[s->origin]);
	}
	tn_offers_load(fs, "amd64", &names, &offers);
	for (size_t i = 0; i < offers.n; i++) {
		const struct tn_offer *o = &offers.offer[i];

		printf("offer\t%s\t%s\t%s\t%s\n", o->version, o->suite, o->component, origins[o->origin]);
	}
	if (offers.unreadable)
		fprintf(stderr, "apt_sources: %s\n", offers.unreadable);
	tn_sources_clear(&sources);
	tn_offers_clear(&offers);
	return 0;
}
