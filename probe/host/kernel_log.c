/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's log says of GPUs. Most users may not read it (kernel.dmesg_restrict): then that is what is said,
 * never "no errors". A captured host has the lines that matter as the fact "kernel_log".
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/klog.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "probe/reading.h"

#define MOST_LINES 256 /* a broken GPU can write a thousand */
enum { READ_ALL = 3, SIZE_BUFFER = 10 };

static const char *const words[] = {"NVRM",
				    "nvidia:",
				    "nvidia_uvm",
				    "available PCIe bandwidth",
				    "unsigned module",
				    "Key was rejected",
				    "with unavailable key",
				    "no space for",
				    "firmware load for nvidia/",
				    "failed to load nvidia/",
				    "nvidia-nvswitch"};

static bool matters(const char *line)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* "NVRM: Xid (PCI:0000:17:00): 79, pid=…" -> 79. */
static int xid_of(const char *line)
{
	const char *at = strstr(line, "Xid ("), *number = at ? strstr(at, "): ") : NULL;
	long v = number && isdigit((unsigned char)number[3]) ? strtol(number + 3, NULL, 10) : 0;

	return v > 0 && v < 10000 ? (int)v : 0;
}

/* What a program of a user can bring about, a thousand times over: it goes first when there are too many lines. */
static bool is_common(const char *line)
{
	int xid = xid_of(line);

	return xid == 13 || xid == 31 || xid == 43;
}

static void drop(struct gt_strv *log, size_t at)
{
	free(log->v[at]);
	memmove(&log->v[at], &log->v[at + 1], (--log->n - at) * sizeof(*log->v));
}

/* Room for one more: the oldest of the common lines goes, else the oldest that is no Xid, else the oldest. */
static void make_room(struct gt_strv *log)
{
	size_t plain = log->n, at = 0;

	while (at < log->n && !is_common(log->v[at])) {
		if (plain == log->n && !xid_of(log->v[at]))
			plain = at;
		at++;
	}
	drop(log, at < log->n ? at : plain < log->n ? plain : 0);
}

static void take_line(struct pr_host *h, char *line)
{
	while (*line == '<' && strchr(line, '>')) /* the level */
		line = strchr(line, '>') + 1;
	if (*line == '[' && strchr(line, ']')) /* the time since the boot */
		line = strchr(line, ']') + 1;
	line = gt_strip(line);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (!matters(line))
		return;
	for (size_t i = h->log.n; i-- > 0;)
		if (!strcmp(h->log.v[i], line)) { /* once, where it came last */
			drop(&h->log, i);
			break;
		}
	if (h->log.n >= MOST_LINES)
		make_room(&h->log);
	gt_strv_add(&h->log, line);
}

static void find_xids(struct pr_host *h)
{
	h->xid = gt_xcalloc(h->log.n + 1, sizeof(*h->xid));
	for (size_t i = 0; i < h->log.n; i++)
		if (xid_of(h->log.v[i]))
			h->xid[h->n_xid++] = (struct pr_xid){xid_of(h->log.v[i]), pr_keep(h, h->log.v[i])};
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
	gt_autofree char *text = NULL;
	char *save = NULL;
	int r = h->live ? read_live(&text) : gt_fs_fact(fs, "kernel_log", &text, NULL);

	h->kernel_log = pr_state_of(r);
	if (!h->live && r == -ENOENT)
		h->kernel_log = PR_UNREADABLE; /* it was not when the host was captured */
	for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		take_line(h, line);
	find_xids(h);
}

char *pr_kernel_log_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	if (h->kernel_log != PR_PRESENT)
		return NULL;
	for (size_t i = 0; i < h->log.n; i++)
		gt_buf_printf(&b, "%s\n", h->log.v[i]);
	return gt_buf_take(&b);
}
