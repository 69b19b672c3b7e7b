/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "lib/json.h"
#include "lib/priv.h"
#include "lib/spawn.h"
#include "lib/file_trust.h"
#include "probe/host/dlopen_names.h"
#include "probe/host/openblas.h"
#include "probe/host/reading.h"

#define WAIT_S	    5
#define MOST_COPIES 16
#define SONAME	    "libopenblas.so.0"

/* ---- cores ---- */

/* Names as in OpenBLAS (driver/others/dynamic.c), ignoring case. */
static const struct {
	enum pr_isa isa;
	const char *names;
} cores[] = {
	{ PR_ISA_SSE, " katmai coppermine northwood prescott banias atom core2 penryn dunnington nehalem "
		      "athlon opteron opteron_sse3 barcelona bobcat nano " },
	{ PR_ISA_AVX, " sandybridge bulldozer piledriver steamroller " },
	{ PR_ISA_AVX2, " haswell zen excavator " },
	{ PR_ISA_AVX512, " skylakex cooperlake sapphirerapids " },
};

const char *pr_isa_name(enum pr_isa isa)
{
	static const char *const name[] = { [PR_ISA_UNKNOWN] = "unknown",
					    [PR_ISA_SSE] = "SSE",
					    [PR_ISA_AVX] = "AVX",
					    [PR_ISA_AVX2] = "AVX2",
					    [PR_ISA_AVX512] = "AVX-512" };

	return name[isa];
}

enum pr_isa pr_openblas_isa(const char *core)
{
	gt_autofree char *word = gt_xasprintf(" %s ", core);

	for (size_t i = 0; i < GT_ARRAY_SIZE(cores); i++)
		if (strcasestr(cores[i].names, word))
			return cores[i].isa;
	return PR_ISA_UNKNOWN;
}

static bool has(const char *flags, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strstr(flags, names[i]))
			return false;
	return true;
}

const char *pr_openblas_fit(const char *flags, const char *vendor, size_t nth)
{
	static const char *const avx512[] = { " avx512f ", " avx512dq ", " avx512bw ", " avx512vl ", " avx512cd " };
	static const char *const avx2[] = { " avx2 ", " fma " };
	bool zen = gt_streq(vendor, "AuthenticAMD") || gt_streq(vendor, "HygonGenuine");

	if (!flags || !has(flags, avx2, GT_ARRAY_SIZE(avx2)))
		return NULL;
	if (has(flags, avx512, GT_ARRAY_SIZE(avx512)) && nth-- == 0)
		return "SkylakeX";
	return nth ? NULL : zen ? "Zen" : "Haswell";
}

bool pr_openblas_is_old(const char *core, const char *flags, const char *vendor)
{
	enum pr_isa isa = pr_openblas_isa(core);

	return (isa == PR_ISA_SSE || isa == PR_ISA_AVX) && pr_openblas_fit(flags, vendor, 0);
}

/* ---- query ---------------------------------------------------------------------------------------------------------- */

struct request {
	const char *path, *coretype;
};

typedef char *query_fn(void);

/*
 * Returns a function of the library. Wheels of NumPy and SciPy contain copies whose function names have a prefix or
 * suffix, to avoid conflicts.
 */
static query_fn *find(void *handle, const char *name)
{
	static const char *const prefix[] = { "", "scipy_" }, *const suffix[] = { "", "64_", "_64" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(prefix); i++)
		for (size_t k = 0; k < GT_ARRAY_SIZE(suffix); k++) {
			gt_autofree char *whole = gt_xasprintf("%s%s%s", prefix[i], name, suffix[k]);
			void *f = dlsym(handle, whole);

			if (f)
				return (query_fn *)(uintptr_t)f;
		}
	return NULL;
}

/* Sets one thread first, because OpenBLAS starts its threads when it is loaded. */
static void set_environment(const char *coretype)
{
	unsetenv("OPENBLAS_CORETYPE");
	unsetenv("OPENBLAS_VERBOSE");
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("OMP_NUM_THREADS", "1", 1);
	if (coretype)
		setenv("OPENBLAS_CORETYPE", coretype, 1);
}

/*
 * Prints core and configuration, one per line. Exit status 1: the library cannot be loaded, 2: it lacks the function. If
 * this program already uses the library, the core is already selected, so a second copy is loaded.
 */
static int child(void *arg, struct gt_err *err)
{
	const struct request *q = arg;
	struct rlimit none = { 0 };
	int out = fcntl(1, F_DUPFD_CLOEXEC, 3), r = gt_priv_keep(0);
	query_fn *corename, *config;
	const char *core, *text;
	void *handle;

	if (out < 0 || r < 0 || dup2(2, 1) < 0)
		return gt_fail(err, EIO, "cannot set up a child process");
	setrlimit(RLIMIT_CORE, &none);
	set_environment(q->coretype);
	handle = dlopen(q->path, RTLD_LAZY | RTLD_NOLOAD) ? dlmopen(LM_ID_NEWLM, q->path, RTLD_LAZY)
							  : dlopen(q->path, RTLD_LAZY | RTLD_LOCAL);
	if (!handle) {
		text = dlerror();
		dprintf(out, "%.200s\n", text ? text : "");
		return 1;
	}
	corename = find(handle, "openblas_get_corename");
	config = find(handle, "openblas_get_config");
	if (!corename)
		return 2;
	core = corename();
	text = config ? config() : NULL;
	dprintf(out, "%.40s\n%.200s\n", core ? core : "", text ? text : "");
	return 0;
}

/* Parses "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Prescott MAX_THREADS=64". */
static void take_config(const char *config, struct pr_openblas_answer *ret)
{
	const char *at = gt_starts_with(config, "OpenBLAS ") ? config + strlen("OpenBLAS ") : "";
	size_t n = strspn(at, "0123456789.");

	if (n && n < sizeof(ret->version) && isspace((unsigned char)at[n]))
		memcpy(ret->version, at, n);
	ret->one_target = *config && !strstr(config, "DYNAMIC_ARCH");
}

static int take_answer(const char *path, char *text, struct pr_openblas_answer *ret, struct gt_err *err)
{
	struct pr_openblas_answer a = { 0 };
	char *rest = text, *core = strsep(&rest, "\n"), *config = rest ? strsep(&rest, "\n") : NULL;
	size_t n = core ? strlen(core) : 0;

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)core[i]) && core[i] != '_')
			n = 0;
	if (!n || n >= sizeof(a.core) || !config)
		return gt_fail(err, EIO, "%s does not report its kernels", path);
	memcpy(a.core, core, n);
	take_config(config, &a);
	*ret = a;
	return 0;
}

/* If this process is root, refuses a library that other users can replace. */
static int check_owner(struct gt_fsroot *live, const char *path, struct gt_err *err)
{
	const char *why = NULL;
	struct stat st;

	if (gt_fs_stat(live, path, &st) < 0)
		return gt_fail(err, ENOENT, "%s does not exist", path);
	why = gt_check_file_trust(live, &st);
	if (!why && geteuid() == 0)
		why = gt_check_dirs_trust(live, path);
	return why ? gt_fail(err, EPERM, "%s %s: not loaded", path, why) : 0;
}

int pr_openblas_query(struct gt_fsroot *live, const char *path, const char *coretype, struct pr_openblas_answer *ret,
		      struct gt_err *err)
{
	struct request q = { path, coretype };
	struct gt_spawn s = { .in_child = child, .arg = &q, .timeout_s = WAIT_S, .max_output = 1024 };
	int r = check_owner(live, path, err);

	if (r < 0)
		return r;
	r = gt_spawn(&s, NULL);
	if (r == -ETIMEDOUT)
		gt_fail(err, ETIMEDOUT, "%s does not finish loading within %d s", path, WAIT_S);
	else if (r < 0)
		gt_fail(err, -r, "%s cannot be queried: no child process", path);
	else if (s.status == 1 && s.out_len)
		r = gt_fail(err, ENOEXEC, "%s cannot be loaded", path);
	else if (s.status == 2)
		r = gt_fail(err, ENOSYS, "%s is not an OpenBLAS that reports its kernels", path);
	else if (s.status)
		r = gt_fail(err, EIO, "%s crashes the program that loads it (status %d)", path, s.status);
	else
		r = take_answer(path, s.out, ret, err);
	gt_spawn_clear(&s);
	return r;
}

/* ---- the host's copies ------------------------------------------------------------------------------------------------ */

static void add_copy(struct gt_strv *paths, const char *real)
{
	if (real && paths->n < MOST_COPIES && !gt_strv_has(paths, real))
		gt_strv_add(paths, real);
}

/* Finds the host's own copy, and those that Python modules load. */
static void find_copies(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	const struct pr_load_opts opts = pr_load_opts_of(h);
	gt_autofree char *system = pr_load_find(fs, h->elf_cache, SONAME, &opts);

	add_copy(ret, system);
	for (size_t i = 0; i < h->n_imported; i++)
		for (size_t k = 0; k < h->imported[i].loaded->n; k++) {
			const struct pr_object *o = &h->imported[i].loaded->obj[k];

			if (o->elf && strstr(o->name, "openblas"))
				add_copy(ret, o->hit.real);
		}
}

static void query_copy(struct gt_fsroot *fs, struct pr_host *h, const char *path)
{
	struct pr_openblas *b;
	struct pr_openblas_answer answer, forced;
	struct gt_err err = { 0 };
	const char *fit;

	h->openblas = gt_xrealloc(h->openblas, (h->n_openblas + 1) * sizeof(*h->openblas));
	b = &h->openblas[h->n_openblas++];
	*b = (struct pr_openblas){ .path = pr_keep(h, path) };
	if (pr_openblas_query(fs, path, NULL, &answer, &err) < 0) {
		b->why = pr_keep(h, err.msg);
		return;
	}
	b->core = pr_keep(h, answer.core);
	b->version = *answer.version ? pr_keep(h, answer.version) : NULL;
	b->one_target = answer.one_target;
	if (answer.one_target || !pr_openblas_is_old(answer.core, h->cpu.flags, h->cpu.vendor.v))
		return;
	for (size_t i = 0; !b->better_core && (fit = pr_openblas_fit(h->cpu.flags, h->cpu.vendor.v, i)); i++)
		if (pr_openblas_query(fs, path, fit, &forced, NULL) >= 0 && !strcasecmp(forced.core, fit))
			b->better_core = fit;
}

/* Parses the fact of a capture: [{"path", "core", "version", "one_target", "takes", "why"}]. */
static void take_fact(struct pr_host *h, const char *text, size_t len)
{
	gt_auto_json *doc = NULL;

	if (gt_json_parse(text, len, "openblas", &doc, NULL) < 0 || !json_is_array(doc)) {
		h->openblas_state = PR_BROKEN;
		return;
	}
	h->n_openblas = GT_MIN(json_array_size(doc), (size_t)MOST_COPIES);
	h->openblas = gt_xcalloc(h->n_openblas + 1, sizeof(*h->openblas));
	h->openblas_state = h->n_openblas ? PR_PRESENT : PR_ABSENT;
	for (size_t i = 0; i < h->n_openblas; i++) {
		const json_t *o = json_array_get(doc, i);

		h->openblas[i] = (struct pr_openblas){ .path = pr_keep(h, gt_json_get_str(o, "path", "libopenblas")),
						       .core = pr_keep(h, gt_json_get_str(o, "core", NULL)),
						       .version = pr_keep(h, gt_json_get_str(o, "version", NULL)),
						       .better_core = pr_keep(h, gt_json_get_str(o, "takes", NULL)),
						       .why = pr_keep(h, gt_json_get_str(o, "why", NULL)),
						       .one_target = gt_json_get_bool(o, "one_target", false) };
	}
}

void pr_discover_openblas(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *fact = NULL;
	gt_auto_strv paths = { 0 };
	size_t len;

	if (!h->live) {
		if (gt_fs_fact(fs, "openblas", &fact, &len) >= 0)
			take_fact(h, fact, len);
		return;
	}
	find_copies(fs, h, &paths);
	for (size_t i = 0; i < paths.n; i++)
		query_copy(fs, h, paths.v[i]);
	h->openblas_state = paths.n ? PR_PRESENT : PR_ABSENT;
}

json_t *pr_openblas_json(const struct pr_host *h)
{
	json_t *list;

	if (h->openblas_state != PR_PRESENT && h->openblas_state != PR_ABSENT)
		return json_string(pr_state_name(h->openblas_state));
	list = json_array();
	for (size_t i = 0; i < h->n_openblas; i++) {
		const struct pr_openblas *b = &h->openblas[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:b, s:o, s:o}", "path", gt_json_str(b->path), "core",
						      gt_json_str(b->core), "version", gt_json_str(b->version), "one_target",
						      (int)b->one_target, "takes", gt_json_str(b->better_core), "why",
						      gt_json_str(b->why)));
	}
	return list;
}

char *pr_openblas_fact(const struct pr_host *h)
{
	gt_auto_json *doc = pr_openblas_json(h);

	return json_is_array(doc) ? gt_json_text(doc) : NULL;
}
