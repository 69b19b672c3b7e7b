/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_H
#define GT_CLI_H
/*
 * Options and subcommands as tables. The same tables parse the command line, print --help, write bash and zsh completion
 * (--print-completion) and give the man page its OPTIONS section (--print-man), so that they cannot disagree.
 *
 * Global options are taken before and after the subcommand. "--" ends them. Unknown options, missing values and
 * arguments too many or too few end with exit 64 and one sentence.
 */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/hint.h"
#include "lib/util.h"

enum gt_opt_type {
	GT_OPT_FLAG,	/* bool * */
	GT_OPT_STR,	/* const char ** */
	GT_OPT_LIST,	/* struct gt_strv *, repeatable */
	GT_OPT_UINT,	/* uint64_t * */
	GT_OPT_COUNT,	/* uint64_t *, 1 or more: 0 is left for "not given" */
	GT_OPT_REAL,	/* double * */
	GT_OPT_SIZE,	/* uint64_t *, bytes */
	GT_OPT_CHOICE,	/* const char **, one of choices */
};

struct gt_opt {
	char short_name;	    /* 0 = none */
	const char *name;	    /* long name without dashes */
	const char *arg;	    /* what the value is called in help: "FILE"; NULL for flags */
	const char *help;	    /* one sentence without full stop, lower case */
	enum gt_opt_type type;
	void *dest;
	const char *const *choices; /* GT_OPT_CHOICE; NULL-terminated */
	gt_word *word;		    /* what completion offers for the value; NULL: files where the arg names one */
};

struct gt_cli;
struct gt_cmd {
	const char *name;
	const char *args;	    /* "[PLAN]" for the usage line; "" for none */
	const char *summary;	    /* one line */
	const char *help;	    /* paragraphs for COMMAND --help, or NULL */
	const struct gt_opt *opts;  /* ends with { 0 }, or NULL */
	int min_args, max_args;	    /* max -1: any number */
	bool stop_at_arg;	    /* the first plain argument or "--" ends our options: for `run CMD …` */
	/* Returns an exit status >= 0, or a negative errno with cli->err filled. */
	int (*run)(struct gt_cli *cli, int argc, char **argv); /* argv without command and options, NULL-terminated */
	bool only_reads;	    /* has nothing to put in order: the first signal ends it, whatever it waits for */
	gt_word *word;		    /* what completion offers for the arguments, besides files where args names one */
};

struct gt_exit_code {
	int code;
	const char *meaning;
};

struct gt_tool {
	const char *name;
	const char *summary;
	const char *description;	      /* paragraphs for --help */
	const struct gt_cmd *const *cmds;     /* NULL-terminated */
	const struct gt_cmd *default_cmd;     /* without a subcommand; NULL: usage error */
	const struct gt_opt *opts;	      /* of the tool, besides the common ones; ends with { 0 }, or NULL */
	const struct gt_exit_code *exit_codes; /* ends with meaning NULL; 64 and 70 are added */
	const char *const *examples;	      /* pairs: command, what it does; NULL-terminated */
	int default_exit;		      /* exit status for an error that names none, usually 70 */
};

struct gt_cli {
	const struct gt_tool *tool;
	const struct gt_cmd *cmd;
	struct gt_fsroot *fs; /* --root, opened before the command runs */
	const char *root;     /* as given, or NULL */
	bool json, quiet, color;
	int verbose;
	bool changes_host; /* set by a command: its exit status reports the state of the host even if its output is lost */
	struct gt_err err;
};

/* A parsed command line. */
struct gt_cli_line {
	const struct gt_cmd *cmd; /* NULL: no command was given and the tool has no default one */
	bool named;		  /* the command was given, not taken by default */
	char **args;		  /* plain arguments; allocated by the caller, as long as argv */
	int n_args;
	bool no_color, help, version, print_man;
	const char *completion; /* name of the shell; NULL: not asked for */
};

extern const struct gt_opt *const gt_cli_common_opts; /* ends with { 0 } */
/* Parses argv into line and the fields of cli. Returns a negative errno on failure, with exit status 64 in cli->err. */
int gt_cli_parse(struct gt_cli *cli, char **argv, struct gt_cli_line *line);
#endif
