/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver library for tests on hosts without a GPU. STANDIN_FAIL=CALL:CODE makes that call return that code, and
 * CALL:CODE:N the N+1st one and all behind it; STANDIN_WRONG=1 makes launches compute a wrong element; STANDIN_DEVICES=N sets
 * the device count (1), STANDIN_MAJOR the architecture's number (9), STANDIN_SMS that of its multiprocessors (4);
 * STANDIN_MEMORY=N the bytes of device memory.
 *
 * "Device" memory is host memory, poisoned when allocated. Kernels run on the CPU (emulate.h). Streams are queues that run as
 * late as they may: what is enqueued happens when somebody waits for it, so that a missing event or wait shows.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "allocations.h"
#include "standin.h"

static int verdict(const char *call)
{
	const char *spec = getenv("STANDIN_FAIL");
	size_t n = strlen(call);
	static unsigned calls;
	int code;
	unsigned spared = 0;

	if (!spec || strncmp(spec, call, n) || spec[n] != ':' || sscanf(spec + n + 1, "%d:%u", &code, &spared) < 1)
		return 0;
	return calls++ < spared ? 0 : code;
}

/* How often somebody waited for the device, or for its memory; and for one event. */
static unsigned long waits, event_waits;
void standin_waits(unsigned long *ret_all, unsigned long *ret_events)
{
	*ret_all = waits;
	*ret_events = event_waits;
}

static size_t memory_limit(void)
{
	const char *s = getenv("STANDIN_MEMORY");

	return s ? strtoull(s, NULL, 10) : (size_t)1 << 34;
}

int cuInit(unsigned flags)
{
	return flags ? 1 : verdict("cuInit");
}

int cuDriverGetVersion(int *v)
{
	*v = 12040;
	return verdict("cuDriverGetVersion");
}

int cuDeviceGetCount(int *n)
{
	const char *s = getenv("STANDIN_DEVICES");

	*n = s ? atoi(s) : 1;
	return verdict("cuDeviceGetCount");
}

int cuDeviceGet(int *dev, int i)
{
	*dev = i;
	return verdict("cuDeviceGet");
}

int cuDeviceGetName(char *name, int len, int dev)
{
	snprintf(name, (size_t)len, "Stand-in GPU %d", dev);
	return verdict("cuDeviceGetName");
}

int cuDeviceTotalMem_v2(size_t *bytes, int dev)
{
	*bytes = memory_limit() + ((size_t)dev << 34);
	return 0;
}

int cuDeviceGetAttribute(int *v, int attr, int dev)
{
	const char *major = getenv("STANDIN_MAJOR"), *sms = getenv("STANDIN_SMS");

	/* 134: the node that it is beside; each device has one of its own */
	*v = attr == 75 ? (major ? atoi(major) : 9) : attr == 16 ? (sms ? atoi(sms) : 4) : attr == 97 ? 227 << 10 : dev;
	return verdict("cuDeviceGetAttribute");
}

int cuDevicePrimaryCtxRetain(void **ctx, int dev)
{
	static int context;

	*ctx = &context + dev;
	return verdict("cuDevicePrimaryCtxRetain");
}

int cuDevicePrimaryCtxRelease_v2(int dev)
{
	return dev;
}

int cuCtxSetCurrent(void *ctx)
{
	return ctx ? 0 : 201;
}

int cuModuleLoadData(void **module, const void *image)
{
	static const unsigned char magic[] = { 0x50, 0xed, 0x55, 0xba }; /* a fatbin begins so */

	*module = (void *)image;
	return memcmp(image, magic, sizeof(magic)) ? 200 : verdict("cuModuleLoadData");
}

int cuModuleUnload(void *module)
{
	return module ? 0 : 400;
}

int cuModuleGetFunction(void **fn, void *module, const char *name)
{
	*fn = (void *)(uintptr_t)emu_find(name);
	return *fn && module ? verdict("cuModuleGetFunction") : 500;
}

int cuFuncSetAttribute(void *fn, int attribute, int value)
{
	return fn && attribute == 8 && value <= 227 << 10 ? verdict("cuFuncSetAttribute") : 1;
}

/* ---- memory ---- */
int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	int r = verdict("cuMemAlloc");
	size_t size = (bytes + 511) / 256 * 256;
	struct allocation *a;

	waits++;
	if (r)
		return r;
	if (allocated + size > memory_limit())
		return 2;
	a = aligned_alloc(HEAD, size);
	*a = (struct allocation){ allocations, size, bytes };
	allocations = a;
	memset((char *)a + HEAD, 0xff, size - HEAD);
	allocated += size;
	*ptr = (uintptr_t)a + HEAD;
	return 0;
}

int cuMemFree_v2(uint64_t ptr)
{
	struct allocation *a = (struct allocation *)(void *)((char *)(uintptr_t)ptr - HEAD), **at = &allocations;

	while (*at && *at != a)
		at = &(*at)->next;
	if (!*at)
		return 1;
	*at = a->next;
	allocated -= a->size;
	free(a);
	return 0;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
	*total = memory_limit();
	*available = *total - allocated;
	return verdict("cuMemGetInfo");
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
	*p = calloc(1, bytes ? bytes : 1);
	return flags ? 1 : verdict("cuMemHostAlloc");
}

int cuMemFreeHost(void *p)
{
	free(p);
	return 0;
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	return flags || !p || !bytes ? 1 : verdict("cuMemHostRegister");
}

int cuMemHostUnregister(void *p)
{
	return p ? 0 : 1;
}

/* ---- streams: queues of work ---- */
struct work {
	struct work *next;
	unsigned correlation; /* for a tracer */
	void (*run)(void *data);
	int (*poll)(void *data); /* instead: 1 when done */
	size_t size;
	_Alignas(16) char data[];
};
struct stream {
	struct stream *next;
	struct work *head, **tail;
	unsigned long enqueued, done;
	struct graph *captures;
	bool joined;		/* the capture began on another stream */
	unsigned long captured, rejoined; /* work of a joined stream, and how much of it the others have waited for */
	struct stream *self; /* a stream, and not something else */
};
struct graph {
	struct work *head, **tail;
};
struct event {
	struct stream *stream;
	unsigned long upto;
	double at;
	struct graph *graph; /* recorded while this was captured */
};
static struct stream *streams;
static int failed; /* sticky, as the driver's own */

static unsigned (*tell_enqueued)(void);
static void (*tell_ran)(const struct standin_activity *);

void standin_trace(unsigned (*enqueued)(void), void (*ran)(const struct standin_activity *a))
{
	tell_enqueued = enqueued;
	tell_ran = ran;
}

unsigned long standin_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

static bool is_work(void (*run)(void *));
static void describe(const struct work *w, struct standin_activity *a);

static void run_told(struct work *w)
{
	struct standin_activity a = { .correlation = w->correlation, .start = standin_now() };

	describe(w, &a);
	w->run(w->data);
	a.end = standin_now();
	tell_ran(&a);
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
	if (w->correlation && tell_ran)
		run_told(w);
	else if (!w->poll)
		w->run(w->data);
	free(w);
	return true;
}

/* As far as it goes at once: is all of it done? */
static bool advance(struct stream *s, unsigned long upto)
{
	while (s->head && s->done < upto)
		if (!run_one(s))
			return false;
	return true;
}

static void drain(struct stream *s, unsigned long upto)
{
	while (!advance(s, upto))
		usleep(20);
}

static void drain_all(void)
{
	for (struct stream *s = streams; s; s = s->next)
		drain(s, (unsigned long)-1);
}

static int enqueue(struct stream *s, void (*run)(void *), int (*poll)(void *), const void *data, size_t size)
{
	struct work *w;

	if (!s) {
		drain_all();
		if (run)
			run((void *)(uintptr_t)data);
		while (poll && !poll((void *)(uintptr_t)data))
			usleep(20);
		return failed;
	}
	w = malloc(sizeof(*w) + size);
	*w = (struct work){ .run = run, .poll = poll, .size = size };
	memcpy(w->data, data, size);
	if (tell_enqueued && !s->captures && run && is_work(run))
		w->correlation = tell_enqueued();
	if (s->captures) {
		*s->captures->tail = w;
		s->captures->tail = &w->next;
		s->captured++;
		return 0;
	}
	*s->tail = w;
	s->tail = &w->next;
	s->enqueued++;
	return failed;
}

int standin_enqueue(void *stream, void (*run)(void *), const void *data, size_t size)
{
	return enqueue(stream, run, NULL, data, size);
}

int standin_enqueue_polled(void *stream, int (*poll)(void *), const void *data, size_t size)
{
	return enqueue(stream, NULL, poll, data, size);
}

int cuStreamCreate(void **stream, unsigned flags)
{
	struct stream *s = calloc(1, sizeof(*s));

	s->tail = &s->head;
	s->next = streams;
	streams = *stream = s->self = s;
	return flags > 1 ? 1 : verdict("cuStreamCreate");
}

int cuStreamDestroy_v2(void *stream)
{
	struct stream *s = stream, **p = &streams;

	drain(s, (unsigned long)-1);
	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	free(s);
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	int r = verdict("cuStreamSynchronize");

	waits++;
	if (stream)
		drain(stream, (unsigned long)-1);
	else
		drain_all();
	return r ? r : failed;
}

int cuCtxSynchronize(void)
{
	int r = verdict("cuCtxSynchronize");

	waits++;
	drain_all();
	return r ? r : failed;
}

int cuEventCreate(void **event, unsigned flags)
{
	*event = calloc(1, sizeof(struct event));
	return flags & ~3u ? 1 : verdict("cuEventCreate");
}

int cuEventDestroy_v2(void *event)
{
	free(event);
	return 0;
}

static void stamp(void *data)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	(*(struct event **)data)->at = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int cuEventRecord(void *event, void *stream)
{
	struct event *e = event;
	int r = standin_enqueue(stream, stamp, &e, sizeof(struct event *));

	e->stream = stream;
	e->graph = e->stream ? e->stream->captures : NULL;
	e->upto = !e->stream ? 0 : e->graph ? e->stream->captured : e->stream->enqueued;
	return r ? r : verdict("cuEventRecord");
}

static void wait_event(struct event *e)
{
	if (e->stream)
		drain(e->stream, e->upto);
}

int cuEventSynchronize(void *event)
{
	int r = verdict("cuEventSynchronize");

	event_waits++;
	wait_event(event);
	return r ? r : failed;
}

int cuEventQuery(void *event)
{
	struct event *e = event;
	int r = verdict("cuEventQuery");

	if (r)
		return r;
	return e->stream && !advance(e->stream, e->upto) ? 600 : failed;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
	*ms = (float)(((struct event *)to)->at - ((struct event *)from)->at);
	return verdict("cuEventElapsedTime");
}

static int wait_in_stream(void *data)
{
	struct event *e = data;

	return !e->stream || advance(e->stream, e->upto);
}

/* A stream that waits for what is captured is captured too. All of it is one list in the order of the calls. */
static int wait_in_capture(struct stream *s, struct event *e)
{
	if (s->captures && s->captures != e->graph)
		return 902; /* CUDA_ERROR_STREAM_CAPTURE_MERGE */
	s->joined |= !s->captures;
	s->captures = e->graph;
	if (e->stream->joined && e->upto > e->stream->rejoined)
		e->stream->rejoined = e->upto;
	return 0;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	struct event *e = event;

	if (e->graph && e->stream->captures == e->graph)
		return flags ? 1 : wait_in_capture(stream, e);
	return flags ? 1 : standin_enqueue_polled(stream, wait_in_stream, event, sizeof(struct event));
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

static int copy(void *stream, uint64_t to, uint64_t from, size_t bytes)
{
	struct copy c = { (char *)(uintptr_t)to, (const char *)(uintptr_t)from, bytes, 0 };

	return standin_enqueue(stream, do_copy, &c, sizeof(c));
}

int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	int r = verdict("cuMemcpyHtoD");

	waits++;
	return r ? r : copy(NULL, dst, (uintptr_t)src, bytes);
}

int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t bytes)
{
	int r = verdict("cuMemcpyDtoH");

	waits++;
	return r ? r : copy(NULL, (uintptr_t)dst, src, bytes);
}

int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream)
{
	int r = verdict("cuMemcpyHtoDAsync");

	return r ? r : copy(stream, dst, (uintptr_t)src, bytes);
}

int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t bytes, void *stream)
{
	int r = verdict("cuMemcpyDtoHAsync");

	return r ? r : copy(stream, (uintptr_t)dst, src, bytes);
}

int cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t bytes, void *stream)
{
	int r = verdict("cuMemcpyDtoDAsync");

	return r ? r : copy(stream, dst, src, bytes);
}

int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t bytes, void *stream)
{
	struct copy c = { (char *)(uintptr_t)dst, NULL, bytes, value };
	int r = verdict("cuMemsetD8Async");

	return r ? r : standin_enqueue(stream, do_copy, &c, sizeof(c));
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
		failed = 719;
	if (getenv("STANDIN_WRONG") && !strcmp(l->kernel->name, "rt_saxpy"))
		(*(float **)args[3])[*(unsigned *)args[0] - 1] += 1;
}

/* Neither a stamp nor a wait. */
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
	int r = verdict("cuLaunchKernel");

	if (r)
		return r;
	if (!fn || !gx || !gy || gy > 65535 || gz != 1 || !bx || !by || bz != 1 || bx * by > 1024 || extra)
		return 1;
	for (size_t i = 0; i < l.kernel->n_args; i++) {
		if (at + l.kernel->sizes[i] > ARGS_MAX)
			return 1;
		memcpy(l.args + at, args[i], l.kernel->sizes[i]);
		at += (l.kernel->sizes[i] + 7) / 8 * 8;
	}
	return standin_enqueue(stream, do_launch, &l, sizeof(l));
}

/* ---- graphs ---- */
int cuStreamBeginCapture_v2(void *stream, int mode)
{
	struct stream *s = stream;

	if (!s || s->captures || mode > 2)
		return 1;
	s->captures = calloc(1, sizeof(struct graph));
	s->captures->tail = &s->captures->head;
	return verdict("cuStreamBeginCapture");
}

int cuStreamEndCapture(void *stream, void **graph)
{
	struct stream *s = stream;
	bool loose = false;

	*graph = s->captures;
	for (struct stream *other = streams; *graph && other; other = other->next) {
		if (other->captures != *graph)
			continue;
		loose |= other->joined && other->rejoined < other->captured;
		other->captures = NULL;
		other->joined = false;
		other->captured = other->rejoined = 0;
	}
	if (loose)
		return 904; /* CUDA_ERROR_STREAM_CAPTURE_UNJOINED */
	return *graph ? verdict("cuStreamEndCapture") : 1;
}

static void free_graph(struct graph *g)
{
	for (struct work *w = g->head, *next; w; w = next) {
		next = w->next;
		free(w);
	}
	free(g);
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	struct graph *g = calloc(1, sizeof(*g));

	g->tail = &g->head;
	for (struct work *w = ((struct graph *)graph)->head; w; w = w->next) {
		struct work *c = malloc(sizeof(*c) + w->size);

		memcpy(c, w, sizeof(*c) + w->size);
		c->next = NULL;
		*g->tail = c;
		g->tail = &c->next;
	}
	*exec = g;
	return flags ? 1 : verdict("cuGraphInstantiate");
}

int cuGraphLaunch(void *exec, void *stream)
{
	int r = verdict("cuGraphLaunch");

	for (struct work *w = ((struct graph *)exec)->head; w && !r; w = w->next)
		r = enqueue(stream, w->run, w->poll, w->data, w->size);
	return r;
}

int cuGraphExecDestroy(void *exec)
{
	free_graph(exec);
	return 0;
}

int cuGraphDestroy(void *graph)
{
	free_graph(graph);
	return 0;
}

int cuGetErrorName(int code, const char **name)
{
	*name = code == 100 ? "CUDA_ERROR_NO_DEVICE" :
		code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" :
			      "CUDA_ERROR_OTHER";
	return 0;
}

int cuGetErrorString(int code, const char **text)
{
	*text = code == 100 ? "no CUDA-capable device is detected" : "some error";
	return 0;
}
