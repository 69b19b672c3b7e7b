/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpuprobe can, for files on disk: a wheel, a Python environment, an unpacked container image. Data in the files has
 * priority over the tables. Nothing is executed or unpacked.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/advice/can.h"
#include "probe/compat/compat.h"
#include "probe/host/python.h"
#include "probe/loader/loader.h"
#include "probe/host/dlopen_names.h"
#include "probe/host/reading.h"
#include "probe/wheel/fatbin.h"
#include "probe/wheel/metadata.h"
#include "probe/wheel/zip.h"

#define LONGEST_METADATA (4u << 20)
#define LONGEST_RECORD   (16u << 20)
#define MOST_LIBRARIES   4096

/* ---- GPU code ------------------------------------------------------------------------------------------------- */

struct code {
	struct pr_fatbin all, *library; /* all: sums over all libraries; library: one element per library with GPU code */
	size_t n;
	char largest[256]; /* name of the library with the most fat-binary containers */
	size_t most;
};

static void add_code(struct code *to, const struct pr_fatbin *f, const char *name)
{
	if (!f->containers)
		return;
	pr_fatbin_add(&to->all, f);
	to->library = gt_xrealloc(to->library, (to->n + 1) * sizeof(*f));
	to->library[to->n++] = *f;
	if (f->containers > to->most) {
		to->most = f->containers;
		snprintf(to->largest, sizeof(to->largest), "%s", name);
	}
}

static void clear_code(struct code *c)
{
	free(c->library);
	*c = (struct code){0};
}

/*
 * Returns yes if most of the code runs on the GPU, no if none does. A wheel with one library per CUDA release is in
 * between; the result is unknown.
 */
static void judge_gpu(struct pr_question *q, const struct code *code, const char *list, const char *source,
		      const char *address, unsigned arch)
{
	size_t containers = 0, libraries = 0;

	for (size_t i = 0; i < code->n; i++)
		if (pr_fatbin_runs(&code->library[i], arch)) {
			containers += code->library[i].containers;
			libraries++;
		}
	if (libraries && containers * 2 < code->all.containers)
		pr_can_reason(q, PR_OPEN, source,
			      "%zu of its %zu libraries contain code for GPU %s, which has %u", libraries,
			      code->n, address, arch);
	else
		pr_can_reason(q, libraries ? PR_YES : PR_NO, source,
			      "it contains code for the capabilities %s; GPU %s has %u", list, address, arch);
}

static void judge_code(struct pr_question *q, const struct code *code)
{
	const struct pr_host *h = q->c->host;
	gt_autofree char *list = pr_fatbin_list(&code->all), *source = NULL;
	int seen = -1;

	source = code->n > 1 ? gt_xasprintf(".nv_fatbin of %s and %zu more", code->largest, code->n - 1)
			     : gt_xasprintf(".nv_fatbin of %s", code->largest);
	for (size_t i = 0; *list && i < h->n_gpu; i++) {
		int arch = pr_arch_of(q->c, &h->gpu[i]);

		if (arch && arch != seen)
			judge_gpu(q, code, list, source, h->gpu[i].pci->address, (unsigned)arch);
		else if (arch != seen)
			pr_can_reason(q, PR_OPEN, source,
				      "it contains code for the capabilities %s; that of GPU %s is unknown", list,
				      h->gpu[i].pci->address);
		seen = arch; /* one line for equal GPUs */
	}
}

/* ---- a distribution: its tags and requirements ---------------------------------------------------------------- */

static void judge_tags(struct pr_question *q, const struct pr_metadata *m, const char *python, const char *label,
		       bool only_bad)
{
	const struct pr_host *h = q->c->host;
	struct pr_tag_answer best = {0}, a;
	bool any = false;

	for (size_t i = 0; i < m->tags.n; i++) {
		if (!pr_tag_judge(m->tags.v[i], python, h->glibc.v, h->kernel.arch.v, &a))
			continue;
		if (!any || (a.python > 0) + (a.platform > 0) > (best.python > 0) + (best.platform > 0))
			best = a;
		any = true;
	}
	if (!any) {
		pr_can_reason(q, PR_OPEN, "WHEEL", "%s has no valid tag", label);
		return;
	}
	if (!only_bad || !best.python)
		pr_can_reason(q,
			      best.python > 0 ? PR_YES
			      : best.python   ? PR_OPEN
					      : PR_NO,
			      "tag of the wheel", python ? "%s: %s; the Python here is %s" : "%s: %s%s", label,
			      best.python_why, python ? python : "");
	if (!only_bad || !best.platform)
		pr_can_reason(q,
			      best.platform > 0 ? PR_YES
			      : best.platform   ? PR_OPEN
						: PR_NO,
			      "tag of the wheel", "%s: %s; this host is %s with glibc %s", label, best.platform_why,
			      h->kernel.arch.v ? h->kernel.arch.v : "of an unknown architecture",
			      h->glibc.v ? h->glibc.v : "of an unknown release");
}

static void judge_python(struct pr_question *q, const struct pr_metadata *m, const char *python)
{
	int fits = m->requires_python && python ? pr_version_satisfies(python, m->requires_python) : 1;

	if (fits != 1)
		pr_can_reason(q, fits ? PR_OPEN : PR_NO, "METADATA", "it requires Python %s; the Python here is %s",
			      m->requires_python, python);
}

static int judge_cuda(struct pr_question *q, const struct pr_metadata *m)
{
	gt_autofree char *from = NULL, *cuda = pr_metadata_cuda(m, &from);

	if (!cuda)
		return 0;
	pr_can_reason(q, PR_YES, "METADATA", "it uses CUDA %s: %s", cuda, from);
	pr_can_driver(q, cuda);
	return 1;
}

/* ---- wheels --------------------------------------------------------------------------------------------------- */

/* "libx.so", "libx.so.12", "x.cpython-311-x86_64-linux-gnu.so" */
static bool is_library(const char *name)
{
	const char *so = strstr(gt_basename(name), ".so");

	return so && (!so[3] || so[3] == '.');
}

static int parse_member(const struct pr_zip *z, const struct pr_zip_member *dir, const char *file,
			struct pr_metadata *m, struct gt_err *err)
{
	gt_autofree char *path = gt_xasprintf("%.*s/%s", (int)strcspn(dir->name, "/"), dir->name, file), *text = NULL,
			 *where = gt_xasprintf("%s: %s", z->name, path);
	const struct pr_zip_member *member = pr_zip_find(z, path);
	int r = member ? pr_zip_read(z, member, LONGEST_METADATA, &text, err)
		       : gt_fail(err, EINVAL, "%s is not a wheel: it has no %s", z->name, path);

	return r < 0 ? r : pr_metadata_parse(text, where, m, err);
}

/* Returns the member METADATA of the only dist-info directory. */
static const struct pr_zip_member *dist_info(const struct pr_zip *z)
{
	for (size_t i = 0; i < z->n; i++) {
		const char *slash = strchr(z->member[i].name, '/');

		if (slash && !strcmp(slash, "/METADATA") && slash - z->member[i].name > 10 &&
		    !strncmp(slash - 10, ".dist-info", 10))
			return &z->member[i];
	}
	return NULL;
}

static void feed(void *walk, const void *data, size_t n)
{
	pr_fatbin_feed(walk, data, n);
}

static int scan_wheel(const struct pr_zip *z, struct code *code, struct gt_err *err)
{
	for (size_t i = 0; i < z->n; i++) {
		struct pr_fatbin f = {0};
		struct pr_fatbin_walk walk = {.to = &f};
		int r;

		if (!is_library(z->member[i].name))
			continue;
		r = pr_zip_stream(z, &z->member[i], feed, &walk, err);
		if (r < 0)
			return r;
		add_code(code, &f, z->member[i].name);
	}
	return 0;
}

/* Checks the file name NAME-VERSION[-BUILD]-TAG.whl. pip refuses a wheel whose metadata has another name or version. */
static void judge_name(struct pr_question *q, const char *path, struct pr_metadata *m)
{
	gt_autofree char *stem = gt_xstrndup(gt_basename(path), strlen(gt_basename(path)) - 4), *want = NULL;
	gt_autofree char *version = gt_xstrdup(m->version);

	want = gt_xasprintf("%s-%s-", m->name, version);
	for (char *p = want; *p; p++)
		*p = *p == '_' ? '-' : *p;
	for (char *p = stem; *p; p++)
		*p = *p == '_' || (*p == '.' && (size_t)(p - stem) < strlen(m->name)) ? '-' : *p;
	if (strncasecmp(stem, want, strlen(want)))
		pr_can_reason(q, PR_NO, "METADATA", "the file is named %s, but contains %s %s", gt_basename(path),
			      m->name, m->version);
}

static int ask_wheel(struct pr_question *q, struct gt_fsroot *fs, const char *path)
{
	gt_autoclose int fd = gt_fs_open_fd(fs, path);
	gt_auto(pr_zip) *z = NULL;
	pr_auto_metadata m = {0};
	const struct pr_zip_member *info;
	const char *python = q->host->python;
	__attribute__((cleanup(clear_code))) struct code code = {0};
	bool cuda;
	int r = fd < 0 ? gt_fail_errno(q->err, -fd, "cannot open %s", path) : pr_zip_open(fd, path, &z, q->err);

	if (r < 0)
		return r;
	info = dist_info(z);
	if (!info)
		return gt_fail(q->err, EINVAL, "%s is not a wheel: it has no dist-info directory with METADATA", path);
	r = parse_member(z, info, "METADATA", &m, q->err);
	if (r >= 0)
		r = parse_member(z, info, "WHEEL", &m, q->err);
	if (r >= 0 && (!m.name || !m.version))
		r = gt_fail(q->err, EINVAL, "%s: its METADATA has no %s", path, m.name ? "version" : "distribution");
	if (r >= 0)
		r = scan_wheel(z, &code, q->err);
	if (r < 0)
		return r;
	judge_name(q, path, &m);
	judge_tags(q, &m, python, m.name, false);
	judge_python(q, &m, python);
	cuda = judge_cuda(q, &m);
	judge_code(q, &code);
	if (!cuda && !code.n)
		pr_can_reason(q, PR_YES, "METADATA", "it requires no CUDA and contains no GPU code");
	else if (!cuda)
		pr_can_reason(q, PR_OPEN, "METADATA", "it has GPU code for an unknown CUDA release");
	return 0;
}

/* ---- environments --------------------------------------------------------------------------------------------- */

struct env {
	struct pr_question *q;
	struct gt_fsroot *fs; /* root that contains the environment */
	const struct pr_pyenv *e;
	struct code code;
	size_t pins, frameworks;
	struct gt_strv releases; /* CUDA releases that were already evaluated */
};

static char *read_info(const struct env *v, const struct pr_dist *d, const char *file)
{
	gt_auto_strv names = {0};
	char *text = NULL;

	gt_fs_list(v->fs, d->site, &names);
	for (size_t i = 0; i < names.n && !text; i++) {
		gt_autofree char *want = gt_xasprintf("-%s.dist-info", d->version), *path = NULL;
		size_t n = strlen(d->name);

		if (strlen(names.v[i]) != n + strlen(want) || strcmp(names.v[i] + n, want))
			continue;
		for (size_t k = 0; k < n; k++) /* compare with the name normalised */
			if (strchr("_.", names.v[i][k]))
				names.v[i][k] = '-';
		if (strncasecmp(names.v[i], d->name, n))
			continue;
		gt_strv_clear(&names);
		gt_fs_list(v->fs, d->site, &names);
		path = gt_xasprintf("%s/%s/%s", d->site, names.v[i], file);
		if (gt_fs_read_prefix(v->fs, path, LONGEST_RECORD, &text, NULL) < 0)
			text = NULL;
	}
	return text;
}

static bool is_nvidia(const char *name)
{
	return gt_starts_with(name, "nvidia-") || gt_starts_with(name, "cuda-");
}

/* Checks that the exact versions that a framework requires are installed. */
static void judge_pins(struct env *v, const struct pr_dist *d, const struct pr_metadata *m)
{
	for (size_t i = 0; i < m->requires.n; i++) {
		const struct pr_dist *have;
		struct pr_requirement r;

		if (!pr_requirement_parse(m->requires.v[i], &r) || !is_nvidia(r.name) ||
		    !gt_starts_with(r.spec, "==") || !pr_requirement_counts(&r, v->q->c->host->kernel.arch.v))
			continue;
		have = pr_pyenv_dist(v->e, r.name);
		v->pins++;
		if (!have)
			pr_can_reason(v->q, PR_NO, "METADATA", "%s %s needs %s%s, which is not installed", d->name,
				      d->version, r.name, r.spec);
		else if (!pr_version_satisfies(have->version, r.spec))
			pr_can_reason(v->q, PR_NO, "METADATA", "%s %s needs %s%s; installed is %s", d->name, d->version,
				      r.name, r.spec, have->version);
	}
}

static void scan_one(struct env *v, const char *path, const char *name)
{
	gt_autoclose int fd = gt_fs_open_part(v->fs, path);
	gt_autofree struct pr_fatbin *f = gt_xcalloc(1, sizeof(*f));

	if (fd >= 0 && !pr_fatbin_read_fd(fd, f))
		add_code(&v->code, f, name);
}

/* Scans the libraries in a distribution's RECORD. */
static void scan_record(struct env *v, const struct pr_dist *d)
{
	gt_autofree char *record = read_info(v, d, "RECORD");
	size_t n = 0;

	gt_each_line(line, record) {
		gt_autofree char *path = NULL;

		if (n >= MOST_LIBRARIES)
			break;
		line[strcspn(line, ",\r")] = '\0';
		if (!is_library(line) || *line == '/' || strstr(line, ".."))
			continue;
		path = gt_xasprintf("%s/%s", d->site, line);
		scan_one(v, path, line);
		n++;
	}
}

static void judge_release(struct env *v, const char *what, const char *cuda, const char *source)
{
	pr_can_reason(v->q, PR_YES, source, "%s uses CUDA %s", what, cuda);
	v->frameworks++;
	if (gt_strv_has(&v->releases, cuda))
		return;
	gt_strv_add(&v->releases, cuda);
	pr_can_driver(v->q, cuda);
}

static void judge_dist(struct env *v, const struct pr_dist *d)
{
	gt_autofree char *metadata = read_info(v, d, "METADATA"), *wheel = read_info(v, d, "WHEEL"), *from = NULL,
			 *cuda = NULL, *what = gt_xasprintf("%s %s", d->name, d->version);
	pr_auto_metadata m = {0};
	struct gt_err err = {0};
	int r = metadata ? pr_metadata_parse(metadata, what, &m, &err) : 0;

	if (r >= 0 && wheel)
		r = pr_metadata_parse(wheel, what, &m, &err);
	if (r < 0) {
		pr_can_reason(v->q, PR_OPEN, "METADATA", "%s", err.msg);
		return;
	}
	if (m.tags.n)
		judge_tags(v->q, &m, v->e->version, what, true);
	judge_pins(v, d, &m);
	if (is_nvidia(d->name))
		return;
	if (!strcmp(d->name, "torch") && v->e->torch_cuda) {
		judge_release(v, what, v->e->torch_cuda, "torch/version.py");
	} else if ((cuda = pr_metadata_cuda(&m, &from))) {
		judge_release(v, what, cuda, "METADATA");
	}
	scan_record(v, d);
}

static void judge_imports(struct env *v)
{
	const struct pr_load_opts opts = {.cpu_flags = v->q->c->host->cpu.flags};
	gt_auto(pr_elf_cache) *elf_cache = pr_elf_cache_new(v->fs);

	for (const struct pr_import *im = pr_imports; im->module; im++) {
		gt_auto(pr_loader) *l = NULL;
		size_t missing = 0;

		if (pr_load_import(v->fs, elf_cache, v->e, im, &opts, &l, NULL) <= 0)
			continue;
		for (size_t i = 0; i < l->n; i++)
			if (!l->obj[i].elf && !l->obj[i].opened && ++missing <= 3)
				pr_can_reason(v->q, PR_NO, "loader", "import %s: %s, needed by %s, is %s", im->module,
					      l->obj[i].name,
					      l->obj[i].by >= 0 ? gt_basename(l->obj[l->obj[i].by].name) : "?",
					      l->obj[i].hit.broken ? "broken" : "malformed");
		if (missing > 3)
			pr_can_reason(v->q, PR_NO, "loader", "import %s: %zu more libraries are not found", im->module,
				      missing - 3);
		else if (!missing)
			pr_can_reason(v->q, PR_YES, "loader", "import %s finds all %zu libraries",
				      im->module, l->n);
	}
}

static int ask_env(struct pr_question *q, struct gt_fsroot *fs, const struct pr_pyenv *e)
{
	struct env v = {.q = q, .fs = fs, .e = e};

	if (e->python)
		pr_can_reason(q, PR_YES, "directory", "%s is Python %s", e->python, e->version);
	else
		pr_can_reason(q, PR_NO, "directory",
			      "the environment for Python %s has no interpreter on this host",
			      e->version);
	for (size_t i = 0; i < e->n_dist; i++)
		judge_dist(&v, &e->dist[i]);
	if (v.pins)
		pr_can_reason(q, PR_YES, "METADATA", "%zu pinned versions of NVIDIA's wheels were compared", v.pins);
	judge_code(q, &v.code);
	judge_imports(&v);
	if (!v.frameworks && !v.code.n)
		pr_can_reason(q, PR_YES, "METADATA", "no installed package requires CUDA");
	gt_strv_clear(&v.releases);
	clear_code(&v.code);
	return 0;
}

/* ---- images --------------------------------------------------------------------------------------------------- */

static void judge_machine(struct pr_question *q, struct gt_fsroot *image)
{
	static const char *const programs[] = {"/bin/sh", "/usr/bin/env", "/bin/busybox", "/usr/bin/python3"};
	static const struct {
		unsigned machine;
		const char *arch;
	} machines[] = {{62, "x86_64"}, {183, "aarch64"}, {21, "ppc64le"}, {243, "riscv64"}};
	gt_auto(pr_elf_cache) *elf_cache = pr_elf_cache_new(image);
	const char *have = q->c->host->kernel.arch.v;
	const struct pr_elf *elf;

	for (size_t i = 0; i < GT_ARRAY_SIZE(programs); i++) {
		if (pr_elf_cache_get(elf_cache, programs[i], &elf, NULL) < 0 || !elf)
			continue;
		for (size_t k = 0; have && k < GT_ARRAY_SIZE(machines); k++)
			if (elf->machine == machines[k].machine) {
				pr_can_reason(q, strcmp(have, machines[k].arch) ? PR_NO : PR_YES, programs[i],
					      "its programs are for %s; this host is %s", machines[k].arch, have);
				return;
			}
		return;
	}
}

/* Evaluates NVIDIA_REQUIRE_CUDA in the process environment of an OCI bundle's config.json. */
static int judge_bundle(struct pr_question *q, struct gt_fsroot *fs, const char *config)
{
	gt_autofree char *text = NULL;
	gt_auto_json *doc = NULL;
	const json_t *list, *s;
	size_t len, i;
	int r = gt_fs_read(fs, config, &text, &len);

	if (r < 0)
		return r == -ENOENT ? 0 : gt_fail_errno(q->err, -r, "cannot read %s", config);
	r = gt_json_parse(text, len, config, &doc, q->err);
	if (r < 0)
		return r;
	list = json_object_get(json_object_get(doc, "process"), "env");
	json_array_foreach(list, i, s)
	{
		const char *variable = json_is_string(s) ? json_string_value(s) : "";

		if (gt_starts_with(variable, "NVIDIA_REQUIRE_CUDA=") && strchr(variable, '=')[1])
			r = pr_can_image(q, strchr(variable, '=') + 1);
	}
	return r;
}

static void judge_libcuda(struct pr_question *q, const struct pr_host *image)
{
	const char *module = q->c->host->driver.module_version.v;
	const struct pr_lib *l;

	for (size_t i = 0; module && (l = pr_find_lib(image, "libcuda.so.1", i)); i++) {
		gt_autofree char *branch = l->version ? gt_xstrndup(l->version, strcspn(l->version, ".")) : NULL,
				 *bases = NULL, *base = gt_xasprintf("%d", pr_branch_of(module));

		if (!l->version || !strcmp(l->version, module))
			continue;
		if (!strstr(l->path, "compat/")) {
			pr_can_reason(q, PR_NO, l->path,
				      "the image contains a libcuda of driver %s; if programs load it, CUDA fails with error "
				      "803 with the host's module %s",
				      l->version, module);
			continue;
		}
		if (gt_version_cmp(l->version, module) <= 0)
			pr_can_reason(q, PR_YES, l->path,
				      "its cuda-compat %s is not newer than the driver %s and not needed", l->version,
				      module);
		else if (pr_compat_get(q->c->fs, &pr_forward_compat, branch, &bases, NULL) <= 0)
			pr_can_reason(q, PR_OPEN, "forward_compat.tsv",
				      "it is unknown whether its cuda-compat %s supports driver %s", l->version, module);
		else
			pr_can_reason(q, PR_YES, "forward_compat.tsv",
				      "its cuda-compat %s %s the driver branches %s; this host has %s", l->version,
				      strstr(bases, base) ? "supports" : "supports only", bases, module);
	}
}

static void judge_toolkits(struct pr_question *q, const struct pr_host *image)
{
	gt_auto_strv seen = {0};

	for (size_t i = 0; i < image->driver.toolkits.n; i++) {
		const char *path = image->driver.toolkits.v[i], *version = strrchr(path, '-') + 1;

		if (gt_strv_has(&seen, version))
			continue;
		gt_strv_add(&seen, version);
		pr_can_reason(q, PR_YES, "image", "it contains CUDA %s in %s", version, path);
		pr_can_driver(q, version);
		pr_can_gpu(q, version);
	}
}

/* Opens an image. An OCI bundle is a directory with config.json next to rootfs/. */
static int open_image(struct pr_question *q, struct gt_fsroot *in, const char *path, struct gt_fsroot **ret)
{
	const char *above = gt_fs_is_live(in) ? "" : gt_fs_dir(in);
	gt_autofree char *config = gt_xasprintf("%s/config.json", path), *rootfs = gt_xasprintf("%s/rootfs", path),
			 *where = NULL;
	bool bundle = gt_fs_exists(in, rootfs);
	int r = bundle ? judge_bundle(q, in, config) : 0;

	if (!above)
		return gt_fail(q->err, EINVAL, "%s: a captured host contains no images", path);
	where = gt_xasprintf("%s%s", above, bundle ? rootfs : path);
	return r < 0 ? r : gt_fs_open(where, ret, q->err);
}

static int ask_image(struct pr_question *q, struct gt_fsroot *in, const char *path)
{
	const struct pr_host *h = q->c->host;
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(pr_host) *image = NULL;
	int r = open_image(q, in, path, &fs);

	if (r >= 0)
		r = pr_host_discover(fs, &(const struct pr_discover_opts){.no_nvml = true}, &image, q->err);
	if (r < 0)
		return r;
	judge_machine(q, fs);
	judge_toolkits(q, image);
	judge_libcuda(q, image);
	for (size_t i = 0; i < image->n_pyenv; i++) {
		pr_can_reason(q, PR_YES, "image", "it has a Python environment in %s", image->pyenv[i].prefix);
		ask_env(q, fs, &image->pyenv[i]);
	}
	if (pr_has(h->container_runtime.docker) && h->container_runtime.docker.v &&
	    !pr_or(h->container_runtime.toolkit, 1))
		pr_can_reason(q, PR_NO, "this host",
			      "docker is installed without NVIDIA's container toolkit, which gives containers access to GPUs");
	if (!json_array_size(q->reasons))
		pr_can_reason(q, PR_OPEN, "image", "it contains nothing that this program can check");
	return 0;
}

/* ---- detecting the kind ----------------------------------------------------------------------------------------- */

static bool is_image(struct gt_fsroot *fs, const char *path)
{
	static const char *const marks[] = {"etc/os-release", "usr/lib/os-release", "bin/sh", "usr/bin/env", "rootfs"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(marks); i++) {
		gt_autofree char *mark = gt_xasprintf("%s/%s", path, marks[i]), *link = NULL;

		if (gt_fs_exists(fs, mark) || gt_fs_readlink(fs, mark, &link) >= 0)
			return true;
	}
	return false;
}

static int ask_directory(struct pr_question *q, struct gt_fsroot *fs, const char *path)
{
	struct pr_pyenv env;
	int r;

	if (strcmp(path, "/usr") && is_image(fs, path))
		return ask_image(q, fs, path);
	r = pr_pyenv_read(fs, q->host, path, &env);
	if (r < 0)
		return gt_fail(
			q->err, ENOENT,
			"%s is neither a Python environment (it has no lib/python3.N) nor an unpacked image (it has no "
			"etc/os-release and no bin/sh)",
			path);
	r = ask_env(q, fs, &env);
	pr_pyenv_clear(&env);
	return r;
}

int pr_can_disk(struct pr_question *q, const char *what)
{
	struct gt_fsroot *fs = q->c->fs;
	gt_auto(gt_fsroot) *machine = NULL;
	gt_autofree char *path = NULL;
	char cwd[4096];
	struct stat st;
	int r;

	what += 2 * gt_starts_with(what, "./");
	if (*what != '/' && !getcwd(cwd, sizeof(cwd)))
		return gt_fail_errno(q->err, errno, "cannot resolve the path of %s", what);
	path = *what == '/' ? gt_xstrdup(what) : gt_xasprintf("%s/%s", cwd, what);
	while (strlen(path) > 1 && gt_ends_with(path, "/"))
		path[strlen(path) - 1] = '\0';
	r = gt_fs_stat(fs, path, &st);
	if (r < 0 && !gt_fs_is_live(fs)) { /* a path of this machine, which the captured host lacks */
		r = gt_fs_open(NULL, &machine, q->err);
		fs = machine;
		if (r >= 0)
			r = gt_fs_stat(fs, path, &st);
	}
	if (r < 0)
		r = gt_fail_errno(q->err, -r, "cannot open %s", what);
	else if (S_ISDIR(st.st_mode))
		r = ask_directory(q, fs, path);
	else if (gt_ends_with(path, ".whl"))
		r = ask_wheel(q, fs, path);
	else
		r = gt_fail(q->err, EINVAL, "%s is neither a wheel (NAME.whl) nor a directory", what);
	if (r < 0 && !q->err->exit_status)
		q->err->exit_status = GT_EXIT_USAGE;
	return r;
}
