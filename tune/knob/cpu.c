/* SPDX-License-Identifier: Apache-2.0 */
/* CPU frequency, idle states and power. Values are per policy, so revert restores each policy's own value. */
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"
#include "tune/model/value.h"

/* ---- CPU frequency ------------------------------------------------------------------------------------------------
 */

static void all_policies(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_cpufreq; i++)
		gt_strv_add(ret, h->cpufreq[i].policy);
}

/* All policies have one driver. acpi-cpufreq and similar drivers are modules; intel_pstate and amd-pstate are not. */
static const char *frequency_driver(const struct pr_host *h)
{
	return h->n_cpufreq ? h->cpufreq[0].driver.v : NULL;
}

/* Default of all choices, unless the profile has another value. */
#define FASTEST "performance"

static const char *choice(const struct tn_ctx *c)
{
	return c->asked ? c->asked : FASTEST;
}

static bool is_offered(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	if (!now->offered || tn_offers(now->offered, choice(c)))
		return true;
	gt_buf_printf(found, "it offers %s, not %s", now->offered, choice(c));
	return false;
}

static const struct tn_precondition offered_governor = { "a frequency policy that offers this governor", is_offered };
static const struct tn_precondition offered_preference = { "a processor that offers this preference", is_offered };
static const struct tn_precondition offered_profile = { "firmware that offers this profile", is_offered };

static void want_governor(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set(w, FASTEST, "no delay of the clock at the start of each burst of work");
}

static const char *const governor_choices[] = {"performance", "powersave", "ondemand", "conservative",
					       "schedutil",   "userspace", NULL};
const struct tn_tunable tn_tunable_governor = {
	.id = "cpu.governor",
	.path = "/sys/devices/system/cpu/cpufreq/%s/scaling_governor",
	.offers = "/sys/devices/system/cpu/cpufreq/%s/scaling_available_governors",
	/* both drivers do so in active mode; intel_pstate restores the preference by itself */
	.resets = "/sys/devices/system/cpu/cpufreq/%s/energy_performance_preference",
	.module = frequency_driver,
	.instances = all_policies,
	.summary = "how the CPU frequency follows the load",
	.why = "Most governors raise the clock only some milliseconds after a burst of work starts. This slows down short "
	       "steps and launches of GPU kernels. NVIDIA's DGX and tuned's throughput profiles use performance.",
	.hazard = "The host uses more power. On laptops and on hosts at their power limit, the busy cores reach a lower "
		  "turbo frequency. With intel_pstate or amd_pstate in active mode, the energy preference (cpu.epp) matters "
		  "more. The kernel sets it to performance together with the governor, and revert restores both.",
	.unit = "choice",
	.mechanism = "sync.wake",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned power-profiles-daemon tlp cpufrequtils",
	.choices = governor_choices,
	.preconditions = { &offered_governor },
	.desired = want_governor,
};

/* With intel_pstate and amd_pstate in active mode the governor is only a hint, and the preference decides. */
static void want_epp(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set(w, FASTEST, "the processor itself controls its frequency");
}

/* "default" is missing here. Drivers accept it, but a later read returns the name of the preset that it selected. */
static const char *const epp_choices[] = {"performance", "balance_performance", "balance_power", "power", NULL};
const struct tn_tunable tn_tunable_epp = {
	.id = "cpu.epp",
	.path = "/sys/devices/system/cpu/cpufreq/%s/energy_performance_preference",
	.offers = "/sys/devices/system/cpu/cpufreq/%s/energy_performance_available_preferences",
	.module = frequency_driver,
	.instances = all_policies,
	.summary = "the processor's choice of speed or energy",
	.why = "With intel_pstate or amd_pstate in active mode the processor selects its frequency by this preference. tuned's "
	       "throughput profile sets performance.",
	.hazard = "The host uses more power. At a power limit, the busy cores reach a lower turbo frequency.",
	.unit = "choice",
	.mechanism = "sync.wake",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned power-profiles-daemon tlp",
	.choices = epp_choices,
	.preconditions = { &offered_preference },
	.desired = want_epp,
};

/* Above this limit the kernel stores a smaller value than the written one. */
static int64_t max_perf(const struct tn_ctx *c)
{
	return c->facts->max_perf_percent ? c->facts->max_perf_percent : 100;
}

static bool is_within_max(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	int64_t asked;

	if (!c->asked || gt_parse_i64(c->asked, &asked) || asked <= max_perf(c))
		return true;
	gt_buf_printf(found, "%ld is desired, %ld is allowed", asked, max_perf(c));
	return false;
}

static const struct tn_precondition within_max = { "a value that max_perf_pct allows", is_within_max, TN_BLOCKED };

static void want_min_perf(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	int64_t most = max_perf(c);

	if (most < 100)
		tn_set_num(w, most, "the highest frequency that max_perf_pct allows, at any load");
	else
		tn_set_num(w, 100, "the highest turbo frequency, at any load");
}

const struct tn_tunable tn_tunable_min_perf = {
	.id = "cpu.min_perf",
	.path = "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
	.summary = "lowest frequency that intel_pstate selects",
	.why = "With 100, each burst of work starts at full frequency. tuned's throughput profile sets 100.",
	.hazard = "The idle host uses more power. At a power limit, the busy cores reach a lower turbo frequency.",
	.unit = "percent",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned power-profiles-daemon tlp",
	.preconditions = { &within_max },
	.range = { { 0, 100, 0 } },
	.desired = want_min_perf,
};

static void want_boost(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set(w, "1", "allows frequencies above the nominal one again");
}

static const char *const boost_choices[] = {"0", "1", NULL};
const struct tn_tunable tn_tunable_boost = {
	.id = "cpu.boost",
	.path = "/sys/devices/system/cpu/cpufreq/boost",
	.module = frequency_driver,
	.summary = "turbo: frequencies above the nominal one",
	.why = "If turbo is off, programs on few cores lose a fifth or more of their speed.",
	.hazard = "Turbo may be off on purpose: because of noise, heat, power, or measurements that must not vary.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned power-profiles-daemon tlp",
	.choices = boost_choices,
	.desired = want_boost,
};

static void want_platform_profile(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set(w, FASTEST, "the firmware allows more power and faster fans");
}

static const char *const platform_choices[] = {"low-power",   "cool", "quiet", "balanced", "balanced-performance",
					       "performance", NULL};
const struct tn_tunable tn_tunable_platform_profile = {
	.id = "cpu.platform_profile",
	.path = "/sys/firmware/acpi/platform_profile",
	.offers = "/sys/firmware/acpi/platform_profile_choices",
	.summary = "performance profile of the firmware",
	.why = "On workstations and laptops, the firmware limits power and fan speed with any other profile.",
	.hazard = "The host becomes louder and hotter.",
	.unit = "choice",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned power-profiles-daemon tlp",
	.choices = platform_choices,
	.preconditions = { &offered_profile },
	.desired = want_platform_profile,
};

static bool has_link(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return pr_usable_gpus(c->host) || c->host->rdma.n;
}

static const struct tn_precondition a_link = { "a GPU or an RDMA adapter", has_link };

static void want_aspm(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	if (!c->asked && gt_streq(now->current, "default"))
		tn_leave(w, TN_ALREADY, "the firmware decides");
	else
		tn_set(w, FASTEST, "links of GPUs and network cards need no time to wake up");
}

static const char *const aspm_choices[] = {"default", "performance", "powersave", "powersupersave", NULL};
const struct tn_tunable tn_tunable_aspm = {
	.id = "pcie.aspm",
	.path = "/sys/module/pcie_aspm/parameters/policy",
	.summary = "power saving of idle PCIe links",
	.why = "A link needs microseconds to leave the power-saving state, which delays small transfers and kernel "
	       "launches.",
	.hazard = "The idle host uses more power. Some boards malfunction when this is changed at run time.",
	.unit = "choice",
	.mechanism = "",
	.unmoved = "needs a device on the link; measure with your own command",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned tlp",
	.choices = aspm_choices,
	.preconditions = { &a_link },
	.desired = want_aspm,
};

/* ---- per CPU -------------------------------------------------------------------------------------------------------
 */

/* Adds all online CPUs if the first one has the file. */
static void cpus_with(struct gt_fsroot *fs, const struct pr_host *h, const char *file, struct gt_strv *ret)
{
	gt_autofree char *first =
		gt_xasprintf("/sys/devices/system/cpu/cpu%d/power/%s", gt_set_next(&h->cpu.online, -1), file);

	if (!gt_fs_exists(fs, first))
		return;
	gt_set_for_each(cpu, &h->cpu.online) gt_strv_take(ret, gt_xasprintf("cpu%d", cpu));
}

static void cpus_with_bias(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	cpus_with(fs, h, "energy_perf_bias", ret);
}

static void want_epb(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 0, "the processor prefers speed to energy");
}

const struct tn_tunable tn_tunable_epb = {
	.id = "cpu.epb",
	.path = "/sys/devices/system/cpu/%s/power/energy_perf_bias",
	.instances = cpus_with_bias,
	.summary = "Intel energy bias: speed (0) to energy (15)",
	.why = "Used on processors without an energy preference (cpu.epp). A low value raises the clock of the cores, the "
	       "memory controller and the mesh sooner. tuned's throughput profile sets 0.",
	.hazard = "The host uses more power, also when idle.",
	.unit = "0 to 15",
	.mechanism = "train.gpt",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_LOWER,
	.rivals = "tuned power-profiles-daemon tlp",
	.range = { { 0, 15, 0 } },
	.desired = want_epb,
};

static void cpus_with_latency(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	cpus_with(fs, h, "pm_qos_resume_latency_us", ret);
}

/*
 * Latency limit in microseconds. A thread wakes in about 5 us if its CPU has no idle state. Ten times that slows a
 * collective operation.
 */
#define IDLE_US 50

/*
 * Finds the exit latency of the deepest state, and that of the deepest state within IDLE_US. 0: there is none. It must
 * not be used as a limit, because a limit of 0 us allows no idle state and the CPU spins.
 */
static void idle_states(const struct tn_facts *f, int64_t *ret_deepest, int64_t *ret_best)
{
	*ret_deepest = *ret_best = 0;
	for (size_t i = 0; i < f->n_idle; i++) {
		*ret_deepest = GT_MAX(*ret_deepest, f->idle_us[i]);
		if (f->idle_us[i] <= IDLE_US)
			*ret_best = GT_MAX(*ret_best, f->idle_us[i]);
	}
}

static bool has_idle_states(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return c->facts->n_idle;
}

static bool has_deep_state(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	int64_t deepest, best;

	idle_states(c->facts, &deepest, &best);
	if (deepest <= IDLE_US)
		gt_buf_printf(found, "the deepest takes %ld us", deepest);
	return deepest > IDLE_US;
}

/* Returns whether an idle state within the limit exists. Without one the CPUs would spin. */
static bool has_shallow_state(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	int64_t deepest, best;

	idle_states(c->facts, &deepest, &best);
	return best;
}

static const struct tn_precondition known_states = { "a processor whose idle states the kernel lists", has_idle_states };
static const struct tn_precondition deep_state = { "an idle state with an exit latency above 50 us", has_deep_state };
static const struct tn_precondition shallow_state = { "an idle state with an exit latency of at most 50 us", has_shallow_state };

static void want_idle_latency(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	int64_t deepest, best, have = 0;

	idle_states(c->facts, &deepest, &best);
	if (!c->asked && (gt_streq(now->current, "n/a") ||
			  (now->current && !gt_parse_i64(now->current, &have) && have > 0 && have <= best)))
		tn_leave(w, TN_ALREADY, "another program limits it to that or less");
	else
		tn_set_num(w, best, "the deepest idle state takes %ld us to leave; states within %d us stay allowed", deepest,
			    IDLE_US);
}

const struct tn_tunable tn_tunable_idle_latency = {
	.id = "cpu.idle_latency",
	.path = "/sys/devices/system/cpu/%s/power/pm_qos_resume_latency_us",
	.instances = cpus_with_latency,
	.summary = "how long an idle CPU may take to wake up",
	.why = "Threads that wait for each other, for a GPU or for the network sleep for less than a millisecond. A CPU in "
	       "a deep idle state delays each wake-up by 100 us and more. gputune forbids only such states.",
	.hazard = "The host uses more power. Busy cores reach a lower turbo frequency, because the highest one needs other "
		  "cores in deep states. There is no gain if the GPUs limit the speed. Measure it on the host.",
	.unit = "us",
	.mechanism = "sync.wake",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "tuned",
	.preconditions = { &known_states, &deep_state, &shallow_state },
	.range = { { 1, 10000000, 0 } },
	.desired = want_idle_latency,
};
