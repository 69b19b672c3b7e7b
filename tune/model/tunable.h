/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TUNABLE_H
#define TN_TUNABLE_H
/*
 * A tunable is one const struct in tune/knob/, listed once in tune/knob/list.c. Its desired value is a pure function of the host,
 * the profile and the current value. The same code reads, compares, writes and undoes all of them.
 */
#include "lib/buf.h"
#include "lib/json.h"
#include "probe/check/check.h"

/* The decision about one tunable on one device. */
enum tn_status {
	TN_CHANGE,	   /* to be written */
	TN_ALREADY,	   /* the current value is good enough */
	TN_NOT_APPLICABLE, /* not on this host: never a failure, never drift */
	TN_SKIPPED,	   /* excluded by the user or by the profile, or opt-in */
	TN_BLOCKED,	   /* cannot be written: unreadable, broken, or set by another tuner */
	TN_ADVICE,	   /* reported only; remedy or reason has the commands */
};
const char *tn_status_name(enum tn_status s);

enum tn_effect { TN_NOW, TN_NEW_PROCESS, TN_NEW_DEVICE, TN_REBOOT };
enum tn_op {
	TN_SET,	  /* the value itself */
	TN_RAISE, /* at least; never lowered. Of several numbers each */
	TN_LOWER, /* at most; never raised */
};
enum tn_form { TN_NO_FORM, TN_SYSCTL_D, TN_TMPFILES_D, TN_UDEV_RULE }; /* the file that sets it at boot */

/* Besides struct pr_host: what only tuning asks. Gathered once. */
struct tn_facts {
	bool swap_is_zram;
	bool virtual_machines; /* this host runs some */
	int64_t dropped;       /* packets that found the backlog full since boot; 0: none, or not known */
	int64_t squeezed;      /* times that a CPU ran out of its share before all waiting packets were taken */
	int64_t idle_us[16];   /* time to leave each idle state of the first CPU, in the kernel's order */
	size_t n_idle;
	int64_t max_perf_percent; /* intel_pstate's limit; 0: none, or not known */
	struct gt_strv tuners; /* "tuned (running)", "irqbalance (enabled)" */
	bool routes;	       /* the kernel's table was there to be read */
	struct gt_strv subnets; /* "0002000A/00FFFFFF eth0": what a port reaches without a gateway, over IPv4 */
};
void tn_facts_read(struct gt_fsroot *fs, struct tn_facts *ret);
void tn_facts_clear(struct tn_facts *f);
/* "tuned (running)" if this tuner is at work here, else NULL. */
const char *tn_facts_tuner(const struct tn_facts *f, const char *name);
/* Have two ports addresses in one subnet? */
bool tn_facts_same_subnet(const struct tn_facts *f, const char *port, const char *other);

/* All that preconditions and desired() depend on, besides struct tn_now. */
struct tn_ctx {
	const struct pr_host *host;
	const struct tn_facts *facts;
	const char *asked; /* the profile's own value for this knob, NULL: derive it from the host */
};

/* Limits of open files of this process; false: not known. */
bool tn_open_files(struct gt_fsroot *fs, int64_t *ret_soft, int64_t *ret_hard);

/* What a knob wishes: a value, or why it wishes none. */
struct tn_desired {
	enum tn_status status; /* TN_CHANGE: value; the engine finds out whether it is there already */
	char value[128];
	char reason[512];
};
struct tn_now {
	const char *instance; /* NULL for a knob that the host has once */
	const char *current;  /* NULL if it cannot be read */
	const char *pair;     /* value of the counterpart, NULL if there is none */
	const char *offered;  /* content of tn_tunable.offers; NULL: no such file */
	bool read_only;	      /* the mode of the file lets nobody write, not even root */
};

/*
 * A condition for changing a tunable. It is evaluated for the plan and again by apply. If it does not hold, the reason is
 * "requires TEXT: FOUND". holds() is pure, may rely on the preconditions before it in the list, and may add what it found.
 */
struct tn_precondition {
	const char *text; /* "two or more NUMA nodes" */
	bool (*holds)(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found);
	enum tn_status status; /* of the item if it does not hold; 0: TN_NOT_APPLICABLE */
	bool test_write; /* holds() cannot find every case: apply writes the current value, and EIO means that it does not hold */
};
#define TN_PRECONDITIONS 5 /* of one tunable at most */

/* What one number may be, in the unit of the knob. A value outside of it endangers the host: no process starts, the network stops,
 * memory is exhausted. It holds for every source of a value. */
struct tn_range {
	int64_t least, most;
	int64_t unit_bytes; /* of memory that one unit may take: most is also the host's memory divided by this; 0: it is not */
};
#define TN_NUMBERS 3 /* of one value at most: "min default max" */

struct tn_tunable {
	const char *id;
	const char *summary;   /* NULL: the title of check; tn_tunable_summary() */
	const char *why;       /* evidence: what it is good for; NULL: the story of check; tn_tunable_why() */
	const char *hazard;    /* when it harms */
	const char *unit;
	const char *mechanism; /* the measurement that must move if the claim is true; "" if there is none, */
	const char *unmoved;   /* and then why no workload shows it; NULL for those that are only checked (C) */
	char tag;	       /* A by default, B by choice, C checked and reported only */
	enum tn_effect takes_effect;
	enum tn_op op;
	const char *rivals;    /* tuners that set it too, blank-separated */

	/* C: the check of gpuprobe that judges the subject. The plan has its finding and its remedy, and only id, takes_effect and
	 * texts are set. */
	const struct pr_check *check;

	/* at most one of key and path */
	const char *key;		  /* sysctl, if its name is not id */
	const char *path;		  /* kernel file that is no sysctl; %s stands for the instance */
	const char *offers;		  /* kernel file that lists the choices of this host; as path */
	const char *const *choices;	  /* values it may have; NULL: check_value() or whole numbers */
	struct tn_range range[TN_NUMBERS]; /* of each number */
	/* Checks a value that is neither a choice nor a number, by the rules of tn_tunable_check_value(); NULL: none is needed. */
	int (*check_value)(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err);
	/* on which devices there is one; NULL: once per host */
	void (*instances)(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret);
	const char *(*module)(const struct pr_host *h); /* what brings its file, and may be loaded late; NULL: the kernel itself */
	const char *resets;		  /* a file that the kernel sets anew when this one changes; as path */
	bool names_move;		  /* their names may be other devices' after the next boot */
	/* of a pair: what the counterpart's value amounts to in this one's unit; NULL: not comparable */
	int64_t (*from_pair)(const struct pr_host *h, int64_t pair);
	const struct tn_precondition *preconditions[TN_PRECONDITIONS + 1]; /* in the order of evaluation */
	void (*desired)(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w);
	/* the rule of udev that sets it at boot, for a device whose name may change */
	char *(*boot_line)(const struct pr_host *h, const char *instance, const char *value);
};
const char *tn_tunable_summary(const struct tn_tunable *k);
const char *tn_tunable_why(const struct tn_tunable *k);
const char *tn_effect_name(enum tn_effect e);
const char *tn_op_name(enum tn_op op);
const char *tn_tunable_key(const struct tn_tunable *k);   /* the sysctl; NULL: it is none */
enum tn_form tn_tunable_form(const struct tn_tunable *k);
char *tn_tunable_path(const struct tn_tunable *k, const char *instance);   /* the caller frees it */
char *tn_tunable_side_path(const struct tn_tunable *k, const char *instance); /* what it resets, NULL: nothing */
char *tn_tunable_offers_path(const struct tn_tunable *k, const char *instance); /* NULL: none */
char *tn_tunable_pair_path(const struct tn_tunable *k);		      /* NULL if there is no counterpart */
char *tn_tunable_label(const struct tn_tunable *k, const char *instance);  /* "block.read_ahead:vda" */
char *tn_tunable_range_text(const struct tn_tunable *k); /* for people; NULL: it has none. The caller frees it. */
/* Whether the knob may hold value: type, choices and range. host NULL: on any host. -EINVAL or -ERANGE and a sentence if not. */
int tn_tunable_check_value(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err);

/* Returns the text of the nth precondition: the file exists, then those of the tunable, last the file can be written. NULL
 * behind the last. path NULL: of any device. The caller frees it. */
char *tn_precondition_text(const struct tn_tunable *k, const char *path, size_t n);
/* Returns the number of the tunable's own preconditions that hold, up to the first that does not; w then has its reason. */
size_t tn_preconditions_check(const struct tn_tunable *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w);
/* Calls desired() if all preconditions hold. Returns the same number as tn_preconditions_check(). */
size_t tn_tunable_desired(const struct tn_tunable *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w);
/* Returns a sentence if the path is on a read-only file system of this live host, as in a container; else NULL. */
const char *tn_not_writable(struct gt_fsroot *fs, const char *path);

/* Results of desired(). */
void tn_want(struct tn_desired *w, const char *value, const char *fmt, ...) GT_PRINTF(3, 4);
void tn_want_num(struct tn_desired *w, int64_t value, const char *fmt, ...) GT_PRINTF(3, 4);
void tn_not_applicable(struct tn_desired *w, const char *fmt, ...) GT_PRINTF(2, 3);
void tn_leave(struct tn_desired *w, enum tn_status status, const char *fmt, ...) GT_PRINTF(3, 4);
#endif
