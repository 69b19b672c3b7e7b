/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROVISION_H
#define TN_PROVISION_H
/*
 * gputune provision: installs the missing parts for training as one consistent set of Debian packages, and removes
 * exactly these later. The steps are those of settings: host and apt's lists -> plan (a document) -> record -> apt ->
 * check. apt runs with fixed arguments, a clean environment and no shell. Each plan is simulated first.
 */
#include "lib/json.h"
#include "probe/check/driver_need.h"
#include "tune/provision/deb.h"
#include "tune/model/exit.h"

#define TN_PROVISION_SCHEMA	   "gputune-provision/1"
#define TN_PROVISION_REPORT_SCHEMA "gputune-provision-report/1"

struct tn_provision_opts {
	const struct gt_strv *with, *skip; /* ids of parts; may be NULL */
	unsigned gpu;			   /* plan an image for the GPU with this PCI device id; 0: for the host's GPUs */
	bool no_hold;
};

enum tn_part_status {
	TN_PART_PRESENT,
	TN_PART_LACKING,
	TN_PART_NOT_HERE,  /* not for this host */
	TN_PART_BY_CHOICE, /* optional and not requested */
	TN_PART_SKIPPED,
	TN_PART_ABSENT,	   /* wanted, but in no source */
	TN_PART_UNKNOWN,   /* not in the capture */
};
struct tn_prov;
struct tn_part {
	const char *id, *summary, *why;
	bool optional;  /* part of the plan only with --with */
	bool gpu;  /* part of the plan only on hosts with a GPU */
	bool beside_driver;	 /* part of the plan only with Debian's driver, because the versions must be equal */
	const char *const *any;	 /* alternative packages; the first available one is used; NULL-terminated */
	const char *component;	 /* component of Debian's archive, if not main */
	/* replaces `any`: adds packages; returns the status and a reason that the caller frees */
	enum tn_part_status (*select)(struct tn_prov *p, struct gt_strv *packages, char **reason);
};
extern const struct tn_part tn_parts[]; /* the last one has id NULL */
const struct tn_part *tn_part_find(const char *id);
/* Returns the reason for this part on this host. */
const char *tn_part_why(const struct tn_part *t, const struct pr_host *h);

struct tn_move { /* a change that apt would make to a package */
	char *name, *arch, *version, *old; /* old NULL: newly installed */
	uint64_t download_bytes;
	int64_t disk_bytes;
	char *from; /* origin such as "bookworm/non-free"; NULL: unknown */
};

/* Input and result of a plan. */
struct tn_prov {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	struct pr_context context;
	struct tn_provision_opts opts;
	struct tn_dpkg dpkg;
	struct tn_sources sources;
	struct tn_offers offers; /* packages that parts name */
	struct pr_driver_need driver;
	enum tn_part_status *status; /* one per part */
	char **reason;		     /* one per part; NULL: none */
	struct gt_strv *packages;    /* one per part: packages to install */
	struct gt_strv requested;    /* packages of all parts */
	json_t *refusals;	     /* { id, what, do } */
	json_t *notes;		     /* strings */
	bool simulated;
	struct tn_move *move;
	size_t n_move;
	struct gt_strv removals;
};

/* Makes a plan. Reads only, except for apt-get -s on a live host. *ret has the schema TN_PROVISION_SCHEMA. */
int tn_provision_plan(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_provision_opts *opts, json_t **ret,
		      struct gt_err *err);
/* Executes the plan. Exit 3 if a plan made now differs from it. *ret_report is also set after a failure that was undone
 * (exit 1). *ret_exit: 0, or TN_EXIT_PENDING if a reboot is needed. */
int tn_provision_apply(struct gt_fsroot *fs, const struct pr_host *host, const json_t *plan, json_t **ret_report, int *ret_exit,
		       struct gt_err *err);
/* Removes packages that gputune installed and that nothing else uses. dry: only lists them. *ret_exit: 0, or
 * TN_EXIT_DRIFT if some must stay. */
int tn_provision_revert(struct gt_fsroot *fs, bool dry, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* Returns the packages that gputune installed, as "packages" of a report; NULL: none. */
json_t *tn_provision_held(struct gt_fsroot *fs);

/* ---- internal ---- */
void tn_prov_refuse(struct tn_prov *p, const char *id, const char *what, const char *remedy); /* remedy NULL: none */
void tn_prov_note(struct tn_prov *p, const char *note);
bool tn_prov_wants_driver(const struct tn_prov *p); /* the driver part is missing and not skipped */
bool tn_is_driver_package(const char *name);	    /* part of NVIDIA's driver: is installed and removed together with its module */
void tn_add_words(struct gt_strv *to, const char *words); /* words: separated by blanks */
void tn_prov_parts(struct tn_prov *p);		    /* sets status and packages of each part */
/* Parts that are built for a CUDA release that the driver supports and that has code for the GPU. */
enum tn_part_status tn_prov_toolkit(struct tn_prov *p, struct gt_strv *packages, char **reason);
enum tn_part_status tn_prov_cudnn(struct tn_prov *p, struct gt_strv *packages, char **reason);
enum tn_part_status tn_prov_nccl(struct tn_prov *p, struct gt_strv *packages, char **reason);
void tn_prov_cuda_names(struct gt_strv *names); /* all packages that these three parts may name */
/* Returns whether the host has a known distribution other than Debian and its derivatives. */
bool tn_prov_is_other(const struct pr_host *h);
void tn_prov_refusals(struct tn_prov *p, bool simulated); /* refusals known before the simulation, or after it */

struct tn_apt_result {
	struct tn_move *move;
	size_t n_move;
	struct gt_strv removals;
};
void tn_apt_result_clear(struct tn_apt_result *r);
/* Parses the output of `apt-get -s`. */
void tn_apt_parse(char *text, struct tn_apt_result *ret);
/* Collects name=version, as the host's pins select it, for those of the names that are not installed in that version.
 * Uses the bare name if apt knows no version; apt then reports why. The second function parses the output of `apt-cache
 * policy`. */
int tn_apt_candidates(const struct gt_strv *names, struct gt_strv *ret, struct gt_err *err);
void tn_apt_parse_policy(const char *text, const struct gt_strv *names, struct gt_strv *ret);
/*
 * Sets the lock that apt inherits while it changes packages. If gputune is killed, the lock is held until apt ends, so
 * that no other gputune treats a half installation as complete. apt does not pass the lock on to its children. -1: no
 * lock.
 */
void tn_apt_keeps(int fd);
/* Runs apt-get with fixed options and these arguments. out (may be NULL) gets its standard output. On failure err has
 * the first error of apt. */
int tn_apt_get(const char *const *args, const struct gt_strv *packages, double timeout_s, char **out, struct gt_err *err);
int tn_apt_mark(const char *mark, const struct gt_strv *packages, struct gt_err *err);
#endif
