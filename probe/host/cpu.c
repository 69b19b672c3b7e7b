/* SPDX-License-Identifier: Apache-2.0 */
/* Processors, from /proc/cpuinfo, sysfs and the control group. libcpuid names the microarchitecture on the live host. */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#ifdef HAVE_LIBCPUID
#include <libcpuid/libcpuid.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/host/reading.h"

#define CPU	"/sys/devices/system/cpu"

char *pr_cpuinfo_value(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line && *line; line = gt_next_line(line)) {
		const char *p = line + n;

		if (strncmp(line, key, n))
			continue;
		p += strspn(p, " \t");
		if (*p == ':') {
			gt_autofree char *v = gt_xstrndup(p + 1, strcspn(p + 1, "\n"));

			return gt_xstrdup(gt_strip(v));
		}
	}
	return NULL;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/*
 * Names of processors whose /proc/cpuinfo has no "model name". For 64-bit ARM they follow from two numbers of the MIDR
 * register; other architectures print the name under another key. Source: Linux' arch/arm64/include/asm/cputype.h and
 * util-linux' lscpu, as of 2026-11. All other processors have no name.
 */
static const struct {
	unsigned implementer, part;
	const char *name;
} arm[] = {
	{ 0x41, 0xd03, "ARM Cortex-A53" }, { 0x41, 0xd05, "ARM Cortex-A55" }, { 0x41, 0xd07, "ARM Cortex-A57" },
	{ 0x41, 0xd08, "ARM Cortex-A72" }, { 0x41, 0xd09, "ARM Cortex-A73" }, { 0x41, 0xd0a, "ARM Cortex-A75" },
	{ 0x41, 0xd0b, "ARM Cortex-A76" }, { 0x41, 0xd0c, "ARM Neoverse-N1" }, { 0x41, 0xd0d, "ARM Cortex-A77" },
	{ 0x41, 0xd40, "ARM Neoverse-V1" }, { 0x41, 0xd41, "ARM Cortex-A78" }, { 0x41, 0xd42, "ARM Cortex-A78AE" },
	{ 0x41, 0xd44, "ARM Cortex-X1" }, { 0x41, 0xd49, "ARM Neoverse-N2" }, { 0x41, 0xd4b, "ARM Cortex-A78C" },
	{ 0x41, 0xd4f, "ARM Neoverse-V2" }, { 0x41, 0xd84, "ARM Neoverse-V3" }, { 0x41, 0xd83, "ARM Neoverse-V3AE" },
	{ 0x41, 0xd8e, "ARM Neoverse-N3" }, { 0x41, 0xd85, "ARM Cortex-X925" }, { 0x41, 0xd87, "ARM Cortex-A725" },
	{ 0x43, 0x0a1, "Cavium ThunderX" }, { 0x43, 0x0af, "Cavium ThunderX2" }, { 0x46, 0x001, "Fujitsu A64FX" },
	{ 0x48, 0xd01, "HiSilicon Kunpeng-920" }, { 0x4e, 0x003, "NVIDIA Denver 2" }, { 0x4e, 0x004, "NVIDIA Carmel" },
	{ 0xc0, 0xac3, "Ampere-1" }, { 0xc0, 0xac4, "Ampere-1a" },
};

static unsigned number_of(const char *text, const char *key)
{
	gt_autofree char *v = pr_cpuinfo_value(text, key);

	return v ? (unsigned)strtoul(v, NULL, 0) : 0;
}

static const char *find_arm(unsigned implementer, unsigned part)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(arm); i++)
		if (arm[i].implementer == implementer && arm[i].part == part)
			return arm[i].name;
	return NULL;
}

/* Returns the names of all kinds of core, in the order of their first CPU: "ARM Cortex-A725 + ARM Cortex-X925". NULL:
 * unknown. */
static char *arm_names(const char *text)
{
	gt_auto_strv names = { 0 };
	gt_auto_buf all = { 0 };

	for (const char *cpu = text; cpu && *cpu; cpu = strstr(cpu + 1, "\nCPU implementer")) {
		const char *name = find_arm(number_of(cpu, "CPU implementer"), number_of(cpu, "CPU part"));

		if (name && !gt_strv_has(&names, name))
			gt_strv_add(&names, name);
	}
	for (size_t i = 0; i < names.n; i++)
		gt_buf_printf(&all, "%s%s", i ? " + " : "", names.v[i]);
	return all.len ? gt_buf_take(&all) : NULL;
}

char *pr_cpu_name(const char *text)
{
	char *v = pr_cpuinfo_value(text, "model name");

	if (!v)
		v = arm_names(text);
	if (!v) { /* POWER: "POWER9, altivec supported" */
		v = pr_cpuinfo_value(text, "cpu");
		if (v)
			v[strcspn(v, ",")] = '\0';
	}
	return v;
}

/* ---- topology --------------------------------------------------------------------------------------------------- */

static int cpuinfo_int(const char *text, const char *key)
{
	gt_autofree char *v = pr_cpuinfo_value(text, key);
	int64_t n;

	return v && !gt_parse_i64(v, &n) && n >= 0 && n < 1 << 20 ? (int)n : -1;
}

static struct pr_str cpuinfo_str(struct pr_host *h, const char *text, const char *key)
{
	char *v = pr_cpuinfo_value(text, key);

	return (struct pr_str){ v ? PR_PRESENT : PR_ABSENT, v ? pr_own(h, v) : NULL };
}

/* Only the first processor is needed. On a large host the file has megabytes and is generated on each read. */
#define CPUINFO_MAX	   65536
#define CPUINFO_LAUNCH_MAX 8192 /* the flags are within this part of the file */

static void read_cpuinfo(struct gt_fsroot *fs, struct pr_host *h, size_t max)
{
	gt_autofree char *text = NULL, *flags = NULL;
	char *name;

	if (gt_fs_read_prefix(fs, "/proc/cpuinfo", max, &text, NULL) < 0)
		text = gt_xstrdup("");
	h->cpu.vendor = cpuinfo_str(h, text, "vendor_id");
	name = pr_cpu_name(text);
	h->cpu.model_name = (struct pr_str){ name ? PR_PRESENT : PR_ABSENT, name ? pr_own(h, name) : NULL };
	h->cpu.microcode = cpuinfo_str(h, text, "microcode");
	h->cpu.family = cpuinfo_int(text, "cpu family");
	h->cpu.model = cpuinfo_int(text, "model");
	h->cpu.stepping = cpuinfo_int(text, "stepping");
	flags = pr_cpuinfo_value(text, "flags");
	if (!flags)
		flags = pr_cpuinfo_value(text, "Features"); /* ARM */
	h->cpu.flags = pr_own(h, flags ? gt_xasprintf(" %s ", flags) : gt_xstrdup(""));
}

/* Sets the maker's name of the microarchitecture, if libcpuid knows it. */
static void query_cpuid(struct pr_host *h)
{
#ifdef HAVE_LIBCPUID
	struct cpu_raw_data_t raw;
	struct cpu_id_t id;

	if (cpuid_present() && !cpuid_get_raw_data(&raw) && !cpu_identify(&raw, &id) && *id.cpu_codename)
		h->cpu.codename = pr_text(h, id.cpu_codename);
#endif
}

/* In a root that is not live the name is a fact, because it comes from the processor itself. */
static void name_microarchitecture(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *fact = NULL;

	if (!h->live) {
		if (gt_fs_fact(fs, "cpu_codename", &fact, NULL) >= 0)
			h->cpu.codename = pr_text(h, gt_strip(fact));
		return;
	}
	if (pr_cpu_flag(h, "hypervisor")) { /* a hypervisor can present any model */
		h->cpu.codename.state = PR_UNKNOWN;
		return;
	}
	query_cpuid(h);
}

static void read_list(struct gt_fsroot *fs, const char *path, struct gt_set *ret)
{
	gt_autofree char *line = NULL;

	if (gt_fs_read_line(fs, path, &line) >= 0)
		gt_parse_cpulist(line, ret);
}

static void read_siblings(struct gt_fsroot *fs, struct pr_cpu *c)
{
	gt_autofree char *dir = gt_xasprintf(CPU "/cpu%d/topology", c->id);

	pr_read_cpus(fs, dir, "thread_siblings_list", "thread_siblings", &c->siblings);
	if (!gt_set_has(&c->siblings, (unsigned)c->id))
		gt_set_add(&c->siblings, (unsigned)c->id);
}

static int read_small(struct gt_fsroot *fs, int cpu, const char *what)
{
	struct pr_num n = pr_read_num(fs, CPU "/cpu%d/topology/%s", cpu, what);

	return pr_has(n) && n.v >= 0 ? (int)n.v : -1;
}

/* Siblings list each other, so one file per core is read. */
static void launch_topology(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_cpu *c;

	h->cpu.cpu = gt_xcalloc(gt_set_count(&h->cpu.online), sizeof(*h->cpu.cpu));
	gt_set_for_each(id, &h->cpu.online) {
		c = &h->cpu.cpu[h->cpu.n_cpu++];
		*c = (struct pr_cpu){ .id = id, .core = -1, .package = -1, .node = -1 };
		for (size_t i = 0; i + 1 < h->cpu.n_cpu && !gt_set_count(&c->siblings); i++)
			if (gt_set_has(&h->cpu.cpu[i].siblings, (unsigned)id))
				gt_set_copy(&c->siblings, &h->cpu.cpu[i].siblings);
		if (!gt_set_count(&c->siblings))
			read_siblings(fs, c);
	}
}

static void read_topology(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_set packages = { 0 }, firsts = { 0 };

	h->cpu.cpu = gt_xcalloc(gt_set_count(&h->cpu.online), sizeof(*h->cpu.cpu));
	gt_set_for_each(id, &h->cpu.online) {
		struct pr_cpu *c = &h->cpu.cpu[h->cpu.n_cpu++];

		c->id = id;
		c->node = -1;
		c->core = read_small(fs, id, "core_id");
		c->package = read_small(fs, id, "physical_package_id");
		read_siblings(fs, c);
		if (c->package >= 0)
			gt_set_add(&packages, (unsigned)c->package);
	}
	pr_first_threads(h, &h->cpu.online, &firsts);
	h->cpu.n_cores = (int)gt_set_count(&firsts);
	h->cpu.n_packages = GT_MAX(1, (int)gt_set_count(&packages));
}

/* Reads the CPUs that this process may use: its affinity mask, which the cpuset already restricts. */
static void read_allowed(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL, *list = NULL;

	if (gt_fs_read_prefix(fs, "/proc/self/status", 65536, &text, NULL) >= 0)
		list = pr_cpuinfo_value(text, "Cpus_allowed_list");
	if (list && gt_parse_cpulist(list, &h->cpu.allowed) >= 0)
		gt_set_and(&h->cpu.allowed, &h->cpu.online);
	if (!gt_set_count(&h->cpu.allowed)) /* not readable: assume all online CPUs */
		gt_set_copy(&h->cpu.allowed, &h->cpu.online);
}

/* Reads the cpuset of the innermost control group, which is a subset of those of its ancestors. */
static void nearest_cpuset(struct gt_fsroot *fs, void *arg, const char *group, bool v2)
{
	struct pr_host *h = arg;
	gt_autofree char *path = gt_xasprintf(v2 ? "/sys/fs/cgroup%s/cpuset.cpus.effective"
						 : "/sys/fs/cgroup/cpuset%s/cpuset.effective_cpus", group);

	if (gt_set_count(&h->cpu.cpuset))
		return;
	read_list(fs, path, &h->cpu.cpuset);
	gt_set_and(&h->cpu.cpuset, &h->cpu.online);
}

static struct pr_num quota_v2(struct gt_fsroot *fs, const char *group)
{
	gt_autofree char *path = gt_xasprintf("/sys/fs/cgroup%s/cpu.max", group), *line = NULL;
	uint64_t quota, period;
	int r = gt_fs_read_line(fs, path, &line);

	if (r < 0)
		return (struct pr_num){ pr_state_of(r), 0 };
	if (sscanf(line, "%lu %lu", &quota, &period) == 2 && period)
		return pr_value((int64_t)(quota * 1000 / period));
	return (struct pr_num){ PR_ABSENT, 0 }; /* "max 100000" */
}

static struct pr_num quota_v1(struct gt_fsroot *fs, const char *group)
{
	struct pr_num quota = pr_read_num(fs, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group),
		      period = pr_read_num(fs, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);

	if (pr_has(quota) && quota.v > 0 && pr_or(period, 0) > 0)
		return pr_value(quota.v * 1000 / period.v);
	return (struct pr_num){ pr_has(quota) ? PR_ABSENT : quota.state, 0 };
}

static void tighter_quota(struct gt_fsroot *fs, void *arg, const char *group, bool v2)
{
	struct pr_host *h = arg;
	struct pr_num q = v2 ? quota_v2(fs, group) : quota_v1(fs, group);

	if (pr_has(q) && (!pr_has(h->cpu.quota_millicpu) || q.v < h->cpu.quota_millicpu.v))
		h->cpu.quota_millicpu = q;
}

static void read_quota(struct gt_fsroot *fs, struct pr_host *h)
{
	h->cpu.quota_millicpu.state = PR_ABSENT;
	pr_each_cgroup(fs, "cpu", tighter_quota, h);
}

static struct pr_num cache_bytes(struct gt_fsroot *fs, int first_cpu, int level)
{
	for (int i = 0; i < 8; i++) {
		gt_autofree char *path = gt_xasprintf(CPU "/cpu%d/cache/index%d/size", first_cpu, i), *size = NULL;
		gt_autofree char *what = gt_xasprintf(CPU "/cpu%d/cache/index%d/type", first_cpu, i), *type = NULL;
		struct pr_num l = pr_read_num(fs, CPU "/cpu%d/cache/index%d/level", first_cpu, i);
		uint64_t bytes;

		if (!pr_has(l))
			break;
		if (level == 1 && gt_fs_read_line(fs, what, &type) >= 0 && !strcmp(type, "Instruction"))
			continue;
		if (l.v == level && gt_fs_read_line(fs, path, &size) >= 0 && !gt_parse_size(size, &bytes))
			return pr_value((int64_t)bytes);
	}
	return (struct pr_num){ PR_ABSENT, 0 };
}

static void read_cpufreq(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = { 0 };

	if (gt_fs_list(fs, CPU "/cpufreq", &names) < 0)
		return;
	h->cpufreq = gt_xcalloc(names.n, sizeof(*h->cpufreq));
	for (size_t i = 0; i < names.n; i++) {
		struct pr_cpufreq *f = &h->cpufreq[h->n_cpufreq];

		if (!gt_starts_with(names.v[i], "policy"))
			continue;
		f->policy = pr_keep(h, names.v[i]);
		f->governor = pr_read_str(h, fs, CPU "/cpufreq/%s/scaling_governor", names.v[i]);
		f->driver = pr_read_str(h, fs, CPU "/cpufreq/%s/scaling_driver", names.v[i]);
		f->available = pr_read_str(h, fs, CPU "/cpufreq/%s/scaling_available_governors", names.v[i]);
		h->n_cpufreq++;
	}
}

/* Reads the online CPUs from the lines "cpu0 …" of /proc/stat, for a root without sysfs, such as a chroot. */
static void online_of_stat(struct gt_fsroot *fs, struct gt_set *online)
{
	gt_autofree char *text = NULL;
	unsigned id;

	if (gt_fs_read(fs, "/proc/stat", &text, NULL) < 0)
		return;
	for (const char *line = text; line && gt_starts_with(line, "cpu"); line = gt_next_line(line))
		if (isdigit((unsigned char)line[3]) && sscanf(line, "cpu%4u ", &id) == 1)
			gt_set_add(online, id);
}

/* Kernels before 2.6.26 have no list. Each CPU that can be switched off has a file "online", 0 or 1. */
static void online_of_directories(struct gt_fsroot *fs, struct gt_set *online)
{
	gt_auto_set all = { 0 };

	pr_list_numbered(fs, CPU, "cpu", &all);
	gt_set_for_each(id, &all)
		if (pr_or(pr_read_num(fs, CPU "/cpu%d/online", id), 1))
			gt_set_add(online, (unsigned)id);
}

/* Reads the CPUs that this process may use. Works on a live host without /proc and /sys. */
static void online_of_affinity(struct gt_set *online)
{
	gt_autofree cpu_set_t *set = CPU_ALLOC(GT_SET_MAX);
	size_t size = CPU_ALLOC_SIZE(GT_SET_MAX);

	if (!set || sched_getaffinity(0, size, set) < 0)
		return;
	for (unsigned id = 0; id < GT_SET_MAX; id++)
		if (CPU_ISSET_S(id, size, set))
			gt_set_add(online, id);
}

/* Falls back to CPU 0 if the CPUs are unknown, because later code needs at least one CPU. */
static void read_online(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *line = NULL;
	int r = gt_fs_read_line(fs, CPU "/online", &line);

	if (r >= 0)
		gt_parse_cpulist(line, &h->cpu.online);
	else if (r == -ENOENT) /* not if unreadable: the other files of the CPUs would be unreadable too */
		online_of_directories(fs, &h->cpu.online);
	if (!gt_set_count(&h->cpu.online))
		online_of_stat(fs, &h->cpu.online);
	if (!gt_set_count(&h->cpu.online) && h->live)
		online_of_affinity(&h->cpu.online);
	h->cpu.unknown = !gt_set_count(&h->cpu.online);
	if (h->cpu.unknown)
		gt_set_add(&h->cpu.online, 0);
}

/*
 * The kernel's own limit (fits_capacity): a task does not fit on a CPU if it needs more than 80 % of the CPU's capacity.
 */
static bool is_small(int64_t capacity, int64_t largest)
{
	return capacity * 1280 < largest * 1024;
}

/* Finds the small cores of a hybrid CPU. On x86 the kernel lists them. On Arm each CPU has a capacity relative to the
 * largest (1024). */
static void read_efficiency(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree int64_t *capacity = gt_xcalloc(h->cpu.n_cpu + 1, sizeof(*capacity));
	int64_t largest = 0;

	read_list(fs, "/sys/devices/cpu_atom/cpus", &h->cpu.efficiency);
	for (size_t i = 0; !gt_set_count(&h->cpu.efficiency) && i < h->cpu.n_cpu; i++) {
		struct pr_num n = pr_read_num(fs, CPU "/cpu%d/cpu_capacity", h->cpu.cpu[i].id);

		if (!pr_has(n) || n.v <= 0 || n.v > 65536)
			return;
		capacity[i] = n.v;
		largest = GT_MAX(largest, n.v);
	}
	for (size_t i = 0; largest && i < h->cpu.n_cpu; i++)
		if (is_small(capacity[i], largest))
			gt_set_add(&h->cpu.efficiency, (unsigned)h->cpu.cpu[i].id);
}

/* Finds the CPUs that this process may use, and the slow ones among them. */
static void read_usable(struct gt_fsroot *fs, struct pr_host *h)
{
	read_allowed(fs, h);
	read_list(fs, CPU "/isolated", &h->cpu.isolated);
	read_efficiency(fs, h);
	read_quota(fs, h);
	pr_each_cgroup(fs, "cpuset", nearest_cpuset, h);
}

void pr_launch_cpu(struct gt_fsroot *fs, struct pr_host *h)
{
	read_cpuinfo(fs, h, CPUINFO_LAUNCH_MAX);
	read_online(fs, h);
	launch_topology(fs, h);
	read_usable(fs, h);
}

void pr_discover_cpu(struct gt_fsroot *fs, struct pr_host *h)
{
	int first;

	read_cpuinfo(fs, h, CPUINFO_MAX);
	name_microarchitecture(fs, h);
	read_online(fs, h);
	read_topology(fs, h);
	read_usable(fs, h);
	first = gt_set_next(&h->cpu.online, -1);
	h->cpu.l1d_bytes = cache_bytes(fs, first, 1);
	h->cpu.l2_bytes = cache_bytes(fs, first, 2);
	h->cpu.l3_bytes = cache_bytes(fs, first, 3);
	read_cpufreq(fs, h);
}
