/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include "lib/cli.h"
#include "lib/cli_doc.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/priv.h"

static const char *root;
static bool json, quiet, no_color, help, version, print_man;
static bool verbose_once;
static int verbose;
static const char *completion;
static const char *const shells[] = { "bash", "zsh", NULL };

static const struct gt_opt common_opts[] = {
	{ 0, "root", "DIR|FILE", "work on this tree or captured host instead of the live one", GT_OPT_STR, &root },
	{ 0, "json", NULL, "print the document as JSON", GT_OPT_FLAG, &json },
	{ 'q', "quiet", NULL, "print the answer and errors, no talk", GT_OPT_FLAG, &quiet },
	{ 'v', "verbose", NULL, "say more; twice: debug", GT_OPT_FLAG, &verbose_once },
	{ 0, "no-color", NULL, "no colours (also: NO_COLOR in the environment)", GT_OPT_FLAG, &no_color },
	{ 'h', "help", NULL, "print help and exit", GT_OPT_FLAG, &help },
	{ 'V', "version", NULL, "print the version and exit", GT_OPT_FLAG, &version },
	{ 0, "print-completion", "SHELL", "print the completion script for bash or zsh", GT_OPT_CHOICE, &completion,
	  shells },
	{ 0, "print-man", NULL, "print the commands and options as mdoc", GT_OPT_FLAG, &print_man },
	{ 0 },
};
const struct gt_opt *const gt_cli_common_opts = common_opts;

/* ---- what we were started with ---------------------------------------------------------------------------------- */

/* What stands there reads and writes no better than nothing, and a program that we become has it closed again. */
void gt_cli_hold_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) < 0)
			return;
}

static void on_signal(int sig)
{
	gt_interrupted = sig;
}

/* Who had us ignore a hangup, as nohup does, means us and what we start. */
static struct {
	int sig;
	void (*handler)(int);
	bool ends; /* asks us to end */
	struct sigaction before;
} signals[] = {
	{ .sig = SIGINT, .handler = on_signal, .ends = true },
	{ .sig = SIGTERM, .handler = on_signal, .ends = true },
	{ .sig = SIGHUP, .handler = on_signal, .ends = true },
	{ .sig = SIGPIPE, .handler = SIG_IGN }, /* a reader that exits must not end a transaction in the middle */
	{ .sig = SIGXFSZ, .handler = SIG_IGN }, /* the same for a limit on the size of files: write(2) then fails with EFBIG */
	{ .sig = SIGCHLD, .handler = SIG_DFL }, /* where it is ignored no child's status could be had */
};

static void install_signals(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(signals); i++) {
		struct sigaction ours = { .sa_handler = signals[i].handler, .sa_flags = signals[i].ends ? SA_RESETHAND : 0 };

		sigaction(signals[i].sig, NULL, &signals[i].before);
		if (!signals[i].ends || signals[i].before.sa_handler != SIG_IGN)
			sigaction(signals[i].sig, &ours, NULL);
	}
}

void gt_cli_restore_signals(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(signals); i++)
		sigaction(signals[i].sig, &signals[i].before, NULL);
}

/* What only reads ends at the first signal, wherever it is: below a dead file system it would not look at a flag. */
static void end_at_once(void)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(signals); i++)
		if (signals[i].ends)
			sigaction(signals[i].sig, &signals[i].before, NULL);
}

/* ---- parsing -------------------------------------------------------------------------------------------------- */

struct parse {
	struct gt_cli *cli;
	const struct gt_cmd *cmd;
	bool named;  /* the command was written, not taken by default */
	char **args; /* plain arguments */
	int n_args;
};

static int usage(struct parse *p, const char *fmt, ...) GT_PRINTF(2, 3);
static int usage(struct parse *p, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return gt_fail_exit(&p->cli->err, GT_EXIT_USAGE, EINVAL, "%s (see '%s%s%s --help')", what, p->cli->tool->name,
			    p->cmd && p->cmd->name ? " " : "", p->cmd && p->cmd->name ? p->cmd->name : "");
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
	const struct gt_tool *tool = p->cli->tool;
	const struct gt_cmd *cmd = p->cmd ? p->cmd : tool->default_cmd;
	const struct gt_opt *o = cmd ? find_in(cmd->opts, short_name, name, len) : NULL;

	if (!o)
		o = find_in(tool->opts, short_name, name, len);
	return o ? o : find_in(common_opts, short_name, name, len);
}

/* Number of single-letter edits between two short words, at most 9. */
static unsigned edits(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned row[64];

	if (n >= GT_ARRAY_SIZE(row) || m >= GT_ARRAY_SIZE(row))
		return 9;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned diag = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned up = row[j];

			row[j] = GT_MIN(GT_MIN(up, row[j - 1]) + 1, diag + (a[i - 1] != b[j - 1]));
			diag = up;
		}
	}
	return row[m];
}

char *gt_hint(const char *word, gt_word *all, const char *otherwise)
{
	const char *best = NULL;
	unsigned distance = 3;

	for (size_t i = 0; all(i); i++)
		if (edits(all(i), word) < distance) {
			distance = edits(all(i), word);
			best = all(i);
		}
	return best ? gt_xasprintf("did you mean %s?", best) : gt_xstrdup(otherwise);
}

static void nearest_in(const struct gt_opt *opts, const char *name, const char **best, unsigned *distance)
{
	for (; opts && opts->name; opts++)
		if (edits(opts->name, name) < *distance) {
			*distance = edits(opts->name, name);
			*best = opts->name;
		}
}

static int unknown_option(struct parse *p, const char *arg)
{
	gt_autofree char *name = gt_xstrndup(arg + 2 * gt_starts_with(arg, "--"), strcspn(arg, "=") - 2);
	const struct gt_cmd *cmd = p->cmd ? p->cmd : p->cli->tool->default_cmd;
	const char *best = NULL;
	unsigned distance = 3;

	if (arg[1] == '-') {
		nearest_in(cmd ? cmd->opts : NULL, name, &best, &distance);
		nearest_in(p->cli->tool->opts, name, &best, &distance);
		nearest_in(common_opts, name, &best, &distance);
	}
	if (best)
		return usage(p, "unknown option %.*s; did you mean --%s?", (int)strcspn(arg, "="), arg, best);
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
	case GT_OPT_SIZE:
		r = gt_parse_size(value, o->dest);
		break;
	}
	if (r < 0)
		return usage(p, "--%s takes a %s, not '%s'", o->name,
			     o->type == GT_OPT_UINT ? "whole number" :
			     o->type == GT_OPT_COUNT ? "whole number of 1 or more" :
			     o->type == GT_OPT_REAL ? "number" :
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
			return usage(p, "unknown option -%c", *c);
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

/* The first plain argument names the command, unless the tool has a default one that takes arguments. */
static int take_command(struct parse *p, const char *word, bool *was_command)
{
	const struct gt_tool *tool = p->cli->tool;
	const char *best = NULL;
	unsigned distance = 3;

	for (const struct gt_cmd *const *c = tool->cmds; *c; c++) {
		if (!strcmp((*c)->name, word)) {
			p->cmd = *c;
			p->named = *was_command = true;
			return 0;
		}
		if (edits((*c)->name, word) < distance) {
			distance = edits((*c)->name, word);
			best = (*c)->name;
		}
	}
	if (tool->default_cmd && tool->default_cmd->max_args) {
		p->cmd = tool->default_cmd;
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
			if (!p->cmd)
				r = take_command(p, argv[i], &was_command);
			if (!r && !was_command) {
				p->args[p->n_args++] = argv[i];
				only_args |= p->cmd->stop_at_arg;
			}
		}
		if (r < 0)
			return r;
	}
	if (!p->cmd)
		p->cmd = p->cli->tool->default_cmd;
	return 0;
}

static int check_arg_count(struct parse *p)
{
	if (!p->cmd)
		return usage(p, "a command is needed");
	if (p->n_args < p->cmd->min_args)
		return usage(p, "%s needs %s", p->cmd->name, p->cmd->args);
	if (p->cmd->max_args >= 0 && p->n_args > p->cmd->max_args)
		return usage(p, "%s: unexpected argument '%s'", p->cmd->name, p->args[p->cmd->max_args]);
	return 0;
}

/* ---- main ----------------------------------------------------------------------------------------------------- */

static bool answer_about_ourselves(const struct parse *p)
{
	const struct gt_tool *tool = p->cli->tool;

	if (help)
		gt_cli_help(tool, p->named ? p->cmd : NULL, stdout);
	else if (version)
		printf("%s %s\n", tool->name, PACKAGE_VERSION);
	else if (completion)
		gt_cli_completion(tool, completion, stdout);
	else if (print_man)
		gt_cli_man(tool, stdout);
	else
		return false;
	return true;
}

static int run_command(struct parse *p)
{
	struct gt_cli *cli = p->cli;
	const char *term = getenv("TERM"), *nc = getenv("NO_COLOR");
	int r;

	r = check_arg_count(p);
	if (r < 0)
		return r;
	if (p->cmd->only_reads)
		end_at_once();
	cli->cmd = p->cmd;
	cli->root = root;
	cli->json = json;
	cli->quiet = quiet;
	cli->verbose = verbose;
	cli->color = !no_color && !(nc && *nc) && isatty(STDOUT_FILENO) && !gt_streq(term, "dumb");
	gt_log_init(cli->tool->name, quiet	   ? GT_LOG_ERROR :
				     verbose > 1   ? GT_LOG_DEBUG :
				     verbose	   ? GT_LOG_INFO :
						     GT_LOG_WARN);
	r = gt_fs_open(root, &cli->fs, &cli->err);
	if (r < 0)
		return r;
	if (gt_fs_is_live(cli->fs) && !gt_fs_exists(cli->fs, "/proc/self"))
		gt_warn("/proc is not mounted here: most of what this host is cannot be seen (mount -t proc proc /proc)");
	return p->cmd->run(cli, p->n_args, p->args);
}

/* Neither the environment nor a path that the caller names could be trusted. */
static int refuse_borrowed(struct gt_cli *cli)
{
	if (!gt_priv_borrowed())
		return 0;
	return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EPERM,
			    "this program was given privileges that whoever starts it may lack (setuid, setgid or file "
			    "capabilities): it is not made for that and does nothing; use sudo in their place");
}

/* Reports lost output. Returns whether that decides the exit status. A reader that exits early, such as head, is no error. */
static bool lost_output(const struct gt_cli *cli)
{
	int r = gt_stdout_flush();

	if (!r || r == -EPIPE)
		return false;
	gt_log(GT_LOG_ERROR, "cannot write to standard output: %s%s", r == -EIO ? "part of it is lost" : strerror(-r),
	       cli->changes_host ? "; the exit status still reports the state of the host" : "");
	return !cli->changes_host;
}

/* With --json a refusal is a document too: a script reads the exit status and the reason from stdout. */
static void print_refusal(const struct gt_cli *cli, int status)
{
	gt_auto_json *doc = NULL;

	if (!cli->json || status == GT_EXIT_USAGE || status == GT_EXIT_INTERNAL || gt_json_printed())
		return;
	doc = json_pack("{s:s, s:s, s:s, s:i, s:o}", "schema", "gputune-refusal/1", "tool", cli->tool->name, "command",
			cli->cmd->name, "exit_code", status, "error", gt_json_str(cli->err.msg));
	gt_json_print(stdout, doc);
}

int gt_cli_main(const struct gt_tool *tool, int argc, char **argv)
{
	struct gt_cli cli = { .tool = tool };
	struct parse p = { .cli = &cli, .args = gt_xcalloc((size_t)argc + 1, sizeof(char *)) };
	int r;

	gt_cli_hold_standard_files();
	install_signals();
	gt_log_init(tool->name, GT_LOG_WARN);
	r = refuse_borrowed(&cli);
	if (!r)
		r = parse_args(&p, argv);
	if (!r)
		r = answer_about_ourselves(&p) ? 0 : run_command(&p);
	gt_progress_end();
	if (r < 0) {
		int status = cli.err.exit_status ? cli.err.exit_status :
			     tool->default_exit	 ? tool->default_exit :
						   GT_EXIT_INTERNAL;

		print_refusal(&cli, status);
		fflush(stdout);
		gt_log(GT_LOG_ERROR, "%s", cli.err.msg[0] ? cli.err.msg : strerror(-r));
		r = status;
	} else if (lost_output(&cli) && !r) {
		r = GT_EXIT_INTERNAL;
	}
	gt_fs_close(cli.fs);
	free(p.args);
	return r;
}
