/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SC_SYSCTL_H
#define SC_SYSCTL_H
/*
 * Kernel parameters: known keys and their values, the files of sysctl.d, and the line that decides each value at boot.
 * The rules are those of systemd-sysctl (sysctl.d(5)); tests/peers compares them with the real program:
 *
 *   - *.conf of /etc, /run, /usr/local/lib and /usr/lib/sysctl.d, without hidden files, are read in the order of their file
 *     NAMES whatever the directory. If two have one name, the one in the earlier directory counts and hides the other, also
 *     if it is empty or a link to /dev/null.
 *   - A later assignment of a key replaces an earlier one. An exact key has priority over a glob in any file. "-key" without
 *     a value excludes the key from globs; "-key = value" only ignores failures.
 *   - /etc/sysctl.conf itself is read only through a link in sysctl.d: Debian 12 has 99-sysctl.conf, Debian 13 does not.
 */
#include "lib/err.h"
#include "lib/fsroot.h"

/* ---- keys ---- */
enum sc_type { SC_INT, SC_UNSIGNED /* accepts no '-', not even before a 0 */ };
struct sc_key {
	const char *name; /* such as "vm.dirty_ratio" */
	enum sc_type type;
	unsigned fields; /* number of numbers; each must be in range */
	int64_t min;	 /* smallest value that the kernel accepts */
	uint64_t max;
	const char *unit;
	const char *counterpart; /* a non-zero value in one zeroes the other; NULL: none */
};
extern const struct sc_key sc_keys[]; /* ends the table: name NULL */
const struct sc_key *sc_key_find(const char *name);
/* Normalises "vm.dirty_ratio" or "net/ipv4/conf/eth0.1/forwarding" like systemd: slashes as separators. The caller
 * frees the result. */
char *sc_normalize(const char *key);
/* Returns the kernel file of a key. The caller frees it. */
char *sc_path(const char *key);

/* ---- values ---- */
/* Computes the value that the kernel stores for a text. For a key in the table the kernel reads as many words as the
 * key has numbers, in decimal, hexadecimal (0x10) or octal (010). It ignores the text after them; *ret_rest (may be
 * NULL) points there, at "" if there is none. With fewer words the other numbers stay unchanged. *ret: the stored
 * numbers in decimal; the caller frees it. For other keys *ret is the text itself. Returns -EINVAL or -ERANGE with a
 * sentence for a text that the kernel refuses. If the key has several numbers, the kernel then stores those before the bad one. */
int sc_read_value(const char *key, const char *text, char **ret, const char **ret_rest, struct gt_err *err);
/* Like sc_read_value(), but returns the text itself if the kernel refuses it. The caller frees it. */
char *sc_taken(const char *key, const char *text);
/* Returns whether the kernel accepts the text and its value is not 0. A value of 0 leaves the counterpart in force. */
bool sc_takes_nonzero(const char *key, const char *text);
/* Compares two texts by the values that the kernel stores. */
bool sc_value_equal(const char *key, const char *a, const char *b);
/* Checks a value that gputune itself writes: all numbers of the key and nothing else, in the form that the kernel
 * prints. Returns 0, or -EINVAL or -ERANGE with a sentence. A key outside the table accepts any text without control
 * characters. */
int sc_check_value(const char *key, const char *value, struct gt_err *err);

/* ---- files ---- */
struct sc_assign {
	char *key;   /* normalised, may be a glob */
	char *value; /* NULL: "-key", excluded from globs */
	bool ignore_failure, glob;
	char *file;  /* path of the file as listed: "/etc/sysctl.d/99-sysctl.conf" */
	unsigned line;
};
struct sc_problem {
	char *file;
	unsigned line; /* 0: the whole file */
	char *what;
};
struct sc_conf {
	struct gt_strv files;  /* files in the order of reading */
	struct sc_assign *all;	 /* all assignments, in the same order */
	size_t n_all;
	size_t *effective;	 /* indices into all; each key once, in the order of writing */
	size_t n_effective;
	struct sc_problem *problem; /* lines that systemd ignores, files that it cannot read */
	size_t n_problem;
};
/* A hypothetical file: its text, or NULL if it does not exist. */
struct sc_overlay {
	const char *path, *text;
};
/*
 * /run is empty after a boot. Its files apply now. At the next boot they neither set nor hide anything, unless a program
 * (cloud-init, a generator) writes them again. That is unknown here; the linter reports settings that would be lost.
 */
enum sc_when { SC_NOW, SC_NEXT_BOOT };
/* Lists the files of all four directories of a kind ("sysctl.d" with ".conf", "udev/rules.d" with ".rules") in the
 * order in which systemd reads them. Files masked by one of the same name are omitted, links to /dev/null are not.
 * overlay may be NULL. Fails like sc_conf_load(). */
int sc_dropins(struct gt_fsroot *fs, const char *kind, const char *suffix, enum sc_when when, const struct sc_overlay *overlay,
	       struct gt_strv *ret, struct gt_err *err);
/* Reads the files. Fails only if an existing directory cannot be listed. overlay may be NULL. */
int sc_conf_load(struct gt_fsroot *fs, enum sc_when when, const struct sc_overlay *overlay, struct sc_conf **ret,
		 struct gt_err *err);
void sc_conf_free(struct sc_conf *conf);
GT_DEFINE_AUTO(sc_conf, sc_conf_free);
/* Returns the assignment that decides the value of key at boot. NULL: no file sets it, so the kernel's default applies.
 * Owned by conf. */
const struct sc_assign *sc_boot_value(const struct sc_conf *conf, const char *key);

/* ---- linter ---- */
enum sc_severity { SC_NOTE, SC_WARN, SC_BAD };
struct sc_finding {
	enum sc_severity severity;
	char *file;
	unsigned line;
	char *what;
};
struct sc_findings {
	struct sc_finding *f;
	size_t n;
};
/* Adds a finding. file is copied; what becomes owned by l. */
void sc_find(struct sc_findings *l, enum sc_severity severity, const char *file, unsigned line, char *what);
void sc_findings_clear(struct sc_findings *l);
#define sc_auto_findings	__attribute__((cleanup(sc_findings_clear))) struct sc_findings
/* Adds findings for obsolete, unknown, dangerous, contradicted and never-read assignments. */
void sc_lint(struct gt_fsroot *fs, const struct sc_conf *conf, struct sc_findings *ret);
/* Checks one assignment in a file of another program, such as a profile of tuned. value NULL: unknown. */
void sc_lint_one(struct gt_fsroot *fs, const char *key, const char *value, const char *file, unsigned line,
		 struct sc_findings *ret);
const char *sc_severity_name(enum sc_severity s);
#endif
