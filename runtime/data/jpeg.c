/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG by libjpeg-turbo. Decodes only the pixels that the result needs. The scale is the smallest of 1/8 … 8/8 (in the
 * inverse transform) that still gives the required size. Lines below the crop are not decoded.
 */
#include "config.h"
#include <stdio.h>
#include "runtime/data/image.h"

static bool is_jpeg(const unsigned char *p, size_t len)
{
	return len >= 3 && p[0] == 0xff && p[1] == 0xd8 && p[2] == 0xff;
}

#ifdef HAVE_JPEG
#include <errno.h>
#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>

#define SCANS_MAX 200 /* maximum of a progressive image; each scan is a pass over the whole image */

struct jpeg {
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf back;
	struct gt_err *err;
	bool cut;
};

static void on_error(j_common_ptr c)
{
	struct jpeg *j = c->client_data;
	char text[JMSG_LENGTH_MAX];

	c->err->format_message(c, text);
	gt_fail(j->err, EBADMSG, "JPEG: %s", text);
	longjmp(j->back, 1);
}

/* A warning means damaged data. Pixels that the decoder invents for a truncated file are not used. */
static void on_message(j_common_ptr c, int level)
{
	struct jpeg *j = c->client_data;

	if (level < 0 && (c->err->msg_code == JWRN_JPEG_EOF || c->err->msg_code == JWRN_HIT_MARKER))
		j->cut = true;
}

static void on_progress(j_common_ptr c)
{
	struct jpeg *j = c->client_data;

	if (c->is_decompressor && ((j_decompress_ptr)c)->input_scan_number > SCANS_MAX) {
		gt_fail(j->err, EBADMSG, "JPEG: more than %d scans", SCANS_MAX);
		longjmp(j->back, 1);
	}
}

static int jpeg_new(void **ret, struct gt_err *err)
{
	struct jpeg *j = gt_xcalloc(1, sizeof(*j));

	j->d.err = jpeg_std_error(&j->errors);
	j->errors.error_exit = on_error;
	j->errors.emit_message = on_message;
	j->progress.progress_monitor = on_progress;
	j->d.client_data = j;
	j->err = err;
	if (setjmp(j->back)) {
		free(j);
		return -EBADMSG;
	}
	jpeg_create_decompress(&j->d);
	j->d.client_data = j;
	j->d.progress = &j->progress;
	*ret = j;
	return 0;
}

static void jpeg_end(void *state)
{
	struct jpeg *j = state;

	jpeg_destroy_decompress(&j->d);
	free(j);
}

/* Returns the smallest scale at which a box of w x h pixels has at least `size` pixels on each side. */
static unsigned scale_for(double w, double h, double size)
{
	for (unsigned m = 1; m < 8; m++)
		if (w * m / 8 >= size && h * m / 8 >= size)
			return m;
	return 8;
}

static void from_cmyk(unsigned char *p, size_t n, bool inverted)
{
	for (size_t i = 0; i < n; i++, p += 4) {
		unsigned k = inverted ? p[3] : 255u - p[3];

		for (int c = 0; c < 3; c++)
			p[c] = (unsigned char)(((inverted ? p[c] : 255u - p[c]) * k + 127) / 255);
	}
}

static int jpeg_lines(struct jpeg *j, const struct rt_box *box, int64_t size, struct rt_image_scratch *s, struct rt_pixels *ret)
{
	struct jpeg_decompress_struct *d = &j->d;
	unsigned char *pixels;
	double shrink, step;
	uint32_t lines;

	jpeg_start_decompress(d);
	pixels = rt_image_pixels(s, d->output_width, d->output_height, j->err);
	if (!pixels)
		return -j->err->code;
	/* the triangle of the last result extends one step beyond the edge of the box */
	shrink = (double)d->output_height / d->image_height;
	step = (box->y1 - box->y0) * shrink / (double)size;
	lines = (uint32_t)GT_MIN(box->y1 * shrink + GT_MAX(step, 1) + 2, (double)d->output_height);
	while (d->output_scanline < lines) {
		JSAMPROW row[8];
		unsigned n = GT_MIN(8u, lines - d->output_scanline);

		for (unsigned i = 0; i < n; i++)
			row[i] = pixels + (size_t)(d->output_scanline + i) * d->output_width * 4;
		jpeg_read_scanlines(d, row, n);
		if (j->cut)
			return gt_fail(j->err, EBADMSG, "JPEG: it ends early, or a part of it is damaged");
	}
	if (d->out_color_space == JCS_CMYK)
		from_cmyk(pixels, (size_t)d->output_width * lines, d->saw_Adobe_marker);
	/* lines below are not decoded and not read */
	*ret = (struct rt_pixels){ pixels, d->output_width, d->output_height, d->image_width, d->image_height };
	return 0;
}

static int jpeg_decode(void *state, const unsigned char *bytes, size_t len, const struct rt_image_ask *ask,
		       struct rt_image_scratch *s, struct rt_pixels *ret, struct gt_err *err)
{
	struct jpeg *j = state;
	struct jpeg_decompress_struct *d = &j->d;
	struct gt_err mine = { 0 };
	struct rt_box box;
	volatile int r = -EBADMSG;

	j->err = &mine;
	j->cut = false;
	if (!setjmp(j->back)) {
		jpeg_mem_src(d, bytes, len);
		jpeg_read_header(d, TRUE);
		r = rt_image_check_size(d->image_width, d->image_height, &mine);
		if (!r) {
			box = rt_image_box(ask, d->image_width, d->image_height);
			if (ask->whole)
				box = (struct rt_box){ 0, 0, d->image_width, d->image_height };
			d->scale_num = scale_for(box.x1 - box.x0, box.y1 - box.y0, (double)ask->size * (ask->whole ? 2 : 1));
			d->scale_denom = 8;
			d->out_color_space = d->num_components == 4 ? JCS_CMYK : JCS_EXT_RGBX;
			r = jpeg_lines(j, &box, ask->size, s, ret);
		}
	} else {
		r = -EBADMSG;
	}
	jpeg_abort_decompress(d);
	return r ? gt_fail(err, -r, "%s", mine.msg) : 0;
}

const struct rt_codec rt_codec_jpeg = {
	.name = "JPEG", .library = "libjpeg-turbo", .is = is_jpeg, .open = jpeg_new, .close = jpeg_end, .decode = jpeg_decode,
};
#else
const struct rt_codec rt_codec_jpeg = { .name = "JPEG", .library = "libjpeg-turbo", .is = is_jpeg };
#endif
