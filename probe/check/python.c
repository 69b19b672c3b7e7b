/* SPDX-License-Identifier: Apache-2.0 */
/* Frameworks in Python environments: do they find their libraries, in the right versions? */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/compat/compat.h"
#include "probe/host/python.h"
#include "probe/host/dlopen_names.h"
#include "probe/check/driver_need.h"

static bool no_imports(const struct pr_context *c, struct pr_finding *f)
{
	if (c->host->n_imported)
		return false;
	pr_set(f, PR_SKIP, "the examined Python environments contain no framework");
	return true;
}

/* ---- libraries ------------------------------------------------------------------------------------------------ */

static void libraries(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (no_imports(c, f))
		return;
	for (size_t i = 0; i < h->n_imported; i++) {
		const struct pr_imported *im = &h->imported[i];

		for (size_t k = 0; k < im->loaded->n; k++) {
			const struct pr_object *o = &im->loaded->obj[k], *by = o->by >= 0 ? &im->loaded->obj[o->by] : o;

			if (o->elf || o->opened)
				continue;
			pr_set(f, PR_FAIL, "import %s in %s fails: %s %s%s, needed by %s", im->import->module,
			       h->pyenv[im->env].prefix, o->name, o->hit.broken ? "is malformed: " : "is not found",
			       o->hit.broken ? o->hit.broken : "", by->name ? gt_basename(by->name) : NULL);
			pr_remedy(f,
				  "All libraries:\n  gpuprobe loads %s\n"
				  "Usually a package of another CUDA release was installed over it:\n"
				  "  %s/bin/python3 -m pip install --force-reinstall %s",
				  h->pyenv[im->env].prefix, h->pyenv[im->env].prefix, im->import->dist);
			return;
		}
	}
	pr_set(f, PR_PASS, "the frameworks find all their libraries");
}
const struct pr_check pr_check_libraries = {
	.id = "python.libraries",
	.title = "a framework does not find its libraries",
	.story = "A wheel is linked to the libraries of one CUDA release by name. If a package of another release "
		 "replaced them, the import of the framework fails. gpuprobe computes from the files which libraries the "
		 "loader finds.",
	.messages =
		"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\nImportError: "
		"libcublas.so.12: cannot open shared object file",
	.run = libraries,
};

/* Returns the first loaded library with that name from *at on, and the import in *at; NULL: none. */
static const struct pr_object *find_loaded(const struct pr_host *h, const char *soname, size_t *at)
{
	for (; *at < h->n_imported; ++*at) {
		int i = pr_loader_find(h->imported[*at].loaded, soname);

		if (i >= 0)
			return &h->imported[*at].loaded->obj[i];
	}
	return NULL;
}

/* Returns the distribution with that name prefix in the environment. */
static const struct pr_dist *find_dist(const struct pr_pyenv *e, const char *prefix)
{
	for (size_t i = 0; i < e->n_dist; i++)
		if (gt_starts_with(e->dist[i].name, prefix))
			return &e->dist[i];
	return NULL;
}

static void unshadow(struct pr_finding *f, const struct pr_object *o)
{
	if (o->hit.rule == PR_BY_LIBRARY_PATH)
		pr_remedy(f, "Take %s out of LD_LIBRARY_PATH (unset it, if nothing else needs it)", o->hit.from);
	else if (o->hit.rule == PR_BY_PRELOAD)
		pr_remedy(f, "Take %s out of LD_PRELOAD", o->hit.path);
	else
		pr_remedy(f, "To show which copy is loaded and why:  gpuprobe loads ENVIRONMENT");
}

/* Requires that the library is at least the version that the wheel was built with, within the same major release. */
static void compare_bundled(const struct pr_context *c, struct pr_finding *f, const char *soname, const char *dist,
			    const char *what)
{
	const struct pr_host *h = c->host;
	size_t n_checked = 0;

	for (size_t i = 0; i < h->n_imported; i++) {
		const struct pr_object *o = find_loaded(h, soname, &i);
		const struct pr_pyenv *e = o ? &h->pyenv[h->imported[i].env] : NULL;
		const struct pr_dist *d = e ? find_dist(e, dist) : NULL;
		gt_autofree char *loaded_version = o ? pr_lib_version(e, o->name, o->hit.real) : NULL;

		if (!d || !loaded_version)
			continue;
		n_checked++;
		gt_autofree char *have = pr_release_of(loaded_version), *want = pr_release_of(d->version);
		if (gt_version_cmp(have, want) >= 0 && strtol(have, NULL, 10) == strtol(want, NULL, 10))
			continue;
		pr_set(f, PR_FAIL, "import %s in %s loads %s %s from %s (by %s), but was built with %s",
		       h->imported[i].import->module, e->prefix, what, loaded_version, o->hit.path, pr_rule_name(o->hit.rule),
		       d->version);
		unshadow(f, o);
		return;
	}
	pr_set(f, n_checked ? PR_PASS : PR_SKIP,
	       n_checked ? "the frameworks load their own %s" : "no framework contains its own %s", what);
}

static void cudnn(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_finding older = {0};

	if (no_imports(c, f))
		return;
	compare_bundled(c, f, "libcudnn.so.9", "nvidia-cudnn", "cuDNN");
	compare_bundled(c, &older, "libcudnn.so.8", "nvidia-cudnn", "cuDNN"); /* up to PyTorch 2.3 */
	if (f->result == PR_SKIP || older.result == PR_FAIL)
		*f = f->result == PR_FAIL ? *f : older;
}
const struct pr_check pr_check_cudnn = {
	.id = "python.cudnn",
	.title = "a framework loads another cuDNN than it was built with",
	.story = "A wheel finds its cuDNN through RUNPATH, but LD_LIBRARY_PATH takes precedence. An older cuDNN on "
		 "that path replaces it. The major release must be equal and the minor one not lower.",
	.messages = "RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (8, 7, 0) but found "
		    "runtime version (8, 2, "
		    "4)\nLoaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0",
	.run = cudnn,
};

static void nccl(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (no_imports(c, f))
		return;
	for (size_t i = 0; i < h->n_pyenv; i++) {
		const struct pr_dist *a = pr_pyenv_dist(&h->pyenv[i], "nvidia-nccl-cu12"),
				     *b = pr_pyenv_dist(&h->pyenv[i], "nvidia-nccl-cu13");

		if (!a || !b || !strcmp(a->version, b->version))
			continue;
		pr_set(f, PR_FAIL,
		       "two NCCL packages in %s overwrite each other: nvidia-nccl-cu12 %s and nvidia-nccl-cu13 %s both "
		       "contain nvidia/nccl/lib/libnccl.so.2",
		       h->pyenv[i].prefix, a->version, b->version);
		pr_remedy(f,
			  "Keep the frameworks of one CUDA release in this environment. Then, for CUDA 12:\n"
			  "  %1$s/bin/python3 -m pip install --force-reinstall nvidia-nccl-cu12\nor, for CUDA 13:\n"
			  "  %1$s/bin/python3 -m pip install --force-reinstall nvidia-nccl-cu13",
			  h->pyenv[i].prefix);
		return;
	}
	compare_bundled(c, f, "libnccl.so.2", "nvidia-nccl", "NCCL");
}
const struct pr_check pr_check_nccl = {
	.id = "python.nccl",
	.title = "a framework loads another NCCL than it was built with",
	.story = "Two NCCL wheels install to the same path in site-packages. Debian's libnccl2 or LD_LIBRARY_PATH can "
		 "take precedence over both. An older NCCL lacks functions that the framework calls.",
	.messages = "undefined symbol: ncclCommWindowRegister\nundefined symbol: ncclCommResume\nNCCL WARN Mismatched "
		    "NCCL version "
		    "detected",
	.run = nccl,
};

/* ---- frameworks and the driver -------------------------------------------------------------------------------- */

/* Replaces the finding by a worse one. The first of several equally bad findings stays. */
static void keep_worse(struct pr_finding *f, const struct pr_finding *one, bool *seen)
{
	static const int weight[] = {[PR_SKIP] = 0, [PR_PASS] = 1, [PR_NOT_KNOWN] = 2, [PR_WARN] = 3, [PR_FAIL] = 4};

	if (!*seen || weight[one->result] > weight[f->result])
		*f = *one;
	*seen = true;
}

/* Recommends a wheel that runs with this driver (NULL: the installed or planned one) and GPU: of the same release if
 * there is one, else the newest. If there is none, recommends a driver. */
static void remedy_wheel(const struct pr_context *c, const struct pr_pyenv *e, const char *driver, int arch, struct pr_finding *f)
{
	const struct pr_dist *d = pr_pyenv_dist(e, "torch");
	gt_autofree char *release = d ? pr_release_of(d->version) : NULL, *tag = NULL, *driver_name = NULL;
	struct pr_wheel_query q = { .machine = c->host->kernel.arch.v, .python = e->version, .arch = arch };
	struct pr_driver_need need;
	struct pr_wheel w;
	int r;

	pr_driver_need(c, NULL, 0, &need);
	driver = driver ? driver : need.cuda_driver;
	driver_name = driver ? gt_xasprintf("driver %s", driver) : gt_xstrdup("a new driver");
	q.driver = driver ? driver : "999";
	q.release = release;
	r = release ? pr_compat_wheel(c->fs, &q, &w, NULL) : 0;
	q.release = NULL;
	r = r > 0 && !w.other_python ? r : pr_compat_wheel(c->fs, &q, &w, NULL);
	if (r > 0 && w.other_python) {
		pr_remedy(f, "No PyTorch for %s and this GPU has wheels for Python %s: make an environment with a Python for "
			  "which %s has them (gpuprobe can)", driver_name, e->version, w.torch);
	} else if (r > 0) {
		tag = pr_cuda_tag(w.cuda);
		pr_remedy(f, "Install %s PyTorch with CUDA %s, which %s and this GPU support:\n"
			     "  %s/bin/python3 -m pip install --force-reinstall 'torch==%s.*' --index-url "
			     "https://download.pytorch.org/whl/%s",
			  gt_streq(release, w.torch) ? "the same" : "the newest", w.cuda, driver_name, e->prefix, w.torch, tag);
	} else if (!r && !pr_remedy_wheel_upgrade(c, f, &w)) {
		pr_remedy(f, "No official wheel of PyTorch holds code for this GPU: build PyTorch from its sources");
	}
	pr_driver_need_clear(&need);
}

/* Frameworks whose CUDA release follows from the name of a distribution: their own, or that of the CUDA runtime
 * installed with them. */
static const struct framework {
	const char *name, *dist, *with; /* with: required additional distribution; NULL: none */
	const char *cuda, *how;
	const char *uninstall, *older; /* older: pip's name of this framework for CUDA 12; NULL: none */
	const char *versioned;	       /* the distribution whose version `older` gets */
} frameworks[] = {
	{"PyTorch", "torch", NULL, NULL, "was built with", NULL, NULL, NULL}, /* release from torch/version.py */
	{"JAX", "jax-cuda13-plugin", NULL, "13", "has the plug-in for", "jax-cuda13-plugin jax-cuda13-pjrt", "jax[cuda12]", "jax"},
	{"JAX", "jax-cuda12-plugin", NULL, "12", "has the plug-in for", NULL, NULL, NULL},
	{"CuPy", "cupy-cuda13x", NULL, "13", "was built with", "cupy-cuda13x", "cupy-cuda12x", "cupy-cuda13x"},
	{"CuPy", "cupy-cuda12x", NULL, "12", "was built with", NULL, NULL, NULL},
	{"TensorFlow", "tensorflow", "nvidia-cuda-runtime-cu12", "12", "came with", NULL, NULL, NULL},
};

/* Returns the CUDA release of a framework in an environment; NULL: not installed, or without CUDA. */
static const char *cuda_of(const struct pr_pyenv *e, const struct framework *w)
{
	if (!w->cuda)
		return e->torch_cuda;
	return pr_pyenv_dist(e, w->dist) && (!w->with || pr_pyenv_dist(e, w->with)) ? w->cuda : NULL;
}

/* Returns whether the framework release exists for CUDA 12. True if it is not in the table. */
static bool has_older(const struct pr_context *c, const struct framework *w, const char *version)
{
	gt_autofree char *release = pr_release_of(version), *list = NULL;

	return w->older && (strcmp(w->name, "JAX") || pr_compat_get(c->fs, &pr_jax_cuda, release, &list, NULL) <= 0 ||
			    strstr(list, "12."));
}

/* Recommends the same framework for CUDA 12 if the driver supports that, else a newer driver. */
static void remedy_framework(const struct pr_context *c, const struct pr_pyenv *e, const struct framework *w, const char *driver,
			     const char *least, struct pr_finding *f)
{
	const struct pr_dist *d = w->versioned ? pr_pyenv_dist(e, w->versioned) : NULL;
	gt_autofree char *old = NULL, *why = NULL, *text = NULL;
	gt_auto_buf libraries = {0};
	gt_auto_json *step = NULL;
	struct pr_driver_need n;

	if (d && has_older(c, w, d->version) && pr_compat_min_driver(c->fs, "12", &old, NULL) > 0 &&
	    gt_version_cmp(driver, old) >= 0) {
		/* the libraries for CUDA 13 and 12 have the same paths, so remove the former */
		for (size_t i = 0; i < e->n_dist; i++)
			if (gt_starts_with(e->dist[i].name, "nvidia-") && gt_ends_with(e->dist[i].name, "-cu13"))
				gt_buf_printf(&libraries, " %s", e->dist[i].name);
		pr_remedy(f, "Install the same %1$s with CUDA 12, which driver %2$s supports:\n"
			     "  %3$s/bin/python3 -m pip uninstall -y %4$s%5$s\n  %3$s/bin/python3 -m pip install '%6$s==%7$s'",
			  w->name, driver, e->prefix, w->uninstall, libraries.s ? libraries.s : "", w->older, d->version);
		return;
	}
	pr_driver_need(c, NULL, 0, &n);
	why = gt_xasprintf("%s with CUDA %s needs driver %s or newer", w->name, w->cuda, least);
	step = pr_driver_upgrade_step(c, &n, least, why);
	step = step ? step : pr_driver_step(c, &n); /* no upgrade step if the loaded driver does not support this GPU */
	text = pr_step_text(step);
	pr_remedy(f, "%s%s", text, step ? "" : "No driver of this GPU supports that CUDA: use an older release, or the CPU");
	pr_driver_need_clear(&n);
}

static void judge_driver(const struct pr_context *c, const struct pr_pyenv *e, const struct framework *w, const char *cuda,
			 struct pr_finding *f)
{
	const char *driver = pr_effective_driver(c);
	gt_autofree char *least = NULL;
	struct gt_err err = {0};
	int r = pr_compat_min_driver(c->fs, cuda, &least, &err);

	if (r < 0)
		pr_set(f, PR_NOT_KNOWN, "%s", err.msg);
	else if (!r)
		pr_set(f, PR_NOT_KNOWN, "CUDA %s of the %s in %s is newer than this program's table", cuda, w->name, e->prefix);
	else if (gt_version_cmp(driver, least) >= 0)
		pr_set(f, PR_PASS, "driver %s supports CUDA %s of the %s in %s", driver, cuda, w->name, e->prefix);
	else
		pr_set(f, PR_FAIL, "%s in %s %s CUDA %s, which needs driver %s; this host has %s", w->name, e->prefix, w->how, cuda,
		       least, driver);
	if (f->result == PR_FAIL && !w->cuda)
		remedy_wheel(c, e, driver, pr_first_arch(c), f);
	else if (f->result == PR_FAIL)
		remedy_framework(c, e, w, driver, least, f);
}

static void python_driver(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	bool seen = false;

	if (pr_without_driver(c, f))
		return;
	for (size_t i = 0; i < h->n_pyenv * GT_ARRAY_SIZE(frameworks); i++) {
		const struct pr_pyenv *e = &h->pyenv[i / GT_ARRAY_SIZE(frameworks)];
		const struct framework *w = &frameworks[i % GT_ARRAY_SIZE(frameworks)];
		const char *cuda = cuda_of(e, w);
		struct pr_finding one = {0};

		if (!cuda)
			continue;
		judge_driver(c, e, w, cuda, &one);
		keep_worse(f, &one, &seen);
	}
	if (!seen)
		pr_set(f, PR_SKIP, "the examined Python environments contain no framework with CUDA");
}
static const char *const after_loaded[] = {"driver.loaded", NULL};
const struct pr_check pr_check_python_driver = {
	.id = "python.driver",
	.title = "a framework needs a newer driver",
	.after = after_loaded,
	.story = "A wheel contains its own CUDA, and the driver must be new enough: 525 for CUDA 12, 580 for CUDA 13. "
		 "gpuprobe reads the CUDA release from torch/version.py, JAX's plug-in, the name of CuPy's wheel, or "
		 "TensorFlow's runtime.",
	.messages = "CUDA driver version is insufficient for CUDA runtime version\nThe NVIDIA driver on your system is too old "
		    "(found version 12040). Please update your GPU driver\nUnable to initialize backend 'cuda'\nCould not find "
		    "cuda drivers on your machine, GPU will not be used.",
	.run = python_driver,
};

/* ---- PyTorch and the GPU -------------------------------------------------------------------------------------- */

/*
 * Returns whether this is a wheel of the PyTorch project, the only builds in the table. Decides by its version,
 * "2.7.1+cu128", and since 2.7 by the tag. NVIDIA's and conda's builds are not in the table.
 */
static bool is_official(const struct pr_pyenv *e, const struct pr_dist *d)
{
	const char *local = d->version + strspn(d->version, "0123456789.");

	if (*local && (!gt_starts_with(local, "+cu") || local[3 + strspn(local + 3, "0123456789")]))
		return false;
	return e->torch_tag && (gt_version_cmp(d->version, "2.7") < 0 || strstr(e->torch_tag, "manylinux"));
}

static void judge_arch(const struct pr_context *c, const struct pr_pyenv *e, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_dist *d = pr_pyenv_dist(e, "torch");
	gt_autofree char *release = d ? pr_release_of(d->version) : NULL, *key = NULL, *list = NULL;
	struct gt_err err = {0};
	int r;

	if (!d) {
		pr_set(f, PR_SKIP, "the PyTorch in %s has no known version", e->prefix);
		return;
	}
	if (!is_official(e, d)) {
		pr_set(f, PR_SKIP, "PyTorch %s in %s is not a wheel of the PyTorch project; to see its GPU code:  gpuprobe can %s",
		       d->version, e->prefix, e->prefix);
		return;
	}
	key = pr_torch_key(release, e->torch_cuda, h->kernel.arch.v);
	r = pr_compat_get(c->fs, &pr_torch_arch, key, &list, &err);
	if (r <= 0) {
		pr_set(f, r < 0 ? PR_NOT_KNOWN : PR_SKIP,
		       r < 0 ? "%s" : "PyTorch %s with this CUDA is not in this program's table",
		       r < 0 ? err.msg : release);
		return;
	}
	for (size_t i = 0; i < h->n_gpu; i++) {
		int arch = pr_arch_of(c, &h->gpu[i]);

		if (!arch || pr_holds_code(list, arch))
			continue;
		pr_set(f, PR_FAIL, "PyTorch %s with CUDA %s in %s contains no code for GPU %s (capability %d.%d)",
		       d->version, e->torch_cuda, e->prefix, h->gpu[i].pci->address, arch / 10, arch % 10);
		remedy_wheel(c, e, NULL, arch, f);
		return;
	}
	pr_set(f, PR_PASS, "PyTorch %s contains code for these GPUs", d->version);
}

static void torch_arch(const struct pr_context *c, struct pr_finding *f)
{
	bool seen = false;

	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < c->host->n_pyenv; i++) {
		struct pr_finding one = {0};

		if (!c->host->pyenv[i].torch_cuda)
			continue;
		judge_arch(c, &c->host->pyenv[i], &one);
		keep_worse(f, &one, &seen);
	}
	if (!seen)
		pr_set(f, PR_SKIP, "the examined Python environments contain no PyTorch with CUDA");
}
const struct pr_check pr_check_torch_arch = {
	.id = "python.arch",
	.title = "the installed PyTorch has no code for the GPU",
	.story = "A wheel contains machine code for a list of compute capabilities. Code runs on the same major "
		 "capability with an equal or higher minor one: 8.0 runs on 8.6, not on 9.0. CUDA 13 wheels have no code for "
		 "GPUs before Turing, CUDA 12.6 wheels none for Blackwell.",
	.messages = "CUDA error: no kernel image is available for execution on the device\nNVIDIA GeForce RTX 5090 "
		    "with CUDA capability "
		    "sm_120 is not compatible with the current PyTorch installation",
	.run = torch_arch,
};

static void glibc(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	for (size_t i = 0; i < h->n_pyenv; i++) {
		const char *tag = h->pyenv[i].torch_tag, *at = tag ? strstr(tag, "manylinux_") : NULL;
		int major, minor;
		char least[32];

		if (!at || sscanf(at, "manylinux_%d_%d", &major, &minor) != 2 || !h->glibc.v)
			continue;
		snprintf(least, sizeof(least), "%d.%d", major, minor);
		if (gt_version_cmp(h->glibc.v, least) < 0) {
			pr_set(f, PR_FAIL, "PyTorch in %s is built for glibc %s; this host has %s", h->pyenv[i].prefix,
			       least, h->glibc.v);
			pr_remedy(f, "Use a newer Debian or a container of one; or the last wheel for this glibc: "
				     "torch 2.6");
			return;
		}
		pr_set(f, PR_PASS, "PyTorch in %s supports glibc %s", h->pyenv[i].prefix, h->glibc.v);
		return;
	}
	pr_set(f, PR_SKIP, "no PyTorch wheel declares its glibc, or the glibc of this host is unknown");
}
const struct pr_check pr_check_glibc = {
	.id = "python.glibc",
	.title = "glibc is too old for an installed wheel",
	.story = "The tag of a wheel names the oldest glibc that it supports: manylinux_2_28 since PyTorch 2.7. pip rejects "
		 "such a wheel on an older system. A wheel that was copied to an older system fails when it is loaded.",
	.messages = "version `GLIBC_2.28' not found\nERROR: No matching distribution found for torch",
	.run = glibc,
};
