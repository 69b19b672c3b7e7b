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
	TN_NOT_APPLICABLE, /* not on this host; counts neither as failure nor as drift */
	TN_SKIPPED,	   /* excluded by the user or by the profile, or opt-in */
	TN_BLOCKED,	   /* cannot be written: unreadable, broken, or set by another tuner */
	TN_ADVICE,	   /* reported only; remedy or reason has the commands */
};
const char *tn_status_name(enum tn_status s);

enum tn_effect { TN_NOW, TN_NEW_PROCESS, TN_NEW_DEVICE, TN_REBOOT };
enum tn_op {
	TN_SET,	  /* the value itself */
	TN_RAISE, /* the value is raised to this one, never lowered; applies to each of several numbers */
	TN_LOWER, /* the value is lowered to this one, never raised */
};
enum tn_form { TN_NO_FORM, TN_SYSCTL_D, TN_TMPFILES_D, TN_UDEV_RULE }; /* the kind of file that sets the value at boot */

/* Facts for tunables that struct pr_host lacks. They are read once per plan. */
struct tn_facts {
	bool swap_is_zram;
	bool virtual_machines; /* the host runs virtual machines */
	int64_t dropped;       /* packets dropped since boot because the backlog was full; 0: none, or unknown */
	int64_t squeezed;      /* times since boot that a CPU used up its budget before all waiting packets were taken */
	int64_t idle_us[16];   /* exit latency of each idle state of the first CPU, in the kernel's order */
	size_t n_idle;
	int64_t max_perf_percent; /* limit of intel_pstate; 0: no limit, or unknown */
	struct gt_strv tuners; /* "tuned (running)", "irqbalance (enabled)" */
	bool routes;	       /* the kernel's routing table was readable */
	struct gt_strv subnets; /* "0002000A/00FFFFFF eth0": IPv4 subnets that a port reaches without a gateway */
};
void tn_facts_read(struct gt_fsroot *fs, struct tn_facts *ret);
void tn_facts_clear(struct tn_facts *f);
/* Returns "tuned (running)" if this tuner is active on the host, else NULL. */
const char *tn_facts_tuner(const struct tn_facts *f, const char *name);
/* Returns whether both ports have an address in one subnet. */
bool tn_facts_same_subnet(const struct tn_facts *f, const char *port, const char *other);

/* All inputs of preconditions and desired(), besides struct tn_now. */
struct tn_ctx {
	const struct pr_host *host;
	const struct tn_facts *facts;
	const char *asked; /* value from the profile; NULL: derive it from the host */
};

/* Reads the limits of open files of this process. Returns false if they are unknown. */
bool tn_open_files(struct gt_fsroot *fs, int64_t *ret_soft, int64_t *ret_hard);

/* Result of desired(): a value and its reason, or why there is none. */
struct tn_desired {
	enum tn_status status; /* TN_CHANGE: value is set; the plan compares it with the current value */
	char value[128];
	char reason[512];
};
struct tn_now {
	const char *instance; /* NULL: not per device */
	const char *current;  /* NULL if it cannot be read */
	const char *pair;     /* value of the counterpart; NULL: there is none */
	const char *offered;  /* content of tn_tunable.offers; NULL: no such file */
	bool read_only;	      /* the mode of the file forbids writes even by root */
};

/*
 * A condition for changing a tunable. It is evaluated for the plan and again by apply. If it does not hold, the reason is
 * "requires TEXT: FOUND". holds() is pure, may rely on the preconditions before it in the list, and may add what it found.
 */
struct tn_precondition {
	const char *text; /* "two or more NUMA nodes" */
	bool (*holds)(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found);
	enum tn_status status; /* status of the item if the condition does not hold; 0: TN_NOT_APPLICABLE */
	bool test_write; /* holds() cannot detect all cases: apply also writes the current value; the error EIO means that the
			  * condition does not hold */
};
#define TN_PRECONDITIONS 5 /* maximum number of a tunable's preconditions */

/* Allowed values of one number, in the unit of the tunable. A value outside endangers the host: no process starts, the
 * network stops, or memory is exhausted. The range applies to every source of a value. */
struct tn_range {
	int64_t least, most;
	int64_t unit_bytes; /* memory that one unit may take; the maximum is also the host's memory divided by this; 0: no such
			     * limit */
};
#define TN_NUMBERS 3 /* maximum count of numbers in a value: "min default max" */

struct tn_tunable {
	const char *id;
	const char *summary;   /* NULL: the title of check; tn_tunable_summary() */
	const char *why;       /* evidence for its benefit; NULL: the story of check; tn_tunable_why() */
	const char *hazard;    /* when it harms */
	const char *unit;
	const char *mechanism; /* the measurement that moves if the claim is true; "": there is none, */
	const char *unmoved;   /* and this is why no workload shows it; NULL with tag C */
	char tag;	       /* A: by default; B: opt-in; C: checked and reported only */
	enum tn_effect takes_effect;
	enum tn_op op;
	const char *rivals;    /* names of tuners that set it too, separated by blanks */

	/* With tag C: the check of gpuprobe that judges the subject. The plan shows its finding and its remedy. Only
	 * id, takes_effect and texts are set then. */
	const struct pr_check *check;

	/* at most one of key and path */
	const char *key;		  /* name of the sysctl, if it is not id */
	const char *path;		  /* kernel file that is no sysctl; %s stands for the instance */
	const char *offers;		  /* kernel file that lists this host's choices; written like path */
	const char *const *choices;	  /* allowed values; NULL: check_value() or whole numbers */
	struct tn_range range[TN_NUMBERS]; /* range of each number */
	/* Checks a value that is neither a choice nor a number. Same contract as tn_tunable_check_value(). NULL: not
	 * needed. */
	int (*check_value)(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err);
	/* Lists the devices that have this setting; NULL: the host has it once. */
	void (*instances)(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret);
	const char *(*module)(const struct pr_host *h); /* module that creates the file and may be loaded late; NULL: the kernel
							 * itself */
	const char *resets;		  /* file that the kernel resets when this one is written; written like path */
	bool names_change;		  /* the next boot may give these names to other devices */
	/* For one tunable of a pair: converts the value of the other to this unit. NULL: they are not comparable. */
	int64_t (*from_pair)(const struct pr_host *h, int64_t pair);
	const struct tn_precondition *preconditions[TN_PRECONDITIONS + 1]; /* preconditions in the order of evaluation */
	void (*desired)(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w);
	/* Returns the udev rule that sets the value at boot, for devices whose name may change. */
	char *(*boot_line)(const struct pr_host *h, const char *instance, const char *value);
};
const char *tn_tunable_summary(const struct tn_tunable *k);
const char *tn_tunable_why(const struct tn_tunable *k);
const char *tn_effect_name(enum tn_effect e);
const char *tn_op_name(enum tn_op op);
const char *tn_tunable_key(const struct tn_tunable *k);   /* name of the sysctl; NULL: it is none */
enum tn_form tn_tunable_form(const struct tn_tunable *k);
char *tn_tunable_path(const struct tn_tunable *k, const char *instance);   /* the caller frees it */
char *tn_tunable_side_path(const struct tn_tunable *k, const char *instance); /* file that the kernel resets with it; NULL: none */
char *tn_tunable_offers_path(const struct tn_tunable *k, const char *instance); /* NULL: none */
char *tn_tunable_pair_path(const struct tn_tunable *k);		      /* NULL if there is no counterpart */
char *tn_tunable_label(const struct tn_tunable *k, const char *instance);  /* such as "block.read_ahead:vda" */
char *tn_tunable_range_text(const struct tn_tunable *k); /* the range in words; NULL: no range. The caller frees it. */
/* Returns a value as reports print it: bytes as "16 GiB", others as "4096 KiB" or "10 %". k NULL: the value itself. The caller
 * frees it. */
char *tn_tunable_value_text(const struct tn_tunable *k, const char *value);
/* Returns a change as reports print it: "0 → 16 GiB", "65530 → 262144 mappings". k NULL: without units. The caller frees it. */
char *tn_tunable_change_text(const struct tn_tunable *k, const char *from, const char *to);
/* Checks type, choices and range of a value. host NULL: of any host. Returns -EINVAL or -ERANGE with a sentence. */
int tn_tunable_check_value(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err);

/* Returns the text of the nth precondition: the file exists, then those of the tunable, last the file can be written.
 * NULL: n is past the last. path NULL: for any device. The caller frees it. */
char *tn_precondition_text(const struct tn_tunable *k, const char *path, size_t n);
/* Returns the number of the tunable's own preconditions that hold, up to the first that fails. The reason of that one
 * is in w. */
size_t tn_preconditions_check(const struct tn_tunable *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w);
/* Calls desired() if all preconditions hold. Returns the same number as tn_preconditions_check(). */
size_t tn_tunable_desired(const struct tn_tunable *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w);
/* Returns a sentence if path is on a read-only file system of this live host, as in a container; else NULL. */
const char *tn_not_writable(struct gt_fsroot *fs, const char *path);

/* Set the result of desired(). */
void tn_set(struct tn_desired *w, const char *value, const char *fmt, ...) GT_PRINTF(3, 4);
void tn_set_num(struct tn_desired *w, int64_t value, const char *fmt, ...) GT_PRINTF(3, 4);
void tn_not_applicable(struct tn_desired *w, const char *fmt, ...) GT_PRINTF(2, 3);
void tn_leave(struct tn_desired *w, enum tn_status status, const char *fmt, ...) GT_PRINTF(3, 4);
#endif
