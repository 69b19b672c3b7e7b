/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PROVISION_H
#define TN_PROVISION_H
/*
 * gputune provision: what this host lacks to train, as one consistent set of Debian's packages; installed when asked, and
 * taken away again exactly. The way is that of the settings: host and apt's lists -> plan (a document) -> record -> apt ->
 * read back. What is asked of apt has fixed arguments, a clean environment and no shell; each plan is simulated first.
 */
#include "lib/json.h"
#include "probe/check/driver_need.h"
#include "tune/provision/deb.h"
#include "tune/model/exit.h"

#define TN_PROVISION_SCHEMA	   "gputune-provision/1"
#define TN_PROVISION_REPORT_SCHEMA "gputune-provision-report/1"

struct tn_provision_opts {
	const struct gt_strv *with, *skip; /* ids of parts; may be NULL */
	unsigned gpu;			   /* plan for a card of this PCI device id, for an image; 0: for those that are there */
	bool no_hold;
};

enum tn_part_status {
	TN_PART_PRESENT,
	TN_PART_LACKING,
	TN_PART_NOT_HERE,  /* not for this host */
	TN_PART_BY_CHOICE, /* optional and not asked for */
	TN_PART_SKIPPED,
	TN_PART_ABSENT,	   /* would be wanted, and no source has it */
	TN_PART_UNKNOWN,   /* a captured host does not say */
};
struct tn_prov;
struct tn_part {
	const char *id, *summary, *why;
	bool optional;		 /* only --with it */
	bool gpu;		 /* only where a GPU is */
	bool beside_driver;	 /* only where the driver is Debian's, or will be: its version must be the driver's */
	const char *const *any;	 /* packages that serve, the first on offer is taken; NULL-terminated */
	const char *component;	 /* of Debian's archive, if not main */
	/* decides in place of `any`: adds packages; returns the status and a reason that the caller frees */
	enum tn_part_status (*look)(struct tn_prov *p, struct gt_strv *packages, char **reason);
};
extern const struct tn_part tn_parts[]; /* ends with id NULL */
const struct tn_part *tn_part_find(const char *id);

struct tn_move { /* what apt would do with a package */
	char *name, *arch, *version, *old; /* old NULL: newly installed */
	uint64_t download_bytes;
	int64_t disk_bytes;
	char *from; /* "bookworm/non-free"; NULL: not known */
};

/* All that a plan is made of. */
struct tn_prov {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	struct pr_context context;
	struct tn_provision_opts opts;
	struct tn_dpkg dpkg;
	struct tn_sources sources;
	struct tn_offers offers; /* of the packages that parts name */
	struct pr_driver_need driver;
	enum tn_part_status *status; /* per part */
	char **reason;		     /* per part; NULL: none */
	struct gt_strv *packages;    /* per part: to be installed */
	struct gt_strv requested;    /* of all parts */
	json_t *refusals;	     /* { id, what, do } */
	json_t *notes;		     /* strings */
	bool simulated;
	struct tn_move *move;
	size_t n_move;
	struct gt_strv removals;
};

/* Reads only, but for apt-get -s on a live host. The document is TN_PROVISION_SCHEMA. */
int tn_provision_plan(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_provision_opts *opts, json_t **ret,
		      struct gt_err *err);
/* Do what the document says; refused (exit 3) if a plan made now would be another. ret_report also on a failure that was
 * taken back (exit 1). ret_exit: 0, or TN_EXIT_PENDING where a reboot has to come. */
int tn_provision_apply(struct gt_fsroot *fs, const struct pr_host *host, const json_t *plan, json_t **ret_report, int *ret_exit,
		       struct gt_err *err);
/* Take away what was installed by us and is used by nobody else; dry: only say what that is. ret_exit: 0, or TN_EXIT_DRIFT
 * if something stays. */
int tn_provision_revert(struct gt_fsroot *fs, bool dry, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* What is recorded as installed by us, "packages" of a report; NULL if nothing is. */
json_t *tn_provision_held(struct gt_fsroot *fs);

/* ---- inside ---- */
void tn_prov_refuse(struct tn_prov *p, const char *id, const char *what, const char *remedy); /* remedy NULL: none */
void tn_prov_note(struct tn_prov *p, const char *note);
bool tn_prov_wants_driver(const struct tn_prov *p); /* its part is lacking and not skipped */
bool tn_is_driver_package(const char *name);	    /* of NVIDIA's driver: what goes and comes with its module */
void tn_add_words(struct gt_strv *to, const char *words); /* with blanks between them */
void tn_prov_parts(struct tn_prov *p);		    /* status and packages of each part */
/* Parts that are built for a release of CUDA: one that the driver carries and that has code for the card. */
enum tn_part_status tn_prov_toolkit(struct tn_prov *p, struct gt_strv *packages, char **reason);
enum tn_part_status tn_prov_cudnn(struct tn_prov *p, struct gt_strv *packages, char **reason);
enum tn_part_status tn_prov_nccl(struct tn_prov *p, struct gt_strv *packages, char **reason);
void tn_prov_cuda_names(struct gt_strv *names); /* every package that those three may name */
void tn_prov_refusals(struct tn_prov *p, bool simulated); /* those that show before the simulation, or after it */

struct tn_apt_result {
	struct tn_move *move;
	size_t n_move;
	struct gt_strv removals;
};
void tn_apt_result_clear(struct tn_apt_result *r);
/* What `apt-get -s` printed. */
void tn_apt_parse(char *text, struct tn_apt_result *ret);
/* name=version as the host's pins choose it, of those of these that are not so already; the bare name where apt knows no version:
 * it then says why. The second of the two reads what `apt-cache policy` printed. */
int tn_apt_candidates(const struct gt_strv *names, struct gt_strv *ret, struct gt_err *err);
void tn_apt_parse_policy(const char *text, const struct gt_strv *names, struct gt_strv *ret);
/* Run apt-get with fixed options and these arguments; out (may be NULL) gets its standard output. On failure the sentence is
 * apt's own first error. */
/* The lock that an apt which changes the host holds with us: should we be killed, nobody takes its half for the whole before it has
 * ended. It hands it on to nobody. -1: none. */
void tn_apt_keeps(int fd);
int tn_apt_get(const char *const *args, const struct gt_strv *packages, double timeout_s, char **out, struct gt_err *err);
int tn_apt_mark(const char *mark, const struct gt_strv *packages, struct gt_err *err);
#endif
