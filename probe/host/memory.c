/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "probe/host/reading.h"

/* Parses "MemTotal:  24576 kB" into bytes. */
static struct pr_num meminfo(const char *text, int error, const char *key, bool kib)
{
	const char *at = text;
	size_t n = strlen(key);
	long long v;

	if (!text)
		return (struct pr_num){ pr_state_of(error), 0 };
	while (at && *at && (strncmp(at, key, n) || at[n] != ':'))
		at = gt_next_line(at);
	if (!at || !*at || sscanf(at + n + 1, "%lld", &v) != 1 || v < 0 || v > INT64_MAX / 1024)
		return (struct pr_num){ PR_ABSENT, 0 };
	return pr_value(kib ? v * 1024 : v);
}

/* Parses the soft and the hard limit of "Max open files            1024                 524288               files". */
static void read_limit(const char *text, const char *key, struct pr_num *soft, struct pr_num *hard)
{
	const char *at = strstr(text, key);
	char word[2][32] = { "", "" };
	struct pr_num *to[] = { soft, hard };
	int64_t v;

	soft->state = hard->state = PR_ABSENT;
	if (!at || sscanf(at + strlen(key), "%31s %31s", word[0], word[1]) < 1)
		return;
	for (int i = 0; i < 2; i++)
		if (!strcmp(word[i], "unlimited"))
			*to[i] = pr_value(INT64_MAX);
		else if (!gt_parse_i64(word[i], &v))
			*to[i] = pr_value(v);
}

static void read_limits(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_read_prefix(fs, "/proc/self/limits", 65536, &text, NULL);
	struct pr_num ignored;

	h->mem.memlock_bytes.state = h->open_files_soft.state = h->open_files_hard.state = pr_state_of(r);
	if (r < 0)
		return;
	read_limit(text, "Max locked memory", &h->mem.memlock_bytes, &ignored);
	read_limit(text, "Max open files", &h->open_files_soft, &h->open_files_hard);
}

/* In version 1 a number near 2^63 means no limit. */
static void tighter_limit(struct gt_fsroot *fs, void *arg, const char *group, bool v2)
{
	static const char *const names[] = { "memory.max", "memory.high" };
	struct pr_host *h = arg;

	for (size_t i = 0; i < (v2 ? 2 : 1); i++) {
		struct pr_num limit = v2 ? pr_read_num(fs, "/sys/fs/cgroup%s/%s", group, names[i]) :
					   pr_read_num(fs, "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group);

		if (pr_has(limit) && limit.v > 0 && limit.v < INT64_C(1) << 60 &&
		    limit.v < pr_or(h->mem.limit_bytes, INT64_MAX))
			h->mem.limit_bytes = limit;
	}
}

/* Returns the number of the line "KEY NUMBER"; 0 if there is none. */
static uint64_t in_stat(const char *text, const char *key)
{
	size_t n = strlen(key);
	unsigned long long v;

	for (const char *at = text; at && *at; at = gt_next_line(at))
		if (!strncmp(at, key, n) && sscanf(at + n, " %llu", &v) == 1)
			return v;
	return 0;
}

/* Lowers *arg to the memory that the group can still use. Inactive file pages count as usable, because the kernel can
 * reclaim them. */
static void lower_available(struct gt_fsroot *fs, void *arg, const char *group, bool v2)
{
	gt_autofree char *path = gt_xasprintf("/sys/fs/cgroup%s%s/memory.stat", v2 ? "" : "/memory", group), *stat = NULL;
	struct pr_num used = v2 ? pr_read_num(fs, "/sys/fs/cgroup%s/memory.current", group) :
				  pr_read_num(fs, "/sys/fs/cgroup/memory%s/memory.usage_in_bytes", group);
	struct pr_host limit = { .mem.limit_bytes.state = PR_ABSENT };
	uint64_t *available = arg, files;

	tighter_limit(fs, &limit, group, v2);
	if (!pr_has(limit.mem.limit_bytes) || !pr_has(used) || used.v < 0)
		return;
	files = gt_fs_read_prefix(fs, path, 65536, &stat, NULL) < 0 ? 0 :
									in_stat(stat, v2 ? "inactive_file" : "total_inactive_file");
	used.v -= (int64_t)GT_MIN(files, (uint64_t)used.v);
	*available = GT_MIN(*available, limit.mem.limit_bytes.v > used.v ? (uint64_t)(limit.mem.limit_bytes.v - used.v) : 1);
}

uint64_t pr_available_bytes(struct gt_fsroot *fs)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_read_prefix(fs, "/proc/meminfo", 65536, &text, NULL);
	uint64_t available = (uint64_t)pr_or(meminfo(text, r, "MemAvailable", true), 0);

	if (available)
		pr_each_cgroup(fs, "memory", lower_available, &available);
	return available;
}

void pr_launch_memory(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_read_prefix(fs, "/proc/meminfo", 65536, &text, NULL);

	h->mem.total_bytes = meminfo(text, r, "MemTotal", true);
	h->mem.available_bytes = meminfo(text, r, "MemAvailable", true);
	h->mem.swap_total_bytes = meminfo(text, r, "SwapTotal", true);
	h->mem.hugepages = meminfo(text, r, "HugePages_Total", false);
	h->mem.hugepage_bytes = meminfo(text, r, "Hugepagesize", true);
	h->mem.limit_bytes.state = PR_ABSENT;
	pr_each_cgroup(fs, "memory", tighter_limit, h);
	h->mem.thp_enabled = pr_chosen(h, pr_read_str(h, fs, "/sys/kernel/mm/transparent_hugepage/enabled"));
}

/*
 * Parses "tmpfs /dev/shm tmpfs rw,nosuid,nodev,huge=always 0 0". If there are several mounts on /dev/shm, the last one is
 * visible. The other mounts are private data, so a captured host has the fact "shm_huge" instead of the file.
 */
static bool shm_is_huge(struct gt_fsroot *fs)
{
	gt_autofree char *fact = NULL, *line = NULL;
	size_t size = 0;
	bool huge = gt_fs_fact(fs, "shm_huge", &fact, NULL) >= 0;
	int fd = huge ? -1 : gt_fs_open_part(fs, "/proc/self/mounts");
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	while (f && getline(&line, &size, f) > 0) {
		char where[16] = "", options[512] = ",";

		if (sscanf(line, "%*s %15s %*s %509s", where, options + 1) == 2 && !strcmp(where, "/dev/shm")) {
			strcat(options, ",");
			huge = strstr(options, ",huge=always,");
		}
	}
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return huge;
}

/* Counts the files that NCCL left in /dev/shm. */
static void count_stale(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = {0};

	gt_fs_list(fs, "/dev/shm", &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("/dev/shm/%s", names.v[i]);

		h->stale_shm += gt_starts_with(names.v[i], "nccl-") && gt_fs_exists(fs, path);
	}
}

void pr_discover_memory(struct gt_fsroot *fs, struct pr_host *h)
{
	struct statvfs v;
	int r;

	pr_launch_memory(fs, h);
	h->mem.thp_bytes = pr_read_num(fs, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
	h->mem.thp_defrag = pr_chosen(h, pr_read_str(h, fs, "/sys/kernel/mm/transparent_hugepage/defrag"));
	read_limits(fs, h);
	h->mem.shm_huge = shm_is_huge(fs);
	count_stale(fs, h);
	r = gt_fs_statvfs(fs, "/dev/shm", &v);
	h->mem.shm_bytes.state = h->mem.shm_free_bytes.state = pr_state_of(r);
	if (r >= 0) {
		h->mem.shm_bytes.v = (int64_t)(v.f_blocks * v.f_frsize);
		h->mem.shm_free_bytes.v = (int64_t)(v.f_bavail * v.f_frsize);
	}
}

int64_t pr_memory_bytes(const struct pr_host *h)
{
	return GT_MIN(pr_or(h->mem.total_bytes, 0), pr_or(h->mem.limit_bytes, INT64_MAX));
}

int64_t pr_shm_gib(const struct pr_host *h)
{
	return GT_MAX(INT64_C(1), pr_memory_bytes(h) >> 31);
}
