/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries NVML in a child process with a time limit, because its calls never return if a GPU hangs. The time-out is a
 * finding. The child prints one JSON object, which is also the fact "nvml" of a captured host.
 */
#include <errno.h>
#include <string.h>
#include "lib/spawn.h"
#include "probe/host/reading.h"
#include "probe/nvml/query.h"

static int child(void *arg, struct gt_err *err)
{
	gt_auto_json *doc = pr_nvml_query(*(bool *)arg);

	gt_json_print(stdout, doc);
	fflush(stdout);
	return 0;
}

/* ---- in the parent -------------------------------------------------------------------------------------------- */

/* Compares NVML's "00000000:3B:00.0" with "0000:3b:00.0" of sysfs. */
static bool same_address(const char *nvml, const char *sysfs)
{
	size_t n = strlen(nvml), m = strlen(sysfs);

	return n >= m ? !strcasecmp(nvml + n - m, sysfs) : !strcasecmp(nvml, sysfs + m - n);
}

/* The numbers of a GPU: key in the fact, offset in struct pr_gpu. */
const struct pr_gpu_field pr_gpu_numbers[] = {
#define NUMBER(member)	{ #member, offsetof(struct pr_gpu, member) }
	NUMBER(memory_bytes),  NUMBER(persistence),   NUMBER(arch),	      NUMBER(mig),	     NUMBER(mig_pending),
	NUMBER(mig_instances), NUMBER(compute_mode),  NUMBER(bar1_bytes),     NUMBER(clock_reasons), NUMBER(remap_pending),
	NUMBER(remap_failure), NUMBER(retired_pending), NUMBER(fabric_state), NUMBER(nvlinks),	     NUMBER(nvlinks_down),
	NUMBER(index),	       NUMBER(ecc),	      NUMBER(ecc_pending),    NUMBER(c2c_links),     NUMBER(c2c_links_down),
	NUMBER(c2c_mb_per_s),  NUMBER(addressing_mode), NUMBER(memory_node),
#undef NUMBER
};
const size_t pr_n_gpu_numbers = GT_ARRAY_SIZE(pr_gpu_numbers);

struct pr_num *pr_gpu_number(const struct pr_gpu *g, size_t i)
{
	return (struct pr_num *)((char *)g + pr_gpu_numbers[i].offset);
}

#define ENDS_MAX 512 /* maximum number of links and GPUs, in case a capture is forged */

static void take_paths(struct pr_host *h, struct pr_gpu *g, const json_t *d)
{
	const json_t *links = json_object_get(d, "nvlink"), *ancestors = json_object_get(d, "ancestors"), *l;
	size_t i;

	if (g->nvlink || g->ancestor) /* duplicate entry */
		return;
	g->nvlink = gt_xcalloc(GT_MIN(json_array_size(links), ENDS_MAX) + 1, sizeof(*g->nvlink));
	g->ancestor = gt_xcalloc(GT_MIN(json_array_size(ancestors), ENDS_MAX) + 1, sizeof(*g->ancestor));
	json_array_foreach(links, i, l)
		if (g->n_nvlink < ENDS_MAX)
			g->nvlink[g->n_nvlink++] =
				(struct pr_nvlink){ .to = pr_keep(h, gt_json_get_str(l, "to", "")),
						    .kind = pr_keep(h, gt_json_get_str(l, "kind", "unknown")),
						    .links = (int)GT_MIN(GT_MAX(gt_json_get_int(l, "links", 0), 0), 64) };
	json_array_foreach(ancestors, i, l)
		if (g->n_ancestor < ENDS_MAX)
			g->ancestor[g->n_ancestor++] = (struct pr_ancestor){ .to = pr_keep(h, gt_json_get_str(l, "to", "")),
									     .level = (int)gt_json_get_int(l, "level", -1) };
	g->cpu_affinity = pr_text(h, gt_json_get_str(d, "cpu_affinity", NULL));
	g->memory_affinity = pr_text(h, gt_json_get_str(d, "memory_affinity", NULL));
}

static void take_device(struct pr_host *h, json_t *d)
{
	const char *address = gt_json_get_str(d, "pci", "");
	int64_t error = gt_json_get_int(d, "error", 0);

	if (error == 15)
		h->nvml.gpus_lost = pr_value(pr_or(h->nvml.gpus_lost, 0) + 1);
	if (error == 16)
		h->nvml.gpus_to_reset = pr_value(pr_or(h->nvml.gpus_to_reset, 0) + 1);

	for (size_t i = 0; i < h->n_gpu; i++) {
		struct pr_gpu *g = &h->gpu[i];

		if (!*address || !same_address(address, g->pci->address))
			continue;
		g->name = pr_text(h, gt_json_get_str(d, "name", NULL));
		take_paths(h, g, d);
		pr_take_use(h, g->pci, d);
		for (size_t k = 0; k < pr_n_gpu_numbers; k++)
			if (json_is_integer(json_object_get(d, pr_gpu_numbers[k].key)))
				*pr_gpu_number(g, k) = pr_value(gt_json_get_int(d, pr_gpu_numbers[k].key, 0));
	}
}

static void take_answer(struct pr_host *h, const char *text, size_t len)
{
	gt_auto_json *doc = NULL;
	json_t *gpus, *d;
	size_t i;

	if (gt_json_parse(text, len, "nvml", &doc, NULL) < 0) {
		h->nvml.answer = PR_NVML_ERROR;
		h->nvml.text = "the child process that queried NVML died";
		return;
	}
	h->nvml.text = pr_keep(h, gt_json_get_str(doc, "error", NULL));
	h->nvml.code = (int)gt_json_get_int(doc, "code", 0);
	h->nvml.answer = gt_json_get_bool(doc, "timeout", false)    ? PR_NVML_TIMEOUT :
			 gt_json_get_bool(doc, "no_library", false) ? PR_NVML_NO_LIBRARY :
			 h->nvml.code			    ? PR_NVML_ERROR :
								      PR_NVML_OK;
	h->nvml.driver = pr_text(h, gt_json_get_str(doc, "driver", NULL));
	if (json_object_get(doc, "count"))
		h->nvml.count = pr_value(gt_json_get_int(doc, "count", 0));
	if (json_object_get(doc, "cuda"))
		h->nvml.cuda_version = pr_value(gt_json_get_int(doc, "cuda", 0));
	if (json_object_get(doc, "p2p_status"))
		h->nvml.p2p_status = pr_value(gt_json_get_int(doc, "p2p_status", 0));
	gpus = json_object_get(doc, "gpus");
	json_array_foreach(gpus, i, d)
		take_device(h, d);
}

static void query_in_child(struct pr_host *h, bool see_all, double timeout_s)
{
	struct gt_spawn s = { .in_child = child, .arg = &see_all, .timeout_s = timeout_s };
	int r = gt_spawn(&s, NULL);

	if (r == -ETIMEDOUT) {
		h->nvml.answer = PR_NVML_TIMEOUT;
		h->nvml.text = pr_own(h, gt_xasprintf("NVML did not respond within %g s", timeout_s));
	} else {
		take_answer(h, s.out ? s.out : "", s.out_len);
	}
	gt_spawn_clear(&s);
}

void pr_discover_nvml(struct gt_fsroot *fs, struct pr_host *h, double timeout_s)
{
	gt_autofree char *text = NULL;
	size_t len;

	if (h->live) {
		/* starts no child on a host without GPU, module and library */
		if (h->n_gpu || h->driver.module_version.v || pr_find_lib(h, "libnvidia-ml.so.1", 0))
			query_in_child(h, pr_sees_all_processes(fs), timeout_s);
		else
			h->nvml.answer = PR_NVML_NO_LIBRARY;
	} else if (gt_fs_fact(fs, "nvml", &text, &len) >= 0) {
		take_answer(h, text, len);
	}
}

static void put_paths(const struct pr_gpu *g, json_t *d)
{
	json_t *links = json_array(), *ancestors = json_array();

	for (size_t i = 0; i < g->n_nvlink; i++)
		json_array_append_new(links, json_pack("{s:s, s:s, s:i}", "to", g->nvlink[i].to, "kind", g->nvlink[i].kind, "links",
						       g->nvlink[i].links));
	for (size_t i = 0; i < g->n_ancestor; i++)
		json_array_append_new(ancestors,
				      json_pack("{s:s, s:i}", "to", g->ancestor[i].to, "level", g->ancestor[i].level));
	if (g->n_nvlink)
		json_object_set(d, "nvlink", links);
	if (g->n_ancestor)
		json_object_set(d, "ancestors", ancestors);
	json_decref(links);
	json_decref(ancestors);
	if (g->cpu_affinity.v)
		json_object_set_new(d, "cpu_affinity", gt_json_str(g->cpu_affinity.v));
	if (g->memory_affinity.v)
		json_object_set_new(d, "memory_affinity", gt_json_str(g->memory_affinity.v));
}

char *pr_nvml_fact(const struct pr_host *h)
{
	gt_auto_json *doc = NULL;
	json_t *gpus;

	if (h->nvml.answer == PR_NVML_NOT_ASKED)
		return NULL;
	doc = json_object();
	gpus = json_array();
	json_object_set_new(doc, "code", json_integer(h->nvml.code));
	if (h->nvml.answer == PR_NVML_NO_LIBRARY)
		json_object_set_new(doc, "no_library", json_true());
	if (h->nvml.answer == PR_NVML_TIMEOUT)
		json_object_set_new(doc, "timeout", json_true());
	if (h->nvml.text)
		json_object_set_new(doc, "error", gt_json_str(h->nvml.text));
	if (h->nvml.driver.v)
		json_object_set_new(doc, "driver", gt_json_str(h->nvml.driver.v));
	if (pr_has(h->nvml.count))
		json_object_set_new(doc, "count", json_integer(h->nvml.count.v));
	if (pr_has(h->nvml.cuda_version))
		json_object_set_new(doc, "cuda", json_integer(h->nvml.cuda_version.v));
	if (pr_has(h->nvml.p2p_status))
		json_object_set_new(doc, "p2p_status", json_integer(h->nvml.p2p_status.v));
	json_object_set_new(doc, "gpus", gpus);
	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];
		json_t *d;

		if (!g->name.v)
			continue;
		d = json_pack("{s:o,s:s}", "name", gt_json_str(g->name.v), "pci", g->pci->address);
		for (size_t k = 0; k < pr_n_gpu_numbers; k++)
			if (pr_has(*pr_gpu_number(g, k)))
				json_object_set_new(d, pr_gpu_numbers[k].key, json_integer(pr_gpu_number(g, k)->v));
		put_paths(g, d);
		json_array_append_new(gpus, d);
	}
	for (int64_t i = 0; i < pr_or(h->nvml.gpus_lost, 0); i++)
		json_array_append_new(gpus, json_pack("{s:i}", "error", 15));
	for (int64_t i = 0; i < pr_or(h->nvml.gpus_to_reset, 0); i++)
		json_array_append_new(gpus, json_pack("{s:i}", "error", 16));
	return gt_json_text(doc);
}
