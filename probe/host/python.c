/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Python environments and their distributions from directory names alone. By its specification the name of a
 * dist-info directory contains the distribution's name and version. The directory name is untrusted, so it is accepted
 * only if all its characters are harmless.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/python.h"
#include "probe/host/reading.h"

#define MOST_DISTS 4096

const struct pr_import pr_imports[] = {
	{"torch", "torch", {"torch/lib/libtorch_global_deps.so", "torch/_C.*.so"}, "libcuda.so.1 libnvidia-ml.so.1"},
	{"tensorflow",
	 "tensorflow",
	 {"tensorflow/libtensorflow_framework.so.2", "tensorflow/libtensorflow_cc.so.2"},
	 "libcuda.so.1 libcudart.so.12 libcublas.so.12 libcudnn.so.9 libnccl.so.2"},
	{"jax (CUDA 12)",
	 "jax-cuda12-plugin",
	 {"jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
	 "libcuda.so.1 libcudart.so.12 libcublas.so.12 libcudnn.so.9 libnccl.so.2"},
	{"jax (CUDA 13)",
	 "jax-cuda13-plugin",
	 {"jax_plugins/xla_cuda13/xla_cuda_plugin.so"},
	 "libcuda.so.1 libcudart.so.13 libcublas.so.13 libcudnn.so.9 libnccl.so.2"},
	{"onnxruntime", "onnxruntime-gpu", {"onnxruntime/capi/libonnxruntime_providers_cuda.so"}, "libcuda.so.1"},
	{"cupy", "cupy-cuda12x", {"cupy_backends/cuda/api/runtime.*.so"}, "libcuda.so.1"},
	{"numpy", "numpy", {"numpy/_core/_multiarray_umath.*.so", "numpy/core/_multiarray_umath.*.so"}, NULL},
	{0},
};

/* Distributions relevant to the GPU stack; '*' matches any suffix. */
static const char *const of_interest[] = {
	"torch",
	"torchvision",
	"torchaudio",
	"triton",
	"pytorch-triton",
	"tensorflow",
	"tensorflow-*",
	"tf-nightly",
	"jax",
	"jaxlib",
	"jax-cuda*",
	"nvidia-*",
	"cupy*",
	"cuda-*",
	"numpy",
	"onnxruntime*",
	"vllm",
	"xformers",
	"flash-attn*",
	"deepspeed",
	"bitsandbytes",
	"apex",
	"horovod",
	"pycuda",
	"numba",
	"mkl",
	"intel-openmp",
	"lightning",
	"transformer-engine*",
};

static bool is_of_interest(const char *name)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(of_interest); i++) {
		size_t n = strcspn(of_interest[i], "*");

		if (of_interest[i][n] ? !strncmp(name, of_interest[i], n) : !strcmp(name, of_interest[i]))
			return true;
	}
	return false;
}

/* Splits "nvidia_cudnn_cu12-9.1.0.70.dist-info" into its two parts. Returns false for other names and unusual characters. */
static bool split_name(const char *entry, char **ret_name, char **ret_version)
{
	bool egg = gt_ends_with(entry, ".egg-info");
	size_t len = strlen(entry) - (egg ? 9 : 10), dash = 0;
	char *name;

	if ((!egg && !gt_ends_with(entry, ".dist-info")) || len > 200)
		return false;
	while (dash < len && entry[dash] != '-')
		dash++;
	if (!dash || dash + 1 >= len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)entry[i]) && !strchr("._+!-", entry[i]))
			return false;
	name = gt_xstrndup(entry, dash);
	for (char *p = name; *p; p++)
		*p = *p == '_' || *p == '.' ? '-' : (char)tolower((unsigned char)*p);
	*ret_name = name;
	*ret_version = gt_xstrndup(entry + dash + 1, len - dash - 1);
	if (egg && strstr(*ret_version, "-py")) /* "1.13.1-py3.11" */
		*strstr(*ret_version, "-py") = '\0';
	return true;
}

static void read_site(struct gt_fsroot *fs, struct pr_host *h, const char *site, struct pr_pyenv *e)
{
	gt_auto_strv names = {0};

	gt_fs_list(fs, site, &names);
	for (size_t i = 0; i < names.n && e->n_dist < MOST_DISTS; i++) {
		gt_autofree char *name = NULL, *version = NULL, *path = gt_xasprintf("%s/%s", site, names.v[i]);

		/* a capture contains an entry only if it was checked */
		if (!split_name(names.v[i], &name, &version) || !is_of_interest(name) || !gt_fs_exists(fs, path))
			continue;
		e->dist = gt_xrealloc(e->dist, (e->n_dist + 1) * sizeof(*e->dist));
		e->dist[e->n_dist++] =
			(struct pr_dist){pr_own(h, gt_take(name)), pr_own(h, gt_take(version)), pr_keep(h, site)};
	}
}

const struct pr_dist *pr_pyenv_dist(const struct pr_pyenv *e, const char *name)
{
	for (size_t i = 0; i < e->n_dist; i++)
		if (!strcmp(e->dist[i].name, name))
			return &e->dist[i];
	return NULL;
}

/* Returns the text in quotes on the line that starts with key, if it looks like a version. */
static const char *quoted_version(struct pr_host *h, const char *text, const char *key)
{
	const char *at = text;

	while (at && strncmp(at, key, strlen(key)))
		at = gt_next_line(at);
	at = at ? at + strcspn(at, "'\"\n") : NULL;
	if (!at || (*at != '\'' && *at != '"') || !strspn(at + 1, "0123456789.") ||
	    at[1 + strspn(at + 1, "0123456789.")] != *at)
		return NULL;
	return pr_own(h, gt_xstrndup(at + 1, strspn(at + 1, "0123456789.")));
}

static void read_torch(struct gt_fsroot *fs, struct pr_host *h, struct pr_pyenv *e)
{
	const struct pr_dist *d = pr_pyenv_dist(e, "torch");
	gt_autofree char *path = NULL, *text = NULL, *wheel = NULL;
	const char *tag;

	if (!d)
		return;
	path = gt_xasprintf("%s/torch/version.py", d->site);
	if (gt_fs_read_prefix(fs, path, 4096, &text, NULL) >= 0)
		e->torch_cuda = quoted_version(h, text, "cuda");
	free(path);
	path = gt_xasprintf("%s/torch-%s.dist-info/WHEEL", d->site, d->version);
	if (gt_fs_read_prefix(fs, path, 4096, &wheel, NULL) >= 0 && (tag = strstr(wheel, "Tag: "))) {
		size_t n = strspn(tag + 5, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

		e->torch_tag = pr_own(h, gt_xstrndup(tag + 5, n));
	}
}

/* Matches "python3.11" but not "python3-config". */
static bool is_library_dir(const char *name)
{
	return gt_starts_with(name, "python3.") && !name[8 + strspn(name + 8, "0123456789")];
}

static void add_site(struct gt_fsroot *fs, struct pr_host *h, struct pr_pyenv *e, const char *site)
{
	gt_autofree char *real = NULL;

	if (gt_strv_has(&e->site, site) || gt_fs_realpath(fs, site, &real) < 0)
		return;
	gt_strv_add(&e->site, site);
	read_site(fs, h, site, e);
}

/* Debian's own interpreter also searches dist-packages. */
static void add_sites(struct gt_fsroot *fs, struct pr_host *h, struct pr_pyenv *e, const char *lib)
{
	static const char *const kinds[] = {"site-packages", "dist-packages"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(kinds); i++) {
		gt_autofree char *site = gt_xasprintf("%s/python%s/%s", lib, e->version, kinds[i]);

		add_site(fs, h, e, site);
	}
}

static void find_python(struct gt_fsroot *fs, struct pr_host *h, struct pr_pyenv *e)
{
	const char *const names[] = {"python3", "python"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(names) && !e->python; i++) {
		gt_autofree char *path = gt_xasprintf("%s/bin/%s", e->prefix, names[i]);

		if (gt_fs_exists(fs, path))
			e->python = pr_own(h, gt_take(path));
	}
}

int pr_pyenv_read(struct gt_fsroot *fs, struct pr_host *h, const char *prefix, struct pr_pyenv *ret)
{
	struct pr_pyenv e = {.prefix = pr_keep(h, prefix)};
	gt_autofree char *lib = gt_xasprintf("%s/lib", prefix), *python = NULL;
	gt_auto_strv names = {0};

	if (gt_fs_list(fs, lib, &names) < 0)
		return -ENOENT;
	find_python(fs, h, &e);
	/* prefer the version that bin/python3 links to; if that has no version, the newest */
	if (e.python && gt_fs_realpath(fs, e.python, &python) >= 0 && is_library_dir(gt_basename(python)))
		e.version = pr_keep(h, gt_basename(python) + strlen("python"));
	for (size_t i = names.n; i-- > 0 && !e.version;) {
		gt_autofree char *dir = gt_xasprintf("%s/%s", lib, names.v[i]);

		if (is_library_dir(names.v[i]) && gt_fs_exists(fs, dir))
			e.version = pr_keep(h, names.v[i] + strlen("python"));
	}
	if (!e.version)
		return -ENOENT;
	if (!strcmp(prefix, "/usr"))
		add_sites(fs, h, &e, "/usr/local/lib");
	add_sites(fs, h, &e, lib);
	if (!strcmp(prefix, "/usr"))
		add_site(fs, h, &e, "/usr/lib/python3/dist-packages");
	read_torch(fs, h, &e);
	*ret = e;
	return 0;
}

void pr_pyenv_clear(struct pr_pyenv *e)
{
	gt_strv_clear(&e->site);
	free(e->dist);
}

static char *find_in(struct gt_fsroot *fs, const char *site, const char *object)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", site, object), *head = NULL;
	char *star = strchr(path, '*'), *slash;
	gt_auto_strv names = {0};

	if (!star)
		return gt_fs_exists(fs, path) ? gt_take(path) : NULL;
	*star = '\0';
	slash = strrchr(path, '/');
	head = gt_xstrdup(slash + 1);
	*slash = '\0';
	gt_fs_list(fs, path, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *one = gt_xasprintf("%s/%s", path, names.v[i]);

		if (gt_starts_with(names.v[i], head) && gt_ends_with(names.v[i], star + 1) && gt_fs_exists(fs, one))
			return gt_take(one);
	}
	return NULL;
}

char *pr_pyenv_object(struct gt_fsroot *fs, const struct pr_pyenv *e, const char *object)
{
	char *found = NULL;

	for (size_t i = 0; i < e->site.n && !found; i++)
		found = find_in(fs, e->site.v[i], object);
	return found;
}

/* ---- environments --------------------------------------------------------------------------------------------- */

static void add_env(struct gt_fsroot *fs, struct pr_host *h, const char *prefix)
{
	gt_autofree char *clean = gt_xstrdup(prefix);
	struct pr_pyenv e;

	while (strlen(clean) > 1 && gt_ends_with(clean, "/"))
		clean[strlen(clean) - 1] = '\0';
	if (*clean != '/')
		return;
	for (size_t i = 0; i < h->n_pyenv; i++)
		if (!strcmp(h->pyenv[i].prefix, clean))
			return;
	if (pr_pyenv_read(fs, h, clean, &e) < 0)
		return;
	if (!strcmp(clean, "/usr"))
		h->python = e.version;
	if (!e.n_dist) {
		pr_pyenv_clear(&e);
		return;
	}
	h->pyenv = gt_xrealloc(h->pyenv, (h->n_pyenv + 1) * sizeof(e));
	h->pyenv[h->n_pyenv++] = e;
}

/* Environments without relevant distributions are omitted. */
void pr_discover_python(struct gt_fsroot *fs, struct pr_host *h)
{
	static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
	static const char *const places[] = {"/usr", "/usr/local", "/opt/conda", "/opt/venv", "/venv"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(variables); i++) {
		const char *prefix = pr_getenv(h, variables[i]);

		if (prefix)
			add_env(fs, h, prefix);
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(places); i++)
		add_env(fs, h, places[i]);
}
