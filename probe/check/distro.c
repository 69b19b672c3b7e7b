/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/distro.h"

/* Commands that exist only on Debian and derivatives, and sentences for them. The sentence ends with the command's
 * operands (only the last one if last_operand), or with `object` if there is no operand. */
static const struct debian_command {
	const char *command, *sentence, *object;
	bool last_operand;
} commands[] = {
	{"apt install", "install what Debian packages as ", "the package", false},
	{"apt-get install", "install what Debian packages as ", "the package", false},
	{"apt purge", "remove what Debian packages as ", "the package", false},
	{"apt-get purge", "remove what Debian packages as ", "the package", false},
	{"apt remove", "remove what Debian packages as ", "the package", false},
	{"apt-get remove", "remove what Debian packages as ", "the package", false},
	{"apt-mark hold", "exclude the driver's packages from upgrades", NULL, false},
	{"dpkg -S", "find out which package has ", "the file", true},
	{"update-initramfs", "rebuild the initramfs", NULL, false},
	{"update-grub", "rebuild the boot loader's configuration", NULL, false},
	{"update-alternatives", "let programs load ", "the library", true},
	{"update-glx", "choose this branch of the driver", NULL, false},
};

bool pr_is_debian(const struct pr_host *h)
{
	return gt_streq(h->distro.id.v, "debian");
}

static const struct debian_command *at_command(const char *text, const char *p)
{
	if (p > text && (isalnum((unsigned char)p[-1]) || strchr("-/_.", p[-1])))
		return NULL;
	for (size_t i = 0; i < GT_ARRAY_SIZE(commands); i++)
		if (gt_starts_with(p, commands[i].command) && !isalnum((unsigned char)p[strlen(commands[i].command)]))
			return &commands[i];
	return NULL;
}

static const struct debian_command *find_command(const char *text, const char **ret_at)
{
	const struct debian_command *c;

	for (const char *p = text; *p; p++)
		if ((c = at_command(text, p))) {
			*ret_at = p;
			return c;
		}
	return NULL;
}

static size_t length_of(const char *command)
{
	size_t n = 0;

	while (command[n] && !strchr(";,()\n`", command[n]) && !gt_starts_with(command + n, " &&") &&
	       !gt_starts_with(command + n, " and "))
		n++;
	return n;
}

/* Appends the sentence for a command of n bytes. Options and packages to remove ("name-") are not operands. */
static void add_sentence(struct gt_buf *b, const struct debian_command *c, const char *command, size_t n, bool capital)
{
	gt_autofree char *copy = gt_xstrndup(command + strlen(c->command), n - strlen(c->command));
	gt_auto_buf operands = {0};

	gt_each_word(w, copy, " ") {
		if (*w == '-' || gt_ends_with(w, "-"))
			continue;
		if (c->last_operand)
			operands.len = 0;
		gt_buf_printf(&operands, "%s%s", operands.len ? " " : "", w);
	}
	gt_buf_printf(b, "%c%s%s", capital ? toupper((unsigned char)*c->sentence) : *c->sentence, c->sentence + 1,
		      !c->object ? "" : operands.len ? operands.s : c->object);
}

/* Appends a line of prose, and replaces the commands in it in place. */
static void add_prose(struct gt_buf *b, const char *line)
{
	const struct debian_command *c;
	const char *at;

	while ((c = find_command(line, &at))) {
		size_t n = length_of(at);

		gt_buf_add(b, line, (size_t)(at - line));
		add_sentence(b, c, at, n, false);
		line = at + n;
	}
	gt_buf_printf(b, "%s\n", line);
}

/* Appends a line of commands, one command per line. */
static void add_commands(struct gt_buf *b, char *line, const char *indent, const char *comment)
{
	for (char *next; line; line = next) {
		char *semicolon = strchr(line, ';'), *both = strstr(line, "&&");
		const struct debian_command *c;
		char *command;

		next = semicolon && (!both || semicolon < both) ? semicolon : both;
		if (next) {
			char *end = next;

			next += *end == ';' ? 1 : 2;
			*end = '\0';
		}
		command = gt_strip(line);
		c = at_command(command, command);
		if (c) {
			gt_buf_puts(b, comment);
			add_sentence(b, c, command, strlen(command), true);
			gt_buf_puts(b, "\n");
		} else if (*command) {
			gt_buf_printf(b, "%s%s\n", indent, command);
		}
	}
}

/* Returns the next line of *p, joined with its continuation lines. The caller frees it. */
static char *take_line(const char **p)
{
	gt_auto_buf b = {0};
	bool more;

	do {
		size_t n = strcspn(*p, "\n");

		more = n && (*p)[n - 1] == '\\';
		gt_buf_add(&b, *p, n - more);
		*p += n + ((*p)[n] == '\n');
	} while (more && **p);
	return b.len ? gt_buf_take(&b) : gt_xstrdup("");
}

char *pr_for_distro(const struct pr_host *h, const char *text, const char *indent, const char *comment)
{
	struct gt_buf b = {0};
	const char *at;

	if (pr_is_debian(h) || !find_command(text, &at))
		return gt_xstrdup(text);
	while (*text) {
		gt_autofree char *line = take_line(&text);
		bool is_comment = *comment && gt_starts_with(line, comment);

		if (!find_command(line, &at))
			gt_buf_printf(&b, "%s\n", line);
		else if (gt_starts_with(line, indent) && !is_comment)
			add_commands(&b, line, indent, comment);
		else
			add_prose(&b, line);
	}
	b.s[--b.len] = '\0';
	return gt_buf_take(&b);
}
