/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/priv.h"
#include "lib/spawn.h"
#include "probe/loader/loader.h"
#include "tune/launch/library_report.h"
#include "tune/launch/program.h"

const char *tn_multiarch(const struct pr_host *h)
{
	static const char *const known[][2] = {{"x86_64", "x86_64-linux-gnu"},
					       {"aarch64", "aarch64-linux-gnu"},
					       {"ppc64le", "powerpc64le-linux-gnu"},
					       {"riscv64", "riscv64-linux-gnu"}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		if (gt_streq(h->kernel.arch.v, known[i][0]))
			return known[i][1];
	return "x86_64-linux-gnu";
}

char *tn_loader_find_by(const struct tn_launch *c, const char *soname, const char *library_path)
{
	const struct pr_load_opts opts = {.library_path = library_path, .cpu_flags = c->host->cpu.flags};
	gt_auto(pr_elf_cache) *elf_cache = pr_elf_cache_new(c->fs);

	return pr_load_find(c->fs, elf_cache, soname, &opts);
}

char *tn_loader_find(const struct tn_launch *c, const char *soname)
{
	return tn_loader_find_by(c, soname, tn_run_user(c, "LD_LIBRARY_PATH"));
}

/* Returns PREFIX/lib/python3.N/site-packages/torch/lib/libtorch_cpu.so if it exists. */
static char *torch_below(struct gt_fsroot *fs, const char *prefix)
{
	gt_autofree char *lib = gt_xasprintf("%s/lib", prefix);
	gt_auto_strv names = {0};

	if (gt_fs_list(fs, lib, &names) < 0)
		return NULL;
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s/site-packages/torch", lib, names.v[i]),
				 *so = gt_xasprintf("%s/lib/libtorch_cpu.so", path);

		if (gt_starts_with(names.v[i], "python") && gt_fs_exists(fs, so))
			return gt_take(path);
	}
	return NULL;
}

char *tn_loader_wheel(const struct tn_launch *c)
{
	gt_autofree char *program = NULL, *config = NULL;
	gt_auto(gt_fsroot) *live = NULL;
	char *slash;

	if (!c->host->live || !c->argv || !c->argv[0] || gt_fs_open(NULL, &live, NULL) < 0)
		return NULL;
	program = tn_program_find(c->argv[0], c->envp, NULL);
	for (int up = 0; program && up < 2;
	     up++) { /* PREFIX/bin/python3; a link is not resolved, because its own directory is the environment */
		slash = strrchr(program, '/');
		if (!slash)
			return NULL;
		*slash = '\0';
	}
	if (!program || !*program)
		return NULL;
	config = gt_xasprintf("%s/pyvenv.cfg", program);
	/* a conda environment has no pyvenv.cfg; system directories are not environments */
	if (!gt_fs_exists(live, config) && (!strcmp(program, "/usr") || !strcmp(program, "/usr/local")))
		return NULL;
	return torch_below(live, program);
}

/* The child runs start-up code of the library, so it gives up all privileges. */
static int give_all_away(void *arg, struct gt_err *err)
{
	int r = gt_priv_keep(0);

	return r < 0 ? gt_fail(err, -r, "cannot drop capabilities") : 0;
}

/*
 * If the library needs too much static TLS or is for another processor, the loader prints an error to stderr and continues
 * without it. It exits with 0.
 */
bool tn_loader_can_preload(const char *path)
{
	char *argv[] = { "/bin/true", NULL }, *envp[] = { gt_xasprintf("LD_PRELOAD=%s", path), NULL };
	struct gt_spawn s = { .argv = argv, .envp = envp, .timeout_s = 5, .in_child = give_all_away };
	bool ok = gt_spawn(&s, NULL) == 0 && s.status == 0 && (!s.errout || !*s.errout);

	gt_spawn_clear(&s);
	free(envp[0]);
	return ok;
}
