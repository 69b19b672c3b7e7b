/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at and reported only: it needs a reboot, a decision of the admin, or somebody else's file. Each advice
 * holds the lines that do it by hand on Debian. */
#include <stdio.h>
#include <string.h>
#include "tune/knob/list.h"
#include "probe/compat/costly_options.h"

/* The word of the kernel's command line that begins so, NULL if there is none. The caller frees it. */
static char *cmdline_word(const struct tn_ctx *c, const char *begin)
{
	const char *line = c->host->kernel.cmdline.v;

	for (const char *p = line; p && *p;) {
		size_t n = strcspn(p, " ");

		if (gt_starts_with(p, begin))
			return gt_xstrndup(p, n);
		p += n;
		p += strspn(p, " ");
	}
	return NULL;
}

static char *word_or_unset(const struct tn_ctx *c, const char *begin)
{
	char *word = cmdline_word(c, begin);

	if (word || !c->host->kernel.cmdline.v)
		return word;
	return gt_xstrdup("not set");
}

char *tn_grub_how(const struct tn_ctx *c, const char *begin)
{
	gt_autofree char *where = NULL;

	for (size_t i = c->host->grub.n; i-- > 0 && !where;)
		if (gt_starts_with(c->host->grub.p[i].word, begin))
			where = gt_xasprintf("%s:%u", c->host->grub.p[i].file, c->host->grub.p[i].line);
	return gt_xasprintf("take %s out of %s, then update-grub and reboot", begin,
			    where ? where : "/etc/default/grub or the file in /etc/default/grub.d that holds it");
}

/* What a word of the kernel's command line costs, and how it goes. */
static void advise_word(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w, const char *why)
{
	gt_autofree char *grub_how = tn_grub_how(c, now->current);

	tn_leave(w, TN_ADVICE, "%s: %s", why, grub_how);
}

/* ---- command line -------------------------------------------------------------------------------------------------
 */

static char *look_isolcpus(const struct tn_ctx *c)
{
	return word_or_unset(c, "isolcpus=");
}

static void want_isolcpus(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (!strcmp(now->current, "not set"))
		tn_leave(w, TN_ALREADY, "all CPUs are balanced");
	else
		advise_word(c, now, w, "threads that nobody pins pile up on one isolated CPU, or crowd on the few others; "
				       "gputune run leaves isolated CPUs out. To give them back");
}

const struct tn_knob tn_knob_isolcpus = {
	.id = "boot.isolcpus",
	.look = look_isolcpus,
	.summary = "CPUs that the scheduler leaves out",
	.why = "Recipes for latency isolate all but a few cores. A trainer's loader workers and OpenMP threads then "
	       "share two "
	       "cores while the others are idle, or pile up on one.",
	.hazard = "Programs that pin every thread of theirs want it: reported, never written.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_isolcpus,
};

static char *look_idle(const struct tn_ctx *c)
{
	return word_or_unset(c, "idle=");
}

static void want_idle(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (strcmp(now->current, "idle=poll"))
		tn_leave(w, TN_ALREADY, "idle CPUs rest");
	else
		advise_word(c, now, w, "an idle hardware thread spins and takes half of its core from the other one");
}

const struct tn_knob tn_knob_idle = {
	.id = "boot.idle",
	.look = look_idle,
	.summary = "what an idle CPU does",
	.why = "idle=poll is for microseconds of latency; with two threads per core it halves the busy one, and it "
	       "takes the "
	       "turbo away from all.",
	.hazard = "It is the admin's choice: reported, never written.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_idle,
};

static char *look_preemption(const struct tn_ctx *c)
{
	return word_or_unset(c, "preempt=");
}

static void want_preemption(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (strcmp(now->current, "preempt=full"))
		tn_leave(w, TN_ALREADY, "the kernel interrupts its own work only where it is meant to");
	else
		advise_word(c, now, w, "preempt=full is for desktops: the kernel interrupts its own work for any thread that "
				       "wakes");
}

const struct tn_knob tn_knob_preemption = {
	.id = "boot.preempt",
	.look = look_preemption,
	.summary = "how readily the kernel interrupts its own work",
	.why = "Debian's kernels decide at boot. Throughput wants preempt=none or Debian's own choice; NVIDIA's Grace "
	       "guide sets "
	       "none.",
	.hazard = "Hosts with a desktop want it: reported, never written.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_preemption,
};

static char *look_init_on_free(const struct tn_ctx *c)
{
	return word_or_unset(c, "init_on_free=");
}

static void want_init_on_free(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (strcmp(now->current, "init_on_free=1"))
		tn_leave(w, TN_ALREADY, "freed memory is not cleared a second time");
	else
		advise_word(c, now, w, "every page is cleared when it is freed and again when it is used; it is a hardening, so "
				       "for hosts of one's own only");
}

const struct tn_knob tn_knob_init_on_free = {
	.id = "boot.init_on_free",
	.look = look_init_on_free,
	.summary = "clearing memory when it is freed",
	.why = "Loaders and page cache free gigabytes a second, and all of it is written once more. NVIDIA's profiles "
	       "switch it "
	       "off; Debian does not switch it on.",
	.hazard = "It keeps secrets out of freed memory: reported, never written. init_on_alloc, which Debian does "
		  "switch on, "
		  "costs a program's pages nothing, since those are cleared anyway: left alone.",
	.unit = "kernel command line",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.desired = want_init_on_free,
};

/* ---- limits -------------------------------------------------------------------------------------------------------
 */

static char *look_nofile(const struct tn_ctx *c)
{
	int64_t soft, hard;

	if (!tn_open_files(c->fs, &soft, &hard))
		return NULL;
	return soft < hard ? gt_xasprintf("%ld, can be raised to %ld", soft, hard) : gt_xasprintf("%ld, cannot be raised", soft);
}

static void want_nofile(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	int64_t soft = 0, hard = 0;

	tn_open_files(c->fs, &soft, &hard);
	if (hard >= 65536)
		tn_leave(w, TN_ALREADY, "a program may raise it far enough, and gputune run does");
	else
		tn_leave(w, TN_ADVICE,
			 "loader workers pass each tensor as an open file and fail with \"too many open files\": echo "
			 "'* - nofile "
			 "1048576' > /etc/security/limits.d/90-files.conf (at the next login); for services: "
			 "LimitNOFILE=1048576 in a "
			 "drop-in; for containers: --ulimit nofile=1048576");
}

const struct tn_knob tn_knob_nofile = {
	.id = "limits.nofile",
	.look = look_nofile,
	.summary = "files that a process of this user may have open",
	.why = "PyTorch's loader workers hand over each tensor as a file descriptor: with a batch of many small "
	       "tensors and a few "
	       "batches ahead, thousands.",
	.hazard = "Old programs that close every possible descriptor at their start take longer. Reported, never "
		  "written.",
	.unit = "files",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_SET,
	.desired = want_nofile,
};

/* ---- GPUs ---------------------------------------------------------------------------------------------------------
 */

/* ---- others' files -------------------------------------------------------------------------------------------------
 */

#define NCCL_CONF "/etc/nccl.conf"

/* The first line "NAME=VALUE" that was left behind, as "NAME=VALUE (line 3)"; "" if there is none. */
static char *look_nccl_conf(const struct tn_ctx *c)
{
	gt_autofree char *text = NULL;
	unsigned n = 0;

	if (gt_fs_read(c->fs, NCCL_CONF, &text, NULL) < 0)
		return NULL;
	for (char *line = text, *next; line; line = next) {
		char *value;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		n++;
		line = gt_strip(line);
		value = strchr(line, '=');
		if (*line == '#' || !value)
			continue;
		*value++ = '\0';
		line = gt_strip(line);
		value = gt_strip(value);
		if (pr_leftover(line, value))
			return gt_xasprintf("%.40s=%.40s (line %u)", line, value, n);
	}
	return gt_xstrdup("nothing left behind");
}

static void want_nccl_conf(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	gt_autofree char *name = gt_xstrndup(now->current, strcspn(now->current, " "));
	char *value = strchr(name, '=');
	const char *cost = NULL;

	if (value) {
		*value++ = '\0';
		cost = pr_leftover(name, value);
	}
	if (!cost)
		tn_leave(w, TN_ALREADY, "nothing in " NCCL_CONF " that was meant for debugging only");
	else
		tn_leave(w, TN_ADVICE, "every job of this host has it: %s; take the line out of " NCCL_CONF, cost);
}

const struct tn_knob tn_knob_nccl_conf = {
	.id = "nccl.conf",
	.look = look_nccl_conf,
	.summary = "what " NCCL_CONF " sets for every job of the host",
	.why = "NCCL reads it before the environment. What was put there to find an error once slows down or breaks "
	       "all jobs.",
	.hazard = "Some clouds and clusters need what they wrote there: reported, never changed.",
	.unit = "lines",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NEW_PROCESS,
	.op = TN_SET,
	.desired = want_nccl_conf,
};

#define NVME_TIMEOUT "/sys/module/nvme_core/parameters/io_timeout"

static char *look_nvme_timeout(const struct tn_ctx *c)
{
	char *line = NULL;

	return gt_fs_read_line(c->fs, NVME_TIMEOUT, &line) < 0 ? NULL : line;
}

static void need_ec2(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (!c->facts->amazon)
		tn_not_applicable(w, "only for EC2, whose disks are behind a network: elsewhere it hides dead disks");
}

static const struct tn_need nvme_timeout_needs[] = { { "a virtual machine of EC2", need_ec2 }, { 0 } };

static void want_nvme_timeout(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	uint64_t seconds = 0;

	if (!gt_parse_u64(now->current, &seconds) && seconds >= 4294967295u)
		tn_leave(w, TN_ALREADY, "as EC2 asks for");
	else
		tn_leave(w, TN_ADVICE,
			 "an EBS volume that stalls for longer fails for good instead of coming back: echo 'options "
			 "nvme_core "
			 "io_timeout=4294967295' > /etc/modprobe.d/nvme-ebs.conf; update-initramfs -u; reboot");
}

const struct tn_knob tn_knob_nvme_timeout = {
	.id = "nvme.io_timeout",
	.look = look_nvme_timeout,
	.summary = "how long a request to an NVMe disk may take",
	.why = "On EC2 the NVMe disks are network volumes; Amazon's guide wants the longest timeout, so that a "
	       "checkpoint survives "
	       "a stall of the network.",
	.hazard = "With real disks a dead one is noticed never. Reported, never written.",
	.unit = "s",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_REBOOT,
	.op = TN_SET,
	.needs = nvme_timeout_needs,
	.desired = want_nvme_timeout,
};
