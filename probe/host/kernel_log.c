/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel log. Most users may not read it (kernel.dmesg_restrict). Its state is then unreadable, which differs
 * from "no errors". A captured host has the lines of interest as the fact "kernel_log", each after its level in angle
 * brackets if known.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <time.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/spawn.h"
#include "lib/text.h"
#include "probe/compat/log_lines.h"
#include "probe/host/reading.h"

#define LONGEST_LINE 1024 /* bytes; the kernel's own limit is about this */
#define N_SORTS	     4096
#define MOST_BYTES   ((int)GT_FS_MAX)
enum { READ_ALL = 3, SIZE_BUFFER = 10 };

/* Lines of one sort have the same error number, or the same driver. */
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

/* Contents of the prefixes of a line. */
struct prefix {
	int level;  /* -1: unknown */
	bool user;  /* a program wrote the line, not the kernel */
	double time_s, first_s;
	unsigned count;
};

/* Reads "[   12.345678]", and "[x17 since 3.5]" in the fact of a capture. */
static void read_bracket(const char *line, struct prefix *ret)
{
	const char *p = *line == '[' ? line + 1 + strspn(line + 1, " ") : "";
	double first_s, time_s;
	unsigned count;
	char *end;

	if (isdigit((unsigned char)*p)) {
		time_s = strtod(p, &end);
		if (*end == ']')
			ret->time_s = ret->first_s = time_s;
	} else if (*p == 'x' && sscanf(p, "x%u since %lf]", &count, &first_s) == 2 && count && first_s >= 0) {
		ret->count = count;
		ret->first_s = first_s;
	} else if (*p == 'x' && sscanf(p, "x%u", &count) == 1 && count) {
		ret->count = count;
	}
}

/* Skips the prefixes "<3>", "[   12.345678] " and syslog's "Nov 21 03:00:07 node7 kernel: ". */
static char *skip_prefix(char *line, struct prefix *ret)
{
	char *end, *kernel, *next;

	*ret = (struct prefix){.level = -1, .time_s = NAN, .first_s = NAN, .count = 1};
	line += strspn(line, " \t");
	for (; *line == '<' && isdigit((unsigned char)line[1]) && (end = strchr(line, '>')); line = end + 1) {
		long value = strtol(line + 1, NULL, 10);

		ret->level = (int)(value & 7);
		ret->user = value >> 3 != 0; /* the other bits are the facility, which is 0 for the kernel */
	}
	read_bracket(line, ret);
	kernel = strstr(line, "kernel: ");
	if (kernel && kernel - line < 100 && (kernel == line || kernel[-1] == ' '))
		line = kernel + strlen("kernel: ");
	while ((next = skip_bracket(line)) != line) {
		read_bracket(line, ret);
		line = next;
	}
	return line;
}

/* The firmware's record of one error has several lines. "section_type: PCIe error" follows the lines with the severity. */
static void read_section(struct keep *k, const char *line)
{
	for (size_t i = k->n; strstr(line, "section_type: PCIe error") && i-- > 0;) {
		if (!k->line[i].check || strcmp(k->line[i].check, "log.hardware") != 0 ||
		    !strstr(k->line[i].text, "[Hardware Error]"))
			break;
		k->of_sort[sort_of(&k->line[i])]--;
		k->line[i].check = "log.pcie";
		k->of_sort[sort_of(&k->line[i])]++;
	}
}

/* "Machine check events logged" does not state a severity. Drops it if the next line reports a corrected error. */
static void drop_announcement(struct keep *k)
{
	if (k->n && strstr(k->line[k->n - 1].text, "Machine check events logged"))
		drop(k, k->n - 1);
}

/* Removes an earlier equal line and adds its count to l. */
static void merge_equal(struct keep *k, struct pr_log_line *l)
{
	for (size_t i = k->n; i-- > 0;) {
		if (k->line[i].level != l->level || strcmp(k->line[i].text, l->text) != 0)
			continue;
		l->count += k->line[i].count;
		l->first_s = k->line[i].first_s;
		drop(k, i);
		return;
	}
}

static void take_line(struct keep *k, char *line)
{
	struct pr_log_line l;
	struct prefix prefix;

	line = skip_prefix(line, &prefix);
	line[strnlen(line, LONGEST_LINE)] = '\0';
	line = gt_strip(line);
	for (char *p = line; *p; p++)
		if (*p < ' ' || *p > '~') /* terminal escapes, invalid UTF-8 */
			*p = '?';
	if (gt_starts_with(line, "Linux version ")) /* another boot */
		while (k->n)
			drop(k, k->n - 1);
	read_section(k, line);
	if (prefix.user || !pr_log_classify(line, prefix.level, &l))
		return;
	l.time_s = prefix.time_s;
	l.first_s = prefix.first_s;
	l.count = prefix.count;
	if (l.kind == PR_LOG_CORRECTED)
		drop_announcement(k);
	merge_equal(k, &l);
	if (k->n >= PR_LOG_MOST)
		make_room(k);
	l.text = gt_xstrdup(line);
	k->of_sort[sort_of(&l)]++;
	k->line[k->n++] = l;
}

/*
 * Returns whether the text has the first message of the boot: a line with time 0, or without times one of the first
 * lines.
 */
static bool has_start(const char *text)
{
	struct prefix prefix;
	gt_autofree char *head = gt_xstrndup(text, 4096);
	char *line = skip_prefix(head, &prefix);

	return isnan(prefix.time_s) ? strstr(line, "Linux version ") || strstr(line, "Booting Linux") : prefix.time_s == 0;
}

static int read_live(char **ret)
{
	int size = klogctl(SIZE_BUFFER, NULL, 0), n;
	char *text;

	if (size < 0)
		return -errno;
	size = GT_MIN(size, MOST_BYTES); /* in that case klogctl returns the newest lines */
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

/* Returns the kernel's messages of this boot from systemd's journal; NULL if it does not have all of them. The caller frees it. */
static char *read_journal(void)
{
	gt_auto_spawn s = {.argv = (char *[]){"journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic", NULL},
			   .timeout_s = 3, .max_output = MOST_BYTES};

	if (gt_spawn(&s, NULL) < 0 || s.status || s.truncated || !s.out || !has_start(s.out))
		return NULL;
	return gt_take(s.out);
}

/* Counts the crash records that the firmware kept, and those that systemd moved to the disk. */
static struct pr_num count_crashes(struct gt_fsroot *fs)
{
	static const char *const dirs[] = {"/sys/fs/pstore", "/var/lib/systemd/pstore"};
	int64_t n = 0;

	for (size_t d = 0; d < GT_ARRAY_SIZE(dirs); d++) {
		gt_auto_strv names = {0};
		int r = gt_fs_list(fs, dirs[d], &names);

		if (r < 0 && pr_state_of(r) != PR_ABSENT)
			return (struct pr_num){pr_state_of(r), 0};
		n += (int64_t)names.n;
	}
	return pr_value(n);
}

/* Reads the log of the live host. The journal replaces a buffer that lost its first lines. */
static int read_log(struct gt_fsroot *fs, struct pr_host *h, char **ret)
{
	struct timespec now;
	char *journal = NULL;
	int r = read_live(ret);

	if (r < 0)
		return r;
	h->log_source.name = "kernel buffer";
	h->log_source.start_lost = !has_start(*ret);
	h->log_source.crashes = count_crashes(fs);
	if (!clock_gettime(CLOCK_MONOTONIC, &now)) /* the clock of the log, which excludes the time in suspend */
		h->log_source.now_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	if (h->log_source.start_lost)
		journal = read_journal();
	if (journal) {
		free(*ret);
		*ret = journal;
		h->log_source.name = "journal";
		h->log_source.start_lost = false;
	}
	return 0;
}

static int read_captured(struct gt_fsroot *fs, struct pr_host *h, char **ret)
{
	gt_autofree char *fact = NULL;
	char name[32] = "";
	int lost = 0, crashes = -1, r = gt_fs_fact(fs, "kernel_log", ret, NULL);

	if (r >= 0 && gt_fs_fact(fs, "kernel_log_source", &fact, NULL) >= 0 &&
	    sscanf(fact, "now %lf start_lost %d crashes %d from %31[a-z ]", &h->log_source.now_s, &lost, &crashes, name) == 4) {
		h->log_source.start_lost = lost;
		h->log_source.name = pr_keep(h, name);
		if (crashes >= 0)
			h->log_source.crashes = pr_value(crashes);
	}
	return r == -ENOENT ? -EACCES : r; /* it was unreadable during the capture */
}

void pr_discover_kernel_log(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree struct keep *k = gt_xcalloc(1, sizeof(*k));
	gt_autofree char *text = NULL;

	h->log_source.now_s = NAN;
	h->kernel_log = pr_state_of(h->live ? read_log(fs, h, &text) : read_captured(fs, h, &text));
	k->line = h->log = gt_xcalloc(PR_LOG_MOST, sizeof(*h->log));
	gt_each_line(line, text)
		take_line(k, line);
	h->n_log = k->n;
	pr_log_mark_past(h->log, h->n_log);
	for (size_t i = 0; i < h->n_log; i++)
		pr_own(h, (char *)h->log[i].text);
}

static void put_prefix(struct gt_buf *b, const struct pr_log_line *l)
{
	if (l->level >= 0)
		gt_buf_printf(b, "<%d>", l->level);
	if (!isnan(l->time_s))
		gt_buf_printf(b, "[%.6f] ", l->time_s);
	if (l->count > 1 && !isnan(l->first_s))
		gt_buf_printf(b, "[x%u since %.6f] ", l->count, l->first_s);
	else if (l->count > 1)
		gt_buf_printf(b, "[x%u] ", l->count);
}

char *pr_kernel_log_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	if (h->kernel_log != PR_PRESENT)
		return NULL;
	for (size_t i = 0; i < h->n_log; i++) {
		put_prefix(&b, &h->log[i]);
		gt_buf_printf(&b, "%s\n", h->log[i].text);
	}
	return gt_buf_take(&b);
}

char *pr_log_source_fact(const struct pr_host *h)
{
	if (h->kernel_log != PR_PRESENT || !h->log_source.name)
		return NULL;
	return gt_xasprintf("now %.6f start_lost %d crashes %d from %s\n", h->log_source.now_s, h->log_source.start_lost,
			    (int)pr_or(h->log_source.crashes, -1), h->log_source.name);
}
