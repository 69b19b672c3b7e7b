/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_HOLDER_H
#define PR_HOLDER_H
/* A process that holds a GPU: its name, user and group, in documents, text and metrics. */
#include "lib/buf.h"
#include "lib/fsroot.h"
#include "lib/json.h"

#define PR_GPU_IN_USE_BYTES (INT64_C(1) << 30) /* a GPU with this much memory in use should be computing */

enum pr_holder_state {
	PR_HOLDER_UNKNOWN, /* the process is not visible here */
	PR_HOLDER_RUNS,
	PR_HOLDER_EXITING, /* waits in the kernel for the end of its exit */
	PR_HOLDER_ZOMBIE,  /* has ended; its parent has not read the status, or other threads still run */
	PR_HOLDER_GONE,	   /* the driver lists it, but it does not exist */
};

/* All strings of a holder are its own. */
struct pr_holder {
	int64_t pid;
	int64_t memory_bytes; /* of the GPU; -1: not reported */
	enum pr_holder_state state;
	char *name, *user; /* user: name, or number if /etc/passwd does not list it; NULL: unknown */
	const char *kind;  /* "Slurm job", "pod", "container" or "unit": the owner of the process's cgroup; NULL: unknown */
	char *group;	   /* its number, UID or name; NULL: unknown */
};

void pr_holder_clear(struct pr_holder *p);
/* Returns whether the processes of this root are those of the first PID namespace, as NVML and KFD number them. */
bool pr_in_first_namespace(struct gt_fsroot *fs);
/* Returns whether in addition all processes are visible. The open files of other users' processes may still be unreadable. */
bool pr_sees_all_processes(struct gt_fsroot *fs);
/* Fills name, user, state and group of a process by its pid. see_all: as above. passwd: text of /etc/passwd or NULL. */
void pr_describe_holder(struct gt_fsroot *fs, bool see_all, const char *passwd, struct pr_holder *p);
/* Finds the owner of a cgroup in the text of /proc/PID/cgroup. The caller frees *ret_group; NULL: none. */
void pr_find_group(const char *text, const char **ret_kind, char **ret_group);

/* ---- documents ---- */
json_t *pr_holder_json(const struct pr_holder *p);
/* Reverses pr_holder_json(), for a document of a capture. */
void pr_holder_take(const json_t *o, struct pr_holder *ret);
/* Formats processes: "4242 python3 (alice, Slurm job 77), 63.5 GiB; …". most: number of processes that are written out. The
 * caller frees it. */
char *pr_holders_text(const json_t *processes, size_t most);
/*
 * Adds up the processes of each user and group: [{"user", "group", "processes", "memory_bytes"}], the largest first.
 * Elements after the first `most` are added up as user and group "other".
 */
json_t *pr_holder_groups(const json_t *processes, size_t most);
/* Appends gauges of the processes of each element with "processes": PREFIX_gpu_processes, if the list is complete, and
 * PREFIX_gpu_holder_memory_bytes with at most PR_HOLDER_LABELS + 1 pairs of user and group per GPU. */
#define PR_HOLDER_LABELS 8
void pr_holder_metrics(struct gt_buf *out, const char *prefix, const json_t *gpus);
#endif
