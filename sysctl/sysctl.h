/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SC_SYSCTL_H
#define SC_SYSCTL_H
/*
 * Kernel parameters as files set them at boot. The order is systemd-sysctl's: all *.conf of /etc/sysctl.d, /run/sysctl.d,
 * /usr/local/lib/sysctl.d and /usr/lib/sysctl.d sorted by file name; of one name the first directory counts; a link to
 * /dev/null masks; a later assignment replaces an earlier one; an explicit key beats any glob; "-key" without a value
 * keeps globs off it. /etc/sysctl.conf counts only where a file in these directories is a link to it (Debian 12 ships
 * 99-sysctl.conf; Debian 13 does not).
 */
#include "lib/err.h"
#include "lib/fsroot.h"

struct sc_assign {
	char *key;   /* with dots: "vm.swappiness"; as a glob it may hold * ? [ */
	char *value; /* NULL: "-key", an exclusion */
	char *file;  /* where it stands */
	unsigned line;
	bool optional; /* "-key = value": a failure is ignored */
};

struct sc_config {
	struct sc_assign *v; /* in the order of application, all of them */
	size_t n;
	struct gt_strv problems; /* "file:line: sentence", for lines that are no assignment */
};

int sc_load(struct gt_fsroot *fs, struct sc_config **ret, struct gt_err *err);
void sc_free(struct sc_config *c);
GT_DEFINE_AUTO(sc_config, sc_free);
/* Parse one file's text and append. For sc_load and tests. */
void sc_parse(struct sc_config *c, const char *text, const char *file);

/* The assignment that decides key at boot, NULL if none does. */
const struct sc_assign *sc_boot_value(const struct sc_config *c, const char *key);

/* "vm.swappiness" <-> "/proc/sys/vm/swappiness"; the caller frees. A key may also be written with slashes. */
char *sc_key_path(const char *key);
char *sc_path_key(const char *path);

/* Keys that no kernel of Debian 12 or newer has, with what became of them; NULL if the key is not known to be dead. */
const char *sc_dead_key(const char *key);
#endif
