/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the completion for bash and zsh from the tables of options. */
#include <errno.h>
#include <string.h>
#include "lib/cli_complete.h"

/* Commands and options except old names. */
#define each_cmd(c, tool) \
	for (const struct gt_cmd *const *c = (tool)->cmds; *c; c++) \
		if ((*c)->listed != GT_OLD_NAME)
#define each_opt(o, opts) \
	for (const struct gt_opt *o = (opts); o && o->name; o++) \
		if (o->listed != GT_OLD_NAME)

/* Returns whether a placeholder in help stands for a file. */
static bool is_file(const char *arg)
{
	static const char *const names[] = { "FILE", "DIR", "PATH", "PLAN", "RECEIPT", "RESULT", "TARGET", "WHAT", "BEFORE" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (strstr(arg, names[i]))
			return true;
	return false;
}

static const char *opt_word(const struct gt_opt *o, size_t i)
{
	return o->type == GT_OPT_CHOICE ? o->choices[i] : o->word ? o->word(i) : NULL;
}

static void put_opt_words(FILE *out, const struct gt_opt *o)
{
	const char *w;

	for (size_t i = 0; (w = opt_word(o, i)); i++)
		fprintf(out, "%s%s", i ? " " : "", w);
}

static void put_cmd_words(FILE *out, const struct gt_cmd *c)
{
	const char *w;

	for (size_t i = 0; c->word && (w = c->word(i)); i++)
		fprintf(out, "%s%s", i ? " " : "", w);
}

static void put_commands(FILE *out, const struct gt_tool *tool)
{
	each_cmd(c, tool)
		fprintf(out, "%s%s", c == tool->cmds ? "" : "|", (*c)->name);
}

/* ---- bash ----------------------------------------------------------------------------------------------------- */

static void long_names(FILE *out, const struct gt_opt *opts)
{
	each_opt(o, opts)
		fprintf(out, "--%s ", o->name);
}

/* Prints the cases for the values of options. cmd "*": options of every command, "": options without a command. */
static void bash_values(FILE *out, const char *cmd, const struct gt_opt *opts)
{
	each_opt(o, opts) {
		if (!o->arg)
			continue;
		fprintf(out, "\t%s,--%s", cmd, o->name);
		if (o->short_name)
			fprintf(out, "|%s,-%c", cmd, o->short_name);
		fputs(") ", out);
		if (opt_word(o, 0)) {
			fputs("words='", out);
			put_opt_words(out, o);
			fputs("' ", out);
		}
		fprintf(out, "kind=%s ;;\n", !strcmp(o->arg, "LIST") && opt_word(o, 0) ? "list" :
					     is_file(o->arg)			       ? "files" :
											 "words");
	}
}

static void bash_args(FILE *out, const struct gt_cmd *c)
{
	if (c->stop_at_arg)
		fprintf(out, "\t%s) kind=command ;;\n", c->name);
	else if (c->max_args) {
		fprintf(out, "\t%s) words='", c->name);
		put_cmd_words(out, c);
		fprintf(out, "' kind=%s ;;\n", is_file(c->args) || !c->word ? "files" : "words");
	}
}

static const char bash_head[] =
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= words= kind= end= i\n"
	"\t# --option=value comes as three words\n"
	"\tif [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\t[[ ${COMP_WORDS[i]} == -- ]] && { end=$i; break; }\n"
	"\t\t[[ $cmd ]] && continue\n"
	"\t\tcase ${COMP_WORDS[i]} in\n\t\t";

/* Fills COMPREPLY from $words by $kind. For a command that starts another, words after "--" are completed by the other
 * command. */
static const char bash_tail[] =
	"\tCOMPREPLY=()\n"
	"\tcase $kind in\n"
	"\tlist) mapfile -t COMPREPLY < <(compgen -P \"${cur%\"${cur##*,}\"}\" -W \"$words\" -- \"${cur##*,}\") ;;\n"
	"\twords) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
	"\tfiles)\n"
	"\t\tif [[ $prev == \"$cmd\" || $prev == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"); fi\n"
	"\t\t((${#COMPREPLY[@]})) && return\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\t\tcompopt -o filenames 2>/dev/null ;;\n"
	"\tcommand)\n"
	"\t\tif [[ $end ]] && declare -F _comp_command_offset >/dev/null; then _comp_command_offset $((end + 1))\n"
	"\t\telif [[ $end ]] && declare -F _command_offset >/dev/null; then _command_offset $((end + 1))\n"
	"\t\telif [[ $prev == \"$cmd\" || $prev == -* ]]; then mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\t\telse mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); compopt -o filenames 2>/dev/null; fi ;;\n"
	"\tesac\n"
	"}\n";

static void bash(const struct gt_tool *tool, FILE *out)
{
	fprintf(out, "# bash completion for %s\n_%s() {\n%s", tool->name, tool->name, bash_head);
	put_commands(out, tool);
	fputs(") cmd=${COMP_WORDS[i]} ;;\n\t\tesac\n\tdone\n\t[[ $end ]] || case $cmd,$prev in\n", out);
	each_cmd(c, tool)
		bash_values(out, (*c)->name, (*c)->opts);
	if (tool->default_cmd)
		bash_values(out, "", tool->default_cmd->opts);
	bash_values(out, "*", tool->opts);
	bash_values(out, "*", gt_cli_common_opts);
	fputs("\tesac\n\tif [[ ! $kind && ! $end && ( $cur == -* || ! $cmd ) ]]; then\n\t\tkind=words words='", out);
	long_names(out, gt_cli_common_opts);
	long_names(out, tool->opts);
	fputs("'\n\t\tcase $cmd in\n\t\t'') words+='", out);
	each_cmd(c, tool)
		fprintf(out, "%s ", (*c)->name);
	if (tool->default_cmd)
		long_names(out, tool->default_cmd->opts);
	fputs("' ;;\n", out);
	each_cmd(c, tool) {
		fprintf(out, "\t\t%s) words+='", (*c)->name);
		long_names(out, (*c)->opts);
		fputs("' ;;\n", out);
	}
	fputs("\t\tesac\n\tfi\n\t[[ $kind ]] || case $cmd in\n", out);
	each_cmd(c, tool)
		bash_args(out, *c);
	fprintf(out, "\tesac\n%scomplete -F _%s %s\n", bash_tail, tool->name, tool->name);
}

/* ---- zsh ------------------------------------------------------------------------------------------------------ */

/* Prints text inside '[…]' of a zsh _arguments specification in single quotes. */
static void zsh_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *s))
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	}
}

/* Prints the value specification for _arguments: ":name:completion". */
static void zsh_value(FILE *out, const struct gt_opt *o)
{
	fputc(':', out);
	zsh_text(out, o->arg);
	fputc(':', out);
	if (!opt_word(o, 0)) {
		fputs(is_file(o->arg) ? "_files" : "", out);
		return;
	}
	fputs(!strcmp(o->arg, "LIST") ? "_values -s , LIST " : is_file(o->arg) ? "{compadd -- " : "(", out);
	put_opt_words(out, o);
	fputs(!strcmp(o->arg, "LIST") ? "" : is_file(o->arg) ? "; _files}" : ")", out);
}

static void zsh_opts(FILE *out, const struct gt_opt *opts)
{
	each_opt(o, opts) {
		const char *many = o->type == GT_OPT_LIST ? "*" : "";

		if (o->short_name && *many)
			fprintf(out, "\t\t'*'{-%c%s,--%s%s}'[", o->short_name, o->arg ? "+" : "", o->name, o->arg ? "=" : "");
		else if (o->short_name)
			fprintf(out, "\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->short_name, o->name, o->short_name, o->arg ? "+" : "",
				o->name, o->arg ? "=" : "");
		else
			fprintf(out, "\t\t'%s--%s%s[", many, o->name, o->arg ? "=" : "");
		zsh_text(out, o->help);
		fputc(']', out);
		if (o->arg)
			zsh_value(out, o);
		fputs("' \\\n", out);
	}
}

static void zsh_args(FILE *out, const struct gt_cmd *c)
{
	bool files = is_file(c->args) || !c->word;

	if (c->stop_at_arg) {
		fputs("\t\t'(-)1:command:_command_names -e' '*::arguments:_normal' ;;\n", out);
		return;
	}
	if (!c->max_args) {
		fputs("\t\t;;\n", out);
		return;
	}
	fprintf(out, "\t\t'*:%s:%s", c->word ? "word" : "file", !c->word ? "_files" : files ? "{compadd -- " : "(");
	put_cmd_words(out, c);
	fprintf(out, "%s' ;;\n", !c->word ? "" : files ? "; _files}" : ")");
}

static void zsh(const struct gt_tool *tool, FILE *out)
{
	fprintf(out, "#compdef %s\n_%s() {\n\tlocal -a common=( \\\n", tool->name, tool->name);
	zsh_opts(out, gt_cli_common_opts);
	zsh_opts(out, tool->opts);
	fputs("\t)\n\tlocal -a subcommands=(\n", out);
	each_cmd(c, tool) {
		fprintf(out, "\t\t'%s:", (*c)->name);
		zsh_text(out, (*c)->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n\tlocal cmd= i=${words[(i)(", out);
	put_commands(out, tool);
	/* after the command word, $words contains only the arguments of that command */
	fputs(")]}\n\tif ((i < CURRENT)); then\n\t\tcmd=${words[i]}\n\t\tshift $((i - 1)) words\n\t\t((CURRENT -= i - 1))\n\tfi\n"
	      "\tcase $cmd in\n",
	      out);
	each_cmd(c, tool) {
		fprintf(out, "\t%s) _arguments -S $common \\\n", (*c)->name);
		zsh_opts(out, (*c)->opts);
		zsh_args(out, *c);
	}
	fputs("\t*) _arguments -S $common \\\n", out);
	if (tool->default_cmd)
		zsh_opts(out, tool->default_cmd->opts);
	fprintf(out, "\t\t'1:command:(($subcommands))' ;;\n\tesac\n}\n_%s \"$@\"\n", tool->name);
}

int gt_cli_completion(const struct gt_tool *tool, const char *shell, FILE *out)
{
	if (!strcmp(shell, "bash"))
		bash(tool, out);
	else if (!strcmp(shell, "zsh"))
		zsh(tool, out);
	else
		return -EINVAL;
	return 0;
}
