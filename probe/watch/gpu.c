/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the GPUs through NVML in a persistent child process, because initialising NVML for each sample would cost more
 * than the sample. If a GPU does not support a call, the member is omitted.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include "probe/watch/gpu_readings.h"
#include "probe/watch/watch.h"

enum { FIELD_PCIE_TX_BYTES = 197, FIELD_PCIE_RX_BYTES = 198, TYPE_UNSIGNED_INT = 1 };

#define GPUS_MAX 256
struct state {
	struct pr_gpu_readings nvml;
	struct counter {
		unsigned long long bytes;
		double at_s;   /* 0: not read yet */
	} before[GPUS_MAX][2]; /* sent, received */
};

void *pr_watch_serve_state(void)
{
	return gt_xcalloc(1, sizeof(struct state));
}

static void put(json_t *d, const char *key, long long v)
{
	json_object_set_new(d, key, json_integer(v));
}

static json_t *reason_names(unsigned long long mask)
{
	json_t *list = json_array();

	for (size_t i = 0; i < PR_GPU_REASONS; i++)
		if (mask >> i & 1)
			json_array_append_new(list, json_string(pr_gpu_reason[i]));
	if (mask >> PR_GPU_REASONS) {
		gt_autofree char *rest = gt_xasprintf("0x%llx", mask & ~((1ull << PR_GPU_REASONS) - 1));

		json_array_append_new(list, json_string(rest));
	}
	return list;
}

/*
 * Reads the byte counters of NVLink (since R550 and Hopper) with the time of reading. Does not use a 32-bit counter,
 * because it wraps several times a second.
 */
static bool query_counters(struct state *s, unsigned i, pr_gpu_handle dev, json_t *d)
{
	static const char *const keys[] = {"pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"};
	struct pr_nvml_value f[2] = {{.id = FIELD_PCIE_TX_BYTES}, {.id = FIELD_PCIE_RX_BYTES}};

	if (!s->nvml.n.fields || s->nvml.n.fields(dev, 2, f) || f[0].code || f[1].code || f[0].type == TYPE_UNSIGNED_INT ||
	    f[1].type == TYPE_UNSIGNED_INT)
		return false;
	for (int k = 0; k < 2; k++) {
		struct counter *before = &s->before[i][k],
			       now = {.bytes = f[k].value.ull,
				      .at_s = f[k].timestamp_us > 0 ? (double)f[k].timestamp_us / 1e6 : gt_now_s()};

		if (before->at_s > 0 && now.at_s > before->at_s && now.bytes >= before->bytes)
			put(d, keys[k], (long long)((double)(now.bytes - before->bytes) / (now.at_s - before->at_s)));
		*before = now;
	}
	return true;
}

/* Adds the PCIe traffic. Receive is the direction from the host to the GPU. */
static void query_pcie(struct state *s, unsigned i, pr_gpu_handle dev, json_t *d)
{
	static const char *const keys[] = {"pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"};
	unsigned v;

	if (!query_counters(s, i, dev, d))
		for (int k = 0; k < 2; k++) /* the call measures for 20 ms and returns KB/s */
			if (s->nvml.n.throughput && !s->nvml.n.throughput(dev, k, &v))
				put(d, keys[k], v * 1000ll);
	if (s->nvml.n.link_gen && !s->nvml.n.link_gen(dev, &v))
		put(d, "pcie_gen", v);
	if (s->nvml.n.link_width && !s->nvml.n.link_width(dev, &v))
		put(d, "pcie_width", v);
	if (s->nvml.n.max_link_gen && !s->nvml.n.max_link_gen(dev, &v))
		put(d, "pcie_max_gen", v);
	if (s->nvml.n.max_link_width && !s->nvml.n.max_link_width(dev, &v))
		put(d, "pcie_max_width", v);
}

static void put_real(json_t *d, const char *key, double v)
{
	if (!isnan(v))
		json_object_set_new(d, key, gt_json_real(v));
}

static void put_whole(json_t *d, const char *key, double v)
{
	if (!isnan(v))
		put(d, key, (long long)v);
}

static void query_clocks(const struct pr_gpu_readings *s, pr_gpu_handle dev, json_t *d)
{
	struct pr_gpu_clocks now;

	pr_gpu_clocks(s, dev, &now);
	put_whole(d, "sm_mhz", now.sm_mhz);
	put_whole(d, "sm_max_mhz", pr_gpu_max_sm_mhz(s, dev));
	put_whole(d, "memory_mhz", now.memory_mhz);
	put_real(d, "power_w", now.power_w);
	put_real(d, "power_limit_w", pr_gpu_power_limit_w(s, dev));
	put_whole(d, "temperature_c", now.temperature_c);
	if (now.reasons_known)
		json_object_set_new(d, "clock_reasons", reason_names(now.reasons));
}

static json_t *query_gpu(struct state *s, unsigned i)
{
	const struct pr_nvml_load *n = &s->nvml.n;
	struct pr_nvml_utilization use;
	json_t *d = json_object();
	struct pr_nvml_memory mem;
	pr_gpu_handle dev;
	int r = n->handle(i, &dev);

	if (r) {
		put(d, "index", i);
		json_object_set_new(d, "error", gt_json_str(n->text(r)));
		return d;
	}
	pr_gpu_names(&s->nvml, i, dev, d);
	if (n->utilization) {
		r = n->utilization(dev, &use);
		if (!r) {
			put(d, "compute_percent", use.gpu);
			put(d, "memory_busy_percent", use.memory);
		} else if (r == PR_NVML_LOST || r == PR_NVML_RESET_REQUIRED) { /* all other calls would fail too */
			json_object_set_new(d, "error", gt_json_str(n->text(r)));
			return d;
		}
	}
	if (n->memory && !n->memory(dev, &mem)) {
		put(d, "memory_used_bytes", (long long)mem.used);
		put(d, "memory_total_bytes", (long long)mem.total);
	}
	query_pcie(s, i, dev, d);
	query_clocks(&s->nvml, dev, d);
	pr_nvml_add_processes(&n->use, dev, d);
	return d;
}

static json_t *sample_gpus(struct state *s)
{
	json_t *doc = json_object(), *gpus = json_array();
	unsigned count = pr_gpu_readings_count(&s->nvml, doc);

	json_object_set_new(doc, "gpus", gpus);
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++)
		json_array_append_new(gpus, query_gpu(s, i));
	return doc;
}

int pr_watch_serve(void *state)
{
	gt_auto_json *doc = sample_gpus(state);
	gt_autofree char *text = json_dumps(doc, JSON_COMPACT);

	if (!text || printf("%s\n", text) < 0 || fflush(stdout))
		return -EPIPE;
	return 0;
}

/* ---- in the parent ---- */

static json_t *described(struct gt_fsroot *fs, bool see_all, const char *passwd, const json_t *list)
{
	json_t *ret = json_array();
	const json_t *p;
	size_t i;

	json_array_foreach(list, i, p) {
		struct pr_holder holder = {.pid = gt_json_get_int(p, "pid", 0),
					   .memory_bytes = gt_json_get_int(p, "memory_bytes", -1)};

		pr_describe_holder(fs, see_all, passwd, &holder);
		json_array_append_new(ret, pr_holder_json(&holder));
		pr_holder_clear(&holder);
	}
	return ret;
}

void pr_watch_describe_holders(struct gt_fsroot *fs, bool shared, json_t *gpus)
{
	gt_autofree char *passwd = NULL;
	bool see_all = pr_sees_all_processes(fs);
	json_t *g;
	size_t i;

	gt_fs_read_prefix(fs, "/etc/passwd", 1 << 20, &passwd, NULL);
	json_array_foreach(gpus, i, g) {
		const json_t *list = json_object_get(g, "processes");

		if (!list)
			continue;
		json_object_set_new(g, "processes", described(fs, see_all, passwd, list));
		json_object_set_new(g, "complete", json_boolean(see_all && !shared));
	}
}
