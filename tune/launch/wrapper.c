/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include "lib/text.h"
#include "lib/util.h"
#include "tune/launch/wrapper.h"

/* Option letters, and long options separated by blanks. Sources: the manual pages of coreutils 9.7, util-linux 2.41,
 * numactl 2.0.19 and GNU time 1.9. */
static const struct wrapper {
	const char *name;
	const char *flags, *long_flags; /* options without a value */
	const char *valued, *long_valued;
	unsigned operands; /* words between the options and the command: a number, a time, a mask or a list of CPUs */
} wrappers[] = {
	{"env", "iv", "ignore-environment debug list-signal-handling", "u", "unset", 0},
	{"nohup", "", "", "", "", 0},
	{"nice", "", "", "n", "adjustment", 0},
	{"ionice", "t", "ignore", "cn", "class classdata", 0},
	{"taskset", "ac", "all-tasks cpu-list", "", "", 1},
	{"numactl", "alb", "all localalloc balancing", "iwNCmpPc",
	 "interleave weighted-interleave cpunodebind physcpubind membind preferred preferred-many cpubind", 0},
	{"timeout", "fpv", "foreground preserve-status verbose", "ks", "kill-after signal", 1},
	{"time", "apqv", "append portability quiet verbose", "fo", "format output", 0},
	{"stdbuf", "", "", "ioe", "input output error", 0},
	{"setsid", "cfw", "ctty fork wait", "", "", 0},
	{"chrt", "abdfioRrv", "all-tasks batch deadline fifo idle other reset-on-fork rr verbose", "DPT",
	 "sched-deadline sched-period sched-runtime", 1},
};

static const struct wrapper *find(const char *program)
{
	const char *base = gt_basename(program);

	for (size_t i = 0; i < GT_ARRAY_SIZE(wrappers); i++)
		if (!strcmp(base, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

/* ---- environment of env(1) -------------------------------------------------------------------------------------- */

static void unset(struct tn_command *c, const char *name, size_t n)
{
	char **to = c->changed;

	for (char **e = c->changed; *e; e++)
		if (strncmp(*e, name, n) || (*e)[n] != '=')
			*to++ = *e;
	*to = NULL;
}

static void assign(struct tn_command *c, char *assignment)
{
	char **end = c->changed;

	unset(c, assignment, strcspn(assignment, "="));
	while (*end)
		end++;
	end[0] = assignment;
	end[1] = NULL;
}

/* ---- options ------------------------------------------------------------------------------------------------------------- */

/* Parses one option at w. Returns the number of its words, 0 if it is unknown. *ret_value: its value, or NULL. */
static size_t long_option(const struct wrapper *p, char *const *w, const char **ret_value)
{
	const char *name = *w + 2;
	size_t n = strcspn(name, "=");

	*ret_value = name[n] ? name + n + 1 : w[1];
	if (gt_span_in(p->long_valued, " ", name, n))
		return name[n] ? 1 : w[1] ? 2 : 0;
	*ret_value = NULL;
	return !name[n] && gt_span_in(p->long_flags, " ", name, n);
}

static size_t short_options(const struct wrapper *p, char *const *w, const char **ret_value)
{
	*ret_value = NULL;
	if (!strcmp(p->name, "nice") && isdigit((unsigned char)(*w)[1]))
		return 1;
	for (const char *o = *w + 1; *o; o++)
		if (strchr(p->valued, *o)) {
			*ret_value = o[1] ? o + 1 : w[1];
			return o[1] ? 1 : w[1] ? 2 : 0;
		} else if (!strchr(p->flags, *o)) {
			return 0;
		}
	return 1;
}

static void apply_env_option(struct tn_command *c, const char *option, const char *value)
{
	const char *first = option + strcspn(option, "iu"); /* first letter of -i or -u in "-iv" or "-uNAME" */

	if (!strcmp(option, "-") || !strcmp(option, "--ignore-environment") || (option[1] != '-' && *first == 'i'))
		*c->changed = NULL;
	if (value)
		unset(c, value, strlen(value));
}

/* Returns the first word after the wrapper's own words. NULL: one of them is unknown, or there is no command. */
static char *const *pass(const struct wrapper *p, char *const *w, struct tn_command *c)
{
	bool env = !strcmp(p->name, "env");

	for (; *w && **w == '-' && strcmp(*w, "--") != 0; w++) {
		bool bare = env && !strcmp(*w, "-"); /* means -i */
		const char *value = NULL;
		size_t takes = bare ? 1 : gt_starts_with(*w, "--") ? long_option(p, w, &value) : short_options(p, w, &value);

		if (!takes)
			return NULL;
		if (env)
			apply_env_option(c, *w, value);
		w += takes - 1;
	}
	w += *w && !strcmp(*w, "--");
	for (unsigned i = 0; i < p->operands; i++, w++)
		if (!*w || strspn(*w, "0123456789abcdefABCDEFxX,.:-smhd") != strlen(*w))
			return NULL;
	/* variables of the loader are extended later; a value given to env would replace the extended one */
	for (; env && *w && strchr(*w, '='); w++)
		if (!gt_starts_with(*w, "LD_"))
			assign(c, *w);
	return *w ? w : NULL;
}

void tn_command_find(char *const *argv, char *const *envp, struct tn_command *ret)
{
	size_t n_env = 0, n_argv = 0;
	const struct wrapper *p;

	*ret = (struct tn_command){.argv = argv, .envp = envp};
	if (!argv || !argv[0] || !find(argv[0]))
		return;
	while (envp && envp[n_env])
		n_env++;
	while (argv[n_argv])
		n_argv++;
	ret->changed = gt_xcalloc(n_env + n_argv + 1, sizeof(char *));
	if (n_env)
		memcpy(ret->changed, envp, n_env * sizeof(char *));
	ret->envp = ret->changed;
	while (ret->argv[0] && (p = find(ret->argv[0]))) {
		char *const *inner = pass(p, ret->argv + 1, ret);

		if (!inner)
			return;
		ret->argv = inner;
	}
}

void tn_command_clear(struct tn_command *c)
{
	free(c->changed);
	*c = (struct tn_command){0};
}
