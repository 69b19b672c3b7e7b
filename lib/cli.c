/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/cli.h"
#include "lib/hint.h"
#include "lib/parse.h"
#include "lib/util.h"

static const char *root;
static bool json, quiet, no_color, help, help_all, version, print_man;
static bool verbose_once;
static int verbose;
static const char *completion;
static const char *const shells[] = { "bash", "zsh", NULL };

static const struct gt_opt common_opts[] = {
	{ 0, "root", "DIR|FILE", "read a directory or captured host instead of this host", GT_OPT_STR, &root },
	{ 0, "json", NULL, "print the result as JSON", GT_OPT_FLAG, &json },
	{ 'q', "quiet", NULL, "print results and errors only", GT_OPT_FLAG, &quiet },
	{ 'v', "verbose", NULL, "print more details; -vv adds debug messages", GT_OPT_FLAG, &verbose_once },
	{ 0, "no-color", NULL, "print without colours, like NO_COLOR in the environment", GT_OPT_FLAG, &no_color },
	{ 'h', "help", NULL, "print help; with --all, rare commands and options too", GT_OPT_FLAG, &help },
	{ 'V', "version", NULL, "print the version", GT_OPT_FLAG, &version },
	{ 0, "all", NULL, "with --help: list every command and option", GT_OPT_FLAG, &help_all, .listed = GT_RARE },
	{ 0, "print-completion", "SHELL", "print the completion script for bash or zsh", GT_OPT_CHOICE, &completion,
	  shells, .listed = GT_RARE },
	{ 0, "print-man", NULL, "print the commands and options as mdoc", GT_OPT_FLAG, &print_man, .listed = GT_RARE },
	{ 0 },
};
const struct gt_opt *const gt_cli_common_opts = common_opts;

struct parse {
	const struct gt_tool *tool;
	struct gt_cli_line *line;
	struct gt_err *err;
};

static int usage(struct parse *p, const char *fmt, ...) GT_PRINTF(2, 3);
static int usage(struct parse *p, const char *fmt, ...)
{
	const char *cmd = p->line->cmd && p->line->cmd->name ? p->line->cmd->name : "";
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return gt_fail_exit(p->err, GT_EXIT_USAGE, EINVAL, "%s (see '%s%s%s --help')", what, p->tool->name,
			    *cmd ? " " : "", cmd);
}

static const struct gt_opt *find_in(const struct gt_opt *opts, char short_name, const char *name, size_t len)
{
	for (; opts && opts->name; opts++)
		if (short_name ? opts->short_name == short_name :
				 !strncmp(opts->name, name, len) && !opts->name[len])
			return opts;
	return NULL;
}

static const struct gt_opt *find_opt(struct parse *p, char short_name, const char *name, size_t len)
{
	const struct gt_tool *tool = p->tool;
	const struct gt_cmd *cmd = p->line->cmd ? p->line->cmd : tool->default_cmd;
	const struct gt_opt *o = cmd ? find_in(cmd->opts, short_name, name, len) : NULL;

	if (!o)
		o = find_in(tool->opts, short_name, name, len);
	return o ? o : find_in(common_opts, short_name, name, len);
}


static void nearest_in(const struct gt_opt *opts, const char *name, const char **best, unsigned *distance)
{
	for (; opts && opts->name; opts++)
		if (opts->listed != GT_OLD_NAME && gt_edits(opts->name, name) < *distance) {
			*distance = gt_edits(opts->name, name);
			*best = opts->name;
		}
}

/* Returns whether the command takes arguments and this one, which is no option, has characters that no option name has. */
static bool is_plain_argument(struct parse *p, const char *arg)
{
	const struct gt_cmd *cmd = p->line->cmd ? p->line->cmd : p->tool->default_cmd;
	const char *c = arg + 1 + (arg[1] == '-');

	if (!cmd || !cmd->max_args)
		return false;
	if (isalpha((unsigned char)*c))
		while (isalnum((unsigned char)*c) || (arg[1] == '-' && *c == '-'))
			c++;
	return *c && *c != '=';
}

static int plain_argument(struct parse *p, const char *arg)
{
	int n = GT_MIN((int)strlen(arg), 30);

	while ((arg[n] & 0xc0) == 0x80)	/* inside a UTF-8 character */
		n--;
	return usage(p, "'%.*s%s' is not an option; write -- before an argument that begins with '-'", n, arg,
		     arg[n] ? "..." : "");
}

static int unknown_option(struct parse *p, const char *arg)
{
	gt_autofree char *name = gt_xstrndup(arg + 2 * gt_starts_with(arg, "--"), strcspn(arg, "=") - 2);
	const struct gt_cmd *cmd = p->line->cmd ? p->line->cmd : p->tool->default_cmd;
	const char *best = NULL;
	unsigned distance = 3;

	if (arg[1] == '-') {
		nearest_in(cmd ? cmd->opts : NULL, name, &best, &distance);
		nearest_in(p->tool->opts, name, &best, &distance);
		nearest_in(common_opts, name, &best, &distance);
	}
	if (best)
		return usage(p, "unknown option %.*s; did you mean --%s?", (int)strcspn(arg, "="), arg, best);
	if (is_plain_argument(p, arg))
		return plain_argument(p, arg);
	return usage(p, "unknown option %.*s", (int)strcspn(arg, "="), arg);
}

static int set_choice(struct parse *p, const struct gt_opt *o, const char *value)
{
	char list[256] = "";
	size_t n = 0;

	for (const char *const *c = o->choices; *c; c++) {
		if (!strcmp(*c, value)) {
			*(const char **)o->dest = *c;
			return 0;
		}
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", *c);
	}
	return usage(p, "--%s takes one of %s, not '%s'", o->name, list, value);
}

static int set_opt(struct parse *p, const struct gt_opt *o, const char *value)
{
	uint64_t count;
	double real;
	int r = 0;

	switch (o->type) {
	case GT_OPT_FLAG:
		*(bool *)o->dest = true;
		verbose += o->dest == &verbose_once;
		return 0;
	case GT_OPT_STR:
		*(const char **)o->dest = value;
		return 0;
	case GT_OPT_LIST:
		gt_strv_add(o->dest, value);
		return 0;
	case GT_OPT_CHOICE:
		return set_choice(p, o, value);
	case GT_OPT_UINT:
		r = gt_parse_u64(value, o->dest);
		break;
	case GT_OPT_COUNT:
		r = gt_parse_u64(value, &count);
		r = r < 0 || !count ? -EINVAL : 0;
		if (!r)
			*(uint64_t *)o->dest = count;
		break;
	case GT_OPT_REAL:
		r = gt_parse_double(value, o->dest);
		break;
	case GT_OPT_ABOVE_0:
		r = gt_parse_double(value, &real);
		r = r < 0 || !(real > 0) ? -EINVAL : 0;
		if (!r)
			*(double *)o->dest = real;
		break;
	case GT_OPT_SIZE:
		r = gt_parse_size(value, o->dest);
		break;
	}
	if (r < 0)
		return usage(p, "--%s takes a %s, not '%s'", o->name,
			     o->type == GT_OPT_UINT ? "whole number" :
			     o->type == GT_OPT_COUNT ? "whole number of 1 or more" :
			     o->type == GT_OPT_REAL ? "number" :
			     o->type == GT_OPT_ABOVE_0 ? "number above 0" :
						      "size such as 64K or 2GiB",
			     value);
	return 0;
}

static int take_long(struct parse *p, char **argv, int *i)
{
	const char *name = argv[*i] + 2, *eq = strchr(name, '=');
	const struct gt_opt *o = find_opt(p, 0, name, eq ? (size_t)(eq - name) : strlen(name));

	if (!o)
		return unknown_option(p, argv[*i]);
	if (!o->arg)
		return eq ? usage(p, "--%s takes no value", o->name) : set_opt(p, o, NULL);
	if (eq)
		return set_opt(p, o, eq + 1);
	if (!argv[*i + 1])
		return usage(p, "--%s needs a value: %s", o->name, o->arg);
	return set_opt(p, o, argv[++*i]);
}

static int take_short(struct parse *p, char **argv, int *i)
{
	for (const char *c = argv[*i] + 1; *c; c++) {
		const struct gt_opt *o = find_opt(p, *c, NULL, 0);
		int r;

		if (!o)
			return is_plain_argument(p, argv[*i]) ? plain_argument(p, argv[*i]) : usage(p, "unknown option -%c", *c);
		if (!o->arg) {
			r = set_opt(p, o, NULL);
		} else if (c[1]) {
			return set_opt(p, o, c + 1);
		} else if (!argv[*i + 1]) {
			return usage(p, "-%c needs a value: %s", *c, o->arg);
		} else {
			return set_opt(p, o, argv[++*i]);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Takes the first plain argument as the command, unless the tool has a default command that accepts arguments. */
static int take_command(struct parse *p, const char *word, bool *was_command)
{
	const struct gt_tool *tool = p->tool;
	const char *best = NULL;
	unsigned distance = 3;

	for (const struct gt_cmd *const *c = tool->cmds; *c; c++) {
		if (!strcmp((*c)->name, word)) {
			p->line->cmd = *c;
			p->line->named = *was_command = true;
			return 0;
		}
		if ((*c)->listed != GT_OLD_NAME && gt_edits((*c)->name, word) < distance) {
			distance = gt_edits((*c)->name, word);
			best = (*c)->name;
		}
	}
	if (tool->default_cmd && tool->default_cmd->max_args) {
		p->line->cmd = tool->default_cmd;
		return 0;
	}
	return best ? usage(p, "unknown command '%s'; did you mean %s?", word, best) :
		      usage(p, "unknown command '%s'", word);
}

static int parse_args(struct parse *p, char **argv)
{
	bool only_args = false;

	for (int i = 1; argv[i]; i++) {
		bool was_command = false;
		int r = 0;

		if (!only_args && !strcmp(argv[i], "--")) {
			only_args = true;
			continue;
		}
		if (!only_args && argv[i][0] == '-' && argv[i][1]) {
			r = argv[i][1] == '-' ? take_long(p, argv, &i) : take_short(p, argv, &i);
		} else {
			if (!p->line->cmd)
				r = take_command(p, argv[i], &was_command);
			if (!r && !was_command) {
				p->line->args[p->line->n_args++] = argv[i];
				only_args |= p->line->cmd->stop_at_arg;
			}
		}
		if (r < 0)
			return r;
	}
	if (!p->line->cmd)
		p->line->cmd = p->tool->default_cmd;
	return 0;
}

static int check_arg_count(struct parse *p)
{
	if (!p->line->cmd)
		return usage(p, "a command is needed");
	if (p->line->n_args < p->line->cmd->min_args)
		return usage(p, "%s needs %s", p->line->cmd->name, p->line->cmd->args);
	if (p->line->cmd->max_args >= 0 && p->line->n_args > p->line->cmd->max_args)
		return usage(p, "%s: unexpected argument '%s'", p->line->cmd->name, p->line->args[p->line->cmd->max_args]);
	return 0;
}

int gt_cli_parse(struct gt_cli *cli, char **argv, struct gt_cli_line *line)
{
	struct parse p = { .tool = cli->tool, .line = line, .err = &cli->err };
	int r = parse_args(&p, argv);

	if (r < 0)
		return r;
	cli->cmd = line->cmd;
	cli->root = root;
	cli->json = json;
	cli->quiet = quiet;
	cli->verbose = verbose;
	line->no_color = no_color;
	line->help = help;
	line->all = help_all;
	line->version = version;
	line->print_man = print_man;
	line->completion = completion;
	if (help_all && !help)
		return usage(&p, "--all needs --help");
	return help || version || completion || print_man ? 0 : check_arg_count(&p);
}
