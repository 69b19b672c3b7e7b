/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that classify kernel log lines: the watched drivers, and their harmless lines. A line of a watched driver that
 * looks like an error and is in no table is "unread". A new message or driver needs one more row. Xid and SXid numbers
 * have their own catalogue (xid.tsv).
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "lib/util.h"
#include "probe/compat/log_lines.h"

/* ---- drivers --------------------------------------------------------------------------------------------------- */

/* Substrings suffice: "fail" also matches "Failed" and "failure". Case is ignored. */
static const char *const faults[] = {
	"error", "fail", "fatal", "timeout", "timed out", "uncorrect", "corrupt", " fault", "panic", "hung",
	"fallen off", "lost", "unable", "cannot", "can't", "could not", "couldn't", "not respond", "not ready",
	"is down", " dead", "abort", "resetting", "be reset", "reset req", "insufficient", "compromised", "invalid",
	"illegal", "violation", "broken", "degraded", "killing", "assert", "exception", "poison", "overflow",
	"critical", "above threshold", "high temperature", "over temperature", "overcurrent", "unexpected",
	"mismatch", "miss count", "containment", "Xid (", "Xid:", "bad ", "removing after", "refused",
	"inaccessible", NULL};

/* Firmware and the machine-check code print many lines for one error. Lines with these texts state its severity. */
static const char *const hardware_faults[] = {
	"severity: fatal", "severity: recoverable", "type: fatal", "type: recoverable", "check events logged", "Machine Check",
	"uncorrected", "system fatal", "fatal error", "deferred", "|UE|", "context corrupt", NULL};
static const char *const edac_faults[] = {" UE ", "uncorrect", "error", "fail", "fatal", "timeout", NULL};
static const char *const bus_faults[] = {"uncorrect", "fatal", NULL};
static const char *const disk_faults[] = {"error", NULL};

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
	"[NV_ERR_NO_MEMORY]",		  /* a request that a program made */
	"Failed to grab modeset ownership", /* a second program that uses the display */
	"i2c timeout error",		  /* the USB-C port of a GeForce */
	"detected invalid context",	  /* nvidia-peermem, when a program exits first */
	/* a check reports these problems from the versions and devices themselves */
	"API mismatch",
	"this kernel module has the version",
	"make sure that this kernel module",
	"components have the same version",
	"requires use of the NVIDIA open kernel modules",
	"supported through the NVIDIA",
	"Legacy drivers",
	NULL};
static const char *const harmless_network[] = {"firmware level support is missing", "Missing SyncE capability", NULL};
static const char *const harmless_disk[] = {
	"Identify Descriptors failed",
	"Failed to configure AEN",
	"SUBNQN",
	"Shutdown timeout set",
	"bad crto",
	"duplicate IDs",
	"I/O Error (sct 0x0 / sc 0x2)", /* a command or field that the disk does not support */
	"I/O Error (sct 0x0 / sc 0xb)",
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
	const char *check;		   /* the check that reports its unread lines */
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
	{.start = "pcieport", .check = "log.pcie", .faults = faults, .harmless = harmless_pcie},
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

/* Rejects "nvidia-smi[4711]: segfault", which is about a process. */
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

/* Lines of any driver that a check evaluates or that help the reader. */
static const struct {
	const char *part, *check;
	enum pr_log_kind what;
} texts[] = {
	{"RmInitAdapter failed", "gpu.start", PR_LOG_READ},
	{"rm_init_adapter failed", "gpu.start", PR_LOG_READ},
	{"Key was rejected", NULL, PR_LOG_NOTE},
	{"unsigned module", NULL, PR_LOG_NOTE},
	{"with unavailable key", NULL, PR_LOG_NOTE},
	{"module verification failed", NULL, PR_LOG_NOTE},
	{"available PCIe bandwidth", NULL, PR_LOG_NOTE},
	{"no space for", NULL, PR_LOG_NOTE},
	{"oom-kill:constraint=", "log.oom", PR_LOG_READ},
	{"Out of memory: Killed process", "log.oom", PR_LOG_READ},
	{"Memory cgroup out of memory: Kill", "log.oom", PR_LOG_READ},
	{"Out of memory: Kill process", "log.oom", PR_LOG_READ}, /* before Linux 4.20 */
	{" blocked for more than ", "log.stall", PR_LOG_READ},
	{"soft lockup - CPU", "log.stall", PR_LOG_READ},
	{"hard LOCKUP", "log.stall", PR_LOG_READ},
	{"detected stalls on CPUs", "log.stall", PR_LOG_READ},
	{"self-detected stall on CPU", "log.stall", PR_LOG_READ},
	{"EXT4-fs error", "log.filesystem", PR_LOG_READ},
	{"BTRFS error", "log.filesystem", PR_LOG_READ},
	{"BTRFS critical", "log.filesystem", PR_LOG_READ},
	{"Remounting filesystem read-only", "log.filesystem", PR_LOG_READ},
	{"Shutting down filesystem", "log.filesystem", PR_LOG_READ},
	{": Corruption ", "log.filesystem", PR_LOG_READ}, /* XFS */
	{": metadata I/O error", "log.filesystem", PR_LOG_READ},
	{"Buffer I/O error on dev", "log.filesystem", PR_LOG_READ},
	{"cpu clock throttled", "log.thermal", PR_LOG_READ},
};

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

bool pr_log_classify(const char *text, int level, struct pr_log_line *ret)
{
	const struct driver *d = driver_of(text);
	struct pr_log_line l = {.text = text, .level = level};
	bool known = d && !strcmp(d->check, "log.gpu") && classify_number(text, &l);

	if (gt_starts_with(text, "NVRM") && strcasestr(text, "serial number")) /* not an error, and it identifies the machine */
		return false;
	for (size_t i = 0; i < GT_ARRAY_SIZE(texts) && !known; i++) {
		known = strstr(text, texts[i].part) != NULL;
		l.kind = texts[i].what;
		l.check = texts[i].check;
	}
	if (!known) {
		bool error = d && is_error(d, text, level);
		bool firmware = strstr(text, "firmware load for nvidia/") || strstr(text, "failed to load nvidia/");

		/* harmless lines of the GPU driver are kept, because they show that the driver ran */
		if (!error && !firmware && !(d && !strcmp(d->check, "log.gpu")))
			return false;
		l.kind = error ? PR_LOG_UNREAD : PR_LOG_NOTE;
		l.check = error ? d->check : NULL;
	}
	*ret = l;
	return true;
}
