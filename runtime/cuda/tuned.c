/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/err.h"
#include "runtime/cuda/tuned.h"

#define LINES_MAX 4096

struct entry {
	char *key;
	uint64_t words[RT_TUNED_WORDS];
	size_t workspace;
};
struct rt_tuned {
	char *name, *path; /* path: NULL if there is no place to keep it */
	struct entry *entries;
	size_t n;
	bool changed;
	struct rt_tuned *next;
};

/* Kept to the end of the process: its programs choose alike, one after the other too, whatever other processes write. */
static struct rt_tuned *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* $XDG_CACHE_HOME/gputune or ~/.cache/gputune, made if missing; NULL: no place to keep anything. */
static char *cache_dir(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	gt_autofree char *base = NULL;
	char *dir;

	if (xdg && *xdg == '/')
		base = gt_xstrdup(xdg);
	else if (home && *home == '/')
		base = gt_xasprintf("%s/.cache", home);
	else
		return NULL;
	if (mkdir(base, 0700) < 0 && errno != EEXIST)
		return NULL;
	dir = gt_xasprintf("%s/gputune", base);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
		free(dir);
		return NULL;
	}
	return dir;
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
	FILE *f = t->path ? fopen(t->path, "re") : NULL;
	gt_autofree char *line = NULL;
	size_t cap = 0;

	if (!f)
		return;
	while (getline(&line, &cap, f) > 0)
		parse(t, line);
	fclose(f);
}

struct rt_tuned *rt_tuned_open(const char *library, const char *card, int arch, size_t library_version)
{
	gt_autofree char *dir = cache_dir(), *name = file_name(library, card, arch, library_version);
	gt_autofree char *path = dir ? gt_xasprintf("%s/%s", dir, name) : NULL;
	struct rt_tuned *t;

	pthread_mutex_lock(&lock);
	for (t = all; t; t = t->next)
		if (gt_streq(t->name, name) && gt_streq(t->path ? t->path : "", path ? path : ""))
			break;
	if (!t) {
		t = gt_xcalloc(1, sizeof(*t));
		t->name = gt_xstrdup(name);
		t->path = path ? gt_xstrdup(path) : NULL;
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

/* A file of its own beside it, then one rename: readers see the old or the new. */
static void write_all(const struct rt_tuned *t)
{
	gt_autofree char *tmp = gt_xasprintf("%s.XXXXXX", t->path);
	int fd = mkstemp(tmp);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	bool ok = f != NULL;

	if (!f && fd >= 0)
		close(fd);
	for (size_t i = 0; f && i < t->n; i++) {
		fprintf(f, "%s\t", t->entries[i].key);
		for (int k = 0; k < RT_TUNED_WORDS; k++)
			fprintf(f, "%" PRIx64 " ", t->entries[i].words[k]);
		fprintf(f, "%zu\n", t->entries[i].workspace);
	}
	if (f)
		ok = !ferror(f) & !fclose(f);
	if (fd >= 0 && (!ok || rename(tmp, t->path) < 0))
		unlink(tmp);
}

void rt_tuned_close(struct rt_tuned *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&lock);
	if (t->changed && t->path)
		write_all(t);
	t->changed = false;
	pthread_mutex_unlock(&lock);
}
