/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cuda/cupti.h"
#include "runtime/cuda/vendor.h"

/* The used part of cupti_activity.h and cupti_result.h. Records are only extended at their ends: the members read here
 * have had the same offsets since CUDA 9 (CUpti_ActivityKernel4, Memcpy, Memset, ExternalCorrelation). */
enum {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12, /* no more records */
	CUPTI_VIRTUAL_DEVICE = 33,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_OLD_PROFILER = 36,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_VIRTUAL_DEVICE_PRIVILEGES = 40,

	KIND_MEMCPY = 1,
	KIND_MEMSET = 2,
	KIND_DRIVER = 4,
	KIND_RUNTIME = 5,
	KIND_KERNEL = 10, /* CONCURRENT_KERNEL */
	KIND_EXTERNAL = 39,
	EXTERNAL_CUSTOM0 = 3,
	FLUSH_FORCED = 1,
};
struct kernel_record {
	uint32_t kind;
	uint8_t unread[12];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	uint32_t unread2[10];
	uint32_t correlation;
	int64_t grid;
	const char *name;
};
struct copy_record { /* record of a copy or a fill; a fill has its value in the place of the copy kind */
	uint32_t kind;
	uint8_t copy_kind, unread[3];
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
};
struct external_record {
	uint32_t kind, external_kind;
	uint64_t id;
	uint32_t correlation;
};
_Static_assert(offsetof(struct kernel_record, stream) == 48 && offsetof(struct kernel_record, correlation) == 92 &&
		       offsetof(struct kernel_record, name) == 104 && offsetof(struct copy_record, correlation) == 44 &&
		       offsetof(struct external_record, correlation) == 16,
	       "as cupti_activity.h has them");

#define BUFFER	 (4u << 20) /* bytes */
#define READINGS 4

struct api {
	int (*version)(uint32_t *);
	int (*result_string)(int, const char **);
	int (*register_callbacks)(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
	int (*enable)(int);
	int (*disable)(int);
	int (*next)(uint8_t *, size_t, void **);
	int (*flush)(uint32_t);
	int (*push)(int, uint64_t);
	int (*pop)(int, uint64_t *);
	int (*timestamp)(uint64_t *);
	int (*dropped)(void *, uint32_t, size_t *);
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(api, version, cuptiGetVersion),
	GT_DLSYM(api, result_string, cuptiGetResultString),
	GT_DLSYM(api, register_callbacks, cuptiActivityRegisterCallbacks),
	GT_DLSYM(api, enable, cuptiActivityEnable),
	GT_DLSYM(api, disable, cuptiActivityDisable),
	GT_DLSYM(api, next, cuptiActivityGetNextRecord),
	GT_DLSYM(api, flush, cuptiActivityFlushAll),
	GT_DLSYM(api, push, cuptiActivityPushExternalCorrelationId),
	GT_DLSYM(api, pop, cuptiActivityPopExternalCorrelationId),
	GT_DLSYM(api, timestamp, cuptiGetTimestamp),
	GT_DLSYM(api, dropped, cuptiActivityGetNumDroppedRecords),
};
/* Activity kinds to enable. A correlation record comes only with a driver or runtime record. */
static const int kinds[] = { KIND_DRIVER, KIND_RUNTIME, KIND_EXTERNAL, KIND_KERNEL, KIND_MEMCPY, KIND_MEMSET };

struct launched { /* maps a correlation id to the call */
	uint32_t correlation;
	int call;
};
struct entry {
	struct rt_cupti_record r;
	uint32_t correlation;
};
struct rt_cupti {
	struct api api;
	void *lib;
	int driver;
	uint32_t version;
	size_t enabled; /* number of enabled kinds */
	pthread_mutex_t lock; /* protects the following members, because CUPTI's own thread returns buffers */
	struct entry *entries;
	struct launched *launched;
	size_t n, n_launched, dropped;
	char **names;
	size_t n_names;
	struct rt_cupti_record *taken;
};
static struct rt_cupti *tracer; /* global, because CUPTI's callbacks have no user argument */

/* ---- buffers ---- */
static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = *buffer ? BUFFER : 0;
	*records = 0;
}

static const char *keep_name(struct rt_cupti *c, const char *name)
{
	for (size_t i = c->n_names; i-- > 0;)
		if (gt_streq(c->names[i], name))
			return c->names[i];
	c->names = gt_xrealloc(c->names, (c->n_names + 1) * sizeof(*c->names));
	return c->names[c->n_names++] = gt_xstrdup(name);
}

static const char *copy_name(unsigned kind)
{
	return kind == 1 ? "copy to the device" : kind == 2 ? "copy to the host" : kind == 8 ? "copy on the device" : "copy";
}

static void keep(struct rt_cupti *c, const void *record)
{
	const struct kernel_record *k = record;
	const struct copy_record *m = record;
	const struct external_record *x = record;
	struct entry e = { .r.call = -1 };

	if (x->kind == KIND_EXTERNAL && x->external_kind == EXTERNAL_CUSTOM0) {
		c->launched = gt_xrealloc(c->launched, (c->n_launched + 1) * sizeof(*c->launched));
		c->launched[c->n_launched++] = (struct launched){ x->correlation, (int)x->id - 1 };
		return;
	}
	if (k->kind == KIND_KERNEL) {
		e.r.name = keep_name(c, k->name ? k->name : "a kernel without a name");
		e.r.start = k->start, e.r.end = k->end, e.r.stream = k->stream;
		e.correlation = k->correlation;
	} else if (m->kind == KIND_MEMCPY || m->kind == KIND_MEMSET) {
		e.r.name = m->kind == KIND_MEMSET ? "fill" : copy_name(m->copy_kind);
		e.r.start = m->start, e.r.end = m->end, e.r.stream = m->stream, e.r.bytes = m->bytes;
		e.correlation = m->correlation;
	} else {
		return;
	}
	c->entries = gt_xrealloc(c->entries, (c->n + 1) * sizeof(*c->entries));
	c->entries[c->n++] = e;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct rt_cupti *c = tracer;
	void *record = NULL;
	size_t lost = 0;

	if (c) {
		pthread_mutex_lock(&c->lock);
		while (valid && c->api.next(buffer, valid, &record) == CUPTI_OK)
			keep(c, record);
		if (c->api.dropped(context, stream, &lost) == CUPTI_OK)
			c->dropped += lost;
		pthread_mutex_unlock(&c->lock);
	}
	free(buffer);
}

/* ---- the tracer ---- */
static int check(const struct rt_cupti *c, int status, const char *what, struct gt_err *err)
{
	const char *name = NULL;

	if (status == CUPTI_OK)
		return 0;
	if (status == CUPTI_INSUFFICIENT_PRIVILEGES)
		return gt_fail(err, EPERM,
			       "the driver permits only root to profile the device (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): run "
			       "as root, or load the module nvidia with NVreg_RestrictProfilingToAdminUsers=0");
	if (status == CUPTI_MULTIPLE_SUBSCRIBERS || status == CUPTI_OLD_PROFILER)
		return gt_fail(err, EBUSY, "another profiler is attached to this process, and CUPTI supports only one");
	if (status == CUPTI_VIRTUAL_DEVICE || status == CUPTI_VIRTUAL_DEVICE_PRIVILEGES)
		return gt_fail(err, ENOSYS, "the hypervisor does not permit guests to profile the device");
	if (c->api.result_string(status, &name) != CUPTI_OK || !name)
		name = "no name";
	return gt_fail(err, EIO, "%s of CUPTI %u failed with status %d (%s)", what, c->version, status, name);
}

/* Up to CUDA 12 the version number counted up by one; since 13.0 it is 130000. */
static int suits(void *arg, struct gt_err *err)
{
	struct rt_cupti *c = arg;
	int driver = c->driver, r = check(c, c->api.version(&c->version), "cuptiGetVersion", err);

	if (!r && (int)(c->version / 10000) > driver / 1000)
		r = gt_fail(err, ENOSYS,
			    "CUPTI is built for CUDA %u.%u and this driver supports CUDA %d.%d: install a newer driver or the "
			    "CUPTI of CUDA %d", c->version / 10000, c->version % 10000 / 100, driver / 1000, driver % 1000 / 10,
			    driver / 1000);
	return r;
}

int rt_cupti_open(int driver, struct rt_cupti **ret, struct gt_err *err)
{
	/* checks the version of the driver first */
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL };
	struct rt_vendor library = { .names = names + (driver < 13000), .syms = syms, .n_syms = GT_ARRAY_SIZE(syms),
				     .suits = suits };
	struct rt_cupti *c;
	int r;

	if (tracer)
		return gt_fail(err, EBUSY, "this process already traces another program");
	c = gt_xcalloc(1, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	tracer = c;
	c->driver = driver;
	library.table = &c->api;
	library.arg = c;
	r = rt_vendor_open(&library, &c->lib, err);
	if (!r)
		r = check(c, c->api.register_callbacks(requested, completed), "cuptiActivityRegisterCallbacks", err);
	while (!r && c->enabled < GT_ARRAY_SIZE(kinds)) {
		r = check(c, c->api.enable(kinds[c->enabled]), "cuptiActivityEnable", err);
		c->enabled += !r;
	}
	if (r)
		rt_cupti_close(c);
	else
		*ret = c;
	return r;
}

/* The library stays loaded, because its threads may still run. */
void rt_cupti_close(struct rt_cupti *c)
{
	if (!c)
		return;
	while (c->enabled)
		c->api.disable(kinds[--c->enabled]);
	if (c->lib)
		c->api.flush(FLUSH_FORCED);
	tracer = NULL;
	for (size_t i = 0; i < c->n_names; i++)
		free(c->names[i]);
	free(c->names);
	free(c->entries);
	free(c->launched);
	free(c->taken);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

unsigned rt_cupti_version(const struct rt_cupti *c)
{
	return c->version;
}

int rt_cupti_begin(struct rt_cupti *c, int call, struct gt_err *err)
{
	return check(c, c->api.push(EXTERNAL_CUSTOM0, (uint64_t)call + 1), "cuptiActivityPushExternalCorrelationId", err);
}

int rt_cupti_end(struct rt_cupti *c, struct gt_err *err)
{
	uint64_t last;

	return check(c, c->api.pop(EXTERNAL_CUSTOM0, &last), "cuptiActivityPopExternalCorrelationId", err);
}

static int by_correlation(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int by_start(const void *a, const void *b)
{
	const struct rt_cupti_record *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void resolve(struct rt_cupti *c)
{
	if (c->n_launched)
		qsort(c->launched, c->n_launched, sizeof(*c->launched), by_correlation);
	c->taken = gt_xrealloc(c->taken, (c->n + 1) * sizeof(*c->taken));
	for (size_t i = 0; i < c->n; i++) {
		const struct launched key = { .correlation = c->entries[i].correlation }, *found = NULL;

		if (c->n_launched)
			found = bsearch(&key, c->launched, c->n_launched, sizeof(key), by_correlation);
		c->taken[i] = c->entries[i].r;
		if (found)
			c->taken[i].call = found->call;
	}
	if (c->n)
		qsort(c->taken, c->n, sizeof(*c->taken), by_start);
}

int rt_cupti_drop(struct rt_cupti *c, struct gt_err *err)
{
	int r = check(c, c->api.flush(FLUSH_FORCED), "cuptiActivityFlushAll", err);

	pthread_mutex_lock(&c->lock);
	c->n = c->n_launched = c->dropped = 0;
	pthread_mutex_unlock(&c->lock);
	return r;
}

/*
 * Reads both clocks at the same moment. Uses the closest of a few readings, because the thread may be preempted between
 * the two.
 */
static int read_clocks(const struct rt_cupti *c, uint64_t *ret_now, double *ret_at, struct gt_err *err)
{
	double closest = INFINITY;

	for (int i = 0; i < READINGS; i++) {
		double before = gt_now_s(), after;
		uint64_t now;
		int r = check(c, c->api.timestamp(&now), "cuptiGetTimestamp", err);

		if (r)
			return r;
		after = gt_now_s();
		if (after - before < closest) {
			closest = after - before;
			*ret_now = now;
			*ret_at = (before + after) / 2;
		}
	}
	return 0;
}

int rt_cupti_take(struct rt_cupti *c, const struct rt_cupti_record **ret, size_t *ret_n, uint64_t *ret_now, double *ret_at,
		  struct gt_err *err)
{
	int r = check(c, c->api.flush(FLUSH_FORCED), "cuptiActivityFlushAll", err);

	if (!r)
		r = read_clocks(c, ret_now, ret_at, err);
	if (r)
		return r;
	pthread_mutex_lock(&c->lock);
	resolve(c);
	*ret = c->taken;
	*ret_n = c->n;
	if (c->dropped)
		r = gt_fail(err, EOVERFLOW, "CUPTI dropped %zu records of this step because its buffers were full", c->dropped);
	c->n = c->n_launched = c->dropped = 0;
	pthread_mutex_unlock(&c->lock);
	return r;
}
