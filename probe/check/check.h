/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_CHECK_H
#define PR_CHECK_H
/*
 * A check is a pure function from the host model to a finding. The list is in causal order. The checks that a check
 * names in `after` can be its cause. If one of them failed, this finding is shown as its consequence.
 */
#include "probe/host/host.h"

/* PR_ADVICE: an administrator's setting that costs speed or removes a safeguard. It does not affect the verdict, and
 * gputune plan lists it. */
enum pr_result { PR_PASS, PR_ADVICE, PR_SKIP, PR_NOT_KNOWN, PR_WARN, PR_FAIL };
const char *pr_result_name(enum pr_result r);

struct pr_finding {
	enum pr_result result;
	char what[768];	   /* observation; one or two sentences */
	/* the smallest safe remedy; "" if there is none. Checks name actions for commands that depend on the distribution, and
	 * pr_judge() renders them (probe/check/distro.h) */
	char remedy[2048];
};

struct pr_context {
	const struct pr_host *host;
	struct gt_fsroot *fs; /* only for local replacements of the compatibility tables */
	bool require_gpu;
	const struct pr_check *check; /* the running check; set by pr_judge_one() */
};

struct pr_check {
	const char *id, *title;
	const char *const *after; /* ids of possible causes, NULL-terminated, or NULL */
	const char *story;	  /* text for `explain`: why it matters, how to recognise it, what to do */
	const char *messages;	  /* error messages that users search for, one per line, or NULL */
	void (*run)(const struct pr_context *c, struct pr_finding *f);
	const void *rule; /* data for run() if several checks share the function; else NULL */
};

extern const struct pr_check *const pr_checks[]; /* NULL-terminated */
const struct pr_check *pr_check_find(const char *id);
extern const struct pr_check *const pr_stories[]; /* stories about messages without a check: run is NULL; NULL-terminated */

/* A check or story that matches a pasted message (a log line, the end of a stack trace). */
struct pr_match {
	const struct pr_check *check;
	bool sure; /* the text contains one of its messages; false: only common words */
};
/* Returns the number of matches, the best first. */
#define PR_SEARCH_MOST 4
size_t pr_check_search(const char *text, struct pr_match ret[PR_SEARCH_MOST]);

/* For checks: set the result and the texts of a finding. */
void pr_set(struct pr_finding *f, enum pr_result result, const char *fmt, ...) GT_PRINTF(3, 4);
void pr_remedy(struct pr_finding *f, const char *fmt, ...) GT_PRINTF(2, 3);

/* Returns remedy lines that set a kernel setting now and at boot. The caller frees them. */
char *pr_setting_lines(const struct pr_setting *s, const char *value);
/* Returns remedy lines that reset a GPU: g, or the GPU that a log line names, or the only one, else all. The caller frees them. */
char *pr_reset_lines(const struct pr_host *h, const struct pr_gpu *g, const char *log_line);
/* Returns remedy lines that remove a kernel parameter with this prefix. The caller frees them. */
char *pr_remove_word_lines(const struct pr_host *h, const char *begin);

/* Sets the result skip and returns true if the host has no GPU that it may use. */
bool pr_without_gpu(const struct pr_context *c, struct pr_finding *f);
/* Returns whether the host has an Instinct GPU of AMD from MI200 on. */
bool pr_has_instinct(const struct pr_host *h);
/* Returns the value of an NCCL variable, and its origin ("in the environment"); NULL: not set. The environment overrides
 * /etc/nccl.conf. The caller frees it. */
char *pr_nccl_setting(const struct pr_host *h, const char *name, const char **from);
/* Returns whether the host has an Elastic Fabric Adapter of Amazon with its driver. */
bool pr_has_efa(const struct pr_host *h);
/* Returns whether the kernel manages the memory of the GPUs as NUMA nodes, so that any program may use it (Grace). */
bool pr_gpu_memory_is_node(const struct pr_host *h);
/*
 * Returns whether NVML responds for every usable GPU. Logged errors are then over: the log contains all errors since
 * boot, and a GPU that was reset or recovered is fully usable.
 */
bool pr_all_respond(const struct pr_host *h);
/* Sets the result for an unreadable kernel log: skip or unknown. */
void pr_log_not_examined(const struct pr_host *h, struct pr_finding *f);
/* The same, also if the nvidia module is not loaded, so that there is no driver to compare with. */
bool pr_without_driver(const struct pr_context *c, struct pr_finding *f);
/* Returns the compute capability x 10 of a GPU from NVML, else by its PCI id; 0: unknown. */
int pr_arch_of(const struct pr_context *c, const struct pr_gpu *g);
int pr_first_arch(const struct pr_context *c); /* capability of the first GPU with a known one */
/* Returns the driver version that CUDA programs use. Under WSL it is that of Windows. With a libcuda of cuda-compat
 * that supports the loaded module it is the version of that libcuda. Otherwise it is that of the module. NULL: no
 * driver is loaded. Checks, `can`, `recommend` and plans all use this version. */
const char *pr_effective_driver(const struct pr_context *c);
/* Compares a CUDA release with those that support a GPU: 1 after the last, -1 before the first, 0 within the range or
 * unknown. */
struct pr_span;
int pr_compare_cuda_range(const struct pr_context *c, const struct pr_gpu *g, const char *cuda, struct pr_span *ret);
int pr_branch_of(const char *driver_version); /* driver branch: "550.163.01" -> 550 */

/* Sets the remedy to the commands that install the driver for these GPUs, as printed by `gpuprobe can`. */
void pr_remedy_driver(const struct pr_context *c, struct pr_finding *f);
/* Sets the remedy to the driver that supports newer wheels than the current driver and GPUs (driver_need.h). Returns
 * false if there is none. */
struct pr_wheel;
bool pr_remedy_wheel_upgrade(const struct pr_context *c, struct pr_finding *f, const struct pr_wheel *now);
/* Formats such a step as text: "WHY:" and the indented lines. "" for NULL. The caller frees it. */
char *pr_step_text(const json_t *step);
/* Returns the CUDA release of Debian's toolkit if the driver (if loaded) and a GPU (if present) support it; else NULL.
 * The caller frees it. */
char *pr_own_toolkit(const struct pr_context *c);
/* Returns the newest g++ of this Debian release up to `most`, the limit of nvcc. 0: all are newer, and *ret_oldest is
 * the oldest. On other distributions returns `most`. */
int pr_nvcc_gxx(const struct pr_context *c, int most, int *ret_oldest);
/* Returns Debian's library directory name for this architecture, for remedies. */
const char *pr_triplet(const struct pr_host *h);
/* Returns Debian's name of the architecture, as in package names: "amd64". */
const char *pr_deb_arch(const struct pr_host *h);

/* Returns how to give this container a GPU, for a remedy. */
const char *pr_give_devices(const struct pr_host *h);

/* The result of one check. cause is the index of the finding that explains it, -1 for none. */
struct pr_judged {
	const struct pr_check *check;
	struct pr_finding f;
	int cause;
};
size_t pr_judge(const struct pr_context *c, struct pr_judged **ret); /* runs all checks in the order of pr_checks; the caller
								      * frees *ret */
/* Runs one check. The remedy has the commands of the host's distribution. */
void pr_judge_one(const struct pr_context *c, const struct pr_check *check, struct pr_finding *ret);
int pr_exit_code(const struct pr_judged *j, size_t n); /* 0 ok, 1 warning, 2 critical, 3 unknown */
#endif
