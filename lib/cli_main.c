/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "lib/cli.h"
#include "lib/cli_complete.h"
#include "lib/cli_doc.h"
#include "lib/cli_main.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/priv.h"
#include "lib/signals.h"

/* Handles --help, --version, --print-completion and --print-man. Returns false if none was given. */
static bool print_about(const struct gt_cli *cli, const struct gt_cli_line *line)
{
	const struct gt_tool *tool = cli->tool;

	if (line->help)
		gt_cli_help(tool, line->named ? line->cmd : NULL, line->all, stdout);
	else if (line->version)
		printf("%s %s\n", tool->name, PACKAGE_VERSION);
	else if (line->completion)
		gt_cli_completion(tool, line->completion, stdout);
	else if (line->print_man)
		gt_cli_man(tool, stdout);
	else
		return false;
	return true;
}

static int run_command(struct gt_cli *cli, const struct gt_cli_line *line)
{
	const char *term = getenv("TERM"), *nc = getenv("NO_COLOR");
	int r;

	if (line->cmd->only_reads)
		gt_end_at_signal();
	cli->color = !line->no_color && !(nc && *nc) && isatty(STDOUT_FILENO) && !gt_streq(term, "dumb");
	gt_log_init(cli->tool->name, cli->quiet	      ? GT_LOG_ERROR :
				     cli->verbose > 1 ? GT_LOG_DEBUG :
				     cli->verbose     ? GT_LOG_INFO :
							GT_LOG_WARN);
	r = gt_fs_open(cli->root, &cli->fs, &cli->err);
	if (r < 0)
		return r;
	if (gt_fs_is_live(cli->fs) && !gt_fs_exists(cli->fs, "/proc/self"))
		gt_warn("/proc is not mounted, so most of this host cannot be examined (mount -t proc proc /proc)");
	return line->cmd->run(cli, line->n_args, line->args);
}

/* With setuid or similar privileges, the caller's environment and paths are not trustworthy. */
static int refuse_borrowed(struct gt_cli *cli)
{
	if (!gt_priv_borrowed())
		return 0;
	return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EPERM,
			    "this program has privileges that its caller may lack (setuid, setgid or file capabilities) and "
			    "refuses to run; use sudo instead");
}

/*
 * Reports a failed write to stdout. Returns true if the failure determines the exit status. A reader that exits early,
 * such as head, is not an error.
 */
static bool lost_output(const struct gt_cli *cli)
{
	int r = gt_stdout_flush();

	if (!r || r == -EPIPE)
		return false;
	gt_log(GT_LOG_ERROR, "cannot write to standard output: %s%s", r == -EIO ? "part of it is lost" : strerror(-r),
	       cli->changes_host ? "; the exit status still reports the state of the host" : "");
	return !cli->changes_host;
}

/* With --json prints an error as a document too, for scripts that read the exit status and the reason from stdout. */
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
	struct gt_cli_line line = { 0 };
	int r;

	gt_out_of_memory_status = GT_EXIT_INTERNAL;
	line.args = gt_xcalloc((size_t)argc + 1, sizeof(char *));
	gt_hold_standard_files();
	gt_install_signals();
	gt_log_init(tool->name, GT_LOG_WARN);
	r = refuse_borrowed(&cli);
	if (!r)
		r = gt_cli_parse(&cli, argv, &line);
	if (!r)
		r = print_about(&cli, &line) ? 0 : run_command(&cli, &line);
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
	free(line.args);
	return r;
}
