/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the kernel's command line that recipes add. */
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

/* The last word of the command line that begins so, "" if there is none. NULL, with the result set, if the line is not known. The
 * caller frees it. */
static char *word_of(const struct pr_context *c, const char *begin, struct pr_finding *f)
{
	struct pr_str line = c->host->kernel.cmdline;
	const char *found = "";

	if (!line.v) {
		pr_say(f, line.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN, "the kernel's command line is %s",
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

/* Advice to remove the word: what it costs, and the risk of the change. */
static void against(const struct pr_context *c, struct pr_finding *f, const char *word, const char *what, const char *risk)
{
	gt_autofree char *lines = pr_remove_word_lines(c->host, word);

	pr_say(f, PR_ADVICE, "%s: %s", word, what);
	pr_remedy(f, "%s\n%s", risk, lines);
}

static void isolcpus(const struct pr_context *c, struct pr_finding *f)
{
	gt_autofree char *word = word_of(c, "isolcpus=", f);

	if (word && *word)
		against(c, f, word, "threads that no program pins gather on one isolated CPU, or share the few others",
			"Programs that pin each of their threads need it. gputune run does not use isolated CPUs.");
	else if (word)
		pr_say(f, PR_PASS, "the scheduler balances all CPUs");
}
const struct pr_check pr_check_isolcpus = {
	.id = "boot.isolcpus",
	.title = "the scheduler balances all CPUs",
	.story = "Recipes for latency isolate all but a few cores (isolcpus=). A trainer's loader workers and OpenMP threads then "
		 "share these few cores while the others are idle, or gather on one. Programs that pin each of their threads need "
		 "it.",
	.run = isolcpus,
};

static void idle(const struct pr_context *c, struct pr_finding *f)
{
	gt_autofree char *word = word_of(c, "idle=", f);

	if (word && !strcmp(word, "idle=poll"))
		against(c, f, word, "an idle hardware thread spins and takes half of its core from the other one",
			"The latency of a wake-up grows by some microseconds.");
	else if (word)
		pr_say(f, PR_PASS, "idle CPUs rest");
}
const struct pr_check pr_check_idle = {
	.id = "boot.idle",
	.title = "idle CPUs rest",
	.story = "idle=poll saves microseconds of latency. With two threads per core it halves the speed of the busy one, and no "
		 "core reaches its turbo frequency.",
	.run = idle,
};

static void preempt(const struct pr_context *c, struct pr_finding *f)
{
	gt_autofree char *word = word_of(c, "preempt=", f);

	if (word && !strcmp(word, "preempt=full"))
		against(c, f, word, "the kernel interrupts its own work for any thread that wakes",
			"Hosts with a desktop want it.");
	else if (word)
		pr_say(f, PR_PASS, "the command line does not ask for full preemption");
}
const struct pr_check pr_check_preempt = {
	.id = "boot.preempt",
	.title = "the kernel seldom interrupts its own work",
	.story = "Debian's kernels choose the kind of preemption at boot. For throughput preempt=none or Debian's own choice is "
		 "best; NVIDIA's Grace guide sets none. preempt=full is for hosts with a desktop.",
	.run = preempt,
};

static void init_on_free(const struct pr_context *c, struct pr_finding *f)
{
	gt_autofree char *word = word_of(c, "init_on_free=", f);

	if (word && !strcmp(word, "init_on_free=1"))
		against(c, f, word, "the kernel clears every page when it is freed, and again when it is used",
			"Freed memory then keeps its content: only on a host with trusted users.");
	else if (word)
		pr_say(f, PR_PASS, "freed memory is not cleared a second time");
}
const struct pr_check pr_check_init_on_free = {
	.id = "boot.init-on-free",
	.title = "freed memory is not cleared a second time",
	.story = "Loaders and the page cache free gigabytes per second, and init_on_free=1 writes all of it once more. It is a "
		 "hardening: secrets do not stay in freed memory. NVIDIA's profiles switch it off; Debian does not switch it on. "
		 "init_on_alloc, which Debian switches on, costs a program's pages nothing, since the kernel clears these anyway.",
	.run = init_on_free,
};
