/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI for tests without a GPU: the part of the Activity API that runtime/cuda/cupti.c uses, with the records of
 * cupti_activity.h, for the work of the stand-in driver. A record of external correlation precedes each record of a
 * driver call between Push and Pop, if both kinds are enabled. A buffer is returned when it is full or flushed.
 *
 * STANDIN_CUPTI_FAIL=WHAT:STATUS makes WHAT (register, enable, flush, push) return that status; WHAT drop: records are
 * lost. STANDIN_CUPTI_VERSION=N sets another version. STANDIN_CUPTI_LATE=US delays each query of the time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "standin.h"

enum { INVALID_PARAMETER = 1, MAX_LIMIT_REACHED = 12, QUEUE_EMPTY = 34 };
#define STACK 8

struct kernel_record { /* CUpti_ActivityKernel9 */
	uint32_t kind;
	uint8_t unread[12];
	uint64_t start, end, completed;
	uint32_t device, context, stream, unread2[10], correlation;
	int64_t grid;
	const char *name;
	uint8_t rest[104];
};
struct copy_record { /* CUpti_ActivityMemcpy6, Memset4 */
	uint32_t kind;
	uint8_t copy_kind, unread[3];
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint8_t rest[40];
};
struct external_record {
	uint32_t kind, external_kind;
	uint64_t id;
	uint32_t correlation, reserved;
};
struct api_record {
	uint32_t kind, cbid;
	uint64_t start, end;
	uint32_t process, thread, correlation, result;
};

static bool enabled[64];
static uint64_t stack[STACK];
static int depth;
static uint8_t *buffer;
static size_t size, used, lost;
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);

static int fails(const char *what)
{
	const char *spec = getenv("STANDIN_CUPTI_FAIL");
	size_t n = strlen(what);

	return spec && !strncmp(spec, what, n) && spec[n] == ':' ? atoi(spec + n + 1) : 0;
}

static void give_back(void)
{
	uint8_t *full = buffer;

	buffer = NULL;
	if (full)
		complete(NULL, 0, full, size, used);
}

static void put(const void *record, size_t bytes)
{
	size_t most = 0;

	if (!enabled[*(const uint32_t *)record])
		return;
	if (*(const uint32_t *)record == 10 && fails("drop")) {
		lost++;
		return;
	}
	if (buffer && used + bytes > size)
		give_back();
	if (!buffer) {
		request(&buffer, &size, &most);
		used = 0;
	}
	memcpy(buffer + used, record, bytes);
	used += bytes;
}

static unsigned enqueued(void)
{
	static unsigned calls;
	struct api_record a = { .kind = 4, .correlation = ++calls };
	struct external_record x = { .kind = 39, .external_kind = 3, .correlation = calls };

	if (depth && (enabled[4] || enabled[5])) {
		x.id = stack[depth - 1];
		put(&x, sizeof(x));
	}
	put(&a, sizeof(a));
	return calls;
}

static void ran(const struct standin_activity *a)
{
	struct kernel_record k = { .kind = 10, .start = a->start, .end = a->end, .correlation = a->correlation, .stream = 7,
				   .name = a->name };
	struct copy_record c = { .kind = (uint32_t)a->kind, .copy_kind = (uint8_t)a->copy_kind, .bytes = a->bytes,
				 .start = a->start, .end = a->end, .correlation = a->correlation, .stream = 7 };

	if (a->kind == 10)
		put(&k, sizeof(k));
	else
		put(&c, sizeof(c));
}

int cuptiGetVersion(uint32_t *version)
{
	const char *s = getenv("STANDIN_CUPTI_VERSION");

	*version = s ? (uint32_t)atoi(s) : 26;
	return 0;
}

int cuptiGetResultString(int status, const char **name)
{
	*name = status == 999 ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR";
	return 0;
}

int cuptiActivityRegisterCallbacks(void (*requested)(uint8_t **, size_t *, size_t *),
				   void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	request = requested;
	complete = completed;
	return requested && completed ? fails("register") : INVALID_PARAMETER;
}

int cuptiActivityEnable(int kind)
{
	int status = fails("enable");

	if (!request || kind < 1 || kind > 63)
		return INVALID_PARAMETER;
	enabled[kind] = !status;
	standin_trace(enqueued, ran);
	return status;
}

int cuptiActivityDisable(int kind)
{
	enabled[kind] = false;
	return 0;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	int status = fails("flush");

	give_back();
	return flag > 1 ? INVALID_PARAMETER : status;
}

int cuptiActivityGetNextRecord(uint8_t *records, size_t valid, void **record)
{
	uint8_t *at = *record;

	if (!at) {
		at = records;
	} else {
		uint32_t kind = *(uint32_t *)*record;

		at += kind == 10 ? sizeof(struct kernel_record) :
		      kind == 39 ? sizeof(struct external_record) :
		      kind == 4	 ? sizeof(struct api_record) :
				   sizeof(struct copy_record);
	}
	*record = at;
	return at < records + valid ? 0 : MAX_LIMIT_REACHED;
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
	int status = fails("push");

	if (kind != 3 || depth == STACK)
		return INVALID_PARAMETER;
	stack[depth++] = id;
	return status;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
	if (kind != 3 || !depth)
		return QUEUE_EMPTY;
	*last = stack[--depth];
	return 0;
}

int cuptiGetTimestamp(uint64_t *now)
{
	const char *late = getenv("STANDIN_CUPTI_LATE");

	*now = standin_now();
	if (late)
		usleep((useconds_t)atoi(late));
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	*dropped = lost;
	lost = 0;
	return context || stream ? INVALID_PARAMETER : 0; /* arguments as passed to completed() */
}
