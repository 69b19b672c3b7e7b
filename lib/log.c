/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/log.h"

static const char *tool_name = "gputune";
static enum gt_log_level max_level = GT_LOG_WARN;
static bool quiet, line_open, journal;
static double started_s, last_s, limit_s;

/* Compares fd with the socket in JOURNAL_STREAM. systemd sets it, and child processes inherit it even if their stderr
 * goes elsewhere. */
static bool is_journal(int fd)
{
	const char *name = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return name && sscanf(name, "%llu:%llu", &dev, &ino) == 2 && !fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
}

void gt_log_init(const char *tool, enum gt_log_level level)
{
	tool_name = tool;
	max_level = level;
	quiet = level == GT_LOG_ERROR;
	journal = is_journal(STDERR_FILENO);
}

bool gt_log_is_journal(void)
{
	return journal;
}

void gt_log(enum gt_log_level level, const char *fmt, ...)
{
	static const char *const word[] = { "", "warning: ", "", "debug: " };
	static const char *const priority[] = { "<3>", "<4>", "<6>", "<7>" }; /* priorities of syslog(3) */
	va_list ap;

	if (level > max_level)
		return;
	gt_progress_end();
	fprintf(stderr, "%s%s: %s", journal ? priority[level] : "", tool_name, word[level]);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void format_duration(char *buf, size_t size, double s)
{
	if (s >= 90)
		snprintf(buf, size, "%.0f min", ceil(s / 60));
	else
		snprintf(buf, size, "%.0f s", ceil(s));
}

void gt_progress_limit(double left_s)
{
	limit_s = left_s;
}

void gt_progress(const char *what, double done, double total)
{
	bool tty = isatty(STDERR_FILENO) && !gt_streq(getenv("TERM"), "dumb");
	double now = gt_now_s();
	char eta[64] = "", left[32];

	if (quiet)
		return;
	if (done <= 0 || started_s == 0)
		started_s = now;
	if (!tty && last_s > 0 && now - last_s < 60 && done < total)
		return;
	last_s = now;
	if (total > 0 && done > 0) {
		double left_s = (now - started_s) / done * (total - done);

		format_duration(left, sizeof(left), limit_s > 0 ? GT_MIN(left_s, limit_s) : left_s);
		snprintf(eta, sizeof(eta), "  %3.0f %%, %s left", 100 * done / total, left);
	}
	fprintf(stderr, tty ? "\r\033[K%s%s" : "%s%s\n", what, eta);
	line_open = tty;
	fflush(stderr);
}

void gt_progress_end(void)
{
	if (line_open)
		fputs("\r\033[K", stderr);
	line_open = false;
}
