/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/result/data.h"
#include "lib/file.h"

#define METRICS_MAX	256
#define RUNS_MAX	100000
#define VALUES_MAX	4000000
#define SAMPLES_MAX 100000 /* maximum of a series in one launch */

const char *const bn_kind_name[] = { [BN_KIND_AB] = "ab", [BN_KIND_AA] = "aa", [BN_KIND_SINGLE] = "single", NULL };
const char *const bn_design_name[] = { [BN_DESIGN_PAIRS] = "pairs", [BN_DESIGN_AA] = "aa", [BN_DESIGN_SINGLE] = "single",
				       [BN_DESIGN_UNPAIRED] = "unpaired", NULL };

void bn_warning(json_t *warnings, const char *code, const char *hint, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(warnings, json_pack("{s:s, s:o, s:o}", "code", code, "text", gt_json_str(text), "hint",
						  gt_json_str(hint)));
}

/* Returns the index of a name in a NULL-terminated list, or -1. */
static int index_of(const char *const *names, const char *name)
{
	for (int i = 0; name && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

enum bn_session_design bn_design_of(const char *name)
{
	return (enum bn_session_design)GT_MAX(index_of(bn_design_name, name), BN_DESIGN_PAIRS);
}

static int read_metric(const json_t *j, struct bn_metric *m, struct gt_err *err)
{
	const char *direction = gt_json_get_str(j, "direction", NULL), *role = gt_json_get_str(j, "role", NULL);
	int d = index_of(bn_direction_name, direction), ro = index_of(bn_role_name, role), r;

	r = gt_json_req_str(j, "id", &m->series, err);
	if (r < 0)
		return r;
	r = gt_json_req_str(j, "workload", &m->workload, err);
	if (r < 0)
		return r;
	r = gt_json_req_str(j, "unit", &m->unit, err);
	if (r < 0)
		return r;
	r = gt_json_req_real(j, "margin", &m->margin, err);
	if (r < 0)
		return r;
	if (d < 0 || ro < 0)
		return gt_fail(err, EINVAL,
			       "metric %.100s: \"direction\" must be lower or higher, \"role\" primary, guard, "
			       "explore or control",
			       m->series);
	if (!(m->margin > 0 && m->margin < 1))
		return gt_fail(err, EINVAL, "metric %.100s: \"margin\" must lie between 0 and 1", m->series);
	m->direction = (enum bn_direction)d;
	m->role = (enum bn_role)ro;
	m->definition = gt_json_get_str(j, "definition", "");
	m->id = gt_xstrdup(m->series);
	return 0;
}

/* Sorts primary metrics first, then guards. Series appear in the document in a random order. */
static int cmp_metric(const void *a, const void *b)
{
	const struct bn_metric *x = a, *y = b;

	if (x->role != y->role)
		return x->role > y->role ? 1 : -1;
	return strcmp(x->id, y->id);
}

static int read_metrics(struct bn_data *d, struct gt_err *err)
{
	json_t *list = NULL, *j;
	size_t i;
	int r;

	r = gt_json_req_array(d->doc, "metrics", &list, err);
	if (r < 0)
		return r;
	if (json_array_size(list) > METRICS_MAX)
		return gt_fail(err, E2BIG, "more than %d metrics; not a gpubench result", METRICS_MAX);
	d->metrics = gt_xcalloc(2 * json_array_size(list) + 1, sizeof(*d->metrics));
	json_array_foreach(list, i, j) {
		struct bn_metric *m = &d->metrics[d->n_metrics];

		r = read_metric(j, m, err);
		if (r < 0)
			return gt_fail_prefix(err, "metrics[%zu]", i);
		d->n_metrics++;
		for (size_t k = 0; k + 1 < d->n_metrics; k++)
			if (strcmp(d->metrics[k].series, m->series) == 0 && !d->metrics[k].tail)
				return gt_fail(err, EINVAL, "metrics[%zu]: %.100s is listed twice", i, m->series);
		if (!gt_json_get_bool(j, "tail", false))
			continue;
		m[1] = m[0];
		m[1].id = gt_xasprintf("%s.p99", m->series);
		m[1].role = m->role == BN_PRIMARY ? BN_GUARD : BN_EXPLORE;
		m[1].margin = GT_MIN(.5, 2 * m->margin);
		m[1].tail = true;
		d->n_metrics++;
	}
	qsort(d->metrics, d->n_metrics, sizeof(*d->metrics), cmp_metric);
	return 0;
}

/* Returns the samples after the warm-up. Returns NULL if one of them is not a positive number. */
static double *read_samples(const json_t *series, size_t *ret_n)
{
	json_t *list = json_object_get(series, "samples"), *v;
	int64_t skip = gt_json_get_int(series, "warmup", 0);
	size_t n = json_array_size(list), k = 0, i;
	double *x;

	if (skip < 0 || (size_t)skip >= n || n > SAMPLES_MAX)
		return NULL;
	x = gt_xcalloc(n, sizeof(*x));
	json_array_foreach(list, i, v) {
		if (i < (size_t)skip)
			continue;
		x[k] = json_is_number(v) ? json_number_value(v) : NAN;
		if (!(x[k] > 0) || !isfinite(x[k])) {
			free(x);
			return NULL;
		}
		k++;
	}
	*ret_n = k;
	return x;
}

#define TREND_MAX 256 /* the duration of a trend test grows with the square of the number of values */

/* Returns true if the samples drifted by more than 5 % during the launch. More than TREND_MAX samples are reduced to
 * the medians of TREND_MAX equal sections. */
static bool drifts(double *x, size_t n)
{
	double level[TREND_MAX];
	struct bn_trend t;

	if (n > TREND_MAX) {
		for (size_t i = 0; i < TREND_MAX; i++)
			level[i] = bn_median(x + i * n / TREND_MAX, (i + 1) * n / TREND_MAX - i * n / TREND_MAX);
		x = level;
		n = TREND_MAX;
	}
	t = bn_trend(x, n);
	return t.p < .01 && fabs(t.slope) * (double)n > .05;
}

static void read_values(const struct bn_data *d, const json_t *series, struct bn_run *run, size_t bad[])
{
	for (size_t m = 0; m < d->n_metrics; m++) {
		const struct bn_metric *metric = &d->metrics[m];
		json_t *s = json_object_get(series, metric->series);
		gt_autofree double *x = NULL;
		bool tail = metric->tail;
		size_t n = 0;

		run->value[m] = NAN;
		if (!s)
			continue;
		x = read_samples(s, &n);
		if (!x) {
			bad[m]++;
			continue;
		}
		/* the bad tail of a rate has the low values */
		run->value[m] = !tail ? bn_median(x, n) : bn_quantile(x, n, metric->direction == BN_LOWER ? .99 : .01);
		if (!tail)
			run->unsteady |= drifts(x, n);
	}
}

#define BN_COUNT_MAX	1000000000

static int read_run(const struct bn_data *d, const json_t *j, struct bn_run *run, size_t bad[], struct gt_err *err)
{
	const char *kind = gt_json_get_str(j, "kind", NULL), *arm = gt_json_get_str(j, "arm", NULL);
	int k = index_of(bn_kind_name, kind), r;

	r = gt_json_req_int(j, "seq", &run->seq, err);
	if (r < 0)
		return r;
	r = gt_json_req_int(j, "block", &run->block, err);
	if (r < 0)
		return r;
	r = gt_json_req_str(j, "workload", &run->workload, err);
	if (r < 0)
		return r;
	if (k < 0 || !arm || (strcmp(arm, "A") != 0 && strcmp(arm, "B") != 0))
		return gt_fail(err, EINVAL, "\"kind\" must be ab, aa or single, \"arm\" A or B");
	if (run->seq < 0 || run->seq > BN_COUNT_MAX || run->block < -1 || run->block > BN_COUNT_MAX)
		return gt_fail(err, ERANGE, "\"seq\" and \"block\" are counts of launches");
	run->kind = (enum bn_kind)k;
	run->arm = arm[0] == 'B' ? BN_ARM_B : BN_ARM_A;
	run->t_s = gt_json_get_real(j, "t_s", NAN);
	run->failure = gt_json_get_str(j, "failure", NULL);
	run->wrong = gt_json_get_str(j, "wrong", NULL);
	run->value = gt_xcalloc(d->n_metrics + 1, sizeof(double));
	/* The numbers of a failed or wrong launch are not used. */
	read_values(d, run->failure || run->wrong ? NULL : json_object_get(j, "metrics"), run, bad);
	return 0;
}

static int cmp_run(const void *a, const void *b)
{
	const struct bn_run *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int read_runs(struct bn_data *d, struct gt_err *err)
{
	gt_autofree size_t *bad = gt_xcalloc(d->n_metrics + 1, sizeof(*bad));
	json_t *list = NULL, *j;
	size_t i;
	int r;

	r = gt_json_req_array(d->doc, "launches", &list, err);
	if (r < 0)
		return r;
	if (json_array_size(list) > RUNS_MAX)
		return gt_fail(err, E2BIG, "more than %d launches; not a gpubench result", RUNS_MAX);
	if (json_array_size(list) * d->n_metrics > VALUES_MAX)
		return gt_fail(err, E2BIG, "%zu launches of %zu metrics; not a gpubench result",
			       json_array_size(list), d->n_metrics);
	d->runs = gt_xcalloc(json_array_size(list) + 1, sizeof(*d->runs));
	json_array_foreach(list, i, j) {
		r = read_run(d, j, &d->runs[d->n_runs], bad, err);
		if (r < 0)
			return gt_fail_prefix(err, "launches[%zu]", i);
		d->n_runs++;
	}
	qsort(d->runs, d->n_runs, sizeof(*d->runs), cmp_run);
	for (size_t m = 0; m < d->n_metrics; m++)
		if (bad[m])
			bn_warning(d->warnings, "samples", "these launches and their pairs are left out",
				   "%s: %zu launch%s samples that are not positive numbers", d->metrics[m].id, bad[m],
				   bad[m] == 1 ? " has" : "es have");
	return 0;
}

static void check_clock(struct bn_data *d)
{
	double last = 0;

	for (size_t i = 0; i < d->n_runs; i++) {
		const struct bn_run *run = &d->runs[i];

		if (isnan(run->t_s) || run->t_s < last) {
			d->clock_broken = true;
			bn_warning(d->warnings, "clock", "the order of the launches cannot be trusted",
				   "the time decreases or is missing at launch %lld", (long long)run->seq);
			return;
		}
		last = run->t_s;
	}
}

static int read_interims(struct bn_data *d, const json_t *run, struct gt_err *err)
{
	json_t *list = json_object_get(run, "looks"), *j;
	size_t i;

	d->interims = gt_xcalloc(json_array_size(list) + 1, sizeof(*d->interims));
	json_array_foreach(list, i, j) {
		int64_t pairs = gt_json_get_int(j, "pairs", 0);
		double alpha = gt_json_get_real(j, "alpha", 0);

		if (pairs < 1 || pairs > RUNS_MAX || !(alpha > 0 && alpha <= .2) || i >= 64)
			return gt_fail(err, EINVAL, "run.looks[%zu] is not a planned interim analysis", i);
		d->interims[d->n_interims++] = (struct bn_interim){ (size_t)pairs, alpha };
	}
	return 0;
}

static int cmp_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Counts the blocks in which every workload was launched in both arms, and computes the mean duration of a block. */
static void count_blocks(struct bn_data *d, const json_t *run)
{
	enum bn_kind main_kind = d->design == BN_DESIGN_AA ? BN_KIND_AA : BN_KIND_AB;
	size_t want = 2 * json_array_size(json_object_get(run, "workloads")), n = 0, all = 0;
	gt_autofree int64_t *block = gt_xcalloc(d->n_runs + 1, sizeof(*block));
	double end = gt_json_get_real(run, "duration_s", NAN);
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < d->n_runs; i++) {
		if (i == 0 || d->runs[i].block != last)
			all++;
		last = d->runs[i].block;
		if (d->runs[i].kind == main_kind)
			block[n++] = d->runs[i].block;
	}
	qsort(block, n, sizeof(*block), cmp_i64);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && block[j] == block[i]; j++)
			;
		d->blocks_done += want && j - i >= want;
	}
	d->block_s = all && end > 0 ? end / (double)all : NAN;
}

/* Copies the warnings that the session itself recorded. A later analysis could not find them again. */
static void copy_notes(struct bn_data *d, const json_t *run)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(run, "notes"), i, note) {
		const char *code = gt_json_get_str(note, "code", NULL), *text = gt_json_get_str(note, "text", NULL);

		if (code && text)
			bn_warning(d->warnings, code, gt_json_get_str(note, "hint", ""), "%s", text);
	}
}

static bool is_control(const unsigned char *p)
{
	return *p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0);
}

static int clean_string(json_t *s)
{
	const char *text = json_string_value(s);
	gt_autofree char *copy = NULL;
	bool dirty = strlen(text) != json_string_length(s);

	for (const char *p = text; *p && !dirty; p++)
		dirty = is_control((const unsigned char *)p);
	if (!dirty)
		return 0;
	copy = gt_xstrdup(text);
	for (unsigned char *p = (unsigned char *)copy; *p; p++)
		if (is_control(p)) {
			if (*p == 0xc2) /* two bytes: a C1 control character */
				p[1] = '?';
			*p = '?';
		}
	return json_string_set_nocheck(s, copy);
}

/* Replaces control characters by question marks, because the strings are printed to a terminal. The member "resume" is
 * left as it is: it is not printed, and its command may have several lines. */
static int clean(json_t *j)
{
	json_t *v;
	const char *key;
	size_t i;

	if (json_is_string(j))
		return clean_string(j);
	json_array_foreach(j, i, v) {
		int r = clean(v);

		if (r)
			return r;
	}
	json_object_foreach(j, key, v) {
		int r;

		for (const char *p = key; *p; p++)
			if (is_control((const unsigned char *)p))
				return -EINVAL;
		r = gt_streq(key, "resume") ? 0 : clean(v);
		if (r)
			return r;
	}
	return 0;
}

int bn_doc_clean(json_t *doc, const char *name, struct gt_err *err)
{
	return clean(doc) == 0 ? 0 : gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s: the name of a member contains "
									      "control characters", name);
}

static int read_session(struct bn_data *d, struct gt_err *err)
{
	const char *design = NULL;
	json_t *run = NULL;
	int r;

	r = gt_json_req_object(d->doc, "run", &run, err);
	if (r < 0)
		return r;
	r = gt_json_req_str(run, "design", &design, err);
	if (r < 0)
		return r;
	r = read_interims(d, run, err);
	if (r < 0)
		return r;
	r = read_metrics(d, err);
	if (r < 0)
		return r;
	r = read_runs(d, err);
	if (r < 0)
		return r;
	d->design = bn_design_of(design);
	d->seed = (uint64_t)gt_json_get_int(run, "seed", 0);
	d->interrupted = gt_json_get_bool(run, "interrupted", false);
	d->invalid = gt_json_get_str(run, "invalid", NULL);
	if (d->design != BN_DESIGN_UNPAIRED)
		check_clock(d);
	count_blocks(d, run);
	copy_notes(d, run);
	return 0;
}


static int read_document(json_t *doc, const char *name, bool untrusted, struct bn_data **ret, struct gt_err *err)
{
	gt_auto(bn_data) *d = gt_xcalloc(1, sizeof(*d));
	int r;

	r = gt_fail_as(err, BN_EXIT_INCOMPARABLE, gt_json_check_schema(doc, BN_SCHEMA, name, err));
	if (r < 0)
		return r;
	d->doc = doc;
	d->warnings = json_array();
	r = untrusted && clean(doc) < 0 ? gt_fail(err, EINVAL, "the name of a member contains control "
							       "characters") : read_session(d, err);
	if (r < 0) {
		gt_fail_prefix(err, "%s", name);
		return gt_fail_as(err, GT_EXIT_USAGE, r);
	}
	*ret = gt_take(d);
	return 0;
}

int bn_data_read(json_t *doc, const char *name, struct bn_data **ret, struct gt_err *err)
{
	return read_document(doc, name, false, ret, err);
}

int bn_data_from_doc(json_t *doc, const char *name, struct bn_data **ret, struct gt_err *err)
{
	return read_document(doc, name, true, ret, err);
}

void bn_data_free(struct bn_data *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_metrics; i++)
		free(d->metrics[i].id);
	for (size_t i = 0; i < d->n_runs; i++)
		free(d->runs[i].value);
	free(d->metrics);
	free(d->runs);
	free(d->interims);
	json_decref(d->warnings);
	free(d);
}

int bn_doc_load(const char *path, json_t **ret, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	size_t len = 0;
	int r;

	r = gt_fail_as(err, GT_EXIT_USAGE, gt_file_read(path, BN_FILE_MAX, &text, &len, err));
	if (r < 0)
		return r;
	return gt_fail_as(err, GT_EXIT_USAGE, gt_json_parse(text, len, path, ret, err));
}

size_t bn_warmup_of(const json_t *series)
{
	json_t *list = json_object_get(series, "samples"), *v;
	size_t n = json_array_size(list), i;
	gt_autofree double *x = gt_xcalloc(n + 1, sizeof(*x));

	json_array_foreach(list, i, v)
		x[i] = json_is_number(v) ? json_number_value(v) : NAN;
	return bn_warmup(x, n);
}

/* One launch in a block. */
struct cell {
	int64_t block;
	const struct bn_run *run;
};

static int cmp_cell(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->block != y->block)
		return x->block > y->block ? 1 : -1;
	return cmp_run(x->run, y->run);
}

static void add_pair(struct bn_pairs *p, size_t metric, const struct bn_run *a, const struct bn_run *b)
{
	double va = a ? a->value[metric] : NAN, vb = b ? b->value[metric] : NAN;

	p->failed_a += a && isnan(va);
	p->failed_b += b && isnan(vb);
	if (isnan(va) || isnan(vb)) {
		p->dropped++;
		return;
	}
	p->a[p->n] = va;
	p->b[p->n] = vb;
	p->d[p->n] = log(vb) - log(va);
	p->t_s[p->n] = (a->t_s + b->t_s) / 2;
	p->block[p->n++] = a->block;
}

void bn_pairs_collect(const struct bn_data *data, size_t metric, enum bn_kind kind, struct bn_pairs *ret)
{
	gt_autofree struct cell *cell = gt_xcalloc(data->n_runs + 1, sizeof(*cell));
	size_t n = 0, capacity;

	for (size_t i = 0; i < data->n_runs; i++)
		if (data->runs[i].kind == kind && strcmp(data->runs[i].workload, data->metrics[metric].workload) == 0)
			cell[n++] = (struct cell){ data->runs[i].block, &data->runs[i] };
	qsort(cell, n, sizeof(*cell), cmp_cell);
	capacity = n + 1;
	*ret = (struct bn_pairs){ .d = gt_xcalloc(capacity, sizeof(double)), .a = gt_xcalloc(capacity, sizeof(double)),
				  .b = gt_xcalloc(capacity, sizeof(double)), .t_s = gt_xcalloc(capacity, sizeof(double)),
				  .block = gt_xcalloc(capacity, sizeof(int64_t)) };
	for (size_t i = 0, j; i < n; i = j) {
		const struct bn_run *arm[2] = { NULL, NULL };

		for (j = i; j < n && cell[j].block == cell[i].block; j++)
			if (!arm[cell[j].run->arm])
				arm[cell[j].run->arm] = cell[j].run;
		add_pair(ret, metric, arm[BN_ARM_A], arm[BN_ARM_B]);
	}
}

void bn_pairs_clear(struct bn_pairs *p)
{
	free(p->d);
	free(p->a);
	free(p->b);
	free(p->t_s);
	free(p->block);
	*p = (struct bn_pairs){ 0 };
}

size_t bn_values(const struct bn_data *data, size_t metric, enum bn_kind kind, enum bn_arm arm, double **ret)
{
	double *x = gt_xcalloc(data->n_runs + 1, sizeof(*x));
	size_t n = 0;

	for (size_t i = 0; i < data->n_runs; i++) {
		const struct bn_run *run = &data->runs[i];

		if (run->kind == kind && run->arm == arm && !isnan(run->value[metric]))
			x[n++] = run->value[metric];
	}
	*ret = x;
	return n;
}

const json_t *bn_doc_metric(const json_t *doc, const char *id)
{
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(doc, "metrics"), i, m)
		if (gt_streq(gt_json_get_str(m, "id", NULL), id))
			return m;
	return NULL;
}
