/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include "bench/bench.h"
#include "bench/result/result.h"
#include "bench/result/result_set.h"
#include "lib/file.h"

static const char *const host_facts[] = {"kernel",        "kernel_cmdline", "microcode",    "distribution",
					 "nvidia_driver", "virtualization", "cpus_allowed", "memory_bytes",
					 "gpus",          "numa_nodes"};

static int is_json(const struct dirent *d)
{
	return d->d_name[0] != '.' && gt_ends_with(d->d_name, ".json");
}

static int expand(const char *path, struct gt_strv *files, struct gt_err *err)
{
	struct dirent **list;
	struct stat st;
	int n;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		gt_strv_add(files, path);
		return 0;
	}
	n = scandir(path, &list, is_json, alphasort);
	if (n < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot list %.400s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		gt_autofree char *file = gt_xasprintf("%s/%s", path, list[i]->d_name);

		gt_strv_add(files, file);
		free(list[i]);
	}
	free(list);
	return n ? 0 : gt_fail_exit(err, GT_EXIT_USAGE, ENOENT, "%.400s contains no results (*.json)", path);
}

static char *skip_reason(const struct bn_result *s)
{
	const json_t *run = json_object_get(s->doc, "run");
	int64_t major = gt_json_get_int(json_object_get(s->doc, "tool"), "suite_major", -1);

	if (major != BN_SUITE_MAJOR)
		return gt_xasprintf("made by measuring suite %lld, this one is %d", (long long)major, BN_SUITE_MAJOR);
	if (gt_json_get_str(run, "invalid", NULL))
		return gt_xasprintf("invalid session: %.200s", gt_json_get_str(run, "invalid", ""));
	if (s->data->interrupted)
		return gt_xstrdup("its session was interrupted");
	for (size_t i = 0; i < s->data->n_runs; i++)
		if (s->data->runs[i].wrong)
			return gt_xasprintf("a result was wrong: %.200s", s->data->runs[i].wrong);
	return NULL;
}

int bn_result_set_add(struct bn_result_set *set, const char *path, json_t *doc, struct gt_err *err)
{
	const char *slash = strrchr(path, '/');
	struct bn_data *data;
	struct bn_result *s;
	const json_t *host;
	int r = bn_data_from_doc(doc, path, &data, err);

	if (r < 0)
		return r;
	set->v = gt_xrealloc(set->v, (set->n + 1) * sizeof(*set->v));
	s = &set->v[set->n++];
	*s = (struct bn_result){.doc = json_incref(doc), .data = data};
	s->name = gt_xstrdup(slash ? slash + 1 : path);
	if (gt_ends_with(s->name, ".json"))
		s->name[strlen(s->name) - strlen(".json")] = '\0';
	host = json_object_get(s->doc, "host");
	s->identity = gt_json_get_str(host, "identity", "unknown");
	s->cpu = gt_json_get_str(host, "cpu", "unknown CPU");
	s->started = gt_json_get_str(json_object_get(s->doc, "run"), "started", "");
	s->skipped = skip_reason(s);
	return 0;
}

int bn_result_set_load(char *const *paths, struct bn_result_set *ret, struct gt_err *err)
{
	gt_auto_strv files = {0};
	bn_auto_result_set set = {0};
	int r;

	*ret = set;
	for (; *paths; paths++) {
		r = expand(*paths, &files, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < files.n; i++) {
		gt_auto_json *doc = NULL;

		r = bn_doc_load(files.v[i], &doc, err);
		if (r < 0)
			return r;
		r = bn_result_set_add(&set, files.v[i], doc, err);
		if (r < 0)
			return r;
	}
	*ret = set;
	set = (struct bn_result_set){0};
	return 0;
}

void bn_result_set_clear(struct bn_result_set *s)
{
	for (size_t i = 0; i < s->n; i++) {
		bn_data_free(s->v[i].data);
		json_decref(s->v[i].doc);
		free(s->v[i].name);
		free(s->v[i].skipped);
	}
	free(s->v);
	*s = (struct bn_result_set){0};
}

bool bn_result_same_machine(const struct bn_result *a, const struct bn_result *b)
{
	gt_auto_buf what = {0};

	if (!gt_streq(a->identity, b->identity) || gt_streq(a->identity, "unknown"))
		return false;
	bn_identity_difference(a->doc, b->doc, &what);
	return !what.len && bn_identity_shown(a->doc, b->doc);
}

const struct bn_metric *bn_result_metric(const struct bn_result *s, const char *id, const char *definition)
{
	for (size_t i = 0; i < s->data->n_metrics; i++)
		if (gt_streq(s->data->metrics[i].id, id) &&
		    (!definition || gt_streq(s->data->metrics[i].definition, definition)))
			return &s->data->metrics[i];
	return NULL;
}

double bn_result_level(const struct bn_result *s, const struct bn_metric *m, double *ret_se)
{
	size_t which = (size_t)(m - s->data->metrics), n = 0;
	gt_autofree double *x = gt_xcalloc(s->data->n_runs + 1, sizeof(*x));

	for (size_t i = 0; i < s->data->n_runs; i++) {
		const struct bn_run *run = &s->data->runs[i];
		bool changed = run->kind == BN_KIND_AB && run->arm == BN_ARM_B;

		if (!changed && run->value[which] > 0 && isfinite(run->value[which]))
			x[n++] = log(run->value[which]);
	}
	*ret_se = n > 1 ? 1.2533 * bn_sd(x, n) / sqrt((double)n) : 0; /* standard error of a median, normal values */
	return bn_median(x, n);
}

const json_t *bn_result_setting(const struct bn_result *s, const char *key)
{
	const json_t *v = json_object_get(json_object_get(json_object_get(s->doc, "settings"), "a"), key);

	if (!v && gt_streq(key, "gpubench"))
		v = json_object_get(json_object_get(s->doc, "tool"), "version");
	for (size_t i = 0; !v && i < GT_ARRAY_SIZE(host_facts); i++)
		if (gt_streq(key, host_facts[i]))
			v = json_object_get(json_object_get(s->doc, "host"), key);
	return v;
}

bool bn_setting_equal(const json_t *a, const json_t *b, const char *key)
{
	if (!a || !b)
		return a == b;
	if (gt_streq(key, "memory_bytes") && json_is_number(a) && json_is_number(b))
		return round(json_number_value(a) / (1 << 30)) == round(json_number_value(b) / (1 << 30));
	return json_equal((json_t *)a, (json_t *)b);
}

void bn_result_set_keys(const struct bn_result_set *s, struct gt_strv *ret)
{
	const char *key;
	json_t *v;

	gt_strv_add(ret, "gpubench");
	for (size_t i = 0; i < GT_ARRAY_SIZE(host_facts); i++)
		gt_strv_add(ret, host_facts[i]);
	for (size_t i = 0; i < s->n; i++)
		if (!s->v[i].skipped)
			json_object_foreach(json_object_get(json_object_get(s->v[i].doc, "settings"), "a"), key,
					    v) if (!gt_strv_has(ret, key)) gt_strv_add(ret, key);
}
