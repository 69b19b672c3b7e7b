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

#define MOST_LINES 256 /* a broken GPU can write the same a thousand times */
enum { READ_ALL = 3, SIZE_BUFFER = 10 };

static const char *const words[] = {"NVRM",
				    "nvidia:",
				    "nvidia_uvm",
				    "available PCIe bandwidth",
				    "unsigned module",
				    "Key was rejected",
				    "no space for",
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

static void take_line(struct pr_host *h, char *line)
{
	int xid;

	while (*line == '<' && strchr(line, '>')) /* the level */
		line = strchr(line, '>') + 1;
	if (*line == '[' && strchr(line, ']')) /* the time since the boot */
		line = strchr(line, ']') + 1;
	line = gt_strip(line);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (!matters(line) || gt_strv_has(&h->log, line) || h->log.n >= MOST_LINES)
		return;
	gt_strv_add(&h->log, line);
	xid = xid_of(line);
	if (!xid)
		return;
	h->xid = gt_xrealloc(h->xid, (h->n_xid + 1) * sizeof(*h->xid));
	h->xid[h->n_xid++] = (struct pr_xid){xid, pr_keep(h, line)};
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
