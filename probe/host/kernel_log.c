/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel log. Most users may not read it (kernel.dmesg_restrict). Its state is then unreadable, which differs
 * from "no errors". A captured host has the lines of interest as the fact "kernel_log", each after its level in angle
 * brackets if known.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/klog.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/compat/log_lines.h"
#include "probe/host/reading.h"

#define LONGEST_LINE 1024 /* bytes; the kernel's own limit is about this */
#define N_SORTS	     4096
enum { READ_ALL = 3, SIZE_BUFFER = 10 };

/* Lines of one sort have the same error number, or come from the same driver. */
struct keep {
	struct pr_log_line *line;
	size_t n;
	unsigned of_sort[N_SORTS];
};

static size_t sort_of(const struct pr_log_line *l)
{
	size_t sort = l->xid.number ? 16 + (size_t)l->xid.number : (size_t)l->kind;

	for (const char *p = l->xid.number ? "" : l->check ? l->check : ""; *p; p++)
		sort = sort * 31 + (unsigned char)*p;
	return sort % N_SORTS;
}

static void drop(struct keep *k, size_t at)
{
	k->of_sort[sort_of(&k->line[at])]--;
	free((char *)k->line[at].text);
	memmove(&k->line[at], &k->line[at + 1], (--k->n - at) * sizeof(*k->line));
}

/* Drops the oldest line of the most frequent sort, so that a flood of one error does not displace others. */
static void make_room(struct keep *k)
{
	size_t at = 0;

	for (size_t i = 1; i < k->n; i++)
		if (k->of_sort[sort_of(&k->line[i])] > k->of_sort[sort_of(&k->line[at])])
			at = i;
	drop(k, at);
}

/* Skips a prefix in brackets: "[   12.345678]", "[T4711]", "[Sat Nov 21 03:00:07 2026]"; not "[drm]", "[Hardware Error]". */
static char *skip_bracket(char *line)
{
	char *end = *line == '[' ? strchr(line, ']') : NULL;

	for (char *p = line; end && p < end; p++)
		if (isdigit((unsigned char)*p))
			return end + 1 + strspn(end + 1, " \t");
	return line;
}

/* Skips "<3>", "[   12.345678] " and syslog's "Nov 21 03:00:07 node7 kernel: ". */
static char *skip_prefix(char *line, int *level)
{
	char *end, *kernel, *next;

	line += strspn(line, " \t");
	for (; *line == '<' && isdigit((unsigned char)line[1]) && (end = strchr(line, '>')); line = end + 1)
		*level = (int)(strtol(line + 1, NULL, 10) & 7);
	kernel = strstr(line, "kernel: ");
	if (kernel && kernel - line < 100 && (kernel == line || kernel[-1] == ' '))
		line = kernel + strlen("kernel: ");
	while ((next = skip_bracket(line)) != line)
		line = next;
	return line;
}

static void take_line(struct keep *k, char *line)
{
	struct pr_log_line l;
	int level = -1;

	line = skip_prefix(line, &level);
	line[strnlen(line, LONGEST_LINE)] = '\0';
	line = gt_strip(line);
	for (char *p = line; *p; p++)
		if (*p < ' ' || *p > '~') /* terminal escapes, invalid UTF-8 */
			*p = '?';
	if (!pr_log_classify(line, level, &l))
		return;
	for (size_t i = k->n; i-- > 0;)
		if (k->line[i].level == level && !strcmp(k->line[i].text, line)) { /* keep only the last occurrence */
			drop(k, i);
			break;
		}
	if (k->n >= PR_LOG_MOST)
		make_room(k);
	l.text = gt_xstrdup(line);
	k->of_sort[sort_of(&l)]++;
	k->line[k->n++] = l;
}

static int read_live(char **ret)
{
	int size = klogctl(SIZE_BUFFER, NULL, 0), n;
	char *text;

	if (size < 0)
		return -errno;
	text = gt_xcalloc((size_t)size + 1, 1);
	n = klogctl(READ_ALL, text, size);
	if (n < 0) {
		n = -errno;
		free(text);
		return n;
	}
	text[n] = '\0';
	*ret = text;
	return 0;
}

void pr_discover_kernel_log(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree struct keep *k = gt_xcalloc(1, sizeof(*k));
	gt_autofree char *text = NULL;
	int r = h->live ? read_live(&text) : gt_fs_fact(fs, "kernel_log", &text, NULL);

	h->kernel_log = pr_state_of(r);
	if (!h->live && r == -ENOENT)
		h->kernel_log = PR_UNREADABLE; /* it was unreadable during the capture */
	k->line = h->log = gt_xcalloc(PR_LOG_MOST, sizeof(*h->log));
	gt_each_line(line, text)
		take_line(k, line);
	h->n_log = k->n;
	for (size_t i = 0; i < h->n_log; i++)
		pr_own(h, (char *)h->log[i].text);
}

char *pr_kernel_log_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	if (h->kernel_log != PR_PRESENT)
		return NULL;
	for (size_t i = 0; i < h->n_log; i++) {
		if (h->log[i].level >= 0)
			gt_buf_printf(&b, "<%d>", h->log[i].level);
		gt_buf_printf(&b, "%s\n", h->log[i].text);
	}
	return gt_buf_take(&b);
}
