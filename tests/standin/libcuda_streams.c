/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in driver's streams: queues that run as late as possible, so that a missing event or wait is detected.
 * Enqueued work runs when something waits for it. The NULL stream is one of them; streams with CU_STREAM_NON_BLOCKING do
 * not wait for it. A copy from memory that is not pinned is staged at once and completes late, as NVIDIA's "API
 * synchronization behavior" describes.
 * A capture follows the documented rules: a forbidden call of the capturing thread is rejected and invalidates the
 * capture, no dependency crosses its border, every joined stream returns to its origin, and its events are used only
 * inside it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "libcuda_streams.h"
#include "record.h"

static struct stream null_stream = { .tail = &null_stream.head, .blocking = true }, *streams = &null_stream;
static struct event *events; /* all events ever created: a late timestamp finds its event */
static struct graph *captures;
static int failed; /* after an error all later calls fail, as in the real driver */
static unsigned long ran; /* pieces of work so far */

static unsigned (*on_enqueued)(void);
static void (*on_ran)(const struct standin_activity *);

void standin_trace(unsigned (*enqueued)(void), void (*ran)(const struct standin_activity *a))
{
	on_enqueued = enqueued;
	on_ran = ran;
}

/* ---- running ---- */
static bool is_work(void (*run)(void *));
static void describe(const struct work *w, struct standin_activity *a);

static void run_told(struct work *w)
{
	struct standin_activity a = { .correlation = w->correlation, .start = standin_now() };

	describe(w, &a);
	w->run(w->data);
	a.end = standin_now();
	on_ran(&a);
}

/* Work that waits for other streams or processes stays at the head until it is done. */
static bool run_one(struct stream *s)
{
	struct work *w = s->head;

	if (w->poll && !w->poll(w->data))
		return false;
	s->head = w->next;
	if (!s->head)
		s->tail = &s->head;
	s->done++;
	ran++;
	if (w->correlation && on_ran)
		run_told(w);
	else if (!w->poll)
		w->run(w->data);
	free(w->staged);
	free(w);
	return true;
}

/* Runs work that needs no wait. Returns whether all is done. */
static bool advance(struct stream *s, unsigned long upto)
{
	while (s->head && s->done < upto)
		if (!run_one(s))
			return false;
	return true;
}

/* On a GPU all streams progress while one waits for another process. */
static bool advance_others(struct stream *s, unsigned long upto)
{
	for (struct stream *o = streams; o && !advance(s, upto); o = o->next)
		advance(o, (unsigned long)-1);
	return advance(s, upto);
}

static void drain(struct stream *s, unsigned long upto)
{
	while (!advance_others(s, upto))
		usleep(20);
}

void standin_drain_all(void)
{
	for (struct stream *s = streams; s; s = s->next)
		drain(s, (unsigned long)-1);
}

static struct stream *stream_of(void *stream)
{
	return stream ? stream : &null_stream;
}

unsigned standin_stream(const void *stream)
{
	return stream ? ((const struct stream *)stream)->number : 0;
}

/* The NULL stream and the streams without CU_STREAM_NON_BLOCKING wait for each other. */
static void settle(const struct stream *s)
{
	for (struct stream *other = streams; s->blocking && other; other = other->next)
		if (other != s && other->blocking && (s == &null_stream || other == &null_stream))
			drain(other, (unsigned long)-1);
}

static int append(struct stream *s, struct work *w)
{
	if (on_enqueued && !s->captures && w->run && is_work(w->run))
		w->correlation = on_enqueued();
	if (s->captures) {
		if (w->holders)
			(*w->holders)++;
		*s->captures->tail = w;
		s->captures->tail = &w->next;
		s->captured++;
		return s->captures->invalid ? CAPTURE_INVALIDATED : 0;
	}
	settle(s);
	*s->tail = w;
	s->tail = &w->next;
	s->enqueued++;
	return failed;
}

static struct work *make_work(void (*run)(void *), int (*poll)(void *), const void *data, size_t size)
{
	struct work *w = malloc(sizeof(*w) + size);

	*w = (struct work){ .run = run, .poll = poll, .size = size };
	memcpy(w->data, data, size);
	return w;
}

static int enqueue(void *stream, void (*run)(void *), int (*poll)(void *), const void *data, size_t size)
{
	struct stream *s = stream_of(stream);

	return s->gone ? INVALID_HANDLE : append(s, make_work(run, poll, data, size));
}

int standin_enqueue(void *stream, void (*run)(void *), const void *data, size_t size)
{
	return enqueue(stream, run, NULL, data, size);
}

int standin_enqueue_polled(void *stream, int (*poll)(void *), const void *data, size_t size, atomic_int *holders)
{
	struct work *w = make_work(NULL, poll, data, size);

	w->holders = holders;
	return append(stream_of(stream), w);
}

/* ---- captures: forbidden calls ---- */
static int void_capture(struct graph *g, int code)
{
	g->invalid = true;
	return code;
}

/*
 * A call that is forbidden during a capture: CU_STREAM_CAPTURE_MODE_GLOBAL forbids it to all threads, THREAD_LOCAL to
 * the capturing thread, RELAXED to none.
 */
int standin_unsafe(const char *call)
{
	int r = 0;

	for (struct graph *g = captures; g; g = g->next)
		if (!g->mode || (g->mode == 1 && pthread_equal(g->thread, pthread_self())))
			r = void_capture(g, CAPTURE_UNSUPPORTED);
	return r ? r : standin_verdict(call);
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	struct stream *s = stream_of(stream);
	int r = standin_verdict("cuStreamBeginCapture");

	if (r)
		return r;
	if (s == &null_stream)
		return CAPTURE_UNSUPPORTED;
	if (s->gone || s->captures || mode < 0 || mode > 2)
		return INVALID_VALUE;
	s->captures = calloc(1, sizeof(struct graph));
	*s->captures = (struct graph){ .tail = &s->captures->head, .next = captures, .origin = s, .thread = pthread_self(),
				       .mode = mode };
	captures = s->captures;
	standin_record("cuStreamBeginCapture s%u mode %d", s->number, mode);
	return 0;
}

static void free_graph(struct graph *g)
{
	for (struct work *w = g->head, *next; w; w = next) {
		next = w->next;
		if (w->holders)
			(*w->holders)--;
		free(w);
	}
	free(g);
}

/* Releases all streams of the capture. Returns whether one of them was not joined. */
static bool release_streams(struct graph *g)
{
	bool loose = false;

	for (struct stream *s = streams; s; s = s->next) {
		if (s->captures != g)
			continue;
		loose |= s->joined && s->rejoined < s->captured;
		s->captures = NULL;
		s->joined = false;
		s->captured = s->rejoined = 0;
	}
	return loose;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	struct stream *s = stream_of(stream);
	struct graph *g = s->captures, **at = &captures;
	int r = standin_verdict("cuStreamEndCapture");

	*graph = NULL;
	if (!g)
		return INVALID_VALUE;
	if (g->origin != s)
		return void_capture(g, CAPTURE_UNMATCHED);
	if (g->mode != 2 && !pthread_equal(g->thread, pthread_self()))
		return CAPTURE_WRONG_THREAD;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	if (release_streams(g) && !r)
		r = CAPTURE_UNJOINED;
	if (g->invalid && !r)
		r = CAPTURE_INVALIDATED;
	if (r)
		free_graph(g);
	else
		*graph = g;
	standin_record("cuStreamEndCapture s%u: %d", s->number, r);
	return r;
}

/* ---- streams ---- */
int cuStreamCreate(void **stream, unsigned flags)
{
	static unsigned number;
	struct stream *s;
	int r = standin_verdict("cuStreamCreate");

	if (r || flags > 1)
		return r ? r : INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	s->tail = &s->head;
	s->blocking = !flags;
	s->next = streams;
	s->number = ++number;
	streams = *stream = s;
	standin_record("cuStreamCreate %u: s%u", flags, number);
	return 0;
}

/* The stream's work continues; only the handle is invalid. */
int cuStreamDestroy_v2(void *stream)
{
	struct stream *s = stream;

	if (!s || s->gone)
		return INVALID_HANDLE;
	if (s->captures)
		return void_capture(s->captures, CAPTURE_UNSUPPORTED);
	standin_record("cuStreamDestroy s%u", s->number);
	drain(s, (unsigned long)-1);
	s->gone = true;
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	struct stream *s = stream_of(stream);
	int r = standin_unsafe("cuStreamSynchronize");

	standin_waited++;
	if (r)
		return r;
	if (s->gone)
		return INVALID_HANDLE;
	if (s->captures)
		return void_capture(s->captures, CAPTURE_UNSUPPORTED);
	standin_record("cuStreamSynchronize s%u", s->number);
	settle(s);
	drain(s, (unsigned long)-1);
	return failed;
}

int cuCtxSynchronize(void)
{
	int r = standin_unsafe("cuCtxSynchronize");

	standin_waited++;
	if (r)
		return r;
	standin_record("cuCtxSynchronize");
	standin_drain_all();
	return failed;
}

/* ---- events ---- */
int cuEventCreate(void **event, unsigned flags)
{
	static unsigned number;
	struct event *e;
	int r = standin_verdict("cuEventCreate");

	if (r || flags & ~3u)
		return r ? r : INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	e->timed = !(flags & 2);
	e->next = events;
	e->number = ++number;
	events = *event = e;
	standin_record("cuEventCreate %u: e%u", flags, number);
	return 0;
}

int cuEventDestroy_v2(void *event)
{
	struct event *e = event;

	if (!e || e->gone)
		return INVALID_HANDLE;
	e->gone = true;
	standin_record("cuEventDestroy e%u", e->number);
	return 0;
}

/* While calls are recorded, time is the number of pieces of work, so that choices by time are equal in each run. */
static void stamp(void *data)
{
	(*(struct event **)data)->at = standin_records() ? (double)ran * 1e-3 : (double)standin_now() * 1e-6;
}

int cuEventRecord(void *event, void *stream)
{
	struct event *e = event;
	int r = standin_verdict("cuEventRecord");

	if (r || e->gone)
		return r ? r : INVALID_HANDLE;
	r = standin_enqueue(stream, stamp, &e, sizeof(struct event *));
	e->recorded = true;
	e->stream = stream_of(stream);
	standin_record("cuEventRecord e%u s%u: %d", e->number, e->stream->number, r);
	e->graph = e->stream->captures;
	e->upto = e->graph ? e->stream->captured : e->stream->enqueued;
	return r;
}

/* Returns whether the host may query the event. */
static int look(const struct event *e, const char *call)
{
	if (e->gone)
		return INVALID_HANDLE;
	if (e->graph)
		return e->stream->captures == e->graph ? void_capture(e->graph, CAPTURED_EVENT) : CAPTURED_EVENT;
	return standin_unsafe(call);
}

int cuEventSynchronize(void *event)
{
	struct event *e = event;
	int r = look(e, "cuEventSynchronize");

	standin_waited_events++;
	if (r)
		return r;
	standin_record("cuEventSynchronize e%u", e->number);
	if (e->recorded)
		drain(e->stream, e->upto);
	return failed;
}

int cuEventQuery(void *event)
{
	struct event *e = event;
	int r = look(e, "cuEventQuery");

	if (r)
		return r;
	return e->recorded && !advance_others(e->stream, e->upto) ? NOT_READY : failed;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
	const struct event *e[] = { from, to };
	int r = standin_verdict("cuEventElapsedTime");

	for (int i = 0; !r && i < 2; i++) {
		if (e[i]->gone || !e[i]->timed || !e[i]->recorded)
			r = INVALID_HANDLE;
		else if (e[i]->graph)
			r = CAPTURED_EVENT;
		else if (e[i]->stream->done < e[i]->upto)
			r = NOT_READY;
	}
	*ms = (float)(e[1]->at - e[0]->at);
	return r;
}

static int wait_in_stream(void *data)
{
	struct event *e = data;

	return advance(e->stream, e->upto);
}

/* A stream that waits for captured work is captured too. The capture is one list in the order of the calls. */
static int wait_in_capture(struct stream *s, struct event *e)
{
	if (s->captures && s->captures != e->graph)
		return void_capture(s->captures, CAPTURE_MERGE);
	s->joined |= !s->captures;
	s->captured += s->captures && s->joined; /* a waiting stream must be joined */
	s->captures = e->graph;
	if (e->stream->joined && e->upto > e->stream->rejoined)
		e->stream->rejoined = e->upto;
	return 0;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	struct stream *s = stream_of(stream);
	struct event *e = event;
	int r = standin_verdict("cuStreamWaitEvent");

	if (r || flags || s->gone || e->gone)
		return r ? r : flags ? INVALID_VALUE : INVALID_HANDLE;
	standin_record("cuStreamWaitEvent s%u e%u", s->number, e->number);
	if (e->graph && e->stream->captures == e->graph)
		return wait_in_capture(s, e);
	if (e->graph)
		return CAPTURED_EVENT;
	if (s->captures && e->recorded)
		return void_capture(s->captures, CAPTURE_ISOLATION);
	return e->recorded ? enqueue(s, NULL, wait_in_stream, e, sizeof(*e)) : 0;
}

/* ---- copies ---- */
struct copy {
	char *to;
	const char *from;
	size_t bytes;
	unsigned char fill;
};

static void do_copy(void *data)
{
	const struct copy *c = data;

	if (c->from)
		memmove(c->to, c->from, c->bytes);
	else
		memset(c->to, c->fill, c->bytes);
}

static bool on_device(uint64_t at, size_t bytes)
{
	return !bytes || standin_allocated((const void *)(uintptr_t)at, bytes);
}

static int copy(struct stream *s, uint64_t to, uint64_t from, size_t bytes)
{
	struct copy c = { (char *)(uintptr_t)to, (const char *)(uintptr_t)from, bytes, 0 };

	standin_record("copy s%u %s <- %s, %zu bytes", s->number, standin_at(c.to), standin_at(c.from), bytes);
	return enqueue(s, do_copy, NULL, &c, sizeof(c));
}

/* When the call returns, the host's memory may be reused; the copy on the device completes later. */
static int copy_staged(struct stream *s, uint64_t to, const void *from, size_t bytes)
{
	struct work *w;

	standin_record("copy s%u %s <- host, %zu bytes, hash %llx", s->number, standin_at((const void *)(uintptr_t)to), bytes,
		       (unsigned long long)(standin_records() ? standin_hash(from, bytes) : 0));
	standin_unpinned++;
	if (s->captures)
		return void_capture(s->captures, CAPTURE_UNSUPPORTED);
	w = make_work(do_copy, NULL, &(struct copy){ 0 }, sizeof(struct copy));
	w->staged = malloc(bytes + 1);
	memcpy(w->staged, from, bytes);
	*(struct copy *)(void *)w->data = (struct copy){ (char *)(uintptr_t)to, w->staged, bytes, 0 };
	return append(s, w);
}

int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	int r = standin_unsafe("cuMemcpyHtoD");

	standin_waited++;
	if (r || !on_device(dst, bytes))
		return r ? r : INVALID_VALUE;
	settle(&null_stream);
	drain(&null_stream, (unsigned long)-1);
	if (!standin_pinned(src, bytes))
		return copy_staged(&null_stream, dst, src, bytes);
	r = copy(&null_stream, dst, (uintptr_t)src, bytes);
	drain(&null_stream, (unsigned long)-1);
	return r;
}

int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes)
{
	int r = standin_unsafe("cuMemcpyDtoH");

	standin_waited++;
	if (r || !on_device(src, bytes))
		return r ? r : INVALID_VALUE;
	r = copy(&null_stream, (uintptr_t)dst, src, bytes);
	drain(&null_stream, (unsigned long)-1);
	return r;
}

int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream)
{
	int r = standin_verdict("cuMemcpyHtoDAsync");

	if (r || !on_device(dst, bytes))
		return r ? r : INVALID_VALUE;
	if (!standin_pinned(src, bytes))
		return copy_staged(stream_of(stream), dst, src, bytes);
	return copy(stream, dst, (uintptr_t)src, bytes);
}

int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t bytes, void *stream)
{
	struct stream *s = stream_of(stream);
	int r = standin_verdict("cuMemcpyDtoHAsync");

	if (r || !on_device(src, bytes))
		return r ? r : INVALID_VALUE;
	if (s->captures && !standin_pinned(dst, bytes))
		return void_capture(s->captures, CAPTURE_UNSUPPORTED);
	r = copy(s, (uintptr_t)dst, src, bytes);
	if (!s->captures && !standin_pinned(dst, bytes)) {
		standin_unpinned++;
		drain(s, (unsigned long)-1);
	}
	return r;
}

int cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t bytes, void *stream)
{
	int r = standin_verdict("cuMemcpyDtoDAsync");

	return r ? r : on_device(dst, bytes) && on_device(src, bytes) ? copy(stream, dst, src, bytes) : INVALID_VALUE;
}

int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t bytes, void *stream)
{
	struct copy c = { (char *)(uintptr_t)dst, NULL, bytes, value };
	int r = standin_verdict("cuMemsetD8Async");

	standin_record("cuMemsetD8Async s%u %s = %u, %zu bytes", stream_of(stream)->number, standin_at(c.to), value, bytes);
	return r ? r : on_device(dst, bytes) ? standin_enqueue(stream, do_copy, &c, sizeof(c)) : INVALID_VALUE;
}

/* ---- launches ---- */
#define ARGS_MAX 256
struct launch {
	const struct emu_kernel *kernel;
	unsigned grid[3], block[3];
	size_t shared;
	char args[ARGS_MAX];
};

static void do_launch(void *data)
{
	struct launch *l = data;
	void *args[32];
	size_t at = 0;

	for (size_t i = 0; i < l->kernel->n_args; i++) {
		args[i] = l->args + at;
		at += (l->kernel->sizes[i] + 7) / 8 * 8;
	}
	if (emu_run(l->kernel, l->grid, l->block, l->shared, args))
		failed = LAUNCH_FAILED;
	if (getenv("STANDIN_WRONG") && !strcmp(l->kernel->name, "rt_saxpy"))
		(*(float **)args[3])[*(unsigned *)args[0] - 1] += 1;
}

/* Neither a timestamp nor a wait. */
static bool is_work(void (*run)(void *))
{
	return run != stamp;
}

static void describe(const struct work *w, struct standin_activity *a)
{
	const struct copy *c = (const void *)w->data;

	a->kind = 10;
	a->name = w->run == do_launch ? ((const struct launch *)(const void *)w->data)->kernel->name : "library";
	if (w->run != do_copy)
		return;
	a->kind = c->from ? 1 : 2;
	a->bytes = c->bytes;
	a->copy_kind = 8; /* all memory here is of one kind */
}

int cuLaunchKernel(void *fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		   void *stream, void **args, void **extra)
{
	struct launch l = { fn, { gx, gy, gz }, { bx, by, bz }, shared, { 0 } };
	size_t at = 0;
	int r = standin_verdict("cuLaunchKernel");

	if (!r)
		r = extra ? INVALID_VALUE : standin_may_launch(fn, l.grid, l.block, shared);
	if (r)
		return r;
	for (size_t i = 0; i < l.kernel->n_args; i++) {
		if (at + l.kernel->sizes[i] > ARGS_MAX)
			return INVALID_VALUE;
		memcpy(l.args + at, args[i], l.kernel->sizes[i]);
		at += (l.kernel->sizes[i] + 7) / 8 * 8;
	}
	if (standin_records())
		standin_record_launch(l.kernel, l.grid, l.block, l.shared, l.args, stream);
	return standin_enqueue(stream, do_launch, &l, sizeof(l));
}

/* ---- graphs ---- */
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	static unsigned number;
	struct graph *g;
	int r = standin_verdict("cuGraphInstantiate");

	if (r || flags || !graph)
		return r ? r : INVALID_VALUE;
	g = calloc(1, sizeof(*g));
	g->tail = &g->head;
	for (struct work *w = ((struct graph *)graph)->head; w; w = w->next) {
		struct work *c = malloc(sizeof(*c) + w->size);

		memcpy(c, w, sizeof(*c) + w->size);
		c->next = NULL;
		if (c->holders)
			(*c->holders)++;
		*g->tail = c;
		g->tail = &c->next;
	}
	*exec = g;
	g->number = ++number;
	standin_record("cuGraphInstantiate: g%u", number);
	return 0;
}

int cuGraphLaunch(void *exec, void *stream)
{
	int r = standin_verdict("cuGraphLaunch");

	standin_record("cuGraphLaunch g%u s%u", ((struct graph *)exec)->number, stream_of(stream)->number);
	for (struct work *w = ((struct graph *)exec)->head; w && !r; w = w->next)
		r = enqueue(stream, w->run, w->poll, w->data, w->size);
	return r;
}

int cuGraphExecDestroy(void *exec)
{
	standin_record("cuGraphExecDestroy g%u", ((struct graph *)exec)->number);
	free_graph(exec);
	return 0;
}

int cuGraphDestroy(void *graph)
{
	free_graph(graph);
	return 0;
}
