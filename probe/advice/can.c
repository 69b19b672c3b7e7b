/* SPDX-License-Identifier: Apache-2.0 */
/* Reports whether a framework, wheel, environment or image works on this host. Each reason has its source. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/table.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/compat/compat.h"
#include "probe/compat/require.h"
#include "probe/wheel/metadata.h"
#include "probe/advice/can.h"
#include "probe/check/driver_need.h"

const char *pr_answer_name(enum pr_answer a)
{
	static const char *const name[] = {"yes", "no", "unknown"};

	return name[a];
}

/* ---- reasons -------------------------------------------------------------------------------------------------- */

void pr_can_reason(struct pr_question *q, enum pr_answer a, const char *source, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++) /* the text can quote untrusted files, so control characters are replaced */
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	json_array_append_new(q->reasons, json_pack("{s:s, s:o, s:o}", "holds", pr_answer_name(a), "what", gt_json_str(text),
						    "source", gt_json_str(source)));
	if (a == PR_NO || (a == PR_OPEN && q->worst == PR_YES))
		q->worst = a;
}

bool pr_only_cpu(const struct pr_host *h)
{
	return !pr_trains_on_gpu(h) && !pr_other_gpu(h, 0) && !h->tegra.board.v && !h->pci_unreadable;
}

void pr_can_driver(struct pr_question *q, const char *cuda)
{
	const struct pr_host *h = q->c->host;
	const char *driver = pr_effective_driver(q->c), *module = h->driver.module_version.v;
	gt_autofree char *least = NULL;
	struct pr_gpu_kind k;
	int r = pr_compat_min_driver(q->c->fs, cuda, &least, q->err);

	for (size_t i = 0; module && i < h->n_gpu; i++) {
		bool known = pr_on_bus(&h->gpu[i]) && pr_compat_gpu(q->c->fs, h->gpu[i].pci->device, &k, NULL) > 0;

		if (known && (pr_branch_of(module) < k.first_branch || pr_branch_of(module) > k.last_branch))
			pr_can_reason(q, PR_NO, "gpu_pci.tsv", "GPU %s needs a driver of branches %d to %d; this host has %s",
			       h->gpu[i].pci->address, k.first_branch, k.last_branch, module);
		else if (known && !pr_flavour_fits(h, &k))
			pr_can_reason(q, PR_NO, "gpu_pci.tsv",
				      "GPU %s needs the %s kernel module, but the %s one is loaded",
				      h->gpu[i].pci->address, h->driver.open_module ? "proprietary" : "open",
				      h->driver.open_module ? "open" : "proprietary");
	}
	if (h->tegra.board.v && !h->n_gpu && h->tegra.chip >= PR_TEGRA_THOR && gt_version_cmp(cuda, "13.0") >= 0)
		pr_can_reason(q, PR_YES, "this host",
			      "%s: since JetPack 7, builds with CUDA 13 support its GPU", h->tegra.board.v);
	else if (h->tegra.board.v && !h->n_gpu)
		pr_can_reason(q, PR_OPEN, "this host",
			      "%s: its GPU needs builds for its JetPack, which are not in the tables",
			      h->tegra.board.v);
	else if (!pr_trains_on_gpu(h) && pr_other_gpu(h, 0))
		pr_can_reason(q, pr_amd_usable(h) ? PR_NO : PR_OPEN, "this host",
			      "CUDA needs an NVIDIA GPU; this host has a GPU of %s, which needs another build",
			      pr_gpu_maker(pr_other_gpu(h, 0)));
	else if (!pr_trains_on_gpu(h))
		pr_can_reason(q, PR_NO, "this host", "CUDA needs an NVIDIA GPU, and this host has none that it may use");
	else if (!driver)
		pr_can_reason(q, PR_NO, "this host",
			      h->platform.windows_driver ? "programs cannot load the Windows driver" :
							   "no NVIDIA driver is loaded");
	else if (r <= 0)
		pr_can_reason(q, PR_OPEN, "cuda_driver.tsv", "CUDA %s is newer than this program's table", cuda);
	else if (gt_version_cmp(driver, least) >= 0)
		pr_can_reason(q, PR_YES, "cuda_driver.tsv", "CUDA %s needs driver %s; this host has %s", cuda, least, driver);
	else
		pr_can_reason(q, PR_NO, "cuda_driver.tsv", "CUDA %s needs driver %s; this host has %s", cuda, least, driver);
}

void pr_can_gpu(struct pr_question *q, const char *cuda)
{
	const struct pr_host *h = q->c->host;
	int seen = 0;

	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];
		int arch = pr_arch_of(q->c, g);
		struct pr_span span;
		int order = pr_on_bus(g) && arch != seen ? pr_compare_cuda_range(q->c, g, cuda, &span) : 0;

		seen = pr_on_bus(g) ? arch : seen; /* one line for identical GPUs */
		if (order)
			pr_can_reason(q, order > 0 ? PR_NO : PR_YES, "gpu_arch.tsv",
				      "CUDA %s does not support capability %d.%d of GPU %s; %s is the %s", cuda, arch / 10,
				      arch % 10, g->pci->address, order > 0 ? span.last : span.first,
				      order > 0 ? "last" : "first, and code for older GPUs may run on it");
	}
}

static void judge_arch(struct pr_question *q, const char *torch, const char *cuda)
{
	const struct pr_host *h = q->c->host;
	gt_autofree char *key = pr_torch_key(torch, cuda, h->kernel.arch.v), *list = NULL;
	int r = pr_compat_get(q->c->fs, &pr_torch_arch, key, &list, q->err);

	for (size_t i = 0; i < h->n_gpu; i++) {
		int arch = pr_arch_of(q->c, &h->gpu[i]);

		if (r <= 0 || !arch)
			pr_can_reason(q, PR_OPEN, "torch_arch.tsv", "it is unknown whether that wheel contains code for GPU %s",
			       h->gpu[i].pci->address);
		else
			pr_can_reason(q, pr_holds_code(list, arch) ? PR_YES : PR_NO, "torch_arch.tsv",
			       "it contains code for the capabilities %s; GPU %s has %d", list, h->gpu[i].pci->address, arch);
		return; /* hosts normally have one kind of GPU; the checks examine each */
	}
}

/* Adds the requirements of all of PyTorch's wheels, whatever their CUDA release. */
void pr_can_system(struct pr_question *q, const char *torch)
{
	const char *least = pr_torch_glibc(torch), *have = q->c->host->glibc.v;

	pr_can_python(q, "torch", torch);
	if (!have)
		pr_can_reason(q, PR_OPEN, "this host", "the wheel needs glibc %s; the version of this host is unknown (no "
						       "Debian package database)",
		       least);
	else
		pr_can_reason(q, gt_version_cmp(have, least) >= 0 ? PR_YES : PR_NO, "wheel tags on PyPI",
		       "the wheel needs glibc %s; this host has %s", least, have);
}

/* ---- questions ------------------------------------------------------------------------------------------------ */

static char *last_of(const char *list)
{
	const char *comma = strrchr(list, ',');

	return gt_xstrdup(comma ? comma + 1 : list);
}

/* Converts a tag: "cu126" -> "12.6". */
static char *cuda_of_tag(const char *tag)
{
	size_t n = strlen(tag);

	if (!gt_starts_with(tag, "cu") || n < 5 || tag[2 + strspn(tag + 2, "0123456789")])
		return NULL;
	return gt_xasprintf("%.*s.%s", (int)n - 3, tag + 2, tag + n - 1);
}

/* Adds the reason for a framework that also runs on CPUs, on a host without a GPU. */
static void on_cpu(struct pr_question *q)
{
	q->on_cpu = true;
	pr_can_reason(q, PR_YES, "this host", "there is no GPU that it may use, so it runs on the CPU");
}

/* If the driver or the GPU does not support this build of the release, suggests the build that works. */
static void other_build(struct pr_question *q, const char *release)
{
	const char *machine = q->c->host->kernel.arch.v;
	gt_autofree char *tag = NULL;
	struct pr_driver_need n;
	struct pr_wheel w;

	if (q->worst != PR_NO)
		return;
	pr_driver_need(q->c, NULL, 0, &n);
	if (n.state == PR_DRIVER_OK &&
	    pr_compat_wheel(q->c->fs, &(const struct pr_wheel_query){.release = release, .machine = machine,
			    .driver = n.cuda_driver, .arch = pr_first_arch(q->c)}, &w, NULL) > 0) {
		tag = pr_cuda_tag(w.cuda);
		pr_can_reason(q, PR_YES, "torch_wheel.tsv", "its build with CUDA %s runs here: pip install 'torch==%s.*' "
							    "--index-url https://download.pytorch.org/whl/%s",
			      w.cuda, release, tag);
		q->instead = q->instead ? q->instead : gt_xasprintf("torch==%s+%s", release, tag);
	}
	pr_driver_need_clear(&n);
}

static int ask_torch(struct pr_question *q, const char *version)
{
	const char *plus = strchr(version, '+');
	const struct pr_host *h = q->c->host;
	gt_autofree char *release = pr_release_of(version), *builds = NULL, *cuda = plus ? cuda_of_tag(plus + 1) : NULL;
	gt_autofree char *key = pr_torch_key(release, NULL, h->kernel.arch.v);
	const char *on = strchr(key, '+'); /* machine suffix, if it is not the table's default */
	char *last;
	int r = pr_compat_get(q->c->fs, &pr_torch_wheel, key, &builds, q->err);

	if (plus && !strcmp(plus, "+cpu")) {
		pr_can_reason(q, PR_YES, "PyTorch", "the wheel for CPUs needs no driver");
		pr_can_system(q, release);
		return 0;
	}
	if (plus && gt_starts_with(plus, "+rocm")) {
		pr_can_rocm(q, release, plus + strlen("+rocm"));
		return 0;
	}
	if (plus && !cuda)
		return gt_fail_exit(q->err, GT_EXIT_USAGE, EINVAL,
				    "'%s' does not name a CUDA build: expected a suffix like +cu126, +rocm6.4 or +cpu", plus);
	if (r < 0)
		return r;
	if (!r) {
		pr_can_reason(q, PR_OPEN, "torch_wheel.tsv", "PyTorch %s%s%s is not in this program's table; it may be newer%s",
		       release, on ? " for " : "", on ? on + 1 : "", on ? " or older" : "");
		if (!cuda)
			return 0;
	} else if (!cuda && pr_only_cpu(h)) {
		on_cpu(q);
		pr_can_reason(q, PR_YES, "torch_wheel.tsv", "the smaller wheel for CPUs: pip install 'torch==%s.*' --index-url "
							    "https://download.pytorch.org/whl/cpu", release);
		pr_can_system(q, release);
		return 0;
	} else if (!cuda) {
		cuda = last_of(builds);
		if (!strcmp(cuda, "cpu")) {
			last = strrchr(builds, ',');
			if (last)
				*last = '\0';
			pr_can_reason(q, h->n_gpu ? PR_NO : pr_other_gpu(h, 0) ? PR_OPEN : PR_YES, "torch_wheel.tsv",
				      "pip's default build of PyTorch %s for %s is for CPUs; others: %s", release,
				      on ? on + 1 : "this machine", last ? builds : "none");
			pr_can_system(q, release);
			return 0;
		}
		pr_can_reason(q, PR_YES, "torch_wheel.tsv", "pip's default build of PyTorch %s uses CUDA %s", release,
		       cuda);
	} else {
		pr_can_reason(q, gt_word_in(builds, ",", cuda) ? PR_YES : PR_NO, "torch_wheel.tsv",
			      "PyTorch %s is built with CUDA %s", release, builds);
	}
	pr_can_driver(q, cuda);
	judge_arch(q, release, cuda);
	other_build(q, release);
	if (q->worst == PR_NO)
		pr_can_rocm_instead(q, release);
	pr_can_system(q, release);
	return 0;
}

/* Adds the newest gcc that the nvcc of the release accepts. Programs that are already compiled do not need it. */
static void judge_compiler(struct pr_question *q, const char *release)
{
	const char *have = q->c->host->gcc.v;
	gt_autofree char *most = NULL;
	int oldest, gxx;
	char how[128];

	if (!have || pr_compat_get(q->c->fs, &pr_nvcc_gcc, release, &most, NULL) <= 0)
		return;
	gxx = pr_nvcc_gxx(q->c, atoi(most), &oldest);
	if (atoi(have) <= atoi(most))
		*how = '\0';
	else if (gxx)
		snprintf(how, sizeof(how), ", so compile with -ccbin g++-%d", gxx);
	else
		snprintf(how, sizeof(how), "; Debian %s has none older than %d, so compile in a container",
			 q->c->host->distro.version_id.v, oldest);
	pr_can_reason(q, PR_YES, "nvcc_gcc.tsv", "its nvcc supports gcc up to %s; this host has %s%s", most, have, how);
}

static int ask_cuda(struct pr_question *q, const char *version)
{
	const char *driver = pr_effective_driver(q->c);
	gt_autofree char *release = pr_release_of(version), *most = NULL;

	pr_can_driver(q, release);
	pr_can_gpu(q, release);
	if (driver && pr_compat_max_cuda(q->c->fs, driver, &most, NULL) > 0 && gt_version_cmp(release, most) > 0 &&
	    strtol(release, NULL, 10) == strtol(most, NULL, 10))
		pr_can_reason(q, PR_YES, "driver_cuda.tsv",
		       "driver %s supports CUDA %s: programs run, but it cannot compile PTX of %s", driver, most,
		       release);
	judge_compiler(q, release);
	return 0;
}

/* Evaluates a framework whose wheels are built for known CUDA releases. One release that the driver supports suffices. */
static int ask_framework(struct pr_question *q, const struct pr_table *table, const char *name, const char *version)
{
	gt_autofree char *release = pr_release_of(version), *builds = NULL;
	int r = pr_compat_get(q->c->fs, table, release, &builds, q->err);
	char *rest;

	if (r < 0)
		return r;
	if (!r) {
		pr_can_reason(q, PR_OPEN, table->name, "%s %s is not in this program's table; it may be newer", name, release);
		return 0;
	}
	pr_can_reason(q, PR_YES, table->name, "%s %s is built with CUDA %s", name, release, builds);
	rest = builds;
	if (pr_only_cpu(q->c->host)) {
		on_cpu(q);
		rest = NULL;
	}
	for (char *cuda; rest && (cuda = gt_cut(&rest, ","));) {
		struct pr_question one = {.c = q->c, .err = q->err, .reasons = json_array()};

		pr_can_driver(&one, cuda);
		if (one.worst == PR_YES || !*rest) { /* the oldest release that runs, or the last one if none does */
			json_array_extend(q->reasons, one.reasons);
			q->worst = one.worst == PR_YES ? q->worst : one.worst;
		}
		json_decref(one.reasons);
		if (one.worst == PR_YES)
			break;
	}
	pr_can_python(q, name, release);
	return 0;
}

/* ---- releases ------------------------------------------------------------------------------------------------- */

static const struct framework {
	const char *name;
	const struct pr_table *table; /* release -> CUDA releases of its wheels */
} frameworks[] = {{"torch", &pr_torch_wheel}, {"tensorflow", &pr_tensorflow_cuda}, {"jax", &pr_jax_cuda}};

/* Evaluates one release. version may name a build, as in "2.14+cu126". */
static int ask_release(struct pr_question *q, const struct framework *f, const char *version)
{
	return f->table == &pr_torch_wheel ? ask_torch(q, version) : ask_framework(q, f->table, f->name, version);
}

struct matching {
	const struct framework *framework;
	const char *spec, *machine;
	struct gt_strv versions; /* newest release first; each followed by its builds, as in "2.14+cu126" */
};

/* Adds a release of the table if it satisfies the specification and has wheels for the machine. */
static int take_release(void *arg, const char *key, const char *builds)
{
	struct matching *m = arg;
	bool torch = m->framework->table == &pr_torch_wheel;
	gt_autofree char *release = pr_release_of(key), *own = torch ? pr_torch_key(release, NULL, m->machine) : gt_xstrdup(key);

	if (strcmp(own, key) || pr_version_satisfies(release, m->spec) <= 0)
		return 0;
	gt_strv_add(&m->versions, release);
	gt_each_word(cuda, torch ? builds : "", ",") {
		gt_autofree char *tag = strcmp(cuda, "cpu") ? pr_cuda_tag(cuda) : NULL;

		if (tag)
			gt_strv_take(&m->versions, gt_xasprintf("%s+%s", release, tag));
	}
	return 0;
}

/* Compares by release, newest first. qsort() is not stable, so equal releases compare by their build: the default first. */
static int newest_first(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	gt_autofree char *rx = pr_release_of(x), *ry = pr_release_of(y);
	int r = gt_version_cmp(ry, rx);

	return r ? r : strlen(x) == strlen(y) ? gt_version_cmp(y, x) : strlen(x) < strlen(y) ? -1 : 1;
}

/* Evaluates the newest matching version that works here, or the newest one if none does. */
static int ask_newest(struct pr_question *q, const struct matching *m)
{
	const char *name = m->framework->name, *table = m->framework->table->name;
	gt_auto_json *first = NULL;
	enum pr_answer worst = PR_YES;

	for (size_t i = 0; i < m->versions.n; i++) {
		struct pr_question one = {.c = q->c, .host = q->host, .err = q->err, .reasons = json_array()};
		gt_auto_json *reasons = one.reasons;
		gt_autofree char *instead = NULL;
		int r;

		pr_can_reason(&one, PR_YES, table, "%s==%s is the newest release in the table that %s", name, m->versions.v[i],
			      i ? "works here" : "matches");
		r = ask_release(&one, m->framework, m->versions.v[i]);
		instead = one.instead;
		if (r < 0)
			return r;
		if (!i) {
			first = json_incref(reasons);
			worst = one.worst;
		}
		if (one.worst == PR_YES) {
			json_array_extend(q->reasons, reasons);
			q->on_cpu = one.on_cpu;
			return 0;
		}
	}
	json_array_extend(q->reasons, first);
	q->worst = worst;
	return 0;
}

/* Evaluates "torch", "torch=2.14" and 'torch>=2.8,<2.12'. spec is the part after the name. */
static int ask_requirement(struct pr_question *q, const struct framework *f, const char *spec)
{
	struct matching m = {.framework = f, .spec = spec, .machine = q->c->host->kernel.arch.v};
	const char *exact = spec + strspn(spec, "=");
	int r;

	if (*spec == '=' && exact - spec <= 2 && isdigit((unsigned char)*exact) && !strpbrk(exact, ",*<>="))
		return ask_release(q, f, exact);
	if (pr_version_satisfies("1", spec) < 0)
		return gt_fail_exit(q->err, GT_EXIT_USAGE, EINVAL,
				    "'%s%.60s' is no requirement: use %s, %s==2.14, '%s>=2.8' or '%s>=2.8,<2.12'", f->name, spec,
				    f->name, f->name, f->name, f->name);
	r = pr_compat_each(q->c->fs, f->table, take_release, &m, q->err);
	if (r >= 0 && !m.versions.n)
		pr_can_reason(q, PR_OPEN, f->table->name, "no release of %s in this program's table matches", f->name);
	if (r >= 0 && m.versions.n) {
		qsort(m.versions.v, m.versions.n, sizeof(*m.versions.v), newest_first);
		r = ask_newest(q, &m);
	}
	gt_strv_clear(&m.versions);
	return r < 0 ? r : 0;
}

/* ---- images --------------------------------------------------------------------------------------------------- */

int pr_can_image(struct pr_question *q, const char *expression)
{
	const struct pr_host *h = q->c->host;
	const char *driver = h->driver.module_version.v;
	gt_autofree char *cuda = NULL, *why = NULL, *arch = NULL;
	struct pr_require_facts facts = {.driver = driver};
	bool unknown = false;
	int r;

	if (driver && pr_compat_max_cuda(q->c->fs, driver, &cuda, NULL) > 0)
		facts.cuda = cuda;
	if (h->n_gpu && pr_arch_of(q->c, &h->gpu[0])) {
		arch = gt_xasprintf("%d.%d", pr_arch_of(q->c, &h->gpu[0]) / 10, pr_arch_of(q->c, &h->gpu[0]) % 10);
		facts.arch = arch;
	}
	r = pr_require(expression, &facts, &why, &unknown, q->err);
	if (r < 0) {
		q->err->exit_status = GT_EXIT_USAGE;
		return r;
	}
	if (!driver)
		pr_can_reason(q, PR_NO, "this host", "no NVIDIA driver is loaded");
	else if (unknown)
		pr_can_reason(q, PR_OPEN, "driver_cuda.tsv",
		       "it depends on the brand of the GPU or on a release newer than this program's tables");
	else
		pr_can_reason(q, r ? PR_YES : PR_NO, "driver_cuda.tsv", "driver %s supports CUDA %s%s%s", driver,
		       cuda ? cuda : "of an unknown release", r ? "" : "; not satisfied: ",
		       r     ? ""
		       : why ? why
			     : expression);
	return 0;
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

static int ask(struct pr_question *q, const char *what)
{
	int r;

	if (!strpbrk(what, "<>=") && (strchr(what, '/') || gt_ends_with(what, ".whl") || !strcmp(what, ".")))
		return pr_can_disk(q, what);
	for (size_t i = 0; i < GT_ARRAY_SIZE(frameworks); i++) {
		size_t n = strlen(frameworks[i].name);

		if (gt_starts_with(what, frameworks[i].name) && (!what[n] || strchr("<>=!~", what[n])))
			return ask_requirement(q, &frameworks[i], what + n);
	}
	r = pr_can_extension(q, what);
	if (r)
		return GT_MIN(r, 0);
	if (gt_starts_with(what, "cuda==") && isdigit((unsigned char)what[6]))
		return ask_cuda(q, what + 6);
	if (strpbrk(what, "<>=") && !strstr(what, "=="))
		return pr_can_image(q, what);
	return gt_fail_exit(q->err, GT_EXIT_USAGE, EINVAL,
			    "cannot answer for '%.100s': expected torch, torch==2.14+cu126, 'torch>=2.8', cuda==12.8, "
			    "tensorflow, jax, vllm, xformers, flash-attn, transformer-engine, bitsandbytes, deepspeed, triton, an "
			    "image's NVIDIA_REQUIRE_CUDA such as 'cuda>=12.8', or a path: NAME.whl, ./venv, ./image", what);
}

bool pr_can_driver_fits(const struct pr_question *q)
{
	struct pr_driver_need need;
	bool fits;

	pr_driver_need(q->c, NULL, 0, &need);
	fits = need.state == PR_DRIVER_OK;
	pr_driver_need_clear(&need);
	return fits;
}

/* Returns the newest CUDA release that both the driver and the first GPU support. The caller frees it. NULL: unknown. */
static char *newest_cuda(const struct pr_question *q)
{
	int arch = pr_first_arch(q->c);
	char *most = NULL;
	struct pr_span span;

	if (pr_compat_max_cuda(q->c->fs, pr_effective_driver(q->c), &most, NULL) <= 0)
		return NULL;
	if (!arch || pr_compat_span(q->c->fs, arch, &span, NULL) <= 0 || gt_version_cmp(most, span.last) <= 0)
		return most;
	free(most);
	return gt_xstrdup(span.last);
}

/* If the answer is no and no reason contains an alternative, returns one. The caller frees it. */
static char *general_instead(const struct pr_question *q, const char *what)
{
	const struct pr_host *h = q->c->host;
	const char *driver = pr_effective_driver(q->c);
	struct pr_wheel_query query = {.machine = h->kernel.arch.v, .driver = driver, .python = h->python,
				       .arch = pr_first_arch(q->c)};
	gt_autofree char *tag = NULL, *most = NULL;
	struct pr_wheel w;

	if (pr_only_cpu(h))
		return gt_xstrdup(gt_starts_with(what, "torch") ? "the wheel for CPUs, which gpuprobe can prints" :
								  "a build for CPUs");
	if (!driver || !pr_can_driver_fits(q))
		return gt_xstrdup("the driver that gpuprobe can prints, then ask again");
	if (gt_starts_with(what, "torch") && pr_compat_wheel(q->c->fs, &query, &w, NULL) > 0 && !w.other_python) {
		tag = pr_cuda_tag(w.cuda);
		return gt_xasprintf("torch==%s+%s", w.torch, tag);
	}
	most = newest_cuda(q);
	if (gt_starts_with(what, "cuda") && most)
		return gt_xasprintf("CUDA %s, or an older release", most);
	return gt_xstrdup("a release that the driver, GPU and Python of this host support");
}

int pr_can_ask(struct pr_question *q, const char *what)
{
	int r = ask(q, what);

	if (r >= 0 && q->worst == PR_NO && !q->instead)
		q->instead = general_instead(q, what);
	return r;
}
