/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a support bundle: a compressed tar archive with a capture, the report on the captured host, its kernel log lines and
 * versions. Everything comes from the scrubbed capture, so the archive contains no more than the capture.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include "lib/file.h"
#include "probe/cmd/bundle.h"
#include "probe/report/render.h"
#include "probe/report/report.h"

#define BLOCK 512 /* bytes; tar's unit */
#define DIR   "gpuprobe-bundle/"

/* Appends a file in the format ustar (POSIX.1-1988). */
static void add_file(struct gt_buf *tar, const char *name, const char *text, size_t len)
{
	static const char zeros[BLOCK];
	char head[BLOCK] = "";
	unsigned sum = 0;

	snprintf(head, 100, DIR "%s", name);
	snprintf(head + 100, 8, "%07o", 0644u);
	snprintf(head + 108, 8, "%07o", 0u);
	snprintf(head + 116, 8, "%07o", 0u);
	snprintf(head + 124, 12, "%011zo", len);
	snprintf(head + 136, 12, "%011o", 0u);
	memset(head + 148, ' ', 8); /* the checksum counts its own field as blanks */
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	gt_buf_add(tar, head, BLOCK);
	gt_buf_add(tar, text, len);
	gt_buf_add(tar, zeros, (BLOCK - len % BLOCK) % BLOCK);
}

static void add_versions(struct gt_buf *tar, const json_t *doc)
{
	const json_t *host = json_object_get(doc, "host"), *nvidia = json_object_get(host, "nvidia"), *p;
	gt_auto_buf b = { 0 };
	size_t i;

	gt_buf_printf(&b, "gpuprobe %s\n", PACKAGE_VERSION);
	gt_buf_printf(&b, "distribution %s\n",
		      gt_json_get_str(json_object_get(host, "distribution"), "pretty", "unknown"));
	gt_buf_printf(&b, "kernel %s\n", gt_json_get_str(json_object_get(host, "kernel"), "release", "unknown"));
	gt_buf_printf(&b, "NVIDIA module %s\n", gt_json_get_str(nvidia, "module_version", "not loaded"));
	json_array_foreach(json_object_get(host, "packages"), i, p)
		gt_buf_printf(&b, "%s %s\n", gt_json_get_str(p, "name", ""), gt_json_get_str(p, "version", ""));
	add_file(tar, "versions.txt", b.s, b.len);
}

static void add_log(struct gt_buf *tar, struct gt_fsroot *fs)
{
	gt_autofree char *text = NULL;
	size_t len = 0;

	if (gt_fs_fact(fs, "kernel_log", &text, &len) < 0)
		text = gt_xasprintf("The kernel log was not examined: only root can read it.\n");
	add_file(tar, "kernel.log", text, len ? len : strlen(text));
}

static void add_report(struct gt_buf *tar, const json_t *doc)
{
	gt_autofree char *json = gt_json_text(doc);
	gt_auto_buf markdown = { 0 };

	pr_render_markdown(doc, &markdown);
	add_file(tar, "report.md", markdown.s, markdown.len);
	add_file(tar, "report.json", json, strlen(json));
}

/* Opens the text of a capture as a root. */
static int open_capture(const struct gt_buf *capture, struct gt_fsroot **ret, struct gt_err *err)
{
	gt_autoclose int fd = memfd_create("capture", MFD_CLOEXEC);
	gt_autofree char *path = gt_xasprintf("/proc/self/fd/%d", fd);
	int r = fd < 0 ? -errno : gt_fd_write(fd, capture->s, capture->len);

	if (r < 0)
		return gt_fail(err, -r, "cannot store the capture in memory");
	return gt_fs_open(path, ret, err);
}

/* Compresses in gzip's format, without a time stamp, so that equal bundles are equal files. */
static int compress_all(const struct gt_buf *tar, struct gt_buf *ret, struct gt_err *err)
{
	z_stream z = { .next_in = (unsigned char *)tar->s, .avail_in = (unsigned)tar->len };
	gt_autofree unsigned char *out = NULL;
	unsigned long most;
	int r;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return gt_fail(err, ENOMEM, "cannot compress the bundle");
	most = deflateBound(&z, tar->len);
	out = gt_xcalloc(most, 1);
	z.next_out = out;
	z.avail_out = (unsigned)most;
	r = deflate(&z, Z_FINISH);
	deflateEnd(&z);
	if (r != Z_STREAM_END)
		return gt_fail(err, EIO, "cannot compress the bundle");
	gt_buf_add(ret, (char *)out, z.total_out);
	return 0;
}

int pr_bundle(const struct gt_buf *capture, struct gt_buf *ret, struct gt_err *err)
{
	static const char end[2 * BLOCK];
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto_json *doc = NULL;
	gt_auto_buf tar = { 0 };
	int r = open_capture(capture, &fs, err);

	if (r < 0)
		return r;
	r = pr_report_of(fs, &doc, err);
	if (r < 0)
		return r;
	add_report(&tar, doc);
	add_log(&tar, fs);
	add_versions(&tar, doc);
	add_file(&tar, "host.capture", capture->s, capture->len);
	gt_buf_add(&tar, end, sizeof(end));
	return compress_all(&tar, ret, err);
}
