/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the kernel log: lines that no other check evaluates, so that their effect is unknown, and errors of the
 * kernel itself. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

#define MOST_SHOWN 3
#define OF_LINE	   180 /* maximum bytes of a line in the finding */

/* Returns whether the line belongs to the check. Lines for GPU checks count as unread if there is no GPU for those checks. */
static bool is_unread(const struct pr_host *h, const struct pr_log_line *l, const char *id)
{
	if (l->kind == PR_LOG_UNREAD)
		return !strcmp(l->check, id);
	return l->kind == PR_LOG_READ && gt_starts_with(l->check, "gpu.") && !strcmp(id, "log.gpu") && !pr_usable_gpus(h);
}

void pr_log_not_examined(const struct pr_host *h, struct pr_finding *f)
{
	if (h->kernel_log == PR_UNREADABLE)
		pr_say(f, PR_SKIP, "the kernel log was not examined: only root can read it");
	else
		pr_say(f, PR_NOT_KNOWN, "the kernel log was not examined: it is %s", pr_state_name(h->kernel_log));
}

static void judge_lines(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *id = c->check->id;
	char lines[MOST_SHOWN * (OF_LINE + 3) + 1] = "", more[48] = "";
	size_t n = 0, of_programs = 0, len = 0;

	for (size_t i = 0; i < h->n_log; i++) {
		of_programs += h->log[i].kind == PR_LOG_PROGRAM;
		if (!is_unread(h, &h->log[i], id))
			continue;
		if (n++ < MOST_SHOWN)
			len += (size_t)snprintf(lines + len, sizeof(lines) - len, "%s%.*s", len ? " / " : "", OF_LINE,
						h->log[i].text);
	}
	if (h->kernel_log != PR_PRESENT) {
		pr_log_not_examined(h, f);
	} else if (n) {
		if (n > MOST_SHOWN)
			snprintf(more, sizeof(more), " / and %zu more", n - MOST_SHOWN);
		pr_say(f, PR_NOT_KNOWN, "%s%zu unrecognised error line%s in the kernel log: %s%s",
		       n > MOST_SHOWN && h->n_log == PR_LOG_MOST ? "at least " : "", n, n == 1 ? "" : "s", lines, more);
		pr_remedy(f, "Read the lines around %s:\n  journalctl -k -b", n == 1 ? "it" : "them");
	} else if (of_programs && !strcmp(id, "log.gpu")) {
		pr_say(f, PR_PASS, "the kernel log has only errors of programs");
	} else {
		pr_say(f, PR_PASS, "no unrecognised error lines");
	}
}

#define STORY(who, rest)                                                                                            \
	"An error that " who " logged and that no other check judges. gpuprobe does not know whether it is over or what " \
	"it means, so that the host cannot be called healthy. " rest " Lines that are known to be harmless do not count."

const struct pr_check pr_check_log_gpu = {
	.id = "log.gpu",
	.title = "unrecognised GPU errors in the kernel log",
	.story = STORY("the NVIDIA driver", "An Xid or SXid number is listed here only if NVIDIA publishes no meaning of it for "
		       "GPUs from Ampere on, or where gpuprobe's catalogue is older than the number: see "
		       "https://docs.nvidia.com/deploy/xid-errors (Xid) and the Fabric Manager User Guide (SXid)."),
	.run = judge_lines,
};

const struct pr_check pr_check_log_network = {
	.id = "log.network",
	.title = "unrecognised InfiniBand or RoCE errors in the kernel log",
	.story = STORY("a driver of an InfiniBand or RoCE adapter", "The error can make a job on several hosts hang "
		"or fail."),
	.run = judge_lines,
};

const struct pr_check pr_check_log_disk = {
	.id = "log.disk",
	.title = "unrecognised NVMe errors in the kernel log",
	.story = STORY("the NVMe driver", "Data sets and checkpoints can be lost by it."),
	.run = judge_lines,
};

const struct pr_check pr_check_log_pcie = {
	.id = "log.pcie",
	.title = "uncorrected PCIe errors in the kernel log",
	.story = STORY("a PCIe port", "Corrected errors (AER) are no loss of data and do not count."),
	.run = judge_lines,
};

const struct pr_check pr_check_log_hardware = {
	.id = "log.hardware",
	.title = "uncorrected memory or processor errors in the kernel log",
	.story = STORY("the memory controller's or machine-check code (EDAC, MCE) or the firmware (APEI)",
		       "Corrected memory errors do not count. rasdaemon and the BMC's event log name the module."),
	.run = judge_lines,
};

/* ---- errors of the kernel itself with a known meaning --------------------------------------------------------- */

/* Returns the newest line of the running check, and the number of its lines. If there is none, sets the result and returns NULL. */
static const struct pr_log_line *newest(const struct pr_context *c, struct pr_finding *f, size_t *lines)
{
	const char *id = c->check->id;
	const struct pr_host *h = c->host;
	const struct pr_log_line *x = NULL;

	*lines = 0;
	for (size_t i = 0; i < h->n_log; i++)
		if (h->log[i].kind == PR_LOG_READ && !strcmp(h->log[i].check, id)) {
			x = &h->log[i];
			++*lines;
		}
	if (h->kernel_log != PR_PRESENT)
		pr_log_not_examined(h, f);
	else if (!x)
		pr_say(f, PR_PASS, "no such error in the kernel log");
	return h->kernel_log == PR_PRESENT ? x : NULL;
}

/* Returns the value of "name=" in a line, up to a comma: "task=python3". */
static const char *value_of(const char *line, const char *name, int *ret_len)
{
	const char *at = strstr(line, name);

	at = at ? at + strlen(name) : "";
	*ret_len = (int)strcspn(at, ", ");
	return at;
}

static void oom(const struct pr_context *c, struct pr_finding *f)
{
	size_t lines;
	const struct pr_log_line *x = newest(c, f, &lines);
	const char *task, *cgroup;
	int task_len, cgroup_len;

	if (!x)
		return;
	for (size_t i = 0; i < c->host->n_log; i++) /* this line has the names; the other form follows it */
		if (strstr(c->host->log[i].text, "oom-kill:constraint="))
			x = &c->host->log[i];
	task = value_of(x->text, ",task=", &task_len);
	cgroup = value_of(x->text, ",task_memcg=", &cgroup_len);
	if (task_len)
		pr_say(f, PR_WARN, "the kernel killed %.*s for lack of memory in cgroup %.*s%s", task_len, task, cgroup_len, cgroup,
		       strstr(x->text, "CONSTRAINT_MEMCG") ? ", which reached its limit" : "");
	else
		pr_say(f, PR_WARN, "the kernel killed a process for lack of memory: %.300s", x->text);
	pr_remedy(f, "Raise the memory limit of the job or container, or use fewer loader workers. All lines:\n"
		     "  journalctl -k -b | grep -i oom");
}
const struct pr_check pr_check_log_oom = {
	.id = "log.oom",
	.title = "the kernel ended a process for lack of memory",
	.story = "When a host or a cgroup has no memory left, the kernel ends a process (OOM killer). A training job then ends by "
		 "signal 9 without a message of its own; a loader worker that is ended stops the job.",
	.run = oom,
};

/* Checks that report the newest line, its meaning and the remedy. */
struct rule {
	enum pr_result result;
	const char *what, *remedy;
};

static void judge_newest(const struct pr_context *c, struct pr_finding *f)
{
	const struct rule *rule = c->check->rule;
	size_t lines;
	const struct pr_log_line *x = newest(c, f, &lines);

	if (!x)
		return;
	pr_say(f, rule->result, "%s (%zu line%s): %.300s", rule->what, lines, lines == 1 ? "" : "s", x->text);
	pr_remedy(f, "%s", rule->remedy);
}

const struct pr_check pr_check_log_stall = {
	.id = "log.stall",
	.title = "a task or CPU hung in the kernel",
	.story = "The kernel logs a task that waits longer than two minutes for a disk, a network file system or a driver, and a "
		 "CPU that does not return from the kernel for many seconds. Jobs hang or run slowly meanwhile.",
	.run = judge_newest,
	.rule = &(const struct rule){
		PR_WARN, "a task or a CPU hung in the kernel",
		"Read the stack after the line; it names the driver or file system:\n"
		"  journalctl -k -b | grep -A 30 -E 'blocked for more than|lockup|stall'" },
};
const struct pr_check pr_check_log_filesystem = {
	.id = "log.filesystem",
	.title = "a file system reports errors",
	.story = "A file system that finds a corrupted structure or cannot read or write a block logs it, and often becomes "
		 "read-only. Data sets and checkpoints are then at risk.",
	.run = judge_newest,
	.rule = &(const struct rule){
		PR_FAIL, "a file system had an error",
		"Copy what matters away, look at the disk (smartctl -a, nvme smart-log), then check the unmounted file system "
		"(fsck, xfs_repair)" },
};
const struct pr_check pr_check_log_thermal = {
	.id = "log.thermal",
	.title = "a processor overheats",
	.story = "A processor that reaches its temperature limit reduces its clock and logs it. Data loading and launches become "
		 "slower.",
	.run = judge_newest,
	.rule = &(const struct rule){
		PR_WARN, "a processor reduced its clock because of heat",
		"Check fans, airflow and the temperature of the room" },
};
