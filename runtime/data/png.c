/* SPDX-License-Identifier: Apache-2.0 */
/* PNG by libpng, with its own limits set. */
#include "config.h"
#include "runtime/data/image.h"

static bool is_png(const unsigned char *p, size_t len)
{
	return len >= 4 && p[0] == 0x89 && p[1] == 'P' && p[2] == 'N' && p[3] == 'G';
}

#ifdef HAVE_PNG
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>

#define CHUNK_MAX	(8u << 20) /* decompressed size of text, profiles and similar chunks */
#define CHUNKS_MAX	64

struct reading {
	const unsigned char *bytes;
	size_t len, at;
	jmp_buf back;
	struct gt_err *err;
};

static void on_error(png_structp p, png_const_charp text)
{
	struct reading *in = png_get_error_ptr(p);

	gt_fail(in->err, EBADMSG, "PNG: %s", text);
	longjmp(in->back, 1);
}

static void on_warning(png_structp p, png_const_charp text)
{
}

static void on_read(png_structp p, png_bytep out, size_t n)
{
	struct reading *in = png_get_io_ptr(p);

	if (n > in->len - in->at)
		png_error(p, "it ends early");
	memcpy(out, in->bytes + in->at, n);
	in->at += n;
}

/* Decodes to 4 bytes per pixel from any format. */
static int png_lines(png_structp p, png_infop info, struct reading *in, struct rt_image_scratch *s, struct rt_pixels *ret)
{
	uint32_t w, h;
	unsigned char *pixels;
	int passes, r;

	png_set_read_fn(p, in, on_read);
	png_set_user_limits(p, UINT32_MAX / 8, UINT32_MAX / 8);
	png_set_chunk_malloc_max(p, CHUNK_MAX);
	png_set_chunk_cache_max(p, CHUNKS_MAX);
	png_read_info(p, info);
	w = png_get_image_width(p, info);
	h = png_get_image_height(p, info);
	r = rt_image_check_size(w, h, in->err);
	if (r)
		return r;
	png_set_expand(p);
	png_set_strip_16(p);
	png_set_gray_to_rgb(p);
	png_set_filler(p, 0xff, PNG_FILLER_AFTER);
	passes = png_set_interlace_handling(p);
	png_read_update_info(p, info);
	if (png_get_rowbytes(p, info) != (size_t)w * 4)
		return gt_fail(in->err, EBADMSG, "PNG: an unsupported pixel format");
	pixels = rt_image_pixels(s, w, h, in->err);
	if (!pixels)
		return -in->err->code;
	for (int pass = 0; pass < passes; pass++)
		for (uint32_t y = 0; y < h; y++)
			png_read_row(p, pixels + (size_t)y * w * 4, NULL);
	png_read_end(p, NULL);
	*ret = (struct rt_pixels){ pixels, w, h, w, h };
	return 0;
}

static int png_decode(void *state, const unsigned char *bytes, size_t len, const struct rt_image_ask *ask,
		      struct rt_image_scratch *s, struct rt_pixels *ret, struct gt_err *err)
{
	struct gt_err mine = { 0 };
	struct reading in = { .bytes = bytes, .len = len, .err = &mine };
	png_structp p = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, on_error, on_warning);
	png_infop info = p ? png_create_info_struct(p) : NULL;
	volatile int r = -EBADMSG;

	if (!info)
		gt_fail(&mine, ENOMEM, "no memory for a PNG decoder");
	else if (!setjmp(in.back))
		r = png_lines(p, info, &in, s, ret);
	else
		r = -EBADMSG;
	if (p)
		png_destroy_read_struct(&p, info ? &info : NULL, NULL);
	return r ? gt_fail(err, mine.code ? mine.code : EBADMSG, "%s", mine.msg) : 0;
}

const struct rt_codec rt_codec_png = { .name = "PNG", .library = "libpng", .is = is_png, .decode = png_decode };
#else
const struct rt_codec rt_codec_png = { .name = "PNG", .library = "libpng", .is = is_png };
#endif
