/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/cli_doc.h"
#include "lib/table.h"

static const struct gt_exit_code shared_codes[] = {
	{ GT_EXIT_USAGE, "the command line or an input file is not usable" },
	{ GT_EXIT_INTERNAL,
	  "it could not be done: no such device, too little memory, or an error of the system; the sentence says" },
};

/* ---- --help --------------------------------------------------------------------------------------------------- */

static void help_opts(FILE *out, const char *title, const struct gt_opt *o)
{
	unsigned width = GT_MIN(gt_term_width(out), 100u);

	if (!o || !o->name)
		return;
	fprintf(out, "\n%s\n", title);
	for (; o->name; o++) {
		gt_auto_buf left = { 0 };

		if (o->short_name)
			gt_buf_printf(&left, "  -%c, --%s", o->short_name, o->name);
		else
			gt_buf_printf(&left, "      --%s", o->name);
		if (o->arg)
			gt_buf_printf(&left, " %s", o->arg);
		if (left.len < 28) {
			gt_auto_buf line = { 0 };

			/* name and help on one line if they fit */
			gt_buf_printf(&line, "%-28s%s", left.s, o->help);
			if (line.len <= width) {
				fprintf(out, "%s\n", line.s);
				continue;
			}
		}
		fprintf(out, "%s\n", left.s);
		gt_print_wrapped(out, o->help, 28, width);
	}
}

static void help_codes(FILE *out, const struct gt_exit_code *e, size_t n, unsigned width)
{
	for (; e && n && e->meaning; e++, n--) {
		char code[16];

		snprintf(code, sizeof(code), "  %2d", e->code);
		gt_print_columns(out, code, e->meaning, 6, width);
	}
}

static void help_tool(const struct gt_tool *tool, FILE *out)
{
	unsigned width = GT_MIN(gt_term_width(out), 100u);

	fprintf(out, "Usage: %s [OPTIONS] %s\n\n", tool->name, tool->default_cmd ? "[COMMAND] [ARGUMENTS]" :
										     "COMMAND [ARGUMENTS]");
	gt_print_wrapped(out, tool->description, 0, width);
	fprintf(out, "\nCommands:\n");
	for (const struct gt_cmd *const *c = tool->cmds; *c; c++) {
		gt_autofree char *name = gt_xasprintf("  %s", (*c)->name),
				 *text = gt_xasprintf("%s%s", (*c)->summary, *c == tool->default_cmd ? " (default)" : "");

		gt_print_columns(out, name, text, 15, width);
	}
	if (tool->default_cmd)
		help_opts(out, "Options of the default command:", tool->default_cmd->opts);
	help_opts(out, "Options:", tool->opts);
	help_opts(out, "Common options:", gt_cli_common_opts);
	fprintf(out, "\nExit status:\n");
	help_codes(out, tool->exit_codes, SIZE_MAX, width);
	help_codes(out, shared_codes, GT_ARRAY_SIZE(shared_codes), width);
	if (tool->examples && *tool->examples)
		fprintf(out, "\nExamples:\n");
	for (const char *const *e = tool->examples; e && *e; e += 2)
		fprintf(out, "  %s\n      %s\n", e[0], e[1]);
	fprintf(out, "\nMore: %s COMMAND --help, man %s\n", tool->name, tool->name);
}

void gt_cli_help(const struct gt_tool *tool, const struct gt_cmd *cmd, FILE *out)
{
	unsigned width = GT_MIN(gt_term_width(out), 100u);

	if (!cmd) {
		help_tool(tool, out);
		return;
	}
	fprintf(out, "Usage: %s %s%s%s%s\n\n", tool->name, cmd->name, cmd->opts && cmd->opts->name ? " [OPTIONS]" : "",
		*cmd->args ? " " : "", cmd->args);
	gt_print_wrapped(out, cmd->help ? cmd->help : cmd->summary, 0, width);
	help_opts(out, "Options:", cmd->opts);
	help_opts(out, "Options of the tool:", tool->opts);
	help_opts(out, "Common options:", gt_cli_common_opts);
}

/* ---- mdoc ----------------------------------------------------------------------------------------------------- */

/* Prints text in mdoc, which wants each sentence on a new line. */
static void man_text(FILE *out, const char *s)
{
	bool bol = true;

	for (const char *start = s; *s; s++) {
		bool ends = *s == ' ' && s > start && s[-1] == '.';

		if (bol && (*s == '.' || *s == '\''))
			fputs("\\&", out);
		if (*s == '\\')
			fputs("\\e", out);
		else
			fputc(ends ? '\n' : *s, out);
		bol = *s == '\n' || ends;
	}
	fputc('\n', out);
}

static void man_opts(FILE *out, const struct gt_opt *o)
{
	if (!o || !o->name)
		return;
	fputs(".Bl -tag -width Ds\n", out);
	for (; o->name; o++) {
		fputs(".It ", out);
		if (o->short_name)
			fprintf(out, "Fl %c , ", o->short_name);
		fprintf(out, "Fl Fl %s", o->name);
		if (o->arg)
			fprintf(out, " Ar %s", o->arg);
		fputc('\n', out);
		man_text(out, o->help);
	}
	fputs(".El\n", out);
}

void gt_cli_man(const struct gt_tool *tool, FILE *out)
{
	fputs(".Sh COMMANDS\n.Bl -tag -width Ds\n", out);
	for (const struct gt_cmd *const *c = tool->cmds; *c; c++) {
		fprintf(out, ".It Cm %s", (*c)->name);
		if (*(*c)->args)
			fprintf(out, " Ar %s", (*c)->args);
		fputc('\n', out);
		man_text(out, (*c)->help ? (*c)->help : (*c)->summary);
		man_opts(out, (*c)->opts);
	}
	fputs(".El\n.Sh OPTIONS\n", out);
	man_opts(out, tool->opts);
	man_opts(out, gt_cli_common_opts);
	fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", out);
	for (const struct gt_exit_code *e = tool->exit_codes; e && e->meaning; e++)
		fprintf(out, ".It %d\n%s\n", e->code, e->meaning);
	for (size_t i = 0; i < GT_ARRAY_SIZE(shared_codes); i++)
		fprintf(out, ".It %d\n%s\n", shared_codes[i].code, shared_codes[i].meaning);
	fputs(".El\n", out);
}
