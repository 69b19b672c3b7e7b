/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/dlopen_names.h"
#include "probe/host/reading.h"

/* Libraries that open others by name. The caller's RPATH or RUNPATH is used in the search. */
static const struct {
	const char *stem, *names;
} openers[] = {
	{"libcudart", "libcuda.so.1"},
	{"libcudnn.so.8", "libcudnn_ops_infer.so.8 libcudnn_cnn_infer.so.8"},
	{"libcudnn.so.9", "libcudnn_graph.so.9 libcudnn_ops.so.9 libcudnn_cnn.so.9"},
	{"libnccl", "libcuda.so.1 libnvidia-ml.so.1"},
};

/*
 * Returns the version of the distribution "nvidia-cudnn-cu12" or "nvidia-cudnn", if that distribution contains the file.
 */
static const char *dist_version(const struct pr_pyenv *env, const char *dist, const char *real)
{
	for (size_t i = 0; i < env->n_dist; i++) {
		const char *rest = gt_starts_with(env->dist[i].name, dist) ? env->dist[i].name + strlen(dist) : "?";

		if ((!*rest || gt_starts_with(rest, "-cu")) && gt_starts_with(real, env->dist[i].site))
			return env->dist[i].version;
	}
	return NULL;
}

char *pr_lib_version(const struct pr_pyenv *env, const char *soname, const char *real)
{
	const char *base = real ? strrchr(real, '/') : NULL, *so = base ? strstr(base, ".so.") : NULL, *version = NULL,
		   *dist;

	if (so && strchr(so + 4, '.') && isdigit((unsigned char)so[4]))
		return gt_xstrdup(so + 4);
	dist = real && env ? pr_watched_dist(soname) : NULL;
	if (dist)
		version = dist_version(env, dist, real);
	return version ? gt_xstrdup(version) : NULL;
}

int pr_forced_hit(const struct pr_object *o, const struct pr_pyenv *env)
{
	gt_autofree char *version = NULL;

	if (o->hit.rule != PR_BY_LIBRARY_PATH && o->hit.rule != PR_BY_PRELOAD)
		return -1;
	version = pr_lib_version(env, o->name, o->hit.real);
	for (size_t i = 0; i < o->n_hidden; i++) {
		gt_autofree char *other = pr_lib_version(env, o->name, o->hidden[i].real);

		if (o->hidden[i].rule != o->hit.rule)
			return version && other && !strcmp(version, other) ? -1 : (int)i;
	}
	return -1;
}

static void open_names(struct pr_loader *l, const char *names, int by)
{
	gt_each_word(name, names, " ")
		pr_load_more(l, name, by);
}

void pr_open_known(struct pr_loader *l, const char *names, int by)
{
	for (size_t i = 0; i < l->n; i++) /* l->n grows during the loop */
		for (size_t k = 0; k < GT_ARRAY_SIZE(openers); k++)
			if (l->obj[i].elf && pr_has_stem(l->obj[i].name, openers[k].stem))
				open_names(l, openers[k].names, (int)i);
	if (names)
		open_names(l, names, by);
}

struct pr_load_opts pr_load_opts_of(const struct pr_host *h)
{
	return (struct pr_load_opts){.library_path = pr_getenv(h, "LD_LIBRARY_PATH"),
				     .preload = pr_getenv(h, "LD_PRELOAD"),
				     .cpu_flags = h->cpu.flags};
}

int pr_load_import(struct gt_fsroot *fs, struct pr_elf_cache *elf_cache, const struct pr_pyenv *env, const struct pr_import *im,
		   const struct pr_load_opts *opts, struct pr_loader **ret, struct gt_err *err)
{
	gt_auto(pr_loader) *l = NULL;
	int by = 0, at, r;

	for (size_t i = 0; i < GT_ARRAY_SIZE(im->objects) && im->objects[i]; i++) {
		gt_autofree char *path = env->python ? pr_pyenv_object(fs, env, im->objects[i]) : NULL;

		if (!path)
			continue;
		if (!l) {
			r = pr_load(fs, elf_cache, env->python, opts, &l, err);
			if (r < 0)
				return r;
		}
		at = pr_load_more(l, path, 0);
		by = at > 0 ? at : by;
	}
	if (!l)
		return 0;
	pr_open_known(l, im->dlopen_names, by);
	*ret = gt_take(l);
	return 1;
}

static void follow_import(struct gt_fsroot *fs, struct pr_host *h, size_t env, const struct pr_import *im)
{
	const struct pr_load_opts opts = pr_load_opts_of(h);
	struct pr_loader *l;

	if (pr_load_import(fs, h->elf_cache, &h->pyenv[env], im, &opts, &l, NULL) <= 0)
		return;
	h->imported = gt_xrealloc(h->imported, (h->n_imported + 1) * sizeof(*h->imported));
	h->imported[h->n_imported++] = (struct pr_imported){im, env, l};
}

void pr_discover_imports(struct gt_fsroot *fs, struct pr_host *h)
{
	h->elf_cache = pr_elf_cache_new(fs);
	for (size_t i = 0; i < h->n_pyenv; i++)
		for (const struct pr_import *im = pr_imports; im->module; im++)
			follow_import(fs, h, i, im);
}
