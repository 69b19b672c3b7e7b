/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the last few samples, finds their patterns, and builds the summary at the end. */
#include <string.h>
#include "probe/watch/watch.h"

/* The values in the summary, per GPU and per node. */
static const char *const gpu_keys[] = {
	"compute_percent", "memory_used_bytes", "pcie_rx_bytes_per_s", "pcie_tx_bytes_per_s",
	"sm_mhz",          "power_w",           "temperature_c"};
static const char *const node_keys[] = {"cpu_percent", "busiest_cpu_percent", "iowait_percent", "memory_free_bytes",
					"remote_pages_percent"};
#define KEYS_MAX 8

struct sum {
	double least, most, total;
	size_t n;
};
struct item {
	int64_t id;
	char *pci, *name;
	struct sum sum[KEYS_MAX];
	double joules;
};
struct items {
	struct item *v;
	size_t n;
};
struct occurrence {
	char *id, *subject, *what; /* what: the most recent text */
	size_t n;
};
struct pr_session {
	json_t *window[PR_WATCH_WINDOW];
	size_t n_window, n_samples;
	double first_s, last_s;
	struct items gpus, nodes;
	struct occurrence *occurrence;
	size_t n_occurrences;
	char *gpu_state;
};

struct pr_session *pr_session_new(void)
{
	return gt_xcalloc(1, sizeof(struct pr_session));
}

static void things_free(struct items *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].pci);
		free(t->v[i].name);
	}
	free(t->v);
}

void pr_session_free(struct pr_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_window; i++)
		json_decref(s->window[i]);
	for (size_t i = 0; i < s->n_occurrences; i++) {
		free(s->occurrence[i].id);
		free(s->occurrence[i].subject);
		free(s->occurrence[i].what);
	}
	free(s->occurrence);
	things_free(&s->gpus);
	things_free(&s->nodes);
	free(s->gpu_state);
	free(s);
}

#define ITEMS_MAX 4096 /* maximum number, because recordings are untrusted */

static struct item *item_of(struct items *t, const json_t *d, const char *id_key)
{
	int64_t id = gt_json_get_int(d, id_key, -1);

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].id == id)
			return &t->v[i];
	if (t->n == ITEMS_MAX)
		return NULL;
	t->v = gt_xrealloc(t->v, (t->n + 1) * sizeof(*t->v));
	t->v[t->n] = (struct item){.id = id};
	return &t->v[t->n++];
}

static void take_name(char **to, const json_t *d, const char *key)
{
	const char *v = gt_json_get_str(d, key, NULL);

	if (!*to && v)
		*to = gt_xstrdup(v);
}

static void add_numbers(struct items *t, const json_t *list, const char *id_key, const char *const *keys,
			size_t n_keys, double past_s)
{
	const json_t *d;
	size_t i;

	json_array_foreach(list, i, d)
	{
		struct item *it = item_of(t, d, id_key);

		if (!it)
			return;
		take_name(&it->pci, d, "pci");
		take_name(&it->name, d, "name");
		for (size_t k = 0; k < n_keys; k++) {
			const json_t *v = json_object_get(d, keys[k]);
			struct sum *sum = &it->sum[k];
			double x = json_number_value(v);

			if (!json_is_number(v))
				continue;
			sum->least = sum->n ? GT_MIN(sum->least, x) : x;
			sum->most = sum->n ? GT_MAX(sum->most, x) : x;
			sum->total += x;
			sum->n++;
		}
		it->joules += gt_json_get_real(d, "power_w", 0) * past_s;
	}
}

static void count_patterns(struct pr_session *s, const json_t *found)
{
	const json_t *p;
	size_t i, k;

	json_array_foreach(found, i, p)
	{
		const char *id = gt_json_get_str(p, "id", ""), *subject = gt_json_get_str(p, "subject", "");

		for (k = 0; k < s->n_occurrences; k++)
			if (!strcmp(s->occurrence[k].id, id) && !strcmp(s->occurrence[k].subject, subject))
				break;
		if (k == s->n_occurrences) {
			if (s->n_occurrences == ITEMS_MAX)
				return;
			s->occurrence = gt_xrealloc(s->occurrence, (s->n_occurrences + 1) * sizeof(*s->occurrence));
			s->occurrence[s->n_occurrences++] =
				(struct occurrence){.id = gt_xstrdup(id), .subject = gt_xstrdup(subject)};
		}
		free(s->occurrence[k].what);
		s->occurrence[k].what = gt_xstrdup(gt_json_get_str(p, "what", ""));
		s->occurrence[k].n++;
	}
}

void pr_session_add(struct pr_session *s, json_t *sample)
{
	double at = gt_json_get_real(sample, "seconds", s->last_s), past;
	json_t *found;

	if (s->n_window == PR_WATCH_WINDOW) {
		json_decref(s->window[0]);
		memmove(s->window, s->window + 1, (PR_WATCH_WINDOW - 1) * sizeof(*s->window));
		s->n_window--;
	}
	s->window[s->n_window++] = json_incref(sample);
	if (!s->n_samples)
		s->first_s = s->last_s = at;
	past = GT_MAX(at - s->last_s, 0);
	s->last_s = GT_MAX(at, s->last_s);
	s->n_samples++;
	found = pr_find_patterns(s->window, s->n_window);
	json_object_set_new(sample, "patterns", found);
	count_patterns(s, found);
	add_numbers(&s->gpus, json_object_get(sample, "gpus"), "index", gpu_keys, GT_ARRAY_SIZE(gpu_keys), past);
	add_numbers(&s->nodes, json_object_get(sample, "nodes"), "id", node_keys, GT_ARRAY_SIZE(node_keys), past);
	free(s->gpu_state);
	s->gpu_state = gt_xstrdup(gt_json_get_str(sample, "gpu_state", "none"));
}

static json_t *things_json(const struct items *t, const char *id_key, const char *const *keys, size_t n_keys,
			   bool cards)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->n; i++) {
		const struct item *it = &t->v[i];
		json_t *d = json_pack("{s:I}", id_key, (json_int_t)it->id);

		if (cards) {
			json_object_set_new(d, "pci", gt_json_str(it->pci));
			json_object_set_new(d, "name", gt_json_str(it->name));
			json_object_set_new(d, "energy_wh", gt_json_real(it->joules / 3600));
		}
		for (size_t k = 0; k < n_keys; k++) {
			const struct sum *sum = &it->sum[k];

			if (sum->n)
				json_object_set_new(d, keys[k],
						    json_pack("{s:o, s:o, s:o}", "min", gt_json_real(sum->least),
							      "mean", gt_json_real(sum->total / (double)sum->n), "max",
							      gt_json_real(sum->most)));
		}
		json_array_append_new(list, d);
	}
	return list;
}

json_t *pr_session_summary(const struct pr_session *s)
{
	json_t *found = json_array();

	for (size_t i = 0; i < s->n_occurrences; i++)
		json_array_append_new(found,
				      json_pack("{s:o, s:o, s:o, s:i, s:o}", "id", gt_json_str(s->occurrence[i].id),
						"subject", gt_json_str(s->occurrence[i].subject), "what",
						gt_json_str(s->occurrence[i].what), "samples", (int)s->occurrence[i].n, "percent",
						gt_json_real(100.0 * (double)s->occurrence[i].n / (double)s->n_samples)));
	return json_pack("{s:s, s:s, s:i, s:o, s:s, s:o, s:o, s:o}", "schema", PR_WATCH_SCHEMA, "kind", "summary",
			 "samples", (int)s->n_samples, "seconds", gt_json_real(s->last_s - s->first_s), "gpu_state",
			 s->gpu_state ? s->gpu_state : "none", "gpus",
			 things_json(&s->gpus, "index", gpu_keys, GT_ARRAY_SIZE(gpu_keys), true), "nodes",
			 things_json(&s->nodes, "id", node_keys, GT_ARRAY_SIZE(node_keys), false), "patterns", found);
}
