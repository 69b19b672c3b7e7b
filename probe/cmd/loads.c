/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe loads: shows the libraries that a program or a Python environment loads, and by which rule. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/table.h"
#include "lib/text.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/host/python.h"
#include "probe/loader/loader.h"
#include "probe/host/dlopen_names.h"
#include "probe/host/reading.h"

static const char *library_path, *preload;
static bool show_all;

struct task {
	struct gt_cli *cli;
	struct pr_host *host;
	struct pr_elf_cache *elf_cache;
	struct pr_load_opts opts;
	json_t *runs;
	int exit_code;
};

/* ---- the document --------------------------------------------------------------------------------------------- */

/* Replaces control characters: names come from files of any user. */
static json_t *text_json(const char *s)
{
	gt_autofree char *copy = s ? gt_xstrdup(s) : NULL;

	if (copy)
		gt_make_plain(copy);
	return gt_json_str(copy);
}

static json_t *hit_json(const struct pr_loader *l, const struct pr_hit *h, const char *version)
{
	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "path", text_json(h->path), "real", text_json(h->real),
			 "version", text_json(version), "rule", pr_rule_name(h->rule), "directory", text_json(h->from),
			 "owner", h->owner >= 0 ? text_json(l->obj[h->owner].name) : json_null(), "broken",
			 text_json(h->broken));
}

static json_t *object_json(const struct pr_loader *l, const struct pr_pyenv *env, size_t i)
{
	const struct pr_object *o = &l->obj[i];
	gt_autofree char *version = pr_lib_version(env, o->name, o->hit.real);
	json_t *j = hit_json(l, &o->hit, version), *hidden = json_array();

	for (size_t k = 0; k < o->n_hidden; k++) {
		gt_autofree char *other = pr_lib_version(env, o->name, o->hidden[k].real);

		json_array_append_new(hidden, hit_json(l, &o->hidden[k], other));
	}
	json_object_set_new(j, "name", text_json(o->name));
	json_object_set_new(j, "by", o->by >= 0 ? text_json(l->obj[o->by].name) : json_null());
	json_object_set_new(j, "opened", json_boolean(o->opened));
	json_object_set_new(j, "watched", json_boolean(pr_is_watched(o->name)));
	json_object_set_new(j, "hides", hidden);
	return j;
}

static void add_run(struct task *t, const char *what, const char *program, const struct pr_pyenv *env,
		    const struct pr_loader *l)
{
	json_t *list = json_array();
	int code = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct pr_object *o = &l->obj[i];

		json_array_append_new(list, object_json(l, env, i));
		if (!o->elf && !o->opened)
			code = 2;
		else if (o->elf && pr_is_watched(o->name) && pr_forced_hit(o, env) >= 0)
			code = GT_MAX(code, 1);
	}
	t->exit_code = GT_MAX(t->exit_code, code);
	json_array_append_new(t->runs,
			      json_pack("{s:s, s:s, s:s, s:b, s:o}", "what", what, "program", program, "verdict",
					code == 2 ? "CRITICAL"
					: code    ? "WARNING"
						  : "OK",
					"set_user_id", l->secure, "objects", list));
}

/* ---- what a target is ----------------------------------------------------------------------------------------- */

static int load_program(struct task *t, const char *path, const struct pr_pyenv *env)
{
	gt_auto(pr_loader) *l = NULL;
	int r = pr_load(t->cli->fs, t->elf_cache, path, &t->opts, &l, &t->cli->err);

	if (r < 0)
		return r;
	if (pr_loader_find(l, "libcudart.so.12") >= 0 || pr_loader_find(l, "libcudart.so.13") >= 0)
		pr_open_known(l, NULL, 0);
	add_run(t, "start", path, env, l);
	return 0;
}

static int load_imports(struct task *t, const struct pr_pyenv *env)
{
	for (const struct pr_import *im = pr_imports; im->module; im++) {
		gt_autofree char *what = gt_xasprintf("import %s", im->module);
		gt_auto(pr_loader) *l = NULL;
		int r = pr_load_import(t->cli->fs, t->elf_cache, env, im, &t->opts, &l, &t->cli->err);

		if (r < 0)
			return r;
		if (r)
			add_run(t, what, env->python, env, l);
	}
	return 0;
}

static int load_env(struct task *t, const char *prefix)
{
	struct pr_pyenv env;
	int r = pr_pyenv_read(t->cli->fs, t->host, prefix, &env);

	if (r < 0)
		return gt_fail_exit(&t->cli->err, GT_EXIT_USAGE, ENOENT,
				    "%s is neither a program nor a Python environment (it has no lib/python3.N)",
				    prefix);
	if (!env.python) {
		r = gt_fail_exit(&t->cli->err, GT_EXIT_USAGE, ENOENT, "%s has no bin/python3", prefix);
	} else {
		r = load_program(t, env.python, &env);
		if (!r)
			r = load_imports(t, &env);
	}
	pr_pyenv_clear(&env);
	return r;
}

/* Returns the interpreter in the first line of a script; NULL if the file is no script. The caller frees it. */
static char *interpreter_of(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *text = NULL;
	char *word, *rest;

	if (gt_fs_read_prefix(fs, path, 256, &text, NULL) < 0 || !gt_starts_with(text, "#!"))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	rest = text + 2;
	word = gt_cut(&rest, " \t\r");
	if (word && gt_ends_with(word, "/env"))
		while ((word = gt_cut(&rest, " \t\r")) && (*word == '-' || strchr(word, '=')))
			;
	return word ? gt_xstrdup(word) : NULL;
}

/* Searches the default PATH of a system for a name without a slash. The caller frees the result. */
static char *find_program(struct gt_fsroot *fs, const char *name)
{
	static const char *const dirs[] = {"/usr/local/bin",  "/usr/bin",  "/bin",
					   "/usr/local/sbin", "/usr/sbin", "/sbin"};
	char cwd[4096];

	if (*name == '/')
		return gt_xstrdup(name);
	if ((strchr(name, '/') || *name == '.') && gt_fs_is_live(fs) && getcwd(cwd, sizeof(cwd)))
		return gt_xasprintf("%s/%s", cwd, name + 2 * gt_starts_with(name, "./"));
	for (size_t i = 0; !strchr(name, '/') && i < GT_ARRAY_SIZE(dirs); i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dirs[i], name);

		if (gt_fs_exists(fs, path))
			return gt_take(path);
	}
	if (gt_fs_is_live(fs) && getcwd(cwd, sizeof(cwd))) /* a directory such as "venv" in the current directory */
		return gt_xasprintf("%s/%s", cwd, name);
	return gt_xasprintf("/%s", name);
}

/* Returns the environment of an interpreter: "/srv/venv" of "/srv/venv/bin/python3"; NULL: none. The caller frees it. */
static char *env_of_python(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *prefix = gt_xstrdup(path), *lib = NULL;
	char *slash = strrchr(prefix, '/'), *bin;

	if (!gt_starts_with(slash + 1, "python"))
		return NULL;
	*slash = '\0';
	bin = strrchr(prefix, '/');
	if (!bin || strcmp(bin, "/bin"))
		return NULL;
	*bin = '\0';
	lib = gt_xasprintf("%s/lib", *prefix ? prefix : "/usr");
	return gt_fs_exists(fs, lib) ? gt_xstrdup(*prefix ? prefix : "/usr") : NULL;
}

static int load_target(struct task *t, const char *target, unsigned depth)
{
	struct gt_fsroot *fs = t->cli->fs;
	gt_autofree char *path = find_program(fs, target), *interpreter = NULL, *prefix = NULL;
	struct stat st;
	int r = gt_fs_stat(fs, path, &st);

	if (r < 0 && !strchr(target, '/'))
		return gt_fail_exit(&t->cli->err, GT_EXIT_USAGE, -r,
				    "there is no %s, neither a program on a system's PATH nor here", target);
	if (r < 0)
		return gt_fail_exit(&t->cli->err, GT_EXIT_USAGE, -r, "cannot open %s: %s", path, strerror(-r));
	if (S_ISDIR(st.st_mode))
		return load_env(t, path);
	prefix = env_of_python(fs, path);
	if (prefix)
		return load_env(t, prefix);
	interpreter = interpreter_of(fs, path);
	if (interpreter && depth < 4)
		return load_target(t, interpreter, depth + 1);
	r = load_program(t, path, NULL);
	if (r < 0 && !t->cli->err.exit_status)
		t->cli->err.exit_status = GT_EXIT_USAGE;
	return r;
}

/* ---- as text -------------------------------------------------------------------------------------------------- */

static void print_how(const json_t *hit)
{
	const char *rule = gt_json_get_str(hit, "rule", ""), *dir = gt_json_get_str(hit, "directory", NULL),
		   *owner = gt_json_get_str(hit, "owner", NULL);
	const char *base = owner ? gt_basename(owner) : NULL;
	gt_autofree char *text = gt_xasprintf("by %s%s%s%s%s%s", rule, owner ? " of " : "", owner ? base : "",
					      dir ? " (" : "", dir ? dir : "", dir ? ")" : "");

	gt_print_wrapped(stdout, text, 6, gt_term_width(stdout));
}

static void print_object(const json_t *o)
{
	const char *name = gt_json_get_str(o, "name", ""), *version = gt_json_get_str(o, "version", NULL),
		   *by = gt_json_get_str(o, "by", NULL), *broken = gt_json_get_str(o, "broken", NULL);
	const char *base = by ? gt_basename(by) : NULL;
	bool opened = gt_json_get_bool(o, "opened", false);
	const json_t *hides = json_object_get(o, "hides"), *h;
	size_t i;

	if (!strcmp(gt_json_get_str(o, "rule", ""), "not found")) {
		printf("  %s: not found, %s by %s\n", name, opened ? "opened at run time" : "needed",
		       base ? base : "?");
		return;
	}
	printf("  %s%s%s%s%s\n", name, version ? " " : "", version ? version : "",
	       base ? opened ? ", opened at run time by " : ", needed by " : "", base ? base : "");
	printf("      %s\n", gt_json_get_str(o, "path", ""));
	print_how(o);
	if (broken)
		printf("    the loader gives up here: %s\n", broken);
	json_array_foreach(hides, i, h)
	{
		const char *other = gt_json_get_str(h, "version", NULL);

		printf("    hides%s%s\n      %s\n", other ? " " : "", other ? other : "",
		       gt_json_get_str(h, "path", ""));
		print_how(h);
	}
}

static void print_run(const json_t *run)
{
	const json_t *list = json_object_get(run, "objects"), *o;
	size_t i, shown = 0;

	printf("%s: %s, %s\n", gt_json_get_str(run, "verdict", ""), gt_json_get_str(run, "program", ""),
	       gt_json_get_str(run, "what", ""));
	if (gt_json_get_bool(run, "set_user_id", false))
		puts("  set-user-ID: LD_LIBRARY_PATH and LD_PRELOAD are ignored");
	json_array_foreach(list, i, o)
	{
		bool missing =
			!strcmp(gt_json_get_str(o, "rule", ""), "not found") || gt_json_get_str(o, "broken", NULL);

		if (!show_all && !missing && (!i || !gt_json_get_bool(o, "watched", false)))
			continue;
		print_object(o);
		shown++;
	}
	printf("  %zu of %zu objects shown%s\n", shown, json_array_size(list),
	       show_all ? "" : " (--all shows the rest)");
}

static int run_loads(struct gt_cli *cli, int argc, char **argv)
{
	static const struct pr_discover_opts no_nvml = {.no_nvml = true};
	gt_auto(pr_host) *h = NULL;
	gt_auto_json *doc = NULL, *runs = json_array();
	struct task t = {.cli = cli, .runs = runs};
	const json_t *run;
	size_t i;
	int r = pr_host_discover(cli->fs, &no_nvml, &h, &cli->err);

	if (r < 0)
		return r;
	t.host = h;
	t.elf_cache = h->elf_cache;
	t.opts = pr_load_opts_of(h);
	if (library_path)
		t.opts.library_path = library_path;
	if (preload)
		t.opts.preload = preload;
	for (int k = 0; k < argc; k++) {
		r = load_target(&t, argv[k], 0);
		if (r < 0)
			return r;
	}
	doc = json_pack("{s:s, s:i, s:o, s:O}", "schema", "gpuprobe-loads/1", "exit_code", t.exit_code, "library_path",
			gt_json_str(t.opts.library_path), "runs", runs);
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		json_array_foreach(runs, i, run)
		{
			if (i)
				putchar('\n');
			print_run(run);
		}
	return t.exit_code;
}

static const struct gt_opt loads_opts[] = {
	{0, "library-path", "LIST", "assume this LD_LIBRARY_PATH", GT_OPT_STR, &library_path},
	{0, "preload", "LIST", "assume this LD_PRELOAD", GT_OPT_STR, &preload},
	{'a', "all", NULL, "show every object, not only GPU libraries", GT_OPT_FLAG, &show_all},
	{0},
};
const struct gt_cmd pr_cmd_loads = {
	.name = "loads",
	.args = "TARGET...",
	.group = "Inspect",
	.summary = "Show which libraries a program or Python environment loads",
	.help = "TARGET is a program, a library, a script or the directory of a Python environment (venv, conda, /usr). "
		"Computes from the files which libcuda, libcudart, libcudnn, libnccl and libstdc++ the loader finds, and "
		"by which rule. Also lists hidden copies and missing libraries. Runs neither the program nor Python. Exit "
		"status 2 means that a needed library is missing, 1 that LD_LIBRARY_PATH or LD_PRELOAD selects another "
		"version.",
	.opts = loads_opts,
	.min_args = 1,
	.max_args = -1,
	.only_reads = true,
	.run = run_loads,
};
