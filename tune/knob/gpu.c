/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of NVIDIA GPUs. Facts about ranges, privileges and lifetimes: NVML API reference, "Device Commands"
 * (https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceCommands.html) and "Device Queries" (group__nvmlDeviceQueries.html).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "tune/knob/list.h"
#include "tune/model/nvml_settings.h"

#define VANISHES \
	"; persistence mode is off: the driver drops this setting when the last client exits (gpu.persistence_mode keeps it)"
#define ONLY_GPU "needs an NVIDIA GPU; measure with your own command"

static void gpus(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	if (!gt_fs_is_live(fs)) {
		gt_fs_list(fs, "/nvml", ret);
		return;
	}
	for (size_t i = 0; i < h->n_gpu; i++)
		gt_strv_add(ret, h->gpu[i].pci->address);
}

/* Copies the value of "NAME=VALUE" in the line of a range. ret "": not there. */
static void field(const char *range, const char *name, char ret[16])
{
	const char *at = range ? strstr(range, name) : NULL;

	ret[0] = '\0';
	if (at)
		sscanf(at + strlen(name), "%15s", ret);
}

static const char *lifetime(const struct tn_now *now)
{
	char on[16];

	field(now->offered, "persistence=", on);
	return strcmp(on, "0") ? "" : VANISHES;
}

/* ---- persistence mode --------------------------------------------------------------------------------------------- */

static void want_persistence(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set(w, c->asked ? c->asked : "1", "the driver keeps the GPU initialised and keeps its settings between jobs");
}

static const char *const switches[] = { "0", "1", NULL };
const struct tn_tunable tn_tunable_persistence_mode = {
	.id = "gpu.persistence_mode",
	.path = "/nvml/%s/persistence_mode",
	.instances = gpus,
	.names_change = true,
	.summary = "keep a GPU initialised without a client",
	.why = "Without persistence mode the driver initialises the GPU for each first client (1-3 s), and drops power limit and "
	       "clocks after the last one. Source: NVML, nvmlDeviceSetPersistenceMode, and NVIDIA's driver persistence guide. "
	       "The service nvidia-persistenced does the same after each boot (gpu.persistence).",
	.hazard = "An idle GPU uses some watts more. The setting lasts until the next boot.",
	.unit = "choice",
	.mechanism = "",
	.unmoved = ONLY_GPU,
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "nvidia-persistenced",
	.choices = switches,
	.desired = want_persistence,
};

/* ---- power limit -------------------------------------------------------------------------------------------------- */

static bool power_in_range(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	char least[16], most[16];
	unsigned mw, least_mw, most_mw;

	field(now->offered, "min=", least);
	field(now->offered, "max=", most);
	if (!c->asked || tn_nvml_parse_watts(c->asked, &mw) < 0 || tn_nvml_parse_watts(least, &least_mw) < 0 ||
	    tn_nvml_parse_watts(most, &most_mw) < 0 || (mw >= least_mw && mw <= most_mw))
		return true;
	gt_buf_printf(found, "%s W is not within %s W to %s W", c->asked, least, most);
	return false;
}

static const struct tn_precondition power_range = { "a limit within the range of the GPU", power_in_range, TN_BLOCKED };

static void want_power_limit(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	char least[16], most[16], usual[16];

	field(now->offered, "min=", least);
	field(now->offered, "max=", most);
	field(now->offered, "default=", usual);
	if (c->asked)
		tn_set(w, c->asked, "by choice; range %s W to %s W, default %s W%s", least, most, usual, lifetime(now));
	else
		tn_leave(w, TN_SKIPPED, "only by choice: --set gpu.power_limit=WATTS; range %s W to %s W, default %s W", least,
			 most, usual);
}

const struct tn_tunable tn_tunable_power_limit = {
	.id = "gpu.power_limit",
	.path = "/nvml/%s/power_limit",
	.offers = "/nvml/%s/power_limit.range",
	.instances = gpus,
	.names_change = true,
	.summary = "power limit of a GPU",
	.why = "The last watts bring the least speed, so a lower limit often saves more energy than it costs time. The best "
	       "limit depends on the model: gpubench prove --race gpu.power_limit=400,500,600 measures speed and joules. "
	       "Source: NVML, nvmlDeviceSetPowerManagementLimit and nvmlDeviceGetPowerManagementLimitConstraints.",
	.hazard = "A lower limit slows down compute-bound steps of all jobs on the GPU. Without persistence mode the driver "
		  "drops the limit when the last client exits.",
	.unit = "W",
	.mechanism = "",
	.unmoved = ONLY_GPU,
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.range = { { 10, 5000, 0 } },
	.preconditions = { &power_range },
	.desired = want_power_limit,
};

/* ---- locked clocks ------------------------------------------------------------------------------------------------ */

static int check_clocks(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	unsigned least, most;

	if (!strcmp(value, TN_NVML_UNLOCKED))
		return 0;
	if (tn_nvml_parse_two(value, '-', &least, &most) < 0 || !least || least > most)
		return gt_fail(err, EINVAL, "%s takes LEAST-MOST in MHz, such as 1200-1500, or " TN_NVML_UNLOCKED "; not '%.40s'",
			       k->id, value);
	return 0;
}

static bool clocks_in_range(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	char low[16], high[16];
	unsigned least, most, low_mhz, high_mhz;

	field(now->offered, "min=", low);
	field(now->offered, "max=", high);
	if (!c->asked || tn_nvml_parse_two(c->asked, '-', &least, &most) < 0 || sscanf(low, "%5u", &low_mhz) != 1 ||
	    sscanf(high, "%5u", &high_mhz) != 1 || (least >= low_mhz && most <= high_mhz))
		return true;
	gt_buf_printf(found, "%s MHz is not within %s MHz to %s MHz", c->asked, low, high);
	return false;
}

static const struct tn_precondition clock_range = { "clocks within the range of the GPU", clocks_in_range, TN_BLOCKED };

static void want_lock(const char *id, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	char low[16], high[16];

	field(now->offered, "min=", low);
	field(now->offered, "max=", high);
	if (c->asked)
		tn_set(w, c->asked, "by choice; NVML cannot read a lock, so gputune takes the clocks as not locked by others, "
				     "and revert resets them%s", lifetime(now));
	else
		tn_leave(w, TN_SKIPPED, "only by choice: --set %s=LEAST-MOST; range %s MHz to %s MHz", id, low, high);
}

static void want_clocks(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	want_lock("gpu.clocks", c, now, w);
}

static void want_memory_clocks(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	want_lock("gpu.memory_clocks", c, now, w);
}

#define CLOCKS(ID, PATH, SUMMARY, WHY, DESIRED) \
	.id = ID, .path = PATH, .offers = PATH ".range", .instances = gpus, .names_change = true, .summary = SUMMARY, .why = WHY, \
	.hazard = "All jobs on the GPU get these clocks. NVML has no function that reads a lock: verify compares with gputune's " \
		  "record, a lock by another program is not visible, and revert resets the clocks. Without persistence mode the " \
		  "driver drops the lock when the last client exits.", \
	.unit = "MHz", .mechanism = "", .unmoved = ONLY_GPU, .tag = 'B', .takes_effect = TN_NOW, .op = TN_SET, \
	.check_value = check_clocks, .preconditions = { &clock_range }, .desired = DESIRED

const struct tn_tunable tn_tunable_gpu_clocks = {
	CLOCKS("gpu.clocks", "/nvml/%s/clocks", "locked graphics clocks of a GPU",
	       "With locked clocks, measurements vary less, because the GPU does not boost and throttle in between. Least and "
	       "most may be equal. Source: NVML, nvmlDeviceSetGpuLockedClocks and nvmlDeviceResetGpuLockedClocks (from Volta "
	       "on).", want_clocks),
};
const struct tn_tunable tn_tunable_gpu_memory_clocks = {
	CLOCKS("gpu.memory_clocks", "/nvml/%s/memory_clocks", "locked memory clocks of a GPU",
	       "A fixed memory clock removes a source of variance from measurements. Many data centre GPUs refuse the lock. "
	       "Source: NVML, nvmlDeviceSetMemoryLockedClocks and nvmlDeviceResetMemoryLockedClocks (from Ampere on).",
	       want_memory_clocks),
};

/* ---- application clocks ------------------------------------------------------------------------------------------- */

static int check_application_clocks(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	unsigned memory, graphics;

	if (tn_nvml_parse_two(value, '/', &memory, &graphics) < 0 || !memory || !graphics)
		return gt_fail(err, EINVAL, "%s takes MEMORY/GRAPHICS in MHz, such as 1593/1410; not '%.40s'", k->id, value);
	return 0;
}

static bool clocks_are_supported(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	gt_autofree char *list = c->asked && now->offered && *now->offered ? gt_xasprintf(" %s ", now->offered) : NULL;
	gt_autofree char *word = list ? gt_xasprintf(" %s ", c->asked) : NULL;

	if (!list || strstr(list, word))
		return true;
	gt_buf_printf(found, "%s is not one; nvidia-smi -q -d SUPPORTED_CLOCKS lists them", c->asked);
	return false;
}

static const struct tn_precondition supported_clocks = { "a pair of clocks that the GPU supports", clocks_are_supported,
							  TN_BLOCKED };

static void want_application_clocks(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	if (c->asked)
		tn_set(w, c->asked, "by choice");
	else
		tn_leave(w, TN_SKIPPED, "only by choice: --set gpu.application_clocks=MEMORY/GRAPHICS, in MHz");
}

const struct tn_tunable tn_tunable_application_clocks = {
	.id = "gpu.application_clocks",
	.path = "/nvml/%s/application_clocks",
	.offers = "/nvml/%s/application_clocks.range",
	.instances = gpus,
	.names_change = true,
	.summary = "clocks of a GPU for compute programs",
	.why = "The clocks that the driver uses while a CUDA program runs. Old GPUs have a default below the maximum. New "
	       "drivers and GPUs replaced them by locked clocks (gpu.clocks). Source: NVML, nvmlDeviceSetApplicationsClocks.",
	.hazard = "All jobs on the GPU get these clocks. Without persistence mode the driver drops them when the last client "
		  "exits.",
	.unit = "MHz",
	.mechanism = "",
	.unmoved = ONLY_GPU,
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.check_value = check_application_clocks,
	.preconditions = { &supported_clocks },
	.desired = want_application_clocks,
};
