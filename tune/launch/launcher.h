/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LAUNCHES_H
#define TN_LAUNCHES_H
/* How many processes of the job a command will be on this host. A launcher's number is read from its options as it would. A command
 * that is not known may start one process for each GPU that it sees. */
#include "tune/launch/context.h"

#define TN_PROCESSES_UNSAID (-1)

struct tn_processes {
	enum tn_processes_kind kind;
	int n;		      /* at least 1; TN_PROCESSES_UNSAID: the launcher's number depends on its slots or on a file */
	const char *launcher; /* its name as in the command; NULL: the command is none */
	bool one_task;	      /* the launcher starts one process, and that may start the others */
};
struct tn_processes tn_processes_of(const struct tn_launch *c);
/* Why there are so many; the caller frees it. */
char *tn_processes_why(const struct tn_launch *c, const struct tn_processes *p);
/* Number of the job's processes that share this host's memory and time: the ranks here times the processes that each of them will
 * start, as far as that is known. At least 1. */
unsigned tn_processes_here(const struct tn_launch *c);
/* Number of them that share the CPUs of this run, as far as run.affinity knows. */
unsigned tn_processes_sharing_cpus(const struct tn_launch *c, const struct tn_run *r);
/* Has the job more hosts than this one, as far as the command, if it is a launcher, or a launcher's variables show it? */
bool tn_job_has_many_hosts(const struct tn_launch *c);
/* What to do where the number is not said; a clause. */
#define TN_PROCESSES_WHY "how many ranks it starts on this host is not said: say so by its option, or let it start gputune run"
#endif
