/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies a command by its program file. */
#include <errno.h>
#include <string.h>
#include "lib/fsroot.h"
#include "lib/text.h"
#include "tune/launch/program.h"

#define SEARCH_MAX	(8u << 20) /* bytes; an OpenMP program names its runtime near the beginning of its file */

static const char *env_get(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

static char *full_path(const char *path)
{
	gt_autofree char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);

	return cwd ? gt_xasprintf("%s/%s", cwd, path) : gt_xstrdup(path);
}

/* Returns 0 if the file can be executed, otherwise ENOENT, EACCES or EISDIR (positive). */
static int judge(struct gt_fsroot *live, const char *path)
{
	struct stat st;

	if (gt_fs_stat(live, path, &st) < 0)
		return ENOENT;
	return S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) && gt_fs_access(live, path, X_OK) >= 0 ? 0 : EACCES;
}

char *tn_program_find(const char *name, char *const *envp, int *ret_why)
{
	const char *path = env_get(envp, "PATH");
	bool direct = strchr(name, '/') != NULL;
	gt_autofree char *copy = gt_xstrdup(direct ? "" : path ? path : "/usr/local/bin:/usr/bin:/bin");
	gt_auto(gt_fsroot) *live = NULL;
	char *rest = copy, *dir;
	int why = ENOENT, e;

	while (*name && (live || gt_fs_open(NULL, &live, NULL) >= 0) && (dir = strsep(&rest, ":"))) {
		gt_autofree char *one = direct ? gt_xstrdup(name) : gt_xasprintf("%s/%s", *dir ? dir : ".", name),
				 *full = full_path(one);

		e = judge(live, full);
		if (!e)
			return gt_take(full);
		if (e == EACCES || (direct && e == EISDIR)) /* a directory found by PATH is skipped */
			why = e;
	}
	if (ret_why)
		*ret_why = why;
	return NULL;
}

const char *tn_program_why(int error)
{
	return error == EISDIR	? "it is a directory" :
	       error == EACCES	? "its permissions do not allow its execution" :
	       error == ENOEXEC ? "it is neither a program for this machine nor a script that begins with #!" :
				  strerror(error);
}

/* Programs known by name to start Python or to be Python. */
static bool is_python_name(const char *argv0)
{
	static const char *const names[] = { "torchrun", "accelerate", "accelerate-launch", "deepspeed",
					     "ipython",	 "jupyter",    "uv",		    "conda" };
	const char *base = gt_basename(argv0);

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (!strcmp(base, names[i]))
			return true;
	return gt_starts_with(base, "python") || gt_starts_with(base, "pypy") || gt_ends_with(base, ".py");
}

static bool names_openmp(const char *text, size_t len)
{
	static const char *const runtimes[] = { "libgomp.so.", "libomp.so", "libiomp5.so" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(runtimes); i++)
		if (memmem(text, len, runtimes[i], strlen(runtimes[i])))
			return true;
	return false;
}

static bool look_inside(const char *path, char **ret_why)
{
	gt_auto(gt_fsroot) *live = NULL;
	gt_autofree char *text = NULL;
	size_t len = 0;

	if (gt_fs_open(NULL, &live, NULL) < 0 || gt_fs_read_prefix(live, path, SEARCH_MAX, &text, &len) < 0)
		*ret_why = gt_xstrdup("the program cannot be read: it may fork workers, which would inherit one core");
	else if (gt_starts_with(text, "#!"))
		*ret_why = gt_xstrdup("a script: its programs may fork workers, which would inherit one core");
	else if (!names_openmp(text, len))
		*ret_why = gt_xstrdup("the program file names no OpenMP runtime");
	return !*ret_why;
}

bool tn_program_names_openmp(const struct tn_launch *c)
{
	gt_autofree char *path = c->host->live ? tn_program_find(c->argv[0], c->envp, NULL) : NULL, *why = NULL;

	return path && look_inside(path, &why);
}

/* ---- scripts in Python ------------------------------------------------------------------------------------------------ */

#define SCRIPT_MAX (256u << 10) /* bytes; imports stand at the beginning */

/* Packages that start processes, and that give each a number of threads if OMP_NUM_THREADS is not set in their own. */
static const char *const pools[] = {"lightning", "pytorch_lightning", "lightning_fabric", "ray", "joblib", "dask"};

/* Returns the package of `pools` that a statement imports; NULL: none, or the line is no import. */
static const char *imported_pool(const char *line)
{
	const char *p = line + strspn(line, " \t");
	bool from = gt_starts_with(p, "from ");

	if (!from && !gt_starts_with(p, "import "))
		return NULL;
	for (p += from ? 5 : 7;; p++) {
		p += strspn(p, " \t");
		for (size_t i = 0; i < GT_ARRAY_SIZE(pools); i++)
			if (gt_starts_with(p, pools[i]) && strchr(". ,;\r\n", p[strlen(pools[i])]))
				return pools[i];
		p += strcspn(p, ",;\n");
		if (from || *p != ',')
			return NULL;
	}
}

/* Returns the code of `python SCRIPT` or `python -c CODE`; NULL: another command, or the file cannot be read. The
 * caller frees it. */
static char *python_code(char *const *argv)
{
	gt_auto(gt_fsroot) *live = NULL;
	gt_autofree char *path = NULL;
	char *text = NULL;
	size_t len;

	if (!gt_starts_with(gt_basename(argv[0]), "python"))
		return NULL;
	for (argv++; *argv && **argv == '-'; argv++) {
		size_t flags = strcspn(*argv + 1, "cmWX");

		if ((*argv)[1 + flags] == 'c' && !(*argv)[2 + flags])
			return argv[1] ? gt_xstrdup(argv[1]) : NULL;
		if ((*argv)[1] != '-' && (*argv)[1 + flags] == 'm')
			return NULL;
		argv += strchr("WX", (*argv)[1 + flags]) && (*argv)[1 + flags] && !(*argv)[2 + flags] && argv[1];
	}
	path = *argv ? full_path(*argv) : NULL;
	if (!path || gt_fs_open(NULL, &live, NULL) < 0 || gt_fs_read_prefix(live, path, SCRIPT_MAX, &text, &len) < 0)
		return NULL;
	return text;
}

const char *tn_program_pool(const struct tn_launch *c)
{
	gt_autofree char *code = c->host->live && c->argv && c->argv[0] ? python_code(c->argv) : NULL;
	const char *found = NULL;

	for (const char *line = code; line && *line && !found; line = gt_next_line(line))
		found = imported_pool(line);
	return found;
}

/* ---- binding ---------------------------------------------------------------------------------------------------------- */

bool tn_program_may_bind(const struct tn_launch *c, char **ret_why)
{
	gt_autofree char *path = NULL;

	if (c->program == TN_PROGRAM_OPENMP)
		return true;
	if (c->program == TN_PROGRAM_FORKS || (c->argv && c->argv[0] && is_python_name(c->argv[0]))) {
		*ret_why = gt_xstrdup("Python forks data-loader workers, and each would inherit a single core");
		return false;
	}
	if (!c->argv || !c->argv[0]) {
		*ret_why = gt_xstrdup("the command is unknown; set only for programs whose file names an OpenMP runtime");
		return false;
	}
	if (!c->host->live) {
		*ret_why = gt_xstrdup("the program cannot be read in a root that is not live");
		return false;
	}
	path = tn_program_find(c->argv[0], c->envp, NULL);
	if (!path) {
		*ret_why = gt_xstrdup("the program does not exist");
		return false;
	}
	return look_inside(path, ret_why);
}
