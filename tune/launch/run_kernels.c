/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the kernels of OpenBLAS. One variable applies to all copies in a process, and wheels of NumPy and SciPy
 * contain their own copies. The variable is therefore set only if no copy that the command may load becomes slower.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "probe/host/openblas.h"
#include "tune/launch/openblas_cache.h"
#include "tune/launch/settings.h"
#include "tune/launch/library_report.h"
#include "tune/launch/program.h"

#define VARIABLE "OPENBLAS_CORETYPE"

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static void add_copy(const struct tn_launch *c, const char *path, struct gt_strv *ret)
{
	gt_autofree char *real = NULL;

	if (gt_fs_realpath(c->fs, path, &real) >= 0 && !gt_strv_has(ret, real))
		gt_strv_add(ret, real);
}

static void add_from(const struct tn_launch *c, const char *dir, struct gt_strv *ret)
{
	gt_auto_strv names = { 0 };

	gt_fs_list(c->fs, dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);

		if (gt_starts_with(names.v[i], "lib") && strstr(names.v[i], "openblas") && strstr(names.v[i], ".so"))
			add_copy(c, path, ret);
	}
}

/* Adds the OpenBLAS of wheels in a directory of Python modules: numpy.libs/libscipy_openblas64_-ff651d7f.so. */
static void add_site(const struct tn_launch *c, const char *site, struct gt_strv *ret)
{
	gt_auto_strv names = { 0 };

	gt_fs_list(c->fs, site, &names);
	for (size_t i = 0; i < names.n; i++) {
		bool package = gt_starts_with(names.v[i], "scipy_openblas");
		gt_autofree char *dir = gt_xasprintf("%s/%s%s", site, names.v[i], package ? "/lib" : "");

		if (package || gt_ends_with(names.v[i], ".libs"))
			add_from(c, dir, ret);
	}
}

/* Adds the directories of an environment: PREFIX/lib/python3.11/site-packages. conda keeps the library itself in PREFIX/lib. */
static void add_prefix(const struct tn_launch *c, const char *prefix, struct gt_strv *ret)
{
	gt_autofree char *lib = gt_xasprintf("%s/lib", prefix);
	gt_auto_strv names = { 0 };

	gt_fs_list(c->fs, lib, &names);
	add_from(c, lib, ret);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *site = gt_xasprintf("%s/%s/site-packages", lib, names.v[i]),
				 *dist = gt_xasprintf("%s/%s/dist-packages", lib, names.v[i]);

		if (!gt_starts_with(names.v[i], "python3"))
			continue;
		add_site(c, site, ret);
		add_site(c, dist, ret);
	}
}

/* PREFIX/bin/NAME: a link is not resolved, because its own directory is the environment. */
static void add_prefix_of(const struct tn_launch *c, const char *name, struct gt_strv *ret)
{
	gt_autofree char *program = tn_program_find(name, c->envp, NULL);

	for (int up = 0; program && up < 2; up++) {
		char *slash = strrchr(program, '/');

		if (!slash) /* the program is in the root directory */
			return;
		*slash = '\0';
	}
	if (program && *program)
		add_prefix(c, program, ret);
}

static void add_python_path(const struct tn_launch *c, struct gt_strv *ret)
{
	const char *path = tn_run_value(c, "PYTHONPATH");
	gt_autofree char *copy = gt_xstrdup(path ? path : "");
	char *rest = copy, *dir;

	while ((dir = strsep(&rest, ":")))
		if (*dir == '/')
			add_site(c, dir, ret);
}

/*
 * Finds every copy of OpenBLAS that the command may load. These are the host's, by the library path of the command, and those
 * of each Python environment that the command may use.
 */
static void find_copies(const struct tn_launch *c, const struct tn_run *r, struct gt_strv *ret)
{
	static const char *const environments[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
	const char *library_path = tn_run_user(c, "LD_LIBRARY_PATH"), *home = tn_run_value(c, "HOME");
	gt_autofree char *system = NULL;

	for (size_t i = 0; i < r->n_var; i++)
		if (!strcmp(r->var[i].name, "LD_LIBRARY_PATH") && r->var[i].value)
			library_path = r->var[i].value;
	system = tn_loader_find_by(c, "libopenblas.so.0", library_path);
	if (system)
		add_copy(c, system, ret);
	if (c->argv && c->argv[0])
		add_prefix_of(c, c->argv[0], ret);
	add_prefix_of(c, "python3", ret);
	for (size_t i = 0; i < GT_ARRAY_SIZE(environments); i++)
		if (tn_run_value(c, environments[i]))
			add_prefix(c, tn_run_value(c, environments[i]), ret);
	add_prefix(c, "/usr/local", ret);
	if (home && *home == '/') {
		gt_autofree char *local = gt_xasprintf("%s/.local", home);

		add_prefix(c, local, ret);
	}
	add_python_path(c, ret);
}

/* ---- judgement ---------------------------------------------------------------------------------------------------- */

struct copies {
	struct gt_strv paths;
	struct pr_openblas_answer *answer; /* one answer per path */
	size_t old;			 /* index of the first copy that uses kernels for a much older processor; paths.n: none */
};

static void copies_clear(struct copies *a)
{
	gt_strv_clear(&a->paths);
	free(a->answer);
}

static bool is_old(const struct tn_launch *c, const struct pr_openblas_answer *a)
{
	return !a->one_target && pr_openblas_is_old(a->core, c->host->cpu.flags, c->host->cpu.vendor.v);
}

static int ask_all(const struct tn_launch *c, struct copies *a, struct gt_err *err)
{
	size_t n = a->paths.n;
	int r = 0;

	a->answer = gt_xcalloc(n + 1, sizeof(*a->answer));
	a->old = n;
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = tn_openblas_ask(c, a->paths.v[i], NULL, &a->answer[i], err);
		if (r >= 0 && a->old == n && is_old(c, &a->answer[i]))
			a->old = i;
	}
	return r;
}

/* Returns the index of a copy that uses good kernels by default but others with this core. paths.n: none. */
static size_t find_harmed(const struct tn_launch *c, const struct copies *a, const char *core)
{
	size_t i = 0;

	while (i < a->paths.n && (a->answer[i].one_target || is_old(c, &a->answer[i]) || !strcasecmp(a->answer[i].core, core)))
		i++;
	return i;
}

/* Returns the index of a copy that would benefit from this core but does not support it. paths.n: none. */
static size_t find_refusing(const struct tn_launch *c, const struct copies *a, const char *core)
{
	struct pr_openblas_answer answer;
	size_t i = 0;

	while (i < a->paths.n && (!is_old(c, &a->answer[i]) || (tn_openblas_ask(c, a->paths.v[i], core, &answer, NULL) >= 0 &&
								!strcasecmp(answer.core, core))))
		i++;
	return i;
}

static void choose(const struct tn_launch *c, const struct copies *a, struct tn_run *r)
{
	const struct pr_openblas_answer *old = &a->answer[a->old];
	const char *flags = c->host->cpu.flags, *vendor = c->host->cpu.vendor.v, *core;
	const char *path = a->paths.v[a->old];
	size_t n = a->paths.n, harmed = n, refusing = n;

	for (size_t i = 0; (core = pr_openblas_fit(flags, vendor, i)); i++) {
		harmed = find_harmed(c, a, core);
		refusing = harmed < n ? n : find_refusing(c, a, core);
		if (harmed < n || refusing < n)
			continue;
		tn_run_set(c, r, VARIABLE, core,
			   "OpenBLAS %s does not know this processor: %s computes with the kernels of a %s (%s); with the variable "
			   "it uses these (%s), as tested in a child process", old->version, path, old->core,
			   pr_isa_name(pr_openblas_isa(old->core)), pr_isa_name(pr_openblas_isa(core)));
		return;
	}
	if (harmed < n)
		tn_run_skip(r, VARIABLE, "%s computes with the kernels of a %s, but the variable applies to all copies: %s "
					 "selects those of a %s by itself", path, old->core, a->paths.v[harmed],
			    a->answer[harmed].core);
	else
		tn_run_skip(r, VARIABLE, "%s computes with the kernels of a %s, and the variable selects no better ones",
			    a->paths.v[refusing], a->answer[refusing].core);
}

/* Returns why OpenBLAS need not be queried. NULL: it must be. */
static const char *why_not_asked(const struct tn_launch *c)
{
	if (!gt_streq(c->host->kernel.arch.v, "x86_64"))
		return "old kernels of OpenBLAS are known for x86-64 only";
	if (!c->host->live)
		return "OpenBLAS must be loaded for the answer, but this root is not live";
	if (!pr_openblas_fit(c->host->cpu.flags, c->host->cpu.vendor.v, 0))
		return "this processor has no AVX2, so OpenBLAS has no much better kernels for it";
	return NULL;
}

static void prepare_kernels(const struct tn_launch *c, struct tn_run *r)
{
	__attribute__((cleanup(copies_clear))) struct copies all = { 0 };
	const char *user = tn_run_value(c, VARIABLE), *why = why_not_asked(c);
	struct gt_err err = { 0 };

	if (user || why) {
		if (user)
			tn_run_keep(r, VARIABLE, user, "set by the user");
		else
			tn_run_skip(r, VARIABLE, "%s", why);
		return;
	}
	find_copies(c, r, &all.paths);
	if (!all.paths.n)
		tn_run_skip(r, VARIABLE, "no OpenBLAS is installed that a program would load");
	else if (ask_all(c, &all, &err) < 0)
		tn_run_skip(r, VARIABLE, "%s", err.msg);
	else if (all.old < all.paths.n)
		choose(c, &all, r);
	else if (all.answer[0].one_target)
		tn_run_skip(r, VARIABLE, "%s is built for one processor, %s, so there is no choice", all.paths.v[0],
			    all.answer[0].core);
	else
		tn_run_skip(r, VARIABLE, "%s computes with the kernels of a %s", all.paths.v[0], all.answer[0].core);
}

const struct tn_launch_setting tn_launch_kernels = {
	.id = "run.blas_kernels",
	.summary = "OPENBLAS_CORETYPE: vector code of OpenBLAS",
	.why = "OpenBLAS selects its CPU kernels by a table of processors. If the processor is newer than the table, "
		"versions up to 0.3.24 (Debian 12 has 0.3.21) select the kernels of a very old processor, without AVX. On an "
	       "Emerald Rapids processor, PyTorch trained GPT-2 at 254 tokens/s with such kernels and at 571 with those for "
	       "SkylakeX. gputune loads each copy of OpenBLAS that the command may load, also in wheels of NumPy, into a "
	       "child process, with and without the variable. It caches the results in ~/.cache/gputune/openblas.",
	.hazard = "One variable applies to all copies of OpenBLAS in a process. gputune does not set it if one copy "
		"supports the processor. If a program such as mpirun passes the variable to a host whose processor lacks "
		"the instructions, the job fails there.",
	.unit = "environment",
	.unmoved = "the workloads multiply with oneDNN and kernels of their own; measure with your own command",
	.prepare = prepare_kernels,
};
