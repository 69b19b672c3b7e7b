/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of a GPU that waits. Each pattern is one struct and a pure function of the last few samples. The function
 * uses a mean over these samples, so that one idle second between two steps does not match.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "probe/watch/watch.h"

static bool number(const json_t *o, const char *key, double *ret)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_number(v))
		return false;
	*ret = json_number_value(v);
	return true;
}

bool pr_over(json_t *const *window, size_t n, pr_number_fn get, const void *arg, double *ret)
{
	double sum = 0, v;
	size_t has = 0;

	for (size_t i = 0; i < n; i++)
		if (get(window[i], arg, &v)) {
			sum += v;
			has++;
		}
	if (has < PR_WATCH_LEAST || has * 2 <= n)
		return false;
	*ret = sum / (double)has;
	return true;
}

static const json_t *gpus_of(const json_t *sample)
{
	return json_object_get(sample, "gpus");
}

static const json_t *latest(json_t *const *window, size_t n)
{
	return window[n - 1];
}

/* ---- values of one GPU, one node, the host ---- */

struct where {
	const char *list, *id, *key; /* list NULL: value of the host; id: member that identifies an element */
	int64_t which;
};

static const json_t *find(const json_t *sample, const struct where *w)
{
	const json_t *list = json_object_get(sample, w->list), *d;
	size_t i;

	json_array_foreach(list, i, d) if (gt_json_get_int(d, w->id, -1) == w->which) return d;
	return NULL;
}

static bool get_number(const json_t *sample, const void *arg, double *ret)
{
	const struct where *w = arg;

	return number(w->list ? find(sample, w) : w->id ? json_object_get(sample, w->id) : sample, w->key, ret);
}

static bool gpu_mean(json_t *const *window, size_t n, const json_t *gpu, const char *key, double *ret)
{
	const struct where w = {"gpus", "index", key, gt_json_get_int(gpu, "index", -1)};

	return pr_over(window, n, get_number, &w, ret);
}

static bool node_mean(json_t *const *window, size_t n, const json_t *node, const char *key, double *ret)
{
	const struct where w = {"nodes", "id", key, gt_json_get_int(node, "id", -1)};

	return pr_over(window, n, get_number, &w, ret);
}

static bool pressure_mean(json_t *const *window, size_t n, const char *key, double *ret)
{
	const struct where w = {NULL, "pressure", key, 0};

	return pr_over(window, n, get_number, &w, ret);
}

static bool allowed_mean(json_t *const *window, size_t n, double *ret)
{
	const struct where w = {NULL, NULL, "allowed_cpu_percent", 0};

	return pr_over(window, n, get_number, &w, ret);
}

/* Returns whether a program holds memory of the GPU, and so should be computing. */
static bool in_use(json_t *const *window, size_t n, const json_t *gpu)
{
	double used;

	return gpu_mean(window, n, gpu, "memory_used_bytes", &used) && used >= (double)PR_GPU_IN_USE_BYTES;
}

/* Returns the mean compute percentage of the GPUs in use; false if there is none. */
static bool busy_mean(json_t *const *window, size_t n, double *ret)
{
	const json_t *g;
	double sum = 0, v;
	size_t i, n_gpus = 0;

	json_array_foreach(gpus_of(latest(window, n)), i,
			   g) if (in_use(window, n, g) && gpu_mean(window, n, g, "compute_percent", &v))
	{
		sum += v;
		n_gpus++;
	}
	*ret = n_gpus ? sum / (double)n_gpus : 0;
	return n_gpus > 0;
}

/* ---- results ---- */

static void GT_PRINTF(4, 5) add(const struct pr_pattern *p, json_t *found, const char *subject, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	json_array_append_new(found, json_pack("{s:s, s:o, s:o}", "id", p->id, "subject", gt_json_str(subject), "what",
					       gt_json_str(what)));
}

/* Formats "GPU 3 (0000:3b:00.0)" in the caller's buffer. */
static const char *gpu_name(const json_t *gpu, char *buf, size_t size)
{
	snprintf(buf, size, "GPU %d (%.40s)", (int)gt_json_get_int(gpu, "index", -1), gt_json_get_str(gpu, "pci", "?"));
	return buf;
}

static const char *node_name(const json_t *node, char *buf, size_t size)
{
	snprintf(buf, size, "node %d", (int)gt_json_get_int(node, "id", -1));
	return buf;
}

/* ---- the driver ---- */

static void find_silent(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *s = latest(window, n);
	const char *state = gt_json_get_str(s, "gpu_state", "");

	if (!strcmp(state, "timeout") || !strcmp(state, "error"))
		add(p, found, "host", "%.300s", gt_json_get_str(s, "gpu_text", "NVML does not respond"));
}

static void find_lost(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *g;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i, g) if (json_object_get(g, "error"))
		add(p, found, gpu_name(g, name, sizeof(name)), "%.300s", gt_json_get_str(g, "error", "?"));
}

/* ---- GPUs ---- */

static void find_idle(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *g;
	double busy, used = 0;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i,
			   g) if (in_use(window, n, g) && gpu_mean(window, n, g, "compute_percent", &busy) && busy < 10)
	{
		gt_autofree char *who = pr_holders_text(json_object_get(g, "processes"), 2);

		gpu_mean(window, n, g, "memory_used_bytes", &used);
		add(p, found, gpu_name(g, name, sizeof(name)), "uses %.1f GiB, computes %.0f %% of the time%s%.300s",
		    used / (1 << 30), busy, *who ? "; held by " : "", who);
	}
}

/* Returns whether a process of the GPU has ended, or memory is in use without a process. */
static bool has_zombie(const json_t *gpu)
{
	const json_t *list = json_object_get(gpu, "processes"), *p;
	double used;
	size_t i;

	json_array_foreach(list, i, p)
	{
		const char *state = gt_json_get_str(p, "state", "unknown");

		if (!strcmp(state, "zombie") || !strcmp(state, "exiting") || !strcmp(state, "gone"))
			return true;
	}
	return !json_array_size(list) && gt_json_get_bool(gpu, "complete", false) && number(gpu, "memory_used_bytes", &used) &&
	       used >= (double)PR_GPU_IN_USE_BYTES;
}

static void find_zombie(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *g;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i, g)
	{
		const struct where w = {"gpus", "index", NULL, gt_json_get_int(g, "index", -1)};
		gt_autofree char *who = pr_holders_text(json_object_get(g, "processes"), 2);
		size_t hit = 0;

		for (size_t k = 0; k < n; k++)
			hit += has_zombie(find(window[k], &w));
		if (n >= PR_WATCH_LEAST && hit == n)
			add(p, found, gpu_name(g, name, sizeof(name)), "its memory is held without a running process%s%.300s",
			    *who ? ": " : "", who);
	}
}

static void find_uneven(const struct pr_pattern *p, json_t *const *window, size_t n, const char *key, double scale,
			double apart, const char *unit, json_t *found)
{
	const json_t *g, *low = NULL, *high = NULL;
	double least = 0, most = 0, v;
	char a[80], b[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i, g)
	{
		if (!in_use(window, n, g) || !gpu_mean(window, n, g, key, &v))
			continue;
		if (!low || v < least) {
			low = g;
			least = v;
		}
		if (!high || v > most) {
			high = g;
			most = v;
		}
	}
	if (low && high && low != high && most - least > apart)
		add(p, found, "host", "%s %.1f %s, %s %.1f %s", gpu_name(high, a, sizeof(a)), most / scale, unit,
		    gpu_name(low, b, sizeof(b)), least / scale, unit);
}

static void find_uneven_memory(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	double total = 0, v;
	const json_t *g;
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i,
			   g) if (number(g, "memory_total_bytes", &v) && (v < total || total <= 0)) total = v;
	if (total > 0)
		find_uneven(p, window, n, "memory_used_bytes", 1 << 30, total / 4, "GiB", found);
}

static void find_uneven_compute(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	find_uneven(p, window, n, "compute_percent", 1, 40, "% busy", found);
}

/* Returns the share of samples with one of these reasons; -1 if the GPU does not report reasons. */
static double held_by(json_t *const *window, size_t n, int64_t index, const char *const *reasons, const char **ret)
{
	const struct where w = {"gpus", "index", NULL, index};
	size_t hit = 0, n_known = 0;

	for (size_t k = 0; k < n; k++) {
		const json_t *list = json_object_get(find(window[k], &w), "clock_reasons"), *r;
		bool is = false;
		size_t i;

		n_known += json_is_array(list);
		json_array_foreach(list, i,
				   r) for (const char *const *want = reasons; *want;
					   want++) if (json_is_string(r) && !strcmp(json_string_value(r), *want))
		{
			*ret = *want;
			is = true;
		}
		hit += is;
	}
	return n_known < PR_WATCH_LEAST ? -1 : (double)hit / (double)n_known;
}

static void find_throttled(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	static const char *const bad[] = {"hardware slowdown", "hardware thermal", "software thermal", "power brake",
					  NULL};
	const char *why = NULL;
	const json_t *g;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i,
			   g) if (held_by(window, n, gt_json_get_int(g, "index", -1), bad, &why) >= 0.5)
		add(p, found, gpu_name(g, name, sizeof(name)), "clocks are reduced: %s, at %d C", why,
		    (int)gt_json_get_int(g, "temperature_c", 0));
}

static void find_power_cap(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	static const char *const cap[] = {"software power cap", NULL};
	const char *why = NULL;
	const json_t *g;
	double mhz, max;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i,
			   g) if (held_by(window, n, gt_json_get_int(g, "index", -1), cap, &why) >= 0.5 &&
				  gpu_mean(window, n, g, "sm_mhz", &mhz) && number(g, "sm_max_mhz", &max) &&
				  mhz < 0.75 * max)
		add(p, found, gpu_name(g, name, sizeof(name)), "%.0f of %.0f MHz at its power limit of %.0f W", mhz,
		    max, gt_json_get_real(g, "power_limit_w", 0));
}

/* ---- PCIe ---- */

/* Returns the bytes per second of a link in one direction, including packet overhead. */
static double link_rate(int64_t gen, int64_t width)
{
	static const double lane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};

	return gen >= 1 && gen < (int64_t)GT_ARRAY_SIZE(lane) && width >= 1 && width <= 32 ? lane[gen] * (double)width
											   : 0;
}

static void find_saturated(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	static const struct {
		const char *key, *direction;
	} directions[] = {{"pcie_rx_bytes_per_s", "from the host"}, {"pcie_tx_bytes_per_s", "to the host"}};
	const json_t *g;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i, g)
	{
		int gen = (int)gt_json_get_int(g, "pcie_gen", 0), width = (int)gt_json_get_int(g, "pcie_width", 0);
		double rate = link_rate(gen, width), v;

		for (size_t k = 0; rate > 0 && k < GT_ARRAY_SIZE(directions); k++)
			if (gpu_mean(window, n, g, directions[k].key, &v) && v >= 0.75 * rate)
				add(p, found, gpu_name(g, name, sizeof(name)),
				    "%.1f GB/s %s, of a maximum of %.1f at PCIe gen %d x%d", v / 1e9, directions[k].direction,
				    rate / 1e9, gen, width);
	}
}

static void find_narrow(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *g;
	double busy = 0;
	char name[80];
	size_t i;

	json_array_foreach(gpus_of(latest(window, n)), i, g)
	{
		int gen = (int)gt_json_get_int(g, "pcie_gen", 0), width = (int)gt_json_get_int(g, "pcie_width", 0);
		int max_gen = (int)gt_json_get_int(g, "pcie_max_gen", 0),
		    max_width = (int)gt_json_get_int(g, "pcie_max_width", 0);
		/* an idle GPU reduces the link speed, never the width */
		bool slow = gpu_mean(window, n, g, "compute_percent", &busy) && busy >= 50 && gen && gen < max_gen;

		if ((width && width < max_width) || slow)
			add(p, found, gpu_name(g, name, sizeof(name)),
			    "runs at PCIe gen %d x%d; GPU and slot support gen %d x%d", gen, width, max_gen, max_width);
	}
}

/* ---- data supply of the GPUs ---- */

static void find_cpu_bound(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	double busy, cpu = 0, waits = 0;

	if (!busy_mean(window, n, &busy) || busy >= 80)
		return;
	allowed_mean(window, n, &cpu);
	pressure_mean(window, n, "cpu_some_percent", &waits);
	if (cpu >= 90)
		add(p, found, "host", "the GPUs in use compute %.0f %% of the time; the CPUs are %.0f %% busy", busy,
		    cpu);
	else if (waits >= 30)
		add(p, found, "host",
		    "the GPUs in use compute %.0f %% of the time; a task waits for a CPU %.0f %% of the time", busy, waits);
}

static void find_one_thread(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *node;
	double busy, cpu, most;
	size_t i;

	if (!busy_mean(window, n, &busy) || busy >= 60 || !allowed_mean(window, n, &cpu) || cpu >= 60)
		return;
	json_array_foreach(json_object_get(latest(window, n), "nodes"), i,
			   node) if (node_mean(window, n, node, "busiest_cpu_percent", &most) && most >= 97)
	{
		add(p, found, "host",
		    "the GPUs in use compute %.0f %% of the time; CPU %d is %.0f %% busy, all CPUs %.0f %%", busy,
		    (int)gt_json_get_int(node, "busiest_cpu", -1), most, cpu);
		return;
	}
}

static void find_disk_bound(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	double busy, waits;

	if (busy_mean(window, n, &busy) && busy < 80 && pressure_mean(window, n, "io_some_percent", &waits) &&
	    waits >= 20)
		add(p, found, "host",
		    "the GPUs in use compute %.0f %% of the time; a task waits for a disk %.0f %% of the time", busy, waits);
}

/* ---- nodes ---- */

static bool spare(json_t *const *window, size_t n, const json_t *node, double *ret)
{
	double total, unused, cache = 0;

	if (!number(node, "memory_total_bytes", &total) || total <= 0 ||
	    !node_mean(window, n, node, "memory_free_bytes", &unused))
		return false;
	node_mean(window, n, node, "memory_cache_bytes", &cache);
	*ret = 100 * (unused + cache) / total;
	return true;
}

static void find_uneven_nodes(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *nodes = json_object_get(latest(window, n), "nodes"), *node;
	double most = 0, v;
	int roomy = -1;
	char name[40];
	size_t i;

	json_array_foreach(nodes, i, node) if (spare(window, n, node, &v) && v > most)
	{
		most = v;
		roomy = (int)gt_json_get_int(node, "id", -1);
	}
	json_array_foreach(nodes, i, node) if (most > 30 && spare(window, n, node, &v) && v < 5)
		add(p, found, node_name(node, name, sizeof(name)), "%.1f %% of its memory is available; of node %d %.0f %%",
		    v, roomy, most);
}

static void find_remote(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	const json_t *node;
	double share, rate;
	char name[40];
	size_t i;

	json_array_foreach(json_object_get(latest(window, n), "nodes"), i,
			   node) if (node_mean(window, n, node, "remote_pages_percent", &share) && share >= 30 &&
				     node_mean(window, n, node, "pages_per_s", &rate) && rate >= 1000)
		add(p, found, node_name(node, name, sizeof(name)),
		    "%.0f %% of its %.0f new pages per second are for processes of other nodes", share, rate);
}

static void find_memory(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found)
{
	double stalled;

	if (pressure_mean(window, n, "memory_full_percent", &stalled) && stalled >= 5)
		add(p, found, "host", "no task runs %.0f %% of the time for lack of memory", stalled);
}

#define PATTERN(name, id_, title_)                                                                                     \
	static const struct pr_pattern name = {.id = id_, .title = title_, .find = find_##name}
PATTERN(silent, "nvml.silent", "the driver does not respond");
PATTERN(lost, "gpu.lost", "a GPU does not respond");
PATTERN(idle, "gpu.idle", "a program holds GPU memory but does not compute");
PATTERN(zombie, "gpu.zombie-context", "GPU memory is held without a running process");
PATTERN(uneven_memory, "gpu.uneven-memory", "one GPU uses much more memory than another");
PATTERN(uneven_compute, "gpu.uneven-compute", "one GPU is much busier than another");
PATTERN(throttled, "gpu.throttled", "heat or the power supply reduces the clocks");
PATTERN(power_cap, "gpu.power-cap", "the power limit costs a quarter of the clock or more");
PATTERN(saturated, "pcie.saturated", "the GPU's PCIe link is saturated");
PATTERN(narrow, "pcie.narrow", "the PCIe link is narrower or slower than supported");
PATTERN(cpu_bound, "loader.cpu", "the GPUs wait for the CPUs");
PATTERN(one_thread, "loader.thread", "the GPUs wait for one thread");
PATTERN(disk_bound, "loader.disk", "the GPUs wait for a disk");
PATTERN(uneven_nodes, "node.uneven", "one node is out of memory while another has free memory");
PATTERN(remote, "node.remote", "memory is allocated from another node");
PATTERN(memory, "host.memory", "the host is low on memory");
const struct pr_pattern *const pr_patterns[] = {
	&silent, &lost,      &idle,       &zombie, &uneven_memory, &uneven_compute, &throttled, &power_cap, &saturated,
	&narrow, &cpu_bound, &one_thread, &disk_bound,    &uneven_nodes,   &remote,    &memory,    NULL};

json_t *pr_find_patterns(json_t *const *window, size_t n)
{
	json_t *found = json_array();

	for (size_t i = 0; n && pr_patterns[i]; i++)
		pr_patterns[i]->find(pr_patterns[i], window, n, found);
	return found;
}
