/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the kernel log. log_rules.tsv has the known messages; an error that no rule contains is unknown. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/check/log_rates.h"

#define MOST_SHOWN 3
#define OF_LINE	   180 /* maximum bytes of a line in the finding */
#define DAY_S	   86400.0
#define RECURS	   3 /* an error that is over is reported only if it occurred this often within a week */

/* Lines about the processor's integrated graphics do not matter for training. */
static bool is_about_display(const struct pr_host *h, const char *text)
{
	return !pr_other_gpu(h, 0) && (strstr(text, "amdgpu") || gt_starts_with(text, "i915") || gt_starts_with(text, "xe "));
}

/* Returns whether the line reports the lost link of a port that is switched off. */
static bool is_switched_off(const struct pr_host *h, const struct pr_log_line *l)
{
	for (size_t i = 0; i < h->n_net && !strcmp(l->check, "log.link"); i++)
		if (pr_has(h->net[i].flags) && !(h->net[i].flags.v & 1) && h->net[i].pci && strstr(l->text, h->net[i].pci))
			return true;
	return false;
}

/* Returns whether the check reports the line. log.gpu also reports those of GPU checks that do not run for lack of a GPU. */
static bool belongs_to(const struct pr_host *h, const struct pr_log_line *l, const char *id)
{
	if (!l->check || is_about_display(h, l->text) || is_switched_off(h, l))
		return false;
	return !strcmp(l->check, id) || (gt_starts_with(l->check, "gpu.") && !strcmp(id, "log.gpu") && !pr_usable_gpus(h));
}

/* Returns whether the line has no known meaning on this host. */
static bool is_unread(const struct pr_log_line *l, const char *id)
{
	return !l->past && (l->kind == PR_LOG_UNREAD || (l->kind == PR_LOG_READ && strcmp(l->check, id) != 0));
}

void pr_log_not_examined(const struct pr_host *h, struct pr_finding *f)
{
	if (h->kernel_log == PR_UNREADABLE)
		pr_set(f, PR_SKIP, "the kernel log was not examined: only root can read it");
	else
		pr_set(f, PR_NOT_KNOWN, "the kernel log was not examined: it is %s", pr_state_name(h->kernel_log));
}

/* ---- weight of a line --------------------------------------------------------------------------------------------- */

/* Returns the time since the line in seconds; NAN: unknown. */
static double age_of(const struct pr_host *h, const struct pr_log_line *l)
{
	return h->log_source.now_s - l->time_s;
}

/* Estimates the number of errors of this kind on this device within the last week. */
static double number_in_week(const struct pr_host *h, const struct pr_log_line *l)
{
	double n = 0;

	for (size_t i = 0; i < h->n_log; i++) {
		const struct pr_log_line *x = &h->log[i];
		double span = h->log_source.now_s - x->first_s;

		if (x->rule == l->rule && pr_log_same_device(x, l) && !(age_of(h, x) > 7 * DAY_S))
			n += span > 7 * DAY_S ? x->count * 7 * DAY_S / span : x->count;
	}
	return n;
}

/*
 * Returns the result for the line. An error that is over counts for a day, or for a week if it recurs. An error after
 * which the device recovered counts only if it recurs.
 */
static enum pr_result weight(const struct pr_host *h, const struct pr_log_line *l)
{
	if (l->kind != PR_LOG_READ || !l->rule)
		return PR_PASS;
	if (!l->past && l->rule->effect == PR_LOG_EFFECT_FAIL)
		return PR_FAIL;
	if (!l->past && l->rule->effect == PR_LOG_EFFECT_WARN)
		return PR_WARN;
	if (!l->past && !(age_of(h, l) > DAY_S))
		return PR_WARN;
	return number_in_week(h, l) >= RECURS && !(age_of(h, l) > 7 * DAY_S) ? PR_WARN : PR_PASS;
}

/* ---- findings ------------------------------------------------------------------------------------------------------- */

/* The lines of one check. */
struct tally {
	const struct pr_log_line *worst; /* the newest of the most severe lines; NULL: none */
	enum pr_result result;
	size_t lines, others;		 /* number of lines of the same kind, and of other kinds with a known meaning */
	size_t unread, history, programs;
	char unread_text[MOST_SHOWN * (OF_LINE + 3) + 1];
};

static void add_unread(struct tally *t, const char *text)
{
	size_t len = strlen(t->unread_text);

	if (t->unread++ < MOST_SHOWN)
		snprintf(t->unread_text + len, sizeof(t->unread_text) - len, "%s%.*s", len ? " / " : "", OF_LINE, text);
}

static void count_lines(const struct pr_host *h, const char *id, struct tally *t)
{
	for (size_t i = 0; i < h->n_log; i++) {
		const struct pr_log_line *l = &h->log[i];
		enum pr_result result = PR_PASS;

		t->programs += l->kind == PR_LOG_PROGRAM;
		if (!belongs_to(h, l, id))
			continue;
		if (is_unread(l, id))
			add_unread(t, l->text);
		else if (l->kind == PR_LOG_READ)
			result = weight(h, l);
		t->history += l->kind == PR_LOG_READ && result == PR_PASS && !is_unread(l, id);
		if (result >= PR_WARN && result >= t->result) {
			t->worst = l;
			t->result = result;
		}
	}
	for (size_t i = 0; t->worst && i < h->n_log; i++)
		if (belongs_to(h, &h->log[i], id) && weight(h, &h->log[i]) >= PR_WARN)
			*(!strcmp(h->log[i].rule->meaning, t->worst->rule->meaning) ? &t->lines : &t->others) += h->log[i].count;
}

/* Formats the age of a line: ", 3 h ago"; "" if unknown. */
static void format_age(const struct pr_host *h, const struct pr_log_line *l, char *out, size_t size)
{
	double age = age_of(h, l);

	*out = '\0';
	if (age >= 2 * DAY_S)
		snprintf(out, size, ", %.0f days ago", age / DAY_S);
	else if (age >= 7200)
		snprintf(out, size, ", %.0f h ago", age / 3600);
	else if (age >= 0)
		snprintf(out, size, ", %.0f min ago", age / 60);
}

/* Returns the value of "name=" in a line, up to a comma: "task=python3". */
static const char *value_of(const char *line, const char *name, int *ret_len)
{
	const char *at = strstr(line, name);

	at = at ? at + strlen(name) : "";
	*ret_len = (int)strcspn(at, ", ");
	return at;
}

/* Returns the process and the cgroup that the line names. Only one form of the message names them. */
static bool say_oom(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_log_line *x = NULL;
	const char *task, *cgroup;
	int task_len, cgroup_len;

	for (size_t i = 0; i < c->host->n_log; i++)
		if (strstr(c->host->log[i].text, "oom-kill:constraint="))
			x = &c->host->log[i];
	task = value_of(x ? x->text : "", ",task=", &task_len);
	cgroup = value_of(x ? x->text : "", ",task_memcg=", &cgroup_len);
	if (task_len)
		pr_set(f, PR_WARN, "the kernel killed %.*s for lack of memory in cgroup %.*s%s", task_len, task, cgroup_len, cgroup,
		       strstr(x->text, "CONSTRAINT_MEMCG") ? ", which reached its limit" : "");
	return task_len;
}

/* Returns the name of the memory module in an EDAC line, or in the firmware's record that follows the line. */
static const char *module_of(const struct pr_host *h, const struct pr_log_line *l, int *ret_len)
{
	const char *at = gt_starts_with(l->text, "EDAC") ? strstr(l->text, " on ") : NULL;

	for (const struct pr_log_line *x = l; !at && x < h->log + h->n_log && strstr(l->text, "[Hardware Error]"); x++)
		at = strstr(x->text, "fru_text: ");
	at = at ? strchr(at + 1, ' ') : NULL;
	*ret_len = !at ? 0 : (int)strcspn(at + 1, gt_starts_with(l->text, "EDAC") ? " " : "(");
	return at ? at + 1 : "";
}

static void say_worst(const struct pr_context *c, const struct tally *t, struct pr_finding *f)
{
	char age[32], others[48] = "", unread[64] = "";
	int module_len;
	const char *module = module_of(c->host, t->worst, &module_len);

	format_age(c->host, t->worst, age, sizeof(age));
	if (t->others)
		snprintf(others, sizeof(others), ", %zu of other kinds", t->others);
	if (t->unread)
		snprintf(unread, sizeof(unread), "; %zu more error line%s with unknown meaning", t->unread,
			 t->unread == 1 ? "" : "s");
	if (!strcmp(c->check->id, "log.oom") && say_oom(c, f))
		;
	else
		pr_set(f, t->result, "%s%s%.*s%s (%zu line%s%s%s): %.300s%s", t->worst->rule->meaning,
		       module_len ? ": " : "", module_len, module,
		       t->worst->past ? ", recovered, and had the error again" : "", t->lines, t->lines == 1 ? "" : "s", others,
		       age, t->worst->text, unread);
	pr_remedy(f, "%s", t->worst->rule->remedy);
}

static void say_unread(const struct pr_host *h, const struct tally *t, struct pr_finding *f)
{
	char more[48] = "";

	if (t->unread > MOST_SHOWN)
		snprintf(more, sizeof(more), " / and %zu more", t->unread - MOST_SHOWN);
	pr_set(f, PR_NOT_KNOWN, "%s%zu unrecognised error line%s in the kernel log: %s%s",
	       t->unread > MOST_SHOWN && h->n_log == PR_LOG_MOST ? "at least " : "", t->unread, t->unread == 1 ? "" : "s",
	       t->unread_text, more);
	pr_remedy(f, "Read the lines around %s:\n  journalctl -k -b", t->unread == 1 ? "it" : "them");
}

static void say_pass(const struct pr_context *c, const struct tally *t, struct pr_finding *f)
{
	char history[64] = "", crashes[96] = "";
	int64_t n = !strcmp(c->check->id, "log.oops") ? pr_or(c->host->log_source.crashes, 0) : 0;

	if (t->history)
		snprintf(history, sizeof(history), "; %zu line%s about errors that are over", t->history,
			 t->history == 1 ? "" : "s");
	if (n)
		snprintf(crashes, sizeof(crashes), "; %d record%s of crashes of earlier boots in pstore", (int)n,
			 n == 1 ? "" : "s");
	pr_set(f, PR_PASS, "%s%s%s%s",
	       t->programs && !strcmp(c->check->id, "log.gpu") ? "the kernel log has only errors of programs"
							       : "no such error in the kernel log",
	       c->host->log_source.start_lost ? ", whose start is lost" : "", history, crashes);
}

static void judge(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	struct tally t = {.result = PR_PASS};

	count_lines(h, c->check->id, &t);
	if (t.worst)
		say_worst(c, &t, f);
	else if (pr_log_judge_rates(c, f))
		;
	else if (h->kernel_log != PR_PRESENT)
		pr_log_not_examined(h, f);
	else if (t.unread)
		say_unread(h, &t, f);
	else
		say_pass(c, &t, f);
}

const struct pr_check pr_check_log_gpu = {
	.id = "log.gpu",
	.title = "errors of GPUs in the kernel log",
	.story = "The drivers of GPUs log errors. Those of NVIDIA GPUs with a known meaning have checks of their own "
		 "(gpu.*). This check reports the known errors of AMD and Intel GPUs, and every error whose meaning "
		 "gpuprobe does not know. The result is then unknown, because the error may persist. This check also "
		 "lists an Xid or SXid number without a published meaning for GPUs from Ampere on, or newer than "
		 "gpuprobe's catalogue. See https://docs.nvidia.com/deploy/xid-errors (Xid) and the Fabric Manager User "
		 "Guide (SXid).",
	.run = judge,
};

const struct pr_check pr_check_log_network = {
	.id = "log.network",
	.title = "errors of network adapters in the kernel log",
	.story = "The driver of an InfiniBand, RoCE or Ethernet adapter logged an error. A job on several hosts can hang or "
		 "fail. Errors whose meaning gpuprobe does not know make the result unknown.",
	.run = judge,
};

const struct pr_check pr_check_log_link = {
	.id = "log.link",
	.title = "the link of a port is down",
	.story = "The kernel log reports that a network port lost its link and does not report that the link came back. Ports "
		 "that never had a link since boot, and ports that are switched off, do not count. A link that goes down three "
		 "times in a week counts even if it came back, because NCCL's connections do not survive this.",
	.run = judge,
};

const struct pr_check pr_check_log_disk = {
	.id = "log.disk",
	.title = "errors of disks in the kernel log",
	.story = "The driver of a disk or of a RAID array logged an error. Data sets and checkpoints can be lost. Errors of NVMe "
		 "disks whose meaning gpuprobe does not know make the result unknown.",
	.run = judge,
};

const struct pr_check pr_check_log_pcie = {
	.id = "log.pcie",
	.title = "PCIe errors",
	.story = "A PCIe port or device reported an uncorrected error (AER), or the IOMMU rejected an access. Corrected errors "
		 "lose no data. More than 480 per hour of one device are a problem: NVIDIA's DCGM warns from 8 replays per minute "
		 "on. The sources are the kernel log and the counters in /sys/bus/pci/devices/*/aer_dev_*.",
	.run = judge,
};

const struct pr_check pr_check_log_hardware = {
	.id = "log.hardware",
	.title = "memory or processor errors",
	.story = "The memory controller (EDAC), the processor (MCE) or the firmware (APEI) reported an uncorrected error. "
		 "Corrected errors of memory count if a module has 10 or more in 24 hours, the limit of mcelog. The sources are "
		 "the kernel log and the counters in /sys/devices/system/edac. rasdaemon and the BMC's event log name the "
		 "module.",
	.run = judge,
};

const struct pr_check pr_check_log_oom = {
	.id = "log.oom",
	.title = "the kernel ended a process for lack of memory",
	.story = "When a host or a cgroup has no memory left, the kernel ends a process (OOM killer). A training job then ends "
		 "by signal 9 without a message. If a loader worker is ended, the job stops.",
	.run = judge,
};

const struct pr_check pr_check_log_stall = {
	.id = "log.stall",
	.title = "a task or CPU hung in the kernel",
	.story = "The kernel logs a task that waits longer than two minutes for a disk, a network file system or a "
		"driver. It also logs a CPU that does not return from the kernel for many seconds. Jobs hang or run "
		"slowly during this time.",
	.run = judge,
};

const struct pr_check pr_check_log_oops = {
	.id = "log.oops",
	.title = "internal errors of the kernel",
	.story = "The kernel or a driver accessed invalid memory (Oops) or found an inconsistent state (BUG). The kernel ends "
		 "the task and continues, but locks can stay held and data can be damaged. Only a reboot gives a reliable state.",
	.run = judge,
};

const struct pr_check pr_check_log_filesystem = {
	.id = "log.filesystem",
	.title = "a file system reports errors",
	.story = "A file system that finds a corrupted structure, or that cannot read or write a block, logs the error. It often "
		 "becomes read-only. Data sets and checkpoints are then at risk. A network file system logs a server that does "
		 "not respond.",
	.run = judge,
};

const struct pr_check pr_check_log_thermal = {
	.id = "log.thermal",
	.title = "a processor overheats",
	.story = "A processor that reaches its temperature limit reduces its clock and logs it. Data loading and launches become "
		 "slower.",
	.run = judge,
};
