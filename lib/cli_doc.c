/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/cli_doc.h"
#include "lib/table.h"

#define HELP_WIDTH 80 /* columns at most */
#define NAMES_MAX  26 /* columns; a longer option has its text on the next line */

static const struct gt_exit_code shared_codes[] = {
	{ GT_EXIT_USAGE, "invalid command line or input file" },
	{ GT_EXIT_INTERNAL, "system error, such as a missing device or too little memory" },
};

static unsigned help_width(FILE *out)
{
	return GT_MIN(gt_term_width(out), (unsigned)HELP_WIDTH);
}

/* ---- options -------------------------------------------------------------------------------------------------- */

static bool is_listed(enum gt_listed listed, bool all)
{
	return listed == GT_EVERYDAY || (all && listed == GT_RARE);
}

/* Returns "  -o, --output FILE". The caller frees it. */
static char *opt_names(const struct gt_opt *o)
{
	char letter[8] = "    ";

	if (o->short_name)
		snprintf(letter, sizeof(letter), "-%c, ", o->short_name);
	return gt_xasprintf("  %s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

static unsigned names_width(const struct gt_opt *o, bool all)
{
	size_t width = 0;

	for (; o && o->name; o++) {
		gt_autofree char *names = opt_names(o);

		if (is_listed(o->listed, all) && strlen(names) <= NAMES_MAX)
			width = GT_MAX(width, strlen(names));
	}
	return (unsigned)width + 2;
}

static void help_opt(FILE *out, const struct gt_opt *o, unsigned indent)
{
	gt_autofree char *names = opt_names(o);

	if (strlen(names) + 2 > indent) {
		fprintf(out, "%s\n", names);
		gt_print_wrapped(out, o->help, indent, help_width(out));
	} else {
		gt_print_columns(out, names, o->help, indent, help_width(out));
	}
}

/* Prints the options of a table. An option without a group belongs under title. */
static void help_opts(FILE *out, const char *title, const struct gt_opt *o, bool all)
{
	unsigned indent = names_width(o, all);
	const char *heading = NULL;

	for (; o && o->name; o++) {
		const char *group = o->group ? o->group : title;

		if (!is_listed(o->listed, all))
			continue;
		if (!gt_streq(group, heading))
			fprintf(out, "\n%s:\n", group);
		heading = group;
		help_opt(out, o, indent);
	}
}

static bool has_rare_opts(const struct gt_opt *o)
{
	for (; o && o->name; o++)
		if (o->listed == GT_RARE)
			return true;
	return false;
}

/* ---- --help of the tool --------------------------------------------------------------------------------------- */

static void help_commands(const struct gt_tool *tool, bool all, FILE *out)
{
	const char *heading = NULL;
	size_t indent = 0;

	for (const struct gt_cmd *const *c = tool->cmds; *c; c++)
		if ((*c)->listed != GT_OLD_NAME)
			indent = GT_MAX(indent, strlen((*c)->name) + 4);
	for (const struct gt_cmd *const *c = tool->cmds; *c; c++) {
		const char *group = (*c)->group ? (*c)->group : "Commands";
		gt_autofree char *name = gt_xasprintf("  %s", (*c)->name),
				 *text = gt_xasprintf("%s%s", (*c)->summary, *c == tool->default_cmd ? " (default)" : "");

		if (!is_listed((*c)->listed, all))
			continue;
		if (!gt_streq(group, heading))
			fprintf(out, "\n%s:\n", group);
		heading = group;
		gt_print_columns(out, name, text, (unsigned)indent, help_width(out));
	}
}

static void help_codes(FILE *out, const struct gt_exit_code *e, size_t n)
{
	for (; e && n && e->meaning; e++, n--) {
		char code[16];

		snprintf(code, sizeof(code), "  %3d", e->code);
		gt_print_columns(out, code, e->meaning, 7, help_width(out));
	}
}

static void help_tool(const struct gt_tool *tool, bool all, FILE *out)
{
	fprintf(out, "%s.\n\nUsage: %s [OPTIONS] %s\n\n", tool->summary, tool->name,
		tool->default_cmd ? "[COMMAND] [ARGUMENTS]" : "COMMAND [ARGUMENTS]");
	gt_print_wrapped(out, tool->description, 0, help_width(out));
	help_commands(tool, all, out);
	if (tool->default_cmd)
		help_opts(out, "Options of the default command", tool->default_cmd->opts, all);
	help_opts(out, "Options", tool->opts, all);
	help_opts(out, "Common options", gt_cli_common_opts, all);
	fprintf(out, "\nExit status:\n");
	help_codes(out, tool->exit_codes, SIZE_MAX);
	help_codes(out, shared_codes, GT_ARRAY_SIZE(shared_codes));
	if (tool->examples && *tool->examples)
		fprintf(out, "\nExamples:\n");
	for (const char *const *e = tool->examples; e && *e; e += 2)
		fprintf(out, "  %s\n      %s\n", e[0], e[1]);
	fprintf(out, "\nSee also: %s COMMAND --help%s%s%s, man %s\n", tool->name, all ? "" : ", ", all ? "" : tool->name,
		all ? "" : " --help --all", tool->name);
}

/* ---- --help of a command -------------------------------------------------------------------------------------- */

static void help_common(const struct gt_tool *tool, const struct gt_cmd *cmd, FILE *out)
{
	gt_autofree char *line =
		gt_xasprintf("Common options: %s%s--quiet, --verbose; see %s --help",
			     cmd->ignores & GT_ROOT_IGNORED ? "" : "--root, ",
			     cmd->ignores & GT_JSON_IGNORED ? "" : "--json, ", tool->name);

	fputc('\n', out);
	gt_print_wrapped(out, line, 0, help_width(out));
}

void gt_cli_help(const struct gt_tool *tool, const struct gt_cmd *cmd, bool all, FILE *out)
{
	gt_autofree char *summary = cmd ? gt_xasprintf("%s.", cmd->summary) : NULL;

	if (!cmd) {
		help_tool(tool, all, out);
		return;
	}
	gt_print_wrapped(out, summary, 0, help_width(out));
	fprintf(out, "\nUsage: %s %s%s%s%s\n", tool->name, cmd->name, cmd->opts && cmd->opts->name ? " [OPTIONS]" : "",
		*cmd->args ? " " : "", cmd->args);
	if (cmd->help) {
		fputc('\n', out);
		gt_print_wrapped(out, cmd->help, 0, help_width(out));
	}
	help_opts(out, "Options", cmd->opts, all);
	help_opts(out, "Options of the tool", tool->opts, all);
	help_common(tool, cmd, out);
	if (!all && has_rare_opts(cmd->opts))
		fprintf(out, "More options: %s %s --help --all\n", tool->name, cmd->name);
}

/* ---- mdoc ----------------------------------------------------------------------------------------------------- */

/* Prints text with each sentence on a line of its own, as mdoc requires. */
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
		if (o->listed == GT_OLD_NAME)
			continue;
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
		gt_autofree char *summary = NULL;

		if ((*c)->listed == GT_OLD_NAME)
			continue;
		fprintf(out, ".It Cm %s", (*c)->name);
		if (*(*c)->args)
			fprintf(out, " Ar %s", (*c)->args);
		fputc('\n', out);
		summary = gt_xasprintf("%s.", (*c)->summary);
		man_text(out, summary);
		if ((*c)->help)
			man_text(out, (*c)->help);
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
