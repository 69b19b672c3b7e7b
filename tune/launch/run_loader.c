/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/file_trust.h"
#include "lib/text.h"
#include "tune/launch/launcher.h"
#include "tune/launch/loader.h"
#include "tune/launch/rank_library.h"
#include "tune/launch/settings.h"
#include "tune/launch/wrapper.h"

#define MODULE	    "sitecustomize.py"
#define WORKERS_MAX 1024

/* ---- option ----------------------------------------------------------------------------------------------------------- */

/* Returns the value of a word such as "workers=8"; NULL: another word. */
static const char *value_of(const char *word, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static bool is_valid(const char *word)
{
	const char *workers = value_of(word, "workers"), *prefetch = value_of(word, "prefetch"), *pin = value_of(word, "pin");
	uint64_t v;

	if (workers)
		return !gt_parse_u64(workers, &v) && v <= WORKERS_MAX;
	if (prefetch)
		return !gt_parse_u64(prefetch, &v) && v >= 1 && v <= WORKERS_MAX;
	return pin && (!strcmp(pin, "on") || !strcmp(pin, "off"));
}

int tn_loader_check(const char *spec, struct gt_err *err)
{
	bool any = false;

	if (!strcmp(spec, "auto") || !strcmp(spec, "measure"))
		return 0;
	gt_each_word(w, spec, ",") {
		any = true;
		if (!is_valid(w))
			return gt_fail(err, EINVAL,
				       "--loader takes auto, measure, or a list of workers=0 to %d, prefetch=1 to %d and "
				       "pin=on|off, not '%.60s'", WORKERS_MAX, WORKERS_MAX, w);
	}
	return any ? 0 : gt_fail(err, EINVAL, "--loader needs auto, measure or a list such as workers=8,prefetch=4,pin=on");
}

/* Returns the CPUs that this command may use: the allowed ones, limited by the quota. */
static unsigned usable_cpus(const struct pr_host *h)
{
	unsigned n = GT_MAX(1u, gt_set_count(&h->cpu.allowed));

	return pr_has(h->cpu.quota_millicpu) ? (unsigned)GT_MIN(GT_MAX(h->cpu.quota_millicpu.v / 1000, 1), n) : n;
}

/* Returns the option of Python that makes it ignore PYTHONPATH or sitecustomize; NULL: none. */
static const char *isolating_option(char *const *argv)
{
	if (!argv || !argv[0] || !gt_starts_with(gt_basename(argv[0]), "python"))
		return NULL;
	for (argv++; *argv && **argv == '-' && (*argv)[1] && (*argv)[1] != '-'; argv++) {
		size_t flags = strcspn(*argv + 1, "cmWX");

		if (strcspn(*argv + 1, "IES") < flags)
			return *argv;
		if ((*argv)[1 + flags] == 'c' || (*argv)[1 + flags] == 'm')
			return NULL;
		if ((*argv)[1 + flags] && !(*argv)[2 + flags] && argv[1]) /* the value of -W or -X */
			argv++;
	}
	return NULL;
}

/* Returns why Python will not import the module; NULL: it will, as far as the arguments show. The caller frees it. */
static char *why_not_imported(char *const *argv)
{
	char path[] = "PYTHONPATH=", *envp[] = {path, NULL};
	__attribute__((cleanup(tn_command_clear))) struct tn_command command;
	const char *option;

	tn_command_find(argv, envp, &command);
	option = isolating_option(command.argv);
	if (option)
		return gt_xasprintf("python ignores sitecustomize or PYTHONPATH because of %.20s", option);
	return *command.envp == path ? NULL : gt_xstrdup("env removes or replaces PYTHONPATH");
}

char *tn_loader_doubt(const struct pr_host *host, const char *spec, char *const *argv)
{
	gt_autofree char *why = why_not_imported(argv);
	unsigned cpus = usable_cpus(host);
	uint64_t v;

	if (why)
		return gt_xasprintf("--loader has no effect: %s", why);
	gt_each_word(w, spec, ",") {
		const char *workers = value_of(w, "workers");

		if (workers && !gt_parse_u64(workers, &v) && v > cpus && !host->cpu.unknown)
			return gt_xasprintf("--loader starts %s workers in each rank, but only %u CPU%s can be used", workers, cpus,
					    cpus == 1 ? "" : "s");
	}
	return NULL;
}

/* ---- setting ---------------------------------------------------------------------------------------------------------- */

/* Returns the directory of the module: below this program in a build tree, else the package's. The caller frees it. */
static char *find_directory(struct gt_fsroot *fs, const char **ret_why)
{
	gt_autofree char *program = tn_own_program(fs), *dir = program ? gt_dirname(program) : NULL,
			 *built = dir ? gt_xasprintf("%s/tune/python", dir) : NULL,
			 *in_built = built ? gt_xasprintf("%s/" MODULE, built) : NULL;
	gt_autofree char *found = in_built && gt_fs_exists(fs, in_built) ? gt_take(built) : gt_xstrdup(GT_PKGDATADIR "/python"),
			 *path = gt_xasprintf("%s/" MODULE, found);
	struct stat st;

	if (gt_fs_stat(fs, path, &st) < 0)
		*ret_why = "is not installed";
	else
		*ret_why = gt_check_file_trust(fs, &st);
	if (!*ret_why && gt_fs_is_live(fs) && geteuid() == 0)
		*ret_why = gt_check_dirs_trust(fs, path);
	return *ret_why ? NULL : gt_take(found);
}

int tn_loader_enable(struct gt_fsroot *fs, struct gt_err *err)
{
	const char *user = getenv("PYTHONPATH"), *why = NULL;
	gt_autofree char *dir = find_directory(fs, &why), *path = NULL;
	size_t n = dir ? strlen(dir) : 0;

	if (!dir)
		return gt_fail(err, ENOENT, MODULE " of gputune %s", why);
	if (user && !strncmp(user, dir, n) && (user[n] == ':' || !user[n]))
		return 0;
	path = user && *user ? gt_xasprintf("%s:%s", dir, user) : gt_xstrdup(dir);
	if (setenv("PYTHONPATH", path, 1) < 0 || setenv("GPUTUNE_LOADER_FORCE", "0", 0) < 0)
		return gt_fail_errno(err, errno, "cannot set PYTHONPATH");
	return 0;
}

static void set_words(const struct tn_launch *c, struct tn_run *r)
{
	static const char *const names[][2] = {{"workers", "GPUTUNE_LOADER_WORKERS"},
					       {"prefetch", "GPUTUNE_LOADER_PREFETCH"},
					       {"pin", "GPUTUNE_LOADER_PIN"}};

	if (!strcmp(c->loader, "auto"))
		tn_run_set(c, r, "GPUTUNE_LOADER_WORKERS", "auto", "one worker per CPU of the process, at most 8");
	gt_each_word(w, c->loader, ",") {
		for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
			if (value_of(w, names[i][0]))
				tn_run_set(c, r, names[i][1], value_of(w, names[i][0]), "by --loader");
	}
	tn_run_set(c, r, "GPUTUNE_LOADER_FORCE", c->loader_force ? "1" : "0",
		   c->loader_force ? "arguments that the script passes are replaced" : "arguments that the script passes are kept");
}

static void prepare_loader(const struct tn_launch *c, struct tn_run *r)
{
	const char *user = tn_run_value(c, "PYTHONPATH"), *why = NULL;
	gt_autofree char *dir = NULL, *path = NULL, *cpus = NULL;

	if (!c->loader)
		return;
	dir = find_directory(c->fs, &why);
	if (!dir) {
		tn_run_skip(r, "PYTHONPATH", MODULE " of gputune %s", why);
		return;
	}
	path = user ? gt_xasprintf("%s:%s", dir, user) : gt_xstrdup(dir);
	tn_run_replace(r, "PYTHONPATH", path, "its " MODULE " sets arguments of DataLoader when torch is imported");
	set_words(c, r);
	if (!pr_has(c->host->cpu.quota_millicpu))
		return;
	cpus = gt_xasprintf("%u", GT_MAX(1u, usable_cpus(c->host) / tn_processes_here(c)));
	tn_run_set(c, r, "GPUTUNE_LOADER_CPUS", cpus, "the cgroup's quota allows no more");
}

const struct tn_launch_setting tn_launch_loader = {
	.id = "run.loader",
	.summary = "arguments of PyTorch's DataLoader",
	.why = "DataLoader decodes in the main thread by default, so training waits for each batch. --loader sets the number of "
	       "workers without a change of the script. Arguments that the script passes are kept. At exit one line reports how "
	       "long the main thread waited for batches. The order of samples is unchanged.",
	.hazard = "Datasets that use the GPU, or that store state in the main process, do not work in workers. Random values of "
		  "transforms differ from those without workers. If a transform draws from torch's global generator, the "
		  "order of later epochs differs, too.",
	.unit = "environment",
	.unmoved = "needs PyTorch and a dataset; measure with your own command",
	.prepare = prepare_loader,
};
