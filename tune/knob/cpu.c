/* SPDX-License-Identifier: Apache-2.0 */
/* CPU frequency and power. Every value is read per policy first, so that going back is not a guess. */
#include <string.h>
#include "tune/knob/list.h"

/* ---- CPU frequency ------------------------------------------------------------------------------------------------
 */

static void all_policies(const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_cpufreq; i++)
		gt_strv_add(ret, h->cpufreq[i].policy);
}

static void want_governor(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const char *want = c->asked ? c->asked : "performance", *available = NULL;

	for (size_t i = 0; i < c->host->n_cpufreq; i++)
		if (!strcmp(c->host->cpufreq[i].policy, now->instance))
			available = c->host->cpufreq[i].available.v;
	if (available && !tn_offers(available, want))
		tn_not_applicable(w, "this policy does not offer %s", want);
	else
		tn_want(w, want, "no ramp-up at the start of each burst of work");
}

static const char *const governor_choices[] = {"performance", "powersave", "ondemand", "conservative",
					       "schedutil",   "userspace", NULL};
const struct tn_knob tn_knob_governor = {
	.id = "cpu.governor",
	.path = "/sys/devices/system/cpu/cpufreq/%s/scaling_governor",
	.instances = all_policies,
	.summary = "how CPU frequency follows the load",
	.why = "A governor that follows the load is late by milliseconds at the start of each burst; short steps and "
	       "the launching of GPU kernels feel it. NVIDIA's DGX and tuned's throughput profiles use performance.",
	.hazard = "Power. On laptops and hosts at their power limit the busy cores lose turbo. With intel_pstate or "
		  "amd_pstate in active mode the energy preference matters more.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned power-profiles-daemon tlp cpufrequtils",
	.choices = governor_choices,
	.desired = want_governor,
};

/* With intel_pstate and amd_pstate in active mode the governor is a hint, and this is what counts. */
static void want_epp(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want(w, c->asked ? c->asked : "performance", "the processor's own governor holds its frequency");
}

static const char *const epp_choices[] = {"default",       "performance", "balance_performance",
					  "balance_power", "power",       NULL};
const struct tn_knob tn_knob_epp = {
	.id = "cpu.epp",
	.path = "/sys/devices/system/cpu/cpufreq/%s/energy_performance_preference",
	.instances = all_policies,
	.summary = "what the processor itself prefers: speed or energy",
	.why = "Where intel_pstate or amd_pstate is active the processor chooses its frequency, by this preference. "
	       "tuned's "
	       "throughput profile sets performance.",
	.hazard = "Power, as with cpu.governor; at a power limit the busy cores lose turbo.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned power-profiles-daemon tlp",
	.choices = epp_choices,
	.desired = want_epp,
};

static void want_min_perf(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want_num(w, 100, "no frequency below the highest that is sustained");
}

const struct tn_knob tn_knob_min_perf = {
	.id = "cpu.min_perf",
	.path = "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
	.summary = "lowest frequency that intel_pstate goes to",
	.why = "tuned's throughput profile sets 100: bursts of work start at full frequency.",
	.hazard = "Power also when idle; less turbo for the busy cores at a power limit.",
	.unit = "percent",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_TMPFILES_D,
	.rivals = "tuned power-profiles-daemon tlp",
	.desired = want_min_perf,
};

static void want_boost(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want(w, "1", "frequencies above the nominal one are allowed again");
}

static const char *const boost_choices[] = {"0", "1", NULL};
const struct tn_knob tn_knob_boost = {
	.id = "cpu.boost",
	.path = "/sys/devices/system/cpu/cpufreq/boost",
	.summary = "frequencies above the nominal one",
	.why = "Somebody has switched turbo off, or the firmware has: a fifth or more of the speed of what runs on few "
	       "cores.",
	.hazard = "It may be off for a reason: noise, heat, power, or measurements that must not vary.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned power-profiles-daemon tlp",
	.choices = boost_choices,
	.desired = want_boost,
};

static void want_platform_profile(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	tn_want(w, c->asked ? c->asked : "performance", "the firmware gives fans and power for it");
}

static const char *const platform_choices[] = {"low-power",   "cool", "quiet", "balanced", "balanced-performance",
					       "performance", NULL};
const struct tn_knob tn_knob_platform_profile = {
	.id = "cpu.platform_profile",
	.path = "/sys/firmware/acpi/platform_profile",
	.summary = "what the firmware is asked for: quiet, balanced or fast",
	.why = "On workstations and laptops the firmware holds power and fans back until it is asked.",
	.hazard = "Noise and heat.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned power-profiles-daemon tlp",
	.choices = platform_choices,
	.desired = want_platform_profile,
};

static void want_aspm(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (!pr_usable_gpus(c->host) && !c->host->rdma.n)
		tn_not_applicable(w, "no GPU and no RDMA card whose link could be slow to wake");
	else if (gt_streq(now->current, "default"))
		tn_leave(w, TN_ALREADY, "the firmware's choice");
	else
		tn_want(w, "performance", "links of GPUs and network cards are awake when work comes");
}

static const char *const aspm_choices[] = {"default", "performance", "powersave", "powersupersave", NULL};
const struct tn_knob tn_knob_aspm = {
	.id = "pcie.aspm",
	.path = "/sys/module/pcie_aspm/parameters/policy",
	.summary = "whether idle PCIe links fall asleep",
	.why = "A sleeping link takes microseconds to wake, which small transfers and kernel launches feel.",
	.hazard = "Idle power. Some boards misbehave when it is changed at run time.",
	.unit = "choice",
	.mechanism = "",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_TMPFILES_D,
	.rivals = "tuned tlp",
	.choices = aspm_choices,
	.desired = want_aspm,
};
