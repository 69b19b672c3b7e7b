/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LAUNCHER_H
#define TN_LAUNCHER_H
/*
 * Number of processes of a job on this host. The options of a launcher determine it. A command that is not recognised
 * may start one process for each visible GPU.
 */
#include "tune/launch/context.h"

#define TN_PROCESSES_UNKNOWN (-1)

struct tn_processes {
	enum tn_processes_kind kind;
	int n;		      /* number of processes; TN_PROCESSES_UNKNOWN: depends on the launcher's slots or on a file */
	const char *launcher; /* name of the launcher as in the command; NULL: the command is no launcher */
	bool one_task;	      /* the launcher starts one process, which may start the others */
	bool may_start_more;  /* n follows from the command line, but the program may start more processes */
};
struct tn_processes tn_processes_of(const struct tn_launch *c);
/* Returns the reason for this number; the caller frees it. */
char *tn_processes_why(const struct tn_launch *c, const struct tn_processes *p);
/*
 * Returns the number of the job's processes that share the memory and the cores of this host. It is the number of local ranks
 * times the known processes of each rank. At least 1.
 */
unsigned tn_processes_here(const struct tn_launch *c);
/* Returns the number of processes that share the CPUs of this run, as far as run.affinity can determine it. */
unsigned tn_processes_sharing_cpus(const struct tn_launch *c, const struct tn_run *r);
/*
 * Returns whether the job has more hosts than this one. Returns true only if a launcher's options or variables show it.
 */
bool tn_job_has_many_hosts(const struct tn_launch *c);
/* Part of a sentence: the remedy for an unknown number of ranks. */
#define TN_PROCESSES_WHY                                                                                                      \
	"the number of ranks on this host is unknown: give it by the launcher's option, or let the launcher start gputune run"
#endif
