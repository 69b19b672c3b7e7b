/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SC_SYSCTL_H
#define SC_SYSCTL_H
/*
 * Kernel parameters: which we know and what they may hold, what the files of sysctl.d say, and which of them decides at
 * boot. The rules are systemd-sysctl's (sysctl.d(5), checked against the real program by tests/peers):
 *
 *   - *.conf of /etc, /run, /usr/local/lib and /usr/lib/sysctl.d, hidden ones left out, in the order of their file
 *     NAMES whatever the directory; of two with the same name the one in the earlier directory counts and hides the
 *     other, also if it is empty or a link to /dev/null;
 *   - a later assignment of the same key replaces an earlier one; an exact key beats a glob, wherever it stands;
 *     "-key" without a value keeps the key out of globs, "-key = value" only ignores failures;
 *   - /etc/sysctl.conf itself is read only where a link in sysctl.d leads to it: Debian 12 has 99-sysctl.conf, 13 has
 * not.
 */
#include "lib/err.h"
#include "lib/fsroot.h"

/* ---- keys ---- */
enum sc_type { SC_INT, SC_UNSIGNED /* takes no '-', not even before a 0 */ };
struct sc_key {
	const char *name; /* "vm.dirty_ratio" */
	enum sc_type type;
	unsigned fields; /* how many numbers; each is in range */
	int64_t min;	 /* what the kernel takes */
	uint64_t max;
	const char *unit;
	const char *counterpart; /* writing a non-zero value to one zeroes the other; NULL if there is none */
};
extern const struct sc_key sc_keys[]; /* ends with name NULL */
const struct sc_key *sc_key_find(const char *name);
/* "vm.dirty_ratio" or "net/ipv4/conf/eth0.1/forwarding" as systemd normalises it: slashes; the caller frees it. */
char *sc_normalize(const char *key);
/* The kernel file of a key; the caller frees it. */
char *sc_path(const char *key);

/* ---- values ---- */
/* What the kernel makes of a text that is written to key: of one in the table it reads the first words, as many as the key has
 * numbers, in decimal, hexadecimal (0x10) or octal (010), and looks at nothing behind them (*ret_rest points there, at "" if there
 * is nothing; may be NULL). Fewer words leave the other numbers as they are. *ret: what it has read, in decimal; the caller frees
 * it. A key that is not in the table: the text as it is. -EINVAL or -ERANGE and a sentence for what the kernel refuses; of a
 * vector it then keeps the numbers before. */
int sc_read_value(const char *key, const char *text, char **ret, const char **ret_rest, struct gt_err *err);
/* The same; the text itself if the kernel refuses it. The caller frees it. */
char *sc_taken(const char *key, const char *text);
/* Does the kernel take it, and is it more than the 0 that leaves a counterpart in force? */
bool sc_takes_nonzero(const char *key, const char *text);
/* Equal as the kernel reads them. */
bool sc_value_equal(const char *key, const char *a, const char *b);
/* What we write ourselves: all the numbers and nothing else, each as the kernel will show it. 0, or -EINVAL or -ERANGE and a
 * sentence. A key that is not in the table takes any text without control characters. */
int sc_check_value(const char *key, const char *value, struct gt_err *err);

/* ---- files ---- */
struct sc_assign {
	char *key;   /* normalised, may be a glob */
	char *value; /* NULL: "-key", kept out of globs */
	bool ignore_failure, glob;
	char *file;  /* as listed: "/etc/sysctl.d/99-sysctl.conf" */
	unsigned line;
};
struct sc_problem {
	char *file;
	unsigned line; /* 0: the whole file */
	char *what;
};
struct sc_conf {
	struct gt_strv files;	 /* in the order in which they are read */
	struct sc_assign *all;	 /* every assignment, in that order */
	size_t n_all;
	size_t *effective;	 /* indices into all, as applied: each key once */
	size_t n_effective;
	struct sc_problem *problem; /* lines that systemd ignores, files it cannot read */
	size_t n_problem;
};
/* A file that is taken to hold text (NULL: not to be there), to answer "what if". */
struct sc_overlay {
	const char *path, *text;
};
/* /run is made anew at each boot: what lies there counts now, and neither sets nor hides anything at the next one. Whether
 * somebody writes it again by then (cloud-init, a generator) cannot be known; the linter names what would be lost. */
enum sc_when { SC_NOW, SC_NEXT_BOOT };
/* The files of all four directories of a kind ("sysctl.d" with ".conf", "udev/rules.d" with ".rules"), in the order in which
 * systemd reads them: what is masked by a file of the same name is left out, links to /dev/null are not. overlay may be NULL.
 * Fails as sc_conf_load. */
int sc_dropins(struct gt_fsroot *fs, const char *kind, const char *suffix, enum sc_when when, const struct sc_overlay *overlay,
	       struct gt_strv *ret, struct gt_err *err);
/* Fails only if a directory that exists cannot be listed. overlay may be NULL. */
int sc_conf_load(struct gt_fsroot *fs, enum sc_when when, const struct sc_overlay *overlay, struct sc_conf **ret,
		 struct gt_err *err);
void sc_conf_free(struct sc_conf *conf);
GT_DEFINE_AUTO(sc_conf, sc_conf_free);
/* Which assignment decides the value of key at boot; NULL: no file sets it, the kernel's default stands. Owned by conf.
 */
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
/* Add one; file is copied, what is taken. */
void sc_find(struct sc_findings *l, enum sc_severity severity, const char *file, unsigned line, char *what);
void sc_findings_clear(struct sc_findings *l);
#define sc_auto_findings	__attribute__((cleanup(sc_findings_clear))) struct sc_findings
/* Add obsolete, unknown, dangerous, contradicted and never-read assignments in the files. */
void sc_lint(struct gt_fsroot *fs, const struct sc_conf *conf, struct sc_findings *ret);
/* One assignment of another program's file, such as a profile of tuned; value NULL: not known. */
void sc_lint_one(struct gt_fsroot *fs, const char *key, const char *value, const char *file, unsigned line,
		 struct sc_findings *ret);
const char *sc_severity_name(enum sc_severity s);
#endif
