/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_CHECK_H
#define PR_CHECK_H
/*
 * A check is a pure function: host in, finding out. The list is in causal order: what a check names in `after` can be
 * its cause, and if that failed, this finding is folded under it.
 */
#include "probe/host/host.h"

/* Advice: a choice of the administrator that costs speed or a safeguard. It changes no verdict, and gputune plan lists it. */
enum pr_result { PR_PASS, PR_ADVICE, PR_SKIP, PR_NOT_KNOWN, PR_WARN, PR_FAIL };
const char *pr_result_name(enum pr_result r);

struct pr_finding {
	enum pr_result result;
	char what[768];	   /* what is seen; one or two sentences */
	/* the smallest safe thing to do; "" if there is nothing. Checks write Debian's commands, and pr_judge() adapts them to
	 * the host's distribution (probe/check/distro.h) */
	char remedy[1024];
};

struct pr_context {
	const struct pr_host *host;
	struct gt_fsroot *fs; /* for the admin's compatibility tables only */
	bool require_gpu;
	const struct pr_check *check; /* the one that runs; set by pr_judge_one() */
};

struct pr_check {
	const char *id, *title;
	const char *const *after; /* NULL-terminated ids, or NULL */
	const char *story;	  /* for `explain`: why it matters, how it is seen, what to do */
	const char *messages;	  /* what users meet and search for, one a line, or NULL */
	void (*run)(const struct pr_context *c, struct pr_finding *f);
	const void *rule; /* data of run(), where several checks share it; else NULL */
};

extern const struct pr_check *const pr_checks[]; /* NULL-terminated */
const struct pr_check *pr_check_find(const char *id);
extern const struct pr_check *const pr_stories[]; /* of messages that no check is about: no run; NULL-terminated */

/* A check or story about a message as somebody pastes it (a log line, the end of a trace). */
struct pr_match {
	const struct pr_check *check;
	bool sure; /* the text has one of its messages; false: only words in common */
};
/* Returns how many were found, the best first. */
#define PR_SEARCH_MOST 4
size_t pr_check_search(const char *text, struct pr_match ret[PR_SEARCH_MOST]);

/* To be used by checks: set result and texts. */
void pr_say(struct pr_finding *f, enum pr_result result, const char *fmt, ...) GT_PRINTF(3, 4);
void pr_remedy(struct pr_finding *f, const char *fmt, ...) GT_PRINTF(2, 3);

/* Lines for a remedy; the caller frees them. Set a kernel setting now and at boot: */
char *pr_setting_lines(const struct pr_setting *s, const char *value);
/* Remove the word of the kernel's command line that begins so: */
char *pr_remove_word_lines(const struct pr_host *h, const char *begin);

/* Says skip and returns true where no GPU is there for this host to use. */
bool pr_without_gpu(const struct pr_context *c, struct pr_finding *f);
/* Skipped or unknown, where the kernel log could not be read. */
void pr_log_not_examined(const struct pr_host *h, struct pr_finding *f);
/* The same where the nvidia module is not loaded either: there is no driver to compare with. */
bool pr_without_driver(const struct pr_context *c, struct pr_finding *f);
/* Compute capability x 10 of a GPU: NVML's word, else by its PCI id; 0: not known. */
int pr_arch_of(const struct pr_context *c, const struct pr_gpu *g);
int pr_first_arch(const struct pr_context *c); /* of the first GPU whose is known */
/* Returns the version of the driver that CUDA programs get: Windows' under WSL, that of a cuda-compat libcuda which may lift the
 * kernel's module, else the module's. NULL: no driver is loaded. Checks, `can`, `recommend` and plans all judge by this one. */
const char *pr_met_driver(const struct pr_context *c);
/* Where a CUDA release lies to those that make code for a GPU: 1 after the last, -1 before the first, 0 among them or not known. */
struct pr_span;
int pr_cuda_beside(const struct pr_context *c, const struct pr_gpu *g, const char *cuda, struct pr_span *ret);
int pr_branch_of(const char *driver_version); /* "550.163.01" -> 550 */

/* As remedy the lines that install the driver for these cards: one judgement with gpuprobe recommend. */
void pr_remedy_driver(const struct pr_context *c, struct pr_finding *f);
/* The same for the wheels that the driver and these GPUs carry now (driver_need.h). false: nothing lifts that. */
struct pr_wheel;
bool pr_remedy_lift(const struct pr_context *c, struct pr_finding *f, const struct pr_wheel *now);
/* Such a step as text: "WHY:", and each line indented behind it; "" for none. The caller frees it. */
char *pr_step_text(const json_t *step);
/* The CUDA release of Debian's own toolkit, where the driver (if one is loaded) and a card (if there is one) carry it; else NULL.
 * The caller frees it. */
char *pr_own_toolkit(const struct pr_context *c);
/* The newest g++ up to `most`, which nvcc takes, that this Debian release has; 0: none that old, ret_oldest being its oldest. Of
 * other distributions `most`. */
int pr_nvcc_gxx(const struct pr_context *c, int most, int *ret_oldest);
/* Debian's directory of this architecture's libraries, for remedies. */
const char *pr_triplet(const struct pr_host *h);
/* Debian's name of the architecture, as in package names: "amd64". */
const char *pr_deb_arch(const struct pr_host *h);

/* How this container is given a GPU, for a remedy. */
const char *pr_give_devices(const struct pr_host *h);

/* All checks, judged: one per entry of pr_checks. cause is the index of the finding under which it folds, -1 for none. */
struct pr_judged {
	const struct pr_check *check;
	struct pr_finding f;
	int cause;
};
size_t pr_judge(const struct pr_context *c, struct pr_judged **ret); /* the caller frees *ret */
/* Runs one check. The remedy has the commands of the host's distribution. */
void pr_judge_one(const struct pr_context *c, const struct pr_check *check, struct pr_finding *ret);
int pr_exit_code(const struct pr_judged *j, size_t n); /* 0 ok, 1 warning, 2 critical, 3 unknown */
#endif
