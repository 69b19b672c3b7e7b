/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies kernel log lines. log_rules.tsv has the messages with a known meaning, xid.tsv the Xid and SXid numbers. The
 * tables here have the watched drivers and their harmless lines. A line of a watched driver that looks like an error and is in
 * no catalogue is "unread".
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "probe/compat/log_lines.h"

/* ---- drivers --------------------------------------------------------------------------------------------------- */

/* Substrings suffice: "fail" also matches "Failed" and "failure". Case is ignored. */
static const char *const faults[] = {
	"error", "fail", "fatal", "timeout", "timed out", "time out", "uncorrect", "corrupt", " fault", "panic", "hung",
	"fallen off", "lost", "unable", "cannot", "can't", "could not", "couldn't", "not respond", "not ready",
	"is down", " dead", "abort", "resetting", "be reset", "reset req", "insufficient", "compromised", "invalid",
	"illegal", "violation", "broken", "degraded", "killing", "assert", "exception", "poison", "overflow",
	"critical", "above threshold", "high temperature", "over temperature", "overcurrent", "unexpected",
	"mismatch", "miss count", "containment", "Xid (", "Xid:", "bad ", "removing after", "refused",
	"inaccessible", NULL};

/*
 * Firmware and the machine-check code print several lines for one error. Only lines with these texts state the severity.
 */
static const char *const hardware_faults[] = {
	"severity: fatal", "severity: recoverable", "type: fatal", "type: recoverable", "check events logged", "Machine Check",
	"uncorrected", "system fatal", "fatal error", "deferred", "|UE|", "context corrupt", NULL};
static const char *const edac_faults[] = {" UE ", "uncorrect", "error", "fail", "fatal", "timeout", NULL};
static const char *const bus_faults[] = {"uncorrect", "fatal", NULL};
static const char *const disk_faults[] = {"error", NULL};
static const char *const scsi_faults[] = {"FAILED Result", "Unrecovered", "offline", "Medium Error", NULL};

static const char *const harmless_nvidia[] = {
	"taints kernel",
	"tainting kernel",
	"inheriting taint",
	"unknown parameter",
	"vgaarb:",
	"enabling device",
	"available PCIe bandwidth",
	"loading NVIDIA UNIX",
	"Loading NVIDIA Kernel Mode Setting",
	"Nvlink Core",
	"GPU at PCI:",
	"Persistence mode is deprecated",
	"applied patches",
	"Unrecognized AMD processor",
	"Unable to read EDID",
	"drive a VGA console",
	"cleanup successful",
	"primary VGA device",
	"text-mode VGA console",
	"drivers including, but not limited to, vesafb",
	"corruption and stability problems, and is not supported",
	"[NV_ERR_NO_MEMORY]",		  /* a request by a program that the driver rejects */
	"Failed to grab modeset ownership", /* a second program requests the display */
	"i2c timeout error",		  /* the USB-C port of a GeForce */
	"detected invalid context",	  /* printed by nvidia-peermem if the program exits first */
	/* checks detect these problems from the versions and devices themselves */
	"API mismatch",
	"this kernel module has the version",
	"make sure that this kernel module",
	"components have the same version",
	"requires use of the NVIDIA open kernel modules",
	"supported through the NVIDIA",
	"Legacy drivers",
	NULL};
static const char *const harmless_network[] = {"firmware level support is missing", "Missing SyncE capability", NULL};
static const char *const harmless_amdgpu[] = {"ras ta ucode is not available", "failed to suspend display audio", NULL};
static const char *const harmless_filesystem[] = {"mounted ", "recovery complete", "errors=", NULL};
static const char *const harmless_disk[] = {
	"Identify Descriptors failed",
	"Failed to configure AEN",
	"SUBNQN",
	"Shutdown timeout set",
	"bad crto",
	"duplicate IDs",
	"operation not supported error",
	NULL};
static const char *const harmless_pcie[] = {
	"enabled with IRQ", "error containment capabilities", " corrected error",	   " correctable error",
	"severity=Correct", "can't find device of ID",	      "device recovery successful",
	"can't derive routing", "failed to assign",	      "can't assign",	   "Timeout on hotplug command", NULL};
/* Details of a PCIe error, with the name of any driver as prefix. The line before has the severity. */
static const char *const harmless_any[] = {"error status/mask", ":    [", ":   [", "TLP Header", "aer_status:", "aer_layer=", NULL};
static const char *const harmless_edac[] = {
	" CE ", "HANDLING ", "Couldn't find mci handler", "Machine Check Event", "No ECC support", "ECC disabled",
	"Failed to register device", "Error probing instance", "broken BIOS?", NULL};

static const struct driver {
	const char *start;		   /* start of the line, or NULL; # is a digit */
	const char *anywhere;		   /* text anywhere in the line, or NULL */
	const char *check;		   /* the check that reports lines of unknown meaning */
	const char *const *faults;	   /* texts that make a line an error */
	const char *const *harmless;	   /* texts of harmless lines, whatever the level and the other words */
	enum { BY_LEVEL, BY_WORDS, ALL } by; /* selects error lines: by words or level error; by words only; all above level info */
} drivers[] = {
	{.anywhere = "[Hardware Error]", .check = "log.hardware", .faults = hardware_faults, .by = BY_WORDS},
	{.anywhere = "PCIe Bus Error:", .check = "log.pcie", .faults = bus_faults, .harmless = harmless_pcie, .by = BY_WORDS},
	{.anywhere = ": AER: ", .check = "log.pcie", .faults = faults, .harmless = harmless_pcie},
	{.anywhere = "aer_uncor_severity", .check = "log.pcie", .faults = (const char *const[]){"aer_uncor", NULL}},
	{.start = "NVRM", .check = "log.gpu", .faults = faults, .harmless = harmless_nvidia, .by = ALL},
	{.start = "nvidia", .check = "log.gpu", .faults = faults, .harmless = harmless_nvidia},
	{.anywhere = "[nvidia-drm]", .check = "log.gpu", .faults = faults, .harmless = harmless_nvidia},
	{.start = "mlx4", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "mlx5", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "infiniband", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "ib_", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "ib#", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "irdma", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "nvme", .check = "log.disk", .faults = faults, .harmless = harmless_disk},
	{.anywhere = "dev nvme", .check = "log.disk", .faults = disk_faults, .harmless = harmless_disk},
	{.start = "bnxt_en", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "bnxt_re", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "ice ", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "ena ", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "efa ", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "gve ", .check = "log.network", .faults = faults, .harmless = harmless_network},
	{.start = "amdgpu", .check = "log.gpu", .faults = faults, .harmless = harmless_amdgpu},
	{.start = "[drm:amdgpu", .check = "log.gpu", .faults = faults, .harmless = harmless_amdgpu},
	{.anywhere = "[amdgpu]]", .check = "log.gpu", .faults = faults, .harmless = harmless_amdgpu},
	{.start = "habanalabs", .check = "log.gpu", .faults = faults},
	{.start = "xe ", .check = "log.gpu", .faults = faults},
	{.start = "pcieport", .check = "log.pcie", .faults = faults, .harmless = harmless_pcie},
	{.start = "EXT4-fs", .check = "log.filesystem", .faults = faults, .harmless = harmless_filesystem},
	{.start = "XFS", .check = "log.filesystem", .faults = faults, .harmless = harmless_filesystem},
	{.start = "BTRFS", .check = "log.filesystem", .faults = faults, .harmless = harmless_filesystem},
	{.start = "LustreError", .check = "log.filesystem", .faults = faults},
	{.start = "sd ", .check = "log.disk", .faults = scsi_faults, .by = BY_WORDS},
	{.start = "md/raid", .check = "log.disk", .faults = faults},
	{.start = "EDAC", .check = "log.hardware", .faults = edac_faults, .harmless = harmless_edac},
	{.start = "mce:", .check = "log.hardware", .faults = faults},
	{.start = "MCE:", .check = "log.hardware", .faults = faults},
	{.anywhere = "Machine Check Exception", .check = "log.hardware", .faults = faults},
	{.start = "Memory failure:", .check = "log.hardware", .faults = faults},
};

static bool has_any(const char *text, const char *const *words)
{
	for (; words && *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

/* Rejects lines such as "nvidia-smi[4711]: segfault": the name is that of a process, not of a driver. */
static bool starts(const char *text, const char *start)
{
	const char *bracket = text + strcspn(text, ": [");

	if (*bracket == '[' && isdigit((unsigned char)bracket[1]))
		return false;
	for (; *start; start++, text++)
		if (*start == '#' ? !isdigit((unsigned char)*text) : *start != *text)
			return false;
	return true;
}

static const struct driver *driver_of(const char *text)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(drivers); i++)
		if (drivers[i].start ? starts(text, drivers[i].start) : strstr(text, drivers[i].anywhere) != NULL)
			return &drivers[i];
	return NULL;
}

static bool is_error(const struct driver *d, const char *text, int level)
{
	if (has_any(text, d->harmless) || has_any(text, harmless_any))
		return false;
	return has_any(text, d->faults) || (d->by != BY_WORDS && level >= 0 && level <= 3) || (d->by == ALL && level < 5);
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* Returns whether the line of an NVSwitch reports a fatal error. */
bool pr_log_is_fatal(const char *text)
{
	return strstr(text, ", Fatal") != NULL;
}

static bool classify_number(const char *text, struct pr_log_line *l)
{
	const struct pr_xid_entry *e;
	bool fatal;

	if (!strstr(text, "Xid (") || !pr_xid_next(text, &l->xid))
		return false;
	e = pr_xid_find(&l->xid);
	fatal = l->xid.nvswitch && pr_log_is_fatal(text);
	l->check = e ? e->check : fatal ? "gpu.nvswitch" : "log.gpu";
	if (fatal)
		l->kind = PR_LOG_READ;
	else if (!e || e->fault == PR_FAULT_UNUSED)
		l->kind = PR_LOG_UNREAD;
	else if (e->fault == PR_FAULT_NOTICE)
		l->kind = PR_LOG_NOTE;
	else
		l->kind = e->fault == PR_FAULT_PROGRAM ? PR_LOG_PROGRAM : PR_LOG_READ;
	return true;
}

bool pr_log_is_corrected_mce(const char *text)
{
	const char *bank = strstr(text, ": Machine Check: "), *status = bank ? strstr(bank, " Bank ") : NULL;
	const unsigned long long uncorrected = 1ull << 61; /* bit UC of MCi_STATUS */

	status = status ? strchr(status, ':') : NULL;
	return status && !(strtoull(status + 1, NULL, 16) & uncorrected);
}

static enum pr_log_kind kind_of(enum pr_log_effect effect)
{
	return effect == PR_LOG_EFFECT_PROGRAM	   ? PR_LOG_PROGRAM
	       : effect == PR_LOG_EFFECT_CORRECTED ? PR_LOG_CORRECTED
	       : effect >= PR_LOG_EFFECT_EVENT	   ? PR_LOG_READ
						   : PR_LOG_NOTE;
}

/*
 * Classifies a line that no catalogue contains. Keeps harmless lines of the GPU drivers as well, because they show that
 * the driver ran.
 */
static bool classify_unlisted(const char *text, const struct driver *d, struct pr_log_line *l)
{
	bool error = d && is_error(d, text, l->level);
	bool firmware = strstr(text, "firmware load for nvidia/") || strstr(text, "failed to load nvidia/");

	l->kind = error ? PR_LOG_UNREAD : PR_LOG_NOTE;
	l->check = error ? d->check : NULL;
	return error || firmware || gt_starts_with(text, "NVRM") || gt_starts_with(text, "nvidia") || strstr(text, "[nvidia-drm]");
}

bool pr_log_classify(const char *text, int level, struct pr_log_line *ret)
{
	const struct driver *d = driver_of(text);
	struct pr_log_line l = {.text = text, .level = level, .count = 1, .first_s = NAN, .time_s = NAN};

	if (gt_starts_with(text, "NVRM") && strcasestr(text, "serial number")) /* no error; identifies the machine */
		return false;
	if (pr_log_is_corrected_mce(text)) {
		l.kind = PR_LOG_CORRECTED;
		l.check = "log.hardware";
	} else if (!d || strcmp(d->check, "log.gpu") != 0 || !classify_number(text, &l)) {
		l.rule = pr_log_rule_find(text, &l.at);
		if (l.rule && l.rule->effect == PR_LOG_EFFECT_HARMLESS)
			return false;
		if (l.rule) {
			l.kind = kind_of(l.rule->effect);
			l.check = l.rule->check;
		} else if (!classify_unlisted(text, d, &l)) {
			return false;
		}
	}
	*ret = l;
	return true;
}

/* ---- errors that are over ---------------------------------------------------------------------------------------- */

/* Returns the length of the device's name in the line: a PCI address, else the text before the rule's pattern. */
static size_t device_of(const struct pr_log_line *l, const char **ret)
{
	static const char form[] = "xxxx:xx:xx.x";

	for (const char *p = l->text; *p; p++) {
		size_t n = 0;

		while (form[n] && (form[n] == 'x' ? isxdigit((unsigned char)p[n]) != 0 : p[n] == form[n]))
			n++;
		if (!form[n]) {
			*ret = p;
			return n;
		}
	}
	*ret = l->text;
	return l->rule && *l->rule->pattern == '^' ? strcspn(l->text, ":") : l->at;
}

/* One name may have more words than the other. */
bool pr_log_same_device(const struct pr_log_line *a, const struct pr_log_line *b)
{
	const char *x, *y;
	size_t n = device_of(a, &x), m = device_of(b, &y), common = n < m ? n : m;

	return common && !strncmp(x, y, common) && (n == m || !isalnum((unsigned char)(n < m ? y : x)[common]));
}

/* Returns whether the line a withdraws the reset request of the GPU of line b: "154, ... to 0x0 (None)". */
static bool was_reset(const struct pr_log_line *a, const struct pr_log_line *b)
{
	const char *gpu = strstr(a->text, "Xid ("), *other = strstr(b->text, "Xid (");

	return a->xid.number == 154 && !a->xid.nvswitch && gpu && other && strstr(a->text, " to 0x0 ") &&
	       !strncmp(gpu, other, strcspn(gpu, ")") + 1);
}

/* Returns whether the line a ends the error of the earlier line b. */
static bool ends(const struct pr_log_line *a, const struct pr_log_line *b)
{
	if (was_reset(a, b))
		return true;
	if (!a->rule || a->rule->effect != PR_LOG_EFFECT_OVER)
		return false;
	if (!strcmp(a->check, "nvidia"))
		return gt_starts_with(b->text, "NVRM") || gt_starts_with(b->text, "nvidia");
	return b->check && !strcmp(a->check, b->check) && pr_log_same_device(a, b);
}

/*
 * Returns whether the line reports the lost link of a port that had no link before, because it has no cable. The list has only
 * the last one of several equal lines.
 */
static bool never_had_link(const struct pr_log_line *line, size_t n, size_t at)
{
	if (!line[at].check || strcmp(line[at].check, "log.link") != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool timed = !isnan(line[i].first_s) && !isnan(line[at].time_s);
		bool before = i < at || (timed ? line[i].first_s < line[at].time_s : line[i].count > 1);

		if (before && ends(&line[i], &line[at]))
			return false;
	}
	return true;
}

void pr_log_mark_past(struct pr_log_line *line, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (line[i].kind == PR_LOG_READ && never_had_link(line, n, i))
			line[i].kind = PR_LOG_NOTE;
		for (size_t k = i + 1; k < n && !line[i].past; k++)
			line[i].past = ends(&line[k], &line[i]);
	}
}
