/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "runtime/data/files.h"
#include "runtime/data/image.h"
#include "runtime/data/loader_priv.h"

#define DIM_MAX		(INT64_C(1) << 24)
#define WORKERS_MAX	1024
#define PREFETCH_MAX	65536
#define PAGE		4096u

uint64_t rt_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void rt_source_free(struct rt_source *s)
{
	if (!s)
		return;
	json_decref(s->truncated);
	s->ops->free(s);
}

int rt_scratch_bytes(struct rt_scratch *w, size_t n, struct gt_err *err)
{
	size_t cap = n + n / 2 + PAGE;
	unsigned char *p;

	if (n <= w->bytes_cap)
		return 0;
	p = realloc(w->bytes, cap);
	if (!p)
		return gt_fail(err, ENOMEM, "no memory for a sample of %zu bytes", n);
	w->bytes = p;
	w->bytes_cap = cap;
	return 0;
}

/* ---- threads ---- */

static void run_on(const struct gt_set *cpus)
{
	cpu_set_t *set;
	size_t size;
	int top = -1;

	gt_set_for_each(cpu, cpus)
		top = cpu;
	if (top < 0)
		return;
	set = CPU_ALLOC(top + 1);
	size = CPU_ALLOC_SIZE(top + 1);
	if (!set)
		return;
	CPU_ZERO_S(size, set);
	gt_set_for_each(cpu, cpus)
		CPU_SET_S(cpu, size, set);
	/* Fails if a CPU has been taken offline. The thread then keeps its present CPUs. */
	pthread_setaffinity_np(pthread_self(), size, set);
	CPU_FREE(set);
}

static void *work(void *arg)
{
	struct rt_worker *w = arg;
	struct rt_loader *l = w->loader;
	uint64_t ticket;

	run_on(&l->cpus);
	while (rt_ring_draw(&l->ring, &ticket)) {
		uint64_t t0 = rt_now_ns();

		rt_loader_fill(l, w, ticket);
		atomic_fetch_add_explicit(&w->work_ns, rt_now_ns() - t0, memory_order_relaxed);
		rt_ring_filled(&l->ring, ticket);
	}
	return NULL;
}

int rt_loader_start(struct rt_loader *l, struct gt_err *err)
{
	sigset_t all, before;
	int r = 0;

	/* the reader's thread handles signals */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; !r && l->running < l->o.workers; l->running += !r)
		r = pthread_create(&l->worker[l->running].thread, NULL, work, &l->worker[l->running]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? gt_fail_errno(err, r, "cannot start the loader's thread %d of %d", l->running + 1, l->o.workers) : 0;
}

void rt_loader_join(struct rt_loader *l)
{
	for (int i = 0; i < l->running; i++)
		pthread_join(l->worker[i].thread, NULL);
	l->running = 0;
}

/* ---- opening ---- */

static int usage(struct gt_err *err, const char *what)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s", what);
}

static int check_options(const struct rt_loader_options *o, struct gt_err *err)
{
	if (o->rows < 1 || o->rows > DIM_MAX || o->all_rows > DIM_MAX || o->first_row < 0 || o->first_row + o->rows > o->all_rows)
		return usage(err, "a batch has 1 to 16777216 rows, and this rank's rows must be among those of all ranks");
	if (o->workers < 0 || o->workers > WORKERS_MAX)
		return usage(err, "the loader has 0 to 1024 workers");
	if (o->prefetch < 0 || o->prefetch > PREFETCH_MAX)
		return usage(err, "the loader prepares 0 to 65536 batches in advance");
	if (o->documents.end && (o->all_rows % o->rows || o->first_row % o->rows))
		return usage(err, "all ranks get equal parts of a batch of documents");
	if (o->lengths < 0 || o->lengths > RT_LENGTHS_MAX || o->token_budget < 0 || o->token_budget > DIM_MAX * 64)
		return usage(err, "documents are padded to 1 to 32 lengths, in batches of up to 2^30 tokens");
	if (!o->documents.end && (o->lengths || o->token_budget))
		return usage(err, "lengths and a token budget apply only to documents");
	if (o->documents.end && o->start_sample)
		return usage(err, "a run on documents starts at a batch, not at a sample");
	if (o->start > UINT64_MAX / 4 / (uint64_t)DIM_MAX || o->start_sample > UINT64_MAX / 4)
		return usage(err, "the loader cannot start at so late a batch");
	return 0;
}

static int check_images(const struct rt_loader_options *o, struct gt_err *err)
{
	if (o->size < 1 || o->size > RT_IMAGE_SIDE_MAX)
		return usage(err, "images have 1 to 4096 pixels per side");
	if (o->channels != 1 && o->channels != 3)
		return usage(err, "images have 1 channel or 3");
	if (!(o->std > 0) || o->cache_bytes > UINT64_C(1) << 46)
		return usage(err, "the standard deviation of pixels must be above 0, and a cache has at most 64 TiB");
	return 0;
}

static int open_source(struct rt_loader *l, struct gt_err *err)
{
	static const char *const tar[] = { ".tar", NULL }, *const bin[] = { ".bin", NULL };
	const struct rt_loader_options *o = &l->o;
	enum rt_data_kind kind = o->kind;
	gt_auto_strv files = { 0 };
	int r = kind == RT_DATA_AUTO ? rt_data_guess(o->path, &kind, err) : 0;

	if (r)
		return r;
	if (kind == RT_DATA_SHARDS || kind == RT_DATA_FOLDER)
		r = check_images(o, err);
	else if (o->seq < 1 || o->seq > DIM_MAX)
		r = usage(err, "sequences have 1 to 16777216 tokens");
	if (!r && kind != RT_DATA_FOLDER)
		r = rt_files_list(o->path ? o->path : RT_DEFAULT_TEXT,
				  kind == RT_DATA_SHARDS ? tar : kind == RT_DATA_TOKENS ? bin : NULL, &files, err);
	if (!r && o->documents.end && (kind == RT_DATA_SHARDS || kind == RT_DATA_FOLDER))
		r = usage(err, "documents need text or token files, not images");
	if (r)
		return r;
	if (o->documents.end)
		return rt_source_documents(o, &files, kind == RT_DATA_TEXT, &l->source, err);
	if (kind == RT_DATA_FOLDER)
		return rt_source_folder(o, o->path, &l->source, err);
	if (kind == RT_DATA_SHARDS)
		return rt_source_shards(o, &files, &l->source, err);
	return rt_source_tokens(o, &files, kind == RT_DATA_TEXT, &l->source, err);
}

/* For documents, the length determines rows and width of a batch. */
static void measure_documents(struct rt_loader *l)
{
	const struct rt_lengths *k = l->source->lengths;

	l->row_x = l->row_y = (size_t)k->of[k->n - 1].width * sizeof(int32_t);
	for (int i = 0; i < k->n; i++)
		l->batch_x = GT_MAX(l->batch_x, (size_t)(k->of[i].rows * k->of[i].width) * sizeof(int32_t));
	l->batch_y = l->batch_x;
}

/* Computes the number of samples of this part and the sizes of a row and a batch. */
static int measure(struct rt_loader *l, struct gt_err *err)
{
	uint64_t n = l->source->n, held = n / RT_EVERY;

	l->n = l->o.part == RT_PART_ALL ? n : l->o.part == RT_PART_HELD_OUT ? held : n - held;
	if (!l->n)
		return gt_fail(err, ENODATA, "%s has %llu samples: every tenth is held out, and none is left", l->o.path,
			       (unsigned long long)n);
	if (l->source->lengths) {
		measure_documents(l);
		return 0;
	}
	if (l->source->ops->tokens) {
		l->row_x = (size_t)l->o.seq * sizeof(int32_t);
		l->row_y = l->row_x;
	} else {
		l->row_x = (size_t)(l->o.size * l->o.size * l->o.channels) * (l->o.u8 ? 1 : sizeof(float));
		l->row_y = sizeof(int32_t);
	}
	l->batch_x = (size_t)l->o.rows * l->row_x;
	l->batch_y = (size_t)l->o.rows * l->row_y;
	return 0;
}

static size_t to_page(size_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static int make_ring(struct rt_loader *l, struct gt_err *err)
{
	size_t x = to_page(l->batch_x), y = to_page(l->batch_y);
	uint32_t slots = (uint32_t)l->o.prefetch + 1; /* one more for the batch that the reader has */
	int r;

	if (x / l->row_x > SIZE_MAX / 4 / (l->row_x + l->row_y) || (x + y) > (SIZE_MAX >> 8) / slots)
		return gt_fail(err, ENOMEM, "%u batches of %lld rows exceed any memory", slots, (long long)l->o.rows);
	r = rt_arena_map(&l->arena, (x + y) * slots, !l->o.no_huge_pages, 1, err);
	if (r)
		return gt_fail_prefix(err, "%u batches of the loader", slots);
	rt_ring_init(&l->ring, slots, l->o.start, l->o.restart_workers ? rt_loader_epoch_end(l, l->o.start) : UINT64_MAX);
	l->slot = gt_xcalloc(slots, sizeof(*l->slot));
	for (uint32_t i = 0; i < slots; i++) {
		l->slot[i].x = l->arena.base + i * (x + y);
		l->slot[i].y = (int32_t *)(void *)(l->slot[i].x + x);
	}
	r = l->o.pin ? l->o.pin(l->o.pin_arg, l->arena.base, l->arena.bytes, err) : 0;
	l->pinned = !r;
	return r;
}

static int make_workers(struct rt_loader *l, struct gt_err *err)
{
	int n = GT_MAX(l->o.workers, 1), r = 0;

	l->worker = gt_xcalloc((size_t)n, sizeof(*l->worker));
	for (int i = 0; !r && i < n; i++) {
		l->worker[i].loader = l;
		if (l->source->ops->image)
			r = rt_image_scratch_new(&l->o, &l->worker[i].scratch.image, err);
	}
	return r ? r : rt_loader_start(l, err);
}

static void fill_defaults(struct rt_loader *l, const struct rt_loader_options *o)
{
	l->o = *o;
	l->o.path = o->path ? gt_xstrdup(o->path) : NULL;
	if (!o->all_rows)
		l->o.all_rows = o->rows;
	if (!o->channels)
		l->o.channels = 3;
	if (!l->o.prefetch)
		l->o.prefetch = 1;
	if (o->std == 0 && o->mean == 0) {
		l->o.mean = RT_PIXEL_MEAN;
		l->o.std = RT_PIXEL_STD;
	}
	l->ticket = o->start;
}

/* Sets the usage exit status for errors of the data set. Too little memory or a failing disk is not the user's error. */
static int set_usage_status(int r, struct gt_err *err)
{
	if (r && r != -ENOMEM && r != -EIO && r != -ENOSYS && err && !err->exit_status)
		err->exit_status = GT_EXIT_USAGE;
	return r;
}

int rt_loader_open(const struct rt_loader_options *o, struct rt_loader **ret, struct gt_err *err)
{
	gt_auto(rt_loader) *l = gt_xcalloc(1, sizeof(*l));
	int r;

	pthread_mutex_init(&l->corrupt.lock, NULL);
	l->corrupt.named = json_array();
	fill_defaults(l, o);
	l->o.cpus = NULL; /* the caller may free its string */
	r = check_options(&l->o, err);
	if (r)
		return r;
	if (o->cpus && gt_parse_cpulist(o->cpus, &l->cpus) < 0)
		return gt_fail(err, EINVAL, "\"%s\" is not a list of CPUs such as 0-3,8", o->cpus);
	r = set_usage_status(open_source(l, err), err);
	if (r)
		return r;
	r = set_usage_status(measure(l, err), err);
	if (r)
		return r;
	if (l->source->ops->image) {
		l->corrupt.known = gt_xcalloc(l->source->n / 64 + 1, sizeof(*l->corrupt.known));
		r = rt_image_cache_new(&l->o, l->source->n, &l->cache, err);
		if (r)
			return r;
	}
	r = make_ring(l, err);
	if (r)
		return r;
	r = make_workers(l, err);
	if (r)
		return r;
	*ret = gt_take(l);
	return 0;
}

void rt_loader_close(struct rt_loader *l)
{
	if (!l)
		return;
	if (l->ring.slot)
		rt_ring_stop(&l->ring);
	rt_loader_join(l);
	for (int i = 0; l->worker && i < GT_MAX(l->o.workers, 1); i++) {
		rt_image_scratch_free(l->worker[i].scratch.image);
		free(l->worker[i].scratch.bytes);
	}
	free(l->worker);
	if (l->pinned && l->o.unpin)
		l->o.unpin(l->o.pin_arg, l->arena.base, l->arena.bytes);
	rt_image_cache_free(l->cache);
	rt_arena_unmap(&l->arena);
	rt_ring_clear(&l->ring);
	free(l->slot);
	rt_source_free(l->source);
	json_decref(l->corrupt.named);
	free((void *)l->corrupt.known);
	pthread_mutex_destroy(&l->corrupt.lock);
	gt_set_clear(&l->cpus);
	free(l->copy);
	free((void *)(uintptr_t)l->o.path);
	free(l);
}

/* ---- reading ---- */

/* At the end of an epoch, joins the threads and starts new ones. */
static int restart(struct rt_loader *l, struct gt_err *err)
{
	if (!l->o.restart_workers || !l->o.workers || l->ticket < atomic_load(&l->ring.limit))
		return 0;
	rt_loader_join(l);
	atomic_store(&l->ring.limit, rt_loader_epoch_end(l, l->ticket));
	return rt_loader_start(l, err);
}

static int get_ready(struct rt_loader *l, struct gt_err *err)
{
	uint64_t t0;
	int r;

	if (l->o.workers && rt_ring_ready(&l->ring, l->ticket))
		return 0;
	t0 = rt_now_ns();
	r = restart(l, err);
	if (r)
		return r;
	if (l->o.workers)
		rt_ring_wait(&l->ring, l->ticket);
	else
		rt_loader_fill(l, &l->worker[0], l->ticket);
	l->waits++;
	l->wait_ns += rt_now_ns() - t0;
	return 0;
}

/* Copies the batch to newly allocated memory, as frameworks do. */
static int copy_batch(struct rt_loader *l, struct rt_batch *b, struct gt_err *err)
{
	size_t x = l->batch_x, y = l->batch_y;
	uint64_t t0 = rt_now_ns();

	free(l->copy);
	l->copy = malloc(x + y);
	if (!l->copy)
		return gt_fail(err, ENOMEM, "no memory for a copy of a batch of %zu bytes", x + y);
	memcpy(l->copy, b->x, x);
	memcpy(l->copy + x, b->y, y);
	b->x = l->copy;
	b->y = (const int32_t *)(const void *)(l->copy + x);
	l->wait_ns += rt_now_ns() - t0;
	return 0;
}

int rt_loader_next(struct rt_loader *l, struct rt_batch *ret, struct gt_err *err)
{
	struct rt_slot *s;
	int r;

	if (l->held && l->o.workers)
		rt_ring_release(&l->ring, l->ticket - 1);
	l->held = false;
	r = get_ready(l, err);
	if (r)
		return r;
	s = &l->slot[l->ticket % l->ring.n];
	l->held = true;
	if (s->status) {
		l->ticket++;
		return gt_fail_exit(err, s->err.exit_status, -s->status, "%s", s->err.msg);
	}
	l->epoch = s->epoch;
	*ret = (struct rt_batch){ .x = s->x, .y = s->y, .ticket = l->ticket++, .epoch = s->epoch, .length = s->length,
				  .tokens = s->tokens };
	if (l->source->lengths) {
		l->tokens += s->tokens;
		l->padded += (uint64_t)(l->source->lengths->of[s->length].rows * l->source->lengths->of[s->length].width);
	}
	return l->o.copy_batches ? copy_batch(l, ret, err) : 0;
}
