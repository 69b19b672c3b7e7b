/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_H
#define GT_CLI_H
/*
 * Tables of options and subcommands. The same tables parse the command line, print --help, and generate the shell completion
 * (--print-completion) and the OPTIONS section of the man page (--print-man).
 *
 * Common options are accepted before and after the subcommand. "--" ends the options. Unknown options, missing values and a
 * wrong number of arguments end with exit status 64 and one sentence.
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
	GT_OPT_COUNT,	/* uint64_t *, 1 or more; 0 is reserved for "not given" */
	GT_OPT_REAL,	/* double * */
	GT_OPT_ABOVE_0,	/* double *, above 0 */
	GT_OPT_SIZE,	/* uint64_t *, bytes */
	GT_OPT_CHOICE,	/* const char **, one of choices */
};

/* The help output that lists a command or an option. */
enum gt_listed {
	GT_EVERYDAY, /* --help */
	GT_RARE,     /* --help --all, the man page and completion */
	GT_OLD_NAME, /* nowhere: an old spelling, still accepted */
};

struct gt_opt {
	char short_name;	    /* 0 = none */
	const char *name;	    /* long name without dashes */
	const char *arg;	    /* placeholder of the value in help: "FILE"; NULL for flags */
	const char *help;	    /* imperative of at most 12 words, lower case, without full stop */
	enum gt_opt_type type;
	void *dest;
	const char *const *choices; /* GT_OPT_CHOICE; NULL-terminated */
	gt_word *word;		    /* words that completion offers for the value; NULL: files if arg names one */
	const char *group;	    /* heading in help; NULL: "Options" */
	enum gt_listed listed;
};

/* Common options without an effect in a command, for gt_cmd.ignores. */
#define GT_ROOT_IGNORED 1u
#define GT_JSON_IGNORED 2u

struct gt_cli;
struct gt_cmd {
	const char *name;
	const char *args;	    /* "[PLAN]" for the usage line; "" for none */
	const char *summary;	    /* one sentence that starts with a verb, without full stop */
	const char *help;	    /* a short description for COMMAND --help, or NULL; the man page has the long one */
	const struct gt_opt *opts;  /* ends with { 0 }, or NULL */
	int min_args, max_args;	    /* max -1: any number */
	bool stop_at_arg;	    /* the first plain argument or "--" ends the options: for `run CMD …` */
	/* Returns an exit status >= 0, or a negative errno with cli->err filled. */
	int (*run)(struct gt_cli *cli, int argc, char **argv); /* argv without command and options, NULL-terminated */
	bool only_reads;	    /* needs no cleanup: the first signal ends the process */
	gt_word *word;		    /* words that completion offers for the arguments, besides files if args names one */
	const char *group;	    /* heading in the help of the tool; commands of a group follow each other */
	enum gt_listed listed;
	unsigned ignores;	    /* GT_ROOT_IGNORED, GT_JSON_IGNORED: not listed in the help of the command */
};

struct gt_exit_code {
	int code;
	const char *meaning;
};

struct gt_tool {
	const char *name;
	const char *summary;		      /* like that of a command */
	const char *description;	      /* paragraphs for --help */
	const struct gt_cmd *const *cmds;     /* NULL-terminated */
	const struct gt_cmd *default_cmd;     /* used without a subcommand; NULL: usage error */
	const struct gt_opt *opts;	      /* options of the tool itself, besides the common ones; ends with { 0 }; NULL: none */
	const struct gt_exit_code *exit_codes; /* ends with meaning NULL; 64 and 70 are appended */
	const char *const *examples;	      /* pairs: command, what it does; NULL-terminated */
	int default_exit;		      /* exit status for an error without its own exit status, usually 70 */
};

struct gt_cli {
	const struct gt_tool *tool;
	const struct gt_cmd *cmd;
	struct gt_fsroot *fs; /* the root of --root, opened before the command runs */
	const char *root;     /* argument of --root, or NULL */
	bool json, quiet, color;
	int verbose;
	bool changes_host; /* set by a command: a failed write of its output must not replace its exit status */
	struct gt_err err;
};

/* A parsed command line. */
struct gt_cli_line {
	const struct gt_cmd *cmd; /* NULL: no command was given and the tool has no default command */
	bool named;		  /* the command was given explicitly */
	char **args;		  /* plain arguments; the array is allocated by the caller with the length of argv */
	int n_args;
	bool no_color, help, all, version, print_man;
	const char *completion; /* --print-completion: name of the shell, or NULL */
};

extern const struct gt_opt *const gt_cli_common_opts; /* ends with { 0 } */
/* Parses argv into line and the fields of cli. On failure returns a negative errno and sets exit status 64 in cli->err. */
int gt_cli_parse(struct gt_cli *cli, char **argv, struct gt_cli_line *line);
#endif
