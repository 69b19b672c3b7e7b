/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/cache.h"
#include "lib/err.h"
#include "lib/text.h"
#include "runtime/cuda/tuned.h"

#define LINES_MAX 4096
#define FILE_MOST (16u << 20)

struct entry {
	char *key;
	uint64_t words[RT_TUNED_WORDS];
	size_t workspace;
};
struct rt_tuned {
	char *name; /* file name in the cache directory */
	struct entry *entries;
	size_t n;
	bool changed;
	struct rt_tuned *next;
};

/*
 * Lives until the end of the process. Programs of one process therefore make the same choices, even one after the other,
 * whatever other processes write.
 */
static struct rt_tuned *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int open_cache(void)
{
	return gt_cache_open(getenv("XDG_CACHE_HOME"), getenv("HOME"));
}

static struct entry *find(const struct rt_tuned *t, const char *key)
{
	for (size_t i = 0; i < t->n; i++)
		if (gt_streq(t->entries[i].key, key))
			return &t->entries[i];
	return NULL;
}

static void store(struct rt_tuned *t, const char *key, const uint64_t words[RT_TUNED_WORDS], size_t workspace)
{
	struct entry *e = find(t, key);

	if (!e) {
		if (t->n == LINES_MAX)
			return;
		t->entries = gt_xrealloc(t->entries, (t->n + 1) * sizeof(*t->entries));
		e = &t->entries[t->n++];
		e->key = gt_xstrdup(key);
	}
	memcpy(e->words, words, sizeof(e->words));
	e->workspace = workspace;
}

static void parse(struct rt_tuned *t, char *line)
{
	char *tab = strchr(line, '\t'), *p;
	uint64_t words[RT_TUNED_WORDS];
	unsigned long long workspace;

	if (!tab)
		return;
	*tab = 0;
	p = tab + 1;
	for (int i = 0; i < RT_TUNED_WORDS; i++) {
		char *end;

		errno = 0;
		words[i] = strtoull(p, &end, 16);
		if (end == p || *end != ' ' || errno)
			return;
		p = end + 1;
	}
	if (sscanf(p, "%llu", &workspace) == 1)
		store(t, line, words, workspace);
}

static char *file_name(const char *library, const char *card, int arch, size_t library_version)
{
	char *name = gt_xasprintf("%s-%s-sm%d-%zu.txt", library, card, arch, library_version);

	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-.", *p))
			*p = '_';
	return name;
}

static void read_all(struct rt_tuned *t)
{
	gt_autoclose int cache = open_cache();
	gt_autofree char *text = NULL;

	if (cache < 0 || gt_cache_read(cache, t->name, FILE_MOST, &text) < 0)
		return;
	gt_each_line(line, text)
		parse(t, line);
}

struct rt_tuned *rt_tuned_open(const char *library, const char *card, int arch, size_t library_version)
{
	gt_autofree char *name = file_name(library, card, arch, library_version);
	struct rt_tuned *t;

	pthread_mutex_lock(&lock);
	for (t = all; t; t = t->next)
		if (gt_streq(t->name, name))
			break;
	if (!t) {
		t = gt_xcalloc(1, sizeof(*t));
		t->name = gt_xstrdup(name);
		read_all(t);
		t->next = all;
		all = t;
	}
	pthread_mutex_unlock(&lock);
	return t;
}

bool rt_tuned_get(const struct rt_tuned *t, const char *key, uint64_t words[RT_TUNED_WORDS], size_t *ret_workspace)
{
	const struct entry *e;

	pthread_mutex_lock(&lock);
	e = find(t, key);
	if (e) {
		memcpy(words, e->words, sizeof(e->words));
		*ret_workspace = e->workspace;
	}
	pthread_mutex_unlock(&lock);
	return e != NULL;
}

void rt_tuned_put(struct rt_tuned *t, const char *key, const uint64_t words[RT_TUNED_WORDS], size_t workspace)
{
	pthread_mutex_lock(&lock);
	store(t, key, words, workspace);
	t->changed = true;
	pthread_mutex_unlock(&lock);
}

static void write_all(const struct rt_tuned *t)
{
	gt_autoclose int cache = open_cache();
	gt_auto_buf out = { 0 };

	if (cache < 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		gt_buf_printf(&out, "%s\t", t->entries[i].key);
		for (int k = 0; k < RT_TUNED_WORDS; k++)
			gt_buf_printf(&out, "%" PRIx64 " ", t->entries[i].words[k]);
		gt_buf_printf(&out, "%zu\n", t->entries[i].workspace);
	}
	gt_cache_write(cache, t->name, out.s, out.len);
}

void rt_tuned_close(struct rt_tuned *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&lock);
	if (t->changed)
		write_all(t);
	t->changed = false;
	pthread_mutex_unlock(&lock);
}
