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
/* Fields of all these tunables. PATH: name of the setting */
#define OF_GPU(ID, PATH) \
	.id = ID, .path = "/nvml/%s/" PATH, .instances = gpus, .names_change = true, .mechanism = "", \
	.unmoved = "needs an NVIDIA GPU; measure with your own command", .tag = 'B', .takes_effect = TN_NOW, .op = TN_SET
#define WITH_RANGE(ID, PATH) OF_GPU(ID, PATH), .offers = "/nvml/%s/" PATH ".range"

static void gpus(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	if (!gt_fs_is_live(fs)) {
		gt_fs_list(fs, "/nvml", ret);
		gt_strv_sort_bytes(ret); /* addresses are hexadecimal */
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

/* Compares least and most, in thousandths of the unit, with the range that the GPU reports. An unknown range has no limits. */
static bool in_range(const struct tn_ctx *c, const struct tn_now *now, unsigned least, unsigned most, const char *unit,
		     struct gt_buf *found)
{
	unsigned low_milli, high_milli;
	char low[16], high[16];

	field(now->offered, "min=", low);
	field(now->offered, "max=", high);
	if (tn_nvml_parse_watts(low, &low_milli) < 0 || tn_nvml_parse_watts(high, &high_milli) < 0 ||
	    (least >= low_milli && most <= high_milli))
		return true;
	gt_buf_printf(found, "%s %s is not within %s %s to %s %s", c->asked, unit, low, unit, high, unit);
	return false;
}

/* Checks two clocks. With '-' they are a range, in ascending order. */
static int check_two(const struct tn_tunable *k, const char *value, char separator, const char *form, struct gt_err *err)
{
	unsigned a, b;

	if (!tn_nvml_parse_two(value, separator, &a, &b) && a && b && (separator != '-' || a <= b))
		return 0;
	return gt_fail(err, EINVAL, "%s takes %s; not '%.40s'", k->id, form, value);
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
	OF_GPU("gpu.persistence_mode", "persistence_mode"),
	.summary = "keep a GPU initialised without a client",
	.why = "Without persistence mode the driver initialises the GPU for each first client (1-3 s), and drops power limit and "
	       "clocks after the last one. Source: NVML, nvmlDeviceSetPersistenceMode, and NVIDIA's driver persistence guide. "
	       "The service nvidia-persistenced does the same after each boot (gpu.persistence).",
	.hazard = "An idle GPU uses some watts more. The setting lasts until the next boot.",
	.unit = "choice",
	.rivals = "nvidia-persistenced",
	.choices = switches,
	.desired = want_persistence,
};

/* ---- power limit -------------------------------------------------------------------------------------------------- */

static bool power_in_range(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	unsigned mw;

	return !c->asked || tn_nvml_parse_watts(c->asked, &mw) < 0 || in_range(c, now, mw, mw, "W", found);
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
	WITH_RANGE("gpu.power_limit", "power_limit"),
	.summary = "power limit of a GPU",
	.why = "The last watts bring the least speed, so a lower limit often saves more energy than it costs time. The best "
	       "limit depends on the model: gpubench prove --race gpu.power_limit=400,500,600 measures speed and joules. "
	       "Source: NVML, nvmlDeviceSetPowerManagementLimit and nvmlDeviceGetPowerManagementLimitConstraints.",
	.hazard = "A lower limit slows down compute-bound steps of all jobs on the GPU. Without persistence mode the driver "
		  "drops the limit when the last client exits.",
	.unit = "W",
	.range = { { 10, 5000, 0 } },
	.preconditions = { &power_range },
	.desired = want_power_limit,
};

/* ---- locked clocks ------------------------------------------------------------------------------------------------ */

static int check_clocks(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	return strcmp(value, PR_NVML_UNLOCKED) ?
		check_two(k, value, '-', "LEAST-MOST in MHz, such as 1200-1500, or " PR_NVML_UNLOCKED, err) : 0;
}

static bool clocks_in_range(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	unsigned least, most;

	return !c->asked || tn_nvml_parse_two(c->asked, '-', &least, &most) < 0 ||
	       in_range(c, now, least * 1000, most * 1000, "MHz", found);
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

#define CLOCKS_HAZARD \
	"All jobs on the GPU get these clocks. NVML has no function that reads a lock: verify compares with gputune's record, a " \
	"lock by another program is not visible, and revert resets the clocks. Without persistence mode the driver drops the " \
	"lock when the last client exits."
#define CLOCKS(ID, PATH) \
	WITH_RANGE(ID, PATH), .unit = "MHz", .hazard = CLOCKS_HAZARD, .check_value = check_clocks, .preconditions = { &clock_range }

const struct tn_tunable tn_tunable_gpu_clocks = {
	CLOCKS("gpu.clocks", "clocks"),
	.summary = "locked graphics clocks of a GPU",
	.why = "With locked clocks, measurements vary less, because the GPU does not boost and throttle in between. Least and "
	       "most may be equal. Source: NVML, nvmlDeviceSetGpuLockedClocks and nvmlDeviceResetGpuLockedClocks (from Volta "
	       "on).",
	.desired = want_clocks,
};
const struct tn_tunable tn_tunable_gpu_memory_clocks = {
	CLOCKS("gpu.memory_clocks", "memory_clocks"),
	.summary = "locked memory clocks of a GPU",
	.why = "A fixed memory clock removes a source of variance from measurements. Many data centre GPUs refuse the lock. "
	       "Source: NVML, nvmlDeviceSetMemoryLockedClocks and nvmlDeviceResetMemoryLockedClocks (from Ampere on).",
	.desired = want_memory_clocks,
};

/* ---- application clocks ------------------------------------------------------------------------------------------- */

static int check_application_clocks(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	return check_two(k, value, '/', "MEMORY/GRAPHICS in MHz, such as 1593/1410", err);
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
	WITH_RANGE("gpu.application_clocks", "application_clocks"),
	.summary = "clocks of a GPU for compute programs",
	.why = "The clocks that the driver uses while a CUDA program runs. Old GPUs have a default below the maximum. New "
	       "drivers and GPUs replaced them by locked clocks (gpu.clocks). Source: NVML, nvmlDeviceSetApplicationsClocks.",
	.hazard = "All jobs on the GPU get these clocks. Without persistence mode the driver drops them when the last client "
		  "exits.",
	.unit = "MHz",
	.check_value = check_application_clocks,
	.preconditions = { &supported_clocks },
	.desired = want_application_clocks,
};
