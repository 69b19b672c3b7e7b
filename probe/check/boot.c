/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel parameters that tuning guides recommend. */
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

/* Returns the last kernel parameter with this prefix, "" if there is none. If the command line is unknown, sets the
 * result and returns NULL. The caller frees it. */
static char *word_of(const struct pr_context *c, const char *begin, struct pr_finding *f)
{
	struct pr_str line = c->host->kernel.cmdline;
	const char *found = "";

	if (!line.v) {
		pr_set(f, line.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN, "the kernel's command line is %s",
		       pr_state_name(line.state));
		return NULL;
	}
	for (const char *p = line.v; *p; p += strspn(p, " ")) {
		if (gt_starts_with(p, begin))
			found = p;
		p += strcspn(p, " ");
	}
	return gt_xstrndup(found, strcspn(found, " "));
}

/* Advice against a kernel parameter. */
struct rule {
	const char *begin; /* prefix of the kernel parameter */
	const char *bad;   /* the complete parameter; NULL: any with the prefix */
	const char *pass;  /* text of the finding if the parameter is absent */
	const char *cost;  /* cost of the parameter */
	const char *risk;  /* risk of removing it */
};

static void judge_word(const struct pr_context *c, struct pr_finding *f)
{
	const struct rule *rule = c->check->rule;
	gt_autofree char *word = word_of(c, rule->begin, f), *lines = NULL;

	if (!word)
		return;
	if (rule->bad ? strcmp(word, rule->bad) : !*word) {
		pr_set(f, PR_PASS, "%s", rule->pass);
		return;
	}
	pr_set(f, PR_ADVICE, "%s: %s", word, rule->cost);
	lines = pr_remove_word_lines(c->host, word);
	pr_remedy(f, "%s\n%s", rule->risk, lines);
}

const struct pr_check pr_check_isolcpus = {
	.id = "boot.isolcpus",
	.title = "isolcpus excludes CPUs from the scheduler",
	.story = "Guides for low latency isolate all but a few cores (isolcpus=). Loader workers and OpenMP threads then "
		 "share these few cores while the isolated ones are idle. isolcpus is only for programs that bind each of "
		 "their threads to a core.",
	.run = judge_word,
	.rule = &(const struct rule){
		.begin = "isolcpus=",
		.pass = "the scheduler balances all CPUs",
		.cost = "threads that no program pins gather on one isolated CPU, or share the few others",
		.risk = "Programs that pin each of their threads need it. gputune run does not use isolated CPUs." },
};
const struct pr_check pr_check_idle = {
	.id = "boot.idle",
	.title = "the command line keeps idle CPUs busy",
	.story = "idle=poll saves microseconds of latency. If a core has two threads, the polling idle thread halves "
		 "the speed of the busy thread. No core reaches its turbo frequency.",
	.run = judge_word,
	.rule = &(const struct rule){
		.begin = "idle=",
		.bad = "idle=poll",
		.pass = "idle CPUs rest",
		.cost = "an idle hardware thread spins and takes half of its core from the other one",
		.risk = "The latency of a wake-up grows by some microseconds." },
};
const struct pr_check pr_check_preempt = {
	.id = "boot.preempt",
	.title = "the kernel is fully preemptible",
	.story = "Debian's kernels select the preemption model at boot. preempt=none or Debian's default is best for "
		 "throughput, and NVIDIA's Grace guide sets none. preempt=full is for desktops.",
	.run = judge_word,
	.rule = &(const struct rule){
		.begin = "preempt=",
		.bad = "preempt=full",
		.pass = "the command line does not ask for full preemption",
		.cost = "the kernel interrupts its own work for any thread that wakes",
		.risk = "Hosts with a desktop want it." },
};
const struct pr_check pr_check_init_on_free = {
	.id = "boot.init-on-free",
	.title = "the kernel clears freed memory",
	.story = "Loaders and the page cache free gigabytes per second, and init_on_free=1 overwrites all of it. It "
		 "is a hardening option: secrets do not stay in freed memory. NVIDIA's profiles switch it off, and Debian "
		 "does not switch it on. init_on_alloc, which Debian switches on, costs nothing for pages of programs, "
		 "because the kernel clears these anyway.",
	.run = judge_word,
	.rule = &(const struct rule){
		.begin = "init_on_free=",
		.bad = "init_on_free=1",
		.pass = "freed memory is not cleared a second time",
		.cost = "the kernel clears every page when it is freed, and again when it is used",
		.risk = "Freed memory then keeps its content: only on a host with trusted users." },
};
