/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "bench/train/train_data.h"
#include "lib/buf.h"
#include "lib/parse.h"

#define PREFETCH	4
#define MAX_CORRUPT	100
#define SMALL_SIDE	28 /* width and height of the mlp's input images, one channel */
#define HELD_OUT_SEED	1

bool bn_train_data_wanted(const struct bn_model *m, const struct bn_train_options *o)
{
	return m->text || o->data;
}

bool bn_train_data_u8(const struct bn_model *m, const struct bn_train_options *o)
{
	return m->classes && bn_train_data_wanted(m, o) && !o->no_u8;
}

/* Returns the CPUs of all training threads together. OMP_PROC_BIND narrows the mask of the calling thread, so it cannot
 * be used. */
static void cpus_of_team(uint64_t threads, struct gt_set *ret)
{
	int n = threads ? (int)threads : omp_get_max_threads();

#pragma omp parallel num_threads(n)
	{
		cpu_set_t own;

		if (sched_getaffinity(0, sizeof(own), &own) == 0) {
#pragma omp critical
			for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
				if (CPU_ISSET(cpu, &own))
					gt_set_add(ret, cpu);
		}
	}
}

static int kind_of(const struct bn_model *m, const struct bn_train_options *o, enum rt_data_kind *ret, struct gt_err *err)
{
	bool images;
	int r = rt_data_guess(o->data, ret, err);

	if (r)
		return r;
	images = *ret == RT_DATA_SHARDS || *ret == RT_DATA_FOLDER;
	if (images == m->tokens)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s reads %s, but %s is %s: see gpubench train --help", m->name,
				    m->tokens ? "text or token files" : "directories or tar shards of images", o->data,
				    rt_data_kinds[*ret]);
	return 0;
}

static enum rt_augment augment_of(const char *name)
{
	return gt_streq(name, "crop") ? RT_AUGMENT_CROP : gt_streq(name, "flip") ? RT_AUGMENT_FLIP : RT_AUGMENT_NONE;
}

static enum rt_token_type type_of(const char *name)
{
	return gt_streq(name, "u32") ? RT_TOKEN_U32 : gt_streq(name, "u16") ? RT_TOKEN_U16 : RT_TOKEN_AUTO;
}

int bn_train_data_documents(const char *text, struct rt_documents *ret, struct gt_err *err)
{
	static const char *const names[] = { [RT_DOCUMENTS_FILE] = "file", [RT_DOCUMENTS_LINE] = "line",
					     [RT_DOCUMENTS_PARAGRAPH] = "paragraph" };
	uint64_t id;

	*ret = (struct rt_documents){ RT_DOCUMENTS_NONE, 0 };
	for (size_t i = RT_DOCUMENTS_FILE; text && i < GT_ARRAY_SIZE(names); i++)
		if (gt_streq(text, names[i]))
			ret->end = (enum rt_document_end)i;
	if (!text || ret->end)
		return 0;
	if (gt_parse_u64(text, &id) < 0 || id > UINT32_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--documents %s: it takes line, paragraph, file or the id of an end token such "
				    "as 50256", text);
	*ret = (struct rt_documents){ RT_DOCUMENTS_TOKEN, (uint32_t)id };
	return 0;
}

int bn_train_data_shapes(const struct bn_train_data *f, const struct rt_length **ret)
{
	return f->train ? rt_loader_lengths(f->train, ret) : 0;
}

static struct rt_loader_options options_of(const struct bn_model *m, const struct bn_train_options *o)
{
	return (struct rt_loader_options){
		.path = o->data,
		.lengths = o->documents ? (int)GT_MIN(o->buckets ? o->buckets : BN_BUCKETS, RT_LENGTHS_MAX + 1) : 0,
		.width_unit = gt_streq(o->amp, "fp8") ? RT_FP8_SIDE : 0,
		.token_budget = (int64_t)o->token_budget,
		.seq = (int64_t)o->seq,
		.vocab = (int64_t)o->vocab,
		.token_type = type_of(o->tokens),
		.size = m->size ? (int64_t)o->size : SMALL_SIDE,
		.channels = m->size ? 3 : 1,
		.classes = (int64_t)m->classes,
		.u8 = bn_train_data_u8(m, o),
		.cache_bytes = o->cache_bytes,
		.max_corrupt = o->max_corrupt == UINT64_MAX ? MAX_CORRUPT : o->max_corrupt,
		.no_huge_pages = o->no_huge_pages,
	};
}

int bn_train_data_open(struct bn_train_data *f, const struct bn_model *m, const struct bn_train_options *o, uint64_t rows,
		       uint64_t all_rows, uint64_t first_row, uint64_t consumed, struct gt_err *err)
{
	struct rt_loader_options l = options_of(m, o);
	gt_auto_set cpus = { 0 };
	gt_autofree char *list = NULL;
	int r = kind_of(m, o, &l.kind, err);

	if (r)
		return r;
	r = bn_train_data_documents(o->documents, &l.documents, err);
	if (r)
		return r;
	if (o->augment && m->tokens)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--augment is for images: %s reads tokens", m->name);
	cpus_of_team(o->threads, &cpus);
	l.part = RT_PART_TRAIN;
	l.rows = (int64_t)rows;
	l.all_rows = (int64_t)all_rows;
	l.first_row = (int64_t)first_row;
	l.augment = augment_of(o->augment);
	l.seed = o->seed;
	*(o->documents ? &l.start : &l.start_sample) = consumed;
	/* One per four training threads; more would take CPU time from them. */
	l.workers = o->workers != UINT64_MAX ? (int)GT_MIN(o->workers, 1u << 20) :
					       (int)GT_MAX((o->threads ? o->threads : gt_set_count(&cpus)) / 4, 1u);
	l.prefetch = o->prefetch ? (int)GT_MIN(o->prefetch, 1u << 20) : PREFETCH;
	l.restart_workers = o->restart_workers;
	l.copy_batches = o->copy_batches;
	l.cpus = list = gt_set_format(&cpus);
	return rt_loader_open(&l, &f->train, err);
}

int bn_train_data_part(const struct bn_model *m, const struct bn_train_options *o, enum rt_part part, uint64_t rows,
		       struct rt_loader **ret, struct gt_err *err)
{
	struct rt_loader_options l = options_of(m, o);
	int r = kind_of(m, o, &l.kind, err);

	if (r)
		return r;
	r = bn_train_data_documents(o->documents, &l.documents, err);
	if (r)
		return r;
	l.part = part;
	l.rows = (int64_t)rows;
	l.seed = HELD_OUT_SEED;
	l.cache_bytes = 0;
	return rt_loader_open(&l, ret, err);
}

void bn_train_data_close(struct bn_train_data *f)
{
	rt_loader_close(f->train);
	*f = (struct bn_train_data){ 0 };
}

static void add_warning(json_t *warnings, char *text)
{
	json_array_append_new(warnings, gt_json_str(text));
	free(text);
}

static void warn_about_samples(const json_t *doc, json_t *warnings)
{
	const json_t *corrupt = json_object_get(doc, "corrupt"), *list = json_object_get(corrupt, "samples");
	int64_t count = gt_json_get_int(corrupt, "count", 0);
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
		if (i < 3)
			add_warning(warnings, gt_xasprintf("unusable sample %s: %s", gt_json_get_str(v, "where", ""),
							   gt_json_get_str(v, "reason", "")));
	if (count > 3)
		add_warning(warnings, gt_xasprintf("%" PRId64 " samples could not be used; --json names the first 32", count));
	json_array_foreach(json_object_get(doc, "truncated"), i, v)
		add_warning(warnings, gt_xasprintf("%s; the samples before are used", json_string_value(v)));
}

json_t *bn_train_data_report(const struct bn_train_data *f, double items, json_t *warnings)
{
	double all = f->wait_s + f->step_s, share = all > 0 ? f->wait_s / all : 0;
	json_t *doc;

	if (!f->train)
		return json_null();
	doc = rt_loader_report(f->train);
	json_object_set_new(doc, "wait_share", gt_json_real(share));
	json_object_set_new(doc, "items_per_s", gt_json_real(items / all));
	json_object_set_new(doc, "loader_bound", json_boolean(share > BN_LOADER_BOUND));
	if (json_is_object(json_object_get(doc, "documents"))) {
		json_t *docs = json_object_get(doc, "documents");

		json_object_set_new(docs, "tokens_per_s", gt_json_real(f->tokens / f->step_s));
		json_object_set_new(docs, "padded_tokens_per_s", gt_json_real(f->padded / f->step_s));
	}
	warn_about_samples(doc, warnings);
	if (share > BN_LOADER_BOUND)
		add_warning(warnings,
			    gt_xasprintf("the run waits for its data %.0f %% of the time: try more --workers, --prefetch%s",
					 share * 100, rt_loader_kind(f->train) >= RT_DATA_SHARDS ? " or --cache" : ""));
	return doc;
}

static const struct bn_switch *switch_of(const char *word, size_t len, const struct bn_switch *switches, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(switches[i].name) == len && strncmp(switches[i].name, word, len) == 0)
			return &switches[i];
	return NULL;
}

int bn_apply_without(const char *list, const struct bn_switch *switches, size_t n, struct gt_err *err)
{
	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		const struct bn_switch *s;
		gt_auto_buf all = { 0 };

		len = strcspn(list, ",");
		s = switch_of(list, len, switches, n);
		if (s) {
			*s->off = true;
			continue;
		}
		for (size_t i = 0; i < n; i++)
			gt_buf_printf(&all, "%s%s", !i ? "" : i + 1 < n ? ", " : " and ", switches[i].name);
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "--without %.*s: %s can be left out", (int)len, list, all.s);
	}
	return 0;
}

void bn_print_documents(const json_t *docs)
{
	const json_t *lengths = json_object_get(docs, "lengths"), *shortest = json_array_get(lengths, 0);
	const json_t *longest = json_array_get(lengths, json_array_size(lengths) - 1);

	printf("lengths    %zu: batches of %lld x %lld to %lld x %lld tokens\n", json_array_size(lengths),
	       (long long)gt_json_get_int(shortest, "rows", 0), (long long)gt_json_get_int(shortest, "width", 0),
	       (long long)gt_json_get_int(longest, "rows", 0), (long long)gt_json_get_int(longest, "width", 0));
	printf("padding    %.1f %% of the positions, %.1f %% with a single length\n",
	       100 * gt_json_get_real(docs, "padding_share", 0), 100 * gt_json_get_real(docs, "padding_share_one_length", 0));
}
