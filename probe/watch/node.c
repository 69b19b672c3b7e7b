/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the activity of CPUs and memory per node: /proc/stat, node*, /proc/pressure. Counters become shares of the time
 * since the last reading. A counter that decreased (a CPU was offline) is skipped once. */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/watch/watch.h"

#define NODE "/sys/devices/system/node"

struct ticks {
	uint64_t busy, wait, all;
};
static const char *const pressures[] = {"cpu", "memory", "io"};
struct pr_node_watch {
	const struct pr_host *h;
	struct ticks *cpu; /* ticks of each CPU, by its number */
	size_t n_cpu;
	struct {
		uint64_t local, other;
		bool known;
	} * pages; /* counters of each node, in the order of the host */
	struct {
		uint64_t some_us, full_us;
		bool known;
	} pressure[GT_ARRAY_SIZE(pressures)];
	double at_s;
	bool started;
};

struct pr_node_watch *pr_node_watch_new(const struct pr_host *h)
{
	struct pr_node_watch *w = gt_xcalloc(1, sizeof(*w));

	w->h = h;
	gt_set_for_each(cpu, &h->cpu.online) w->n_cpu = GT_MAX(w->n_cpu, (size_t)cpu + 1);
	w->cpu = gt_xcalloc(w->n_cpu + 1, sizeof(*w->cpu));
	w->pages = gt_xcalloc(h->n_node + 1, sizeof(*w->pages));
	return w;
}

void pr_node_watch_free(struct pr_node_watch *w)
{
	if (!w)
		return;
	free(w->cpu);
	free(w->pages);
	free(w);
}

/* Parses "cpu12 user nice system idle iowait irq softirq steal guest guest_nice". User time already includes guest time. */
static bool parse_cpu(const char *line, size_t *ret_cpu, struct ticks *ret)
{
	unsigned long long v[8] = {0};
	unsigned cpu;
	int n;

	n = sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &v[0], &v[1], &v[2], &v[3], &v[4],
		   &v[5], &v[6], &v[7]);
	if (n < 6)
		return false;
	*ret_cpu = cpu;
	ret->busy = v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
	ret->wait = v[4];
	ret->all = ret->busy + v[3] + v[4];
	return true;
}

/* Computes the time of each CPU since the last reading; 0 without an earlier one. */
static void read_cpus(struct pr_node_watch *w, struct gt_fsroot *fs, struct ticks *past)
{
	gt_autofree char *text = NULL;

	if (gt_fs_read_prefix(fs, "/proc/stat", 4u << 20, &text, NULL) < 0)
		return;
	gt_each_line(line, text) {
		struct ticks now;
		size_t cpu;

		if (strncmp(line, "cpu", 3) || line[3] < '0' || line[3] > '9' || !parse_cpu(line, &cpu, &now) ||
		    cpu >= w->n_cpu)
			continue;
		if (w->cpu[cpu].all && now.all >= w->cpu[cpu].all && now.busy >= w->cpu[cpu].busy) {
			past[cpu].all = now.all - w->cpu[cpu].all;
			past[cpu].busy = now.busy - w->cpu[cpu].busy;
			past[cpu].wait = now.wait >= w->cpu[cpu].wait ? now.wait - w->cpu[cpu].wait : 0;
		}
		w->cpu[cpu] = now;
	}
}

static json_t *percent(double part, double whole)
{
	double v = whole > 0 ? 100 * part / whole : 0;

	return gt_json_real((double)(long)(GT_MIN(GT_MAX(v, 0), 100) * 10 + 0.5) / 10);
}

static void put_cpus(const struct pr_node_watch *w, const struct gt_set *cpus, const struct ticks *past, json_t *d)
{
	struct ticks sum = {0};
	double most = -1;
	int busiest = -1;

	gt_set_for_each(cpu, cpus)
	{
		if ((size_t)cpu >= w->n_cpu || !past[cpu].all)
			continue;
		sum.all += past[cpu].all;
		sum.busy += past[cpu].busy;
		sum.wait += past[cpu].wait;
		if ((double)past[cpu].busy / (double)past[cpu].all > most) {
			most = (double)past[cpu].busy / (double)past[cpu].all;
			busiest = cpu;
		}
	}
	if (!sum.all)
		return;
	json_object_set_new(d, "cpu_percent", percent((double)sum.busy, (double)sum.all));
	json_object_set_new(d, "iowait_percent", percent((double)sum.wait, (double)sum.all));
	json_object_set_new(d, "busiest_cpu", json_integer(busiest));
	json_object_set_new(d, "busiest_cpu_percent", percent(most, 1));
}

/* Returns the number after "key:" or "key ", anywhere in a line. */
static bool value_of(const char *text, const char *key, uint64_t *ret)
{
	size_t n = strlen(key);

	for (const char *at = text; (at = strstr(at, key)); at += n) {
		unsigned long long v;

		if ((at == text || at[-1] == ' ' || at[-1] == '\n') && (at[n] == ':' || at[n] == ' ') &&
		    sscanf(at + n + 1, "%llu", &v) == 1) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static void put_memory(struct gt_fsroot *fs, const struct pr_host *h, const struct pr_node *node, json_t *d)
{
	static const struct {
		const char *key, *name;
	} lines[] = {{"MemTotal", "memory_total_bytes"},
		     {"MemFree", "memory_free_bytes"},
		     {"FilePages", "memory_cache_bytes"}};
	gt_autofree char *path = gt_xasprintf(NODE "/node%d/meminfo", node->id), *text = NULL;
	bool whole = false;
	uint64_t kib;

	if (gt_fs_read_prefix(fs, path, 16384, &text, NULL) < 0) {
		whole = h->n_node == 1 &&
			gt_fs_read_prefix(fs, "/proc/meminfo", 16384, &text, NULL) >= 0; /* a kernel without NUMA */
		if (!whole)
			return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(lines); i++)
		if (value_of(text, whole && i == 2 ? "Cached" : lines[i].key, &kib) && kib < UINT64_C(1) << 50)
			json_object_set_new(d, lines[i].name, json_integer((json_int_t)kib * 1024));
}

/* Adds the pages allocated for processes of other nodes, as a share of all allocated pages. */
static void put_pages(struct pr_node_watch *w, struct gt_fsroot *fs, size_t i, double past_s, json_t *d)
{
	gt_autofree char *path = gt_xasprintf(NODE "/node%d/numastat", w->h->node[i].id), *text = NULL;
	uint64_t local, other;
	bool known = gt_fs_read_prefix(fs, path, 4096, &text, NULL) >= 0 && value_of(text, "local_node", &local) &&
		     value_of(text, "other_node", &other);

	if (known && w->pages[i].known && past_s > 0 && local >= w->pages[i].local && other >= w->pages[i].other) {
		double far = (double)(other - w->pages[i].other), near = (double)(local - w->pages[i].local);

		json_object_set_new(d, "pages_per_s", gt_json_real((double)(long)((near + far) / past_s)));
		json_object_set_new(d, "remote_pages_percent", percent(far, near + far));
	}
	w->pages[i].known = known;
	if (known) {
		w->pages[i].local = local;
		w->pages[i].other = other;
	}
}

/* Parses "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345". */
static bool stalled(const char *text, const char *kind, uint64_t *ret)
{
	const char *line = strstr(text, kind), *total = line ? strstr(line, "total=") : NULL;
	unsigned long long v;

	if (!total || sscanf(total, "total=%llu", &v) != 1)
		return false;
	*ret = v;
	return true;
}

static json_t *read_pressure(struct pr_node_watch *w, struct gt_fsroot *fs, double past_s)
{
	json_t *d = json_object();

	for (size_t i = 0; i < GT_ARRAY_SIZE(pressures); i++) {
		gt_autofree char *path = gt_xasprintf("/proc/pressure/%s", pressures[i]), *text = NULL,
				 *some_key = gt_xasprintf("%s_some_percent", pressures[i]),
				 *full_key = gt_xasprintf("%s_full_percent", pressures[i]);
		uint64_t some, full = 0;
		bool has_full, was = w->pressure[i].known;

		w->pressure[i].known = false;
		if (gt_fs_read_prefix(fs, path, 4096, &text, NULL) < 0 || !stalled(text, "some", &some))
			continue;
		has_full = strcmp(pressures[i], "cpu") &&
			   stalled(text, "full", &full); /* system-wide "cpu full" is always 0 */
		if (was && past_s > 0 && some >= w->pressure[i].some_us)
			json_object_set_new(d, some_key,
					    percent((double)(some - w->pressure[i].some_us) / 1e6, past_s));
		if (was && has_full && past_s > 0 && full >= w->pressure[i].full_us)
			json_object_set_new(d, full_key,
					    percent((double)(full - w->pressure[i].full_us) / 1e6, past_s));
		w->pressure[i].known = true;
		w->pressure[i].some_us = some;
		w->pressure[i].full_us = full;
	}
	return d;
}

void pr_node_watch_look(struct pr_node_watch *w, struct gt_fsroot *fs, double now_s, json_t *sample)
{
	gt_autofree struct ticks *past = gt_xcalloc(w->n_cpu + 1, sizeof(*past));
	double past_s = w->started ? now_s - w->at_s : 0;
	json_t *nodes = json_array(), *doc = json_object();

	read_cpus(w, fs, past);
	for (size_t i = 0; i < w->h->n_node; i++) {
		const struct pr_node *node = &w->h->node[i];
		json_t *d = json_pack("{s:i}", "id", node->id);

		put_cpus(w, &node->cpus, past, d);
		put_memory(fs, w->h, node, d);
		put_pages(w, fs, i, past_s, d);
		json_array_append_new(nodes, d);
	}
	put_cpus(w, &w->h->cpu.allowed, past, doc);
	if (json_object_get(doc, "cpu_percent"))
		json_object_set(sample, "allowed_cpu_percent", json_object_get(doc, "cpu_percent"));
	json_decref(doc);
	json_object_set_new(sample, "nodes", nodes);
	json_object_set_new(sample, "pressure", read_pressure(w, fs, past_s));
	w->at_s = now_s;
	w->started = true;
}
