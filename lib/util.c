/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "lib/util.h"

volatile int gt_interrupted;

int gt_out_of_memory_status;

static _Noreturn void out_of_memory(void)
{
	static const char msg[] = "out of memory; free some memory and try again\n";

	if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0 || !gt_out_of_memory_status)
		abort();
	_exit(gt_out_of_memory_status);
}

void *gt_xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *gt_xrealloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);

	if (!q)
		out_of_memory();
	return q;
}

char *gt_xstrdup(const char *s)
{
	return gt_xstrndup(s, strlen(s));
}

char *gt_xstrndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *d = gt_xcalloc(len + 1, 1);

	memcpy(d, s, len);
	return d;
}

char *gt_xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (r < 0)
		out_of_memory();
	return s;
}

void gt_strv_take(struct gt_strv *sv, char *s)
{
	/* space for one more and the NULL; the capacity is the next power of two, so it is not stored */
	if (!sv->v || (sv->n + 1 >= 4 && ((sv->n + 1) & sv->n) == 0))
		sv->v = gt_xrealloc(sv->v, GT_MAX(4, (sv->n + 1) * 2) * sizeof(*sv->v));
	sv->v[sv->n++] = s;
	sv->v[sv->n] = NULL;
}

void gt_strv_add(struct gt_strv *sv, const char *s)
{
	gt_strv_take(sv, gt_xstrdup(s));
}

void gt_strv_add_all(struct gt_strv *sv, const struct gt_strv *from)
{
	for (size_t i = 0; i < from->n; i++)
		gt_strv_add(sv, from->v[i]);
}

static int version_order(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void gt_strv_sort(struct gt_strv *sv)
{
	if (sv->n > 1)
		qsort(sv->v, sv->n, sizeof(*sv->v), version_order);
}

static int byte_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void gt_strv_sort_bytes(struct gt_strv *sv)
{
	if (sv->n > 1)
		qsort(sv->v, sv->n, sizeof(*sv->v), byte_order);
}

bool gt_strv_has(const struct gt_strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (!strcmp(sv->v[i], s))
			return true;
	return false;
}

void gt_strv_clear(struct gt_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	*sv = (struct gt_strv){ 0 };
}

bool gt_starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool gt_ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

bool gt_streq(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

const char *gt_next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

void gt_make_plain(char *s)
{
	for (unsigned char *p = (unsigned char *)s; *p; p++) {
		if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
	}
}

char *gt_strip(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return s;
}

uint64_t gt_hash64(const void *data, size_t len, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u ^ seed;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

uint32_t gt_crc32c(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t crc = ~0u;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
	}
	return ~crc;
}

double gt_now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

double gt_suspended_s(void)
{
	struct timespec up, awake;

	clock_gettime(CLOCK_MONOTONIC, &awake);
	clock_gettime(CLOCK_BOOTTIME, &up); /* read after the other clock, so that the difference is never negative */
	return (double)(up.tv_sec - awake.tv_sec) + (double)(up.tv_nsec - awake.tv_nsec) * 1e-9;
}

void gt_format_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	size_t i = 0;

	while (v >= 1024 && i + 1 < GT_ARRAY_SIZE(unit)) {
		v /= 1024;
		i++;
	}
	snprintf(buf, size, i && v < 100 ? "%.1f %s" : "%.0f %s", v, unit[i]);
}

void gt_time_iso8601(char buf[21], int64_t unix_s)
{
	time_t t = unix_s;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, 21, "%Y-%m-%dT%H:%M:%SZ", &tm))
		strcpy(buf, "?");
}
