/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of STANDIN_TRACE (record.h). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "libcuda.h"
#include "record.h"

#define LINE_MOST 16384

bool standin_records(void)
{
	static int known = -1;

	if (known < 0)
		known = getenv("STANDIN_TRACE") != NULL;
	return known;
}

/* One write per line, so that processes that share the file do not mix lines. */
void standin_record(const char *format, ...)
{
	static int fd = -1;
	char line[LINE_MOST];
	va_list args;
	int n, device = standin_device();

	if (!standin_records())
		return;
	if (fd < 0)
		fd = open(getenv("STANDIN_TRACE"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	n = device < 0 ? sprintf(line, "- ") : sprintf(line, "%d ", device);
	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (n > LINE_MOST - 2)
		n = LINE_MOST - 2;
	line[n++] = '\n';
	if (fd < 0 || write(fd, line, (size_t)n) != n) {
		perror("STANDIN_TRACE");
		abort();
	}
}

static char *next_name(void)
{
	static __thread char names[16][48];
	static __thread unsigned at;

	return names[at++ % 16];
}

static const char *name_of(const void *p)
{
	char *name = next_name(), kind;
	unsigned number;
	size_t offset;

	if (!standin_find(p, &kind, &number, &offset))
		return NULL;
	snprintf(name, 48, "%c%u+%#zx", kind, number, offset);
	return name;
}

const char *standin_at(const void *p)
{
	const char *name = p ? name_of(p) : "null";

	return name ? name : "host";
}

const char *standin_word(uint64_t word)
{
	const char *known = name_of((const void *)(uintptr_t)word);
	char *name;

	if (known)
		return known;
	name = next_name();
	snprintf(name, 48, "%#llx", (unsigned long long)word);
	return name;
}

/* FNV-1a */
static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t standin_hash(const void *p, size_t bytes)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325), word;
	const char *c = p, *name;
	size_t i = 0;

	for (; i + 8 <= bytes; i += 8) {
		memcpy(&word, c + i, 8);
		name = name_of((const void *)(uintptr_t)word);
		h = name ? mix(h, name, strlen(name)) : mix(h, &word, 8);
	}
	return mix(h, c + i, bytes - i);
}

/* Words that are addresses are written by name, other arguments as numbers. */
void standin_record_launch(const struct emu_kernel *k, const unsigned grid[3], const unsigned block[3], size_t shared,
			   const char *args, const void *stream)
{
	char text[8192];
	size_t n = 0;

	for (size_t i = 0; i < k->n_args && n < sizeof(text) - 64; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, i ? ", " : " ");
		for (size_t at = 0; at < k->sizes[i] && n < sizeof(text) - 64; at += 8) {
			uint64_t word = 0;

			memcpy(&word, args + at, k->sizes[i] - at < 8 ? k->sizes[i] - at : 8);
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", at ? " " : "", standin_word(word));
		}
		args += (k->sizes[i] + 7) / 8 * 8;
	}
	standin_record("cuLaunchKernel s%u %s (%u,%u,%u) (%u,%u,%u) %zu:%.*s", standin_stream(stream), k->name, grid[0], grid[1],
		       grid[2], block[0], block[1], block[2], shared, (int)n, text);
}
