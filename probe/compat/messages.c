/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of error messages. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/compat/messages.h"

const struct pr_message pr_messages[] = {
#include "probe/compat/messages_rows.h"
};
const size_t pr_n_messages = GT_ARRAY_SIZE(pr_messages);

static const struct {
	const char *word, *text;
} faults[] = {
	{"program", "an error of the program or its configuration"},
	{"install", "packages or libraries that are incompatible with this host or with each other"},
	{"driver", "the driver or its setup"},
	{"hardware", "the hardware"},
	{"limit", "a limit of memory, disk space, files or time"},
	{"network", "the network or another rank"},
	{"container", "the container or the scheduler that started the program"},
	{"system", "the operating system or its configuration"},
	{"notice", "not an error"},
	{"several", "not known: the message has several possible causes"},
};

const char *pr_message_fault(const struct pr_message *m)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(faults); i++)
		if (!strcmp(faults[i].word, m->fault))
			return faults[i].text;
	return m->fault;
}

/* Finds a line that matches, and removes it, so that each line yields one entry. */
static bool take_line(const regex_t *re, char **lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lines[i] && !regexec(re, lines[i], 0, NULL, 0)) {
			lines[i] = NULL;
			return true;
		}
	return false;
}

/* The entries that match, errors and notices apart: notices must not displace an error. */
struct found {
	const struct pr_message **errors, **notices;
	size_t n_errors, n_notices;
};

static void find_in(char **lines, size_t n_lines, struct found *f)
{
	for (size_t i = 0; i < pr_n_messages; i++) {
		const struct pr_message *m = &pr_messages[i];
		regex_t re;

		/* cannot fail: a unit test compiles each pattern */
		if (regcomp(&re, m->pattern, REG_EXTENDED | REG_NOSUB))
			continue;
		if (take_line(&re, lines, n_lines)) {
			if (strcmp(m->fault, "notice"))
				f->errors[f->n_errors++] = m;
			else
				f->notices[f->n_notices++] = m;
			while (take_line(&re, lines, n_lines))
				;
		}
		regfree(&re);
	}
}

/* Appends the words of a line, with one space between them, and the prefix NVRM only once. */
static void append(struct gt_buf *b, char *line)
{
	for (char *rest = line, *word; (word = strtok_r(rest, " \t\r", &rest));)
		if (strcmp(word, "NVRM:") || !b->len || !strstr(b->s, "NVRM:"))
			gt_buf_printf(b, "%s%s", b->len ? " " : "", word);
}

/* Joins each line with the lines after it that begin with a space: a terminal or the kernel log has broken it. Returns
 * the number of joined lines. */
static size_t join(char **lines, size_t n_lines, char **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < n_lines;) {
		gt_auto_buf b = { 0 };
		size_t first = i;

		do
			append(&b, lines[i++]);
		while (i < n_lines && (*lines[i] == ' ' || *lines[i] == '\t'));
		if (i - first > 1)
			ret[n++] = gt_buf_take(&b);
	}
	return n;
}

static void find_joined(char **lines, size_t n_lines, struct found *f)
{
	gt_autofree char **joined = gt_xcalloc(n_lines + 1, sizeof(*joined)), **left = gt_xcalloc(n_lines + 1, sizeof(*left));
	size_t n_joined = join(lines, n_lines, joined);

	memcpy(left, joined, n_joined * sizeof(*left));
	find_in(left, n_joined, f);
	for (size_t i = 0; i < n_joined; i++)
		free(joined[i]);
}

size_t pr_message_find(const char *text, const struct pr_message **ret, size_t most)
{
	gt_autofree char *copy = gt_xstrdup(text);
	gt_autofree char **lines = gt_xcalloc(strlen(text) / 2 + 1, sizeof(*lines));
	gt_autofree const struct pr_message **all = gt_xcalloc(2 * pr_n_messages, sizeof(*all));
	struct found f = {.errors = all, .notices = all + pr_n_messages};
	size_t n = 0, n_lines = 0;

	gt_each_line(line, copy)
		lines[n_lines++] = line;
	find_in(lines, n_lines, &f);
	if (!f.n_errors && !f.n_notices) /* so no line was taken */
		find_joined(lines, n_lines, &f);
	for (size_t i = 0; i < f.n_errors && n < most; i++)
		ret[n++] = f.errors[i];
	for (size_t i = 0; i < f.n_notices && n < most; i++)
		ret[n++] = f.notices[i];
	return n;
}
