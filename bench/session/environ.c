/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/klog.h>
#include "bench/session/environ.h"
#include "lib/parse.h"

#define KLOG_READ_ALL	3
#define KLOG_SIZE	10
#define KLOG_WARNING	4
#define SUSPENDED_MIN_S		.1 /* s; shorter differences are the time between two clock readings */

/* Returns the number after `key` at the start of a line, or NaN. */
static double keyed(const char *text, const char *key)
{
	size_t len = strlen(key);
	double v;

	for (const char *p = text; p && *p; p = gt_next_line(p))
		if (strncmp(p, key, len) == 0 && sscanf(p + len, "%lf", &v) == 1)
			return v;
	return NAN;
}

static double pressure(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *text = NULL;

	return gt_fs_read(fs, path, &text, NULL) == 0 ? keyed(text, "some avg10=") : NAN;
}

static void read_stat(struct gt_fsroot *fs, struct bn_environ *e)
{
	gt_autofree char *text = NULL;
	double steal;

	e->ctxt = e->steal_s = e->interrupts = NAN;
	if (gt_fs_read(fs, "/proc/stat", &text, NULL) < 0)
		return;
	e->ctxt = keyed(text, "ctxt ");
	e->interrupts = keyed(text, "intr ");
	if (sscanf(text, "cpu %*f %*f %*f %*f %*f %*f %*f %lf", &steal) == 1)
		e->steal_s = steal / (double)sysconf(_SC_CLK_TCK);
}

static void read_memory(struct gt_fsroot *fs, struct bn_environ *e)
{
	gt_autofree char *vm = NULL, *mem = NULL;

	if (gt_fs_read(fs, "/proc/vmstat", &vm, NULL) < 0)
		vm = NULL;
	e->pgfault = keyed(vm, "pgfault ");
	e->pgmajfault = keyed(vm, "pgmajfault ");
	e->thp_fault_alloc = keyed(vm, "thp_fault_alloc ");
	e->thp_collapse = keyed(vm, "thp_collapse_alloc ");
	e->numa_hint_faults = keyed(vm, "numa_hint_faults ");
	e->compact_stall = keyed(vm, "compact_stall ");
	if (gt_fs_read(fs, "/proc/meminfo", &mem, NULL) < 0)
		mem = NULL;
	e->mem_available_bytes = 1024 * keyed(mem, "MemAvailable:");
	e->dirty_bytes = 1024 * keyed(mem, "Dirty:");
	e->anon_huge_bytes = 1024 * keyed(mem, "AnonHugePages:");
}

static void read_temperature(struct gt_fsroot *fs, struct bn_environ *e)
{
	gt_auto_strv zones = { 0 }, policies = { 0 };
	double sum = 0, n = 0;
	int64_t v;

	e->temp_c = e->cpu_mhz = NAN;
	if (gt_fs_list(fs, "/sys/class/thermal", &zones) == 0)
		for (size_t i = 0; i < zones.n; i++) {
			gt_autofree char *path = gt_xasprintf("/sys/class/thermal/%s/temp", zones.v[i]);

			if (gt_starts_with(zones.v[i], "thermal_zone") && gt_fs_read_i64(fs, path, &v) == 0)
				e->temp_c = fmax(isnan(e->temp_c) ? -300 : e->temp_c, (double)v / 1000);
		}
	if (gt_fs_list(fs, "/sys/devices/system/cpu/cpufreq", &policies) < 0)
		return;
	for (size_t i = 0; i < policies.n; i++) {
		gt_autofree char *path =
			gt_xasprintf("/sys/devices/system/cpu/cpufreq/%s/scaling_cur_freq", policies.v[i]);

		if (gt_fs_read_i64(fs, path, &v) == 0) {
			sum += (double)v / 1000;
			n++;
		}
	}
	if (n > 0)
		e->cpu_mhz = sum / n;
}

static double read_throttled(struct gt_fsroot *fs)
{
	gt_auto_strv cpus = { 0 };
	double sum = NAN;
	int64_t v;

	if (gt_fs_list(fs, "/sys/devices/system/cpu", &cpus) < 0)
		return NAN;
	for (size_t i = 0; i < cpus.n; i++) {
		gt_autofree char *path = gt_xasprintf(
			"/sys/devices/system/cpu/%s/thermal_throttle/package_throttle_count", cpus.v[i]);

		if (gt_starts_with(cpus.v[i], "cpu") && gt_fs_read_i64(fs, path, &v) == 0)
			sum = fmax(isnan(sum) ? 0 : sum, (double)v); /* each CPU reports the counter of its package */
	}
	return sum;
}

/* Scans the kernel log. Returns the last time stamp and stores the first message of level warning or worse after
 * since_s. Format: "<4>[ 12.345678] text" */
static double walk_kernel_log(double since_s, char *first, size_t size)
{
	int len = klogctl(KLOG_SIZE, NULL, 0);
	gt_autofree char *text = gt_xcalloc(1, GT_MAX(len, 0) + (size_t)1);
	double last = NAN, stamp;
	unsigned level;

	if (len <= 0 || klogctl(KLOG_READ_ALL, text, len) < 0) /* no permission: the kernel log cannot explain an outlier */
		return NAN;
	for (char *p = text, *next; p && *p; p = next) {
		const char *body;

		next = strchr(p, '\n');
		if (next)
			*next++ = '\0';
		if (sscanf(p, "<%u>[%lf]", &level, &stamp) != 2)
			continue;
		last = stamp;
		body = strchr(p, ']');
		if (first && !first[0] && stamp > since_s && (level & 7) <= KLOG_WARNING && body)
			snprintf(first, size, "%s", body + 1 + (body[1] == ' '));
	}
	return last;
}

void bn_environ_read(struct gt_fsroot *fs, struct bn_environ *ret)
{
	gt_autofree char *load = NULL;

	*ret = (struct bn_environ){ .load1 = NAN };
	if (gt_fs_read_line(fs, "/proc/loadavg", &load) == 0 && sscanf(load, "%lf", &ret->load1) != 1)
		ret->load1 = NAN;
	ret->psi_cpu = pressure(fs, "/proc/pressure/cpu");
	ret->psi_memory = pressure(fs, "/proc/pressure/memory");
	ret->psi_io = pressure(fs, "/proc/pressure/io");
	read_stat(fs, ret);
	read_memory(fs, ret);
	read_temperature(fs, ret);
	ret->throttled = read_throttled(fs);
	ret->suspended_s = gt_suspended_s();
	ret->kernel_log_s = walk_kernel_log(INFINITY, NULL, 0);
}

json_t *bn_environ_json(const struct bn_environ *b, const struct bn_environ *a)
{
	const struct {
		const char *name;
		double v;
	} field[] = {
		{ "load1", a->load1 },
		{ "psi_cpu_pct", a->psi_cpu },
		{ "psi_memory_pct", a->psi_memory },
		{ "psi_io_pct", a->psi_io },
		{ "context_switches", a->ctxt - b->ctxt },
		{ "steal_s", a->steal_s - b->steal_s },
		{ "page_faults", a->pgfault - b->pgfault },
		{ "major_faults", a->pgmajfault - b->pgmajfault },
		{ "thp_faults", a->thp_fault_alloc - b->thp_fault_alloc },
		{ "thp_collapses", a->thp_collapse - b->thp_collapse },
		{ "numa_hint_faults", a->numa_hint_faults - b->numa_hint_faults },
		{ "compact_stalls", a->compact_stall - b->compact_stall },
		{ "mem_available_bytes", a->mem_available_bytes },
		{ "dirty_bytes", a->dirty_bytes },
		{ "anon_huge_bytes", a->anon_huge_bytes },
		{ "temp_c", a->temp_c },
		{ "cpu_mhz", a->cpu_mhz },
		{ "interrupts", a->interrupts - b->interrupts },
		{ "throttled", a->throttled - b->throttled },
	};
	json_t *j = json_object();
	char line[200] = "";

	for (size_t i = 0; i < GT_ARRAY_SIZE(field); i++)
		if (isfinite(field[i].v)) /* leave out values that this host does not report */
			json_object_set_new(j, field[i].name, json_real(field[i].v));
	if (a->suspended_s - b->suspended_s > SUSPENDED_MIN_S)
		json_object_set_new(j, "suspended_s", json_real(a->suspended_s - b->suspended_s));
	if (isfinite(b->kernel_log_s) && a->kernel_log_s > b->kernel_log_s) {
		walk_kernel_log(b->kernel_log_s, line, sizeof(line));
		if (line[0])
			json_object_set_new(j, "kernel_log", gt_json_str(line));
	}
	return j;
}
