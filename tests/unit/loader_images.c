/* SPDX-License-Identifier: Apache-2.0 */
/* Images: shards, folders, damaged samples, the cache. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/json.h"
#include "runtime/math/pixels.h"
#include "runtime/data/image.h"
#include "runtime/data/tar.h"
#include "tests/unit/check_loader.h"

#ifdef HAVE_PNG
#include <png.h>

#define SIDE	8
#define IMAGES	40

/* Sample i is an image whose pixels all have the value i. */
static void add_png(struct gt_buf *out, int i, unsigned side)
{
	png_image image = { .version = PNG_IMAGE_VERSION, .width = side, .height = side, .format = PNG_FORMAT_RGB };
	unsigned char *pixels = malloc((size_t)side * side * 3), file[16384];
	png_alloc_size_t n = sizeof(file);

	memset(pixels, i, (size_t)side * side * 3);
	ck_assert(png_image_write_to_memory(&image, file, &n, 0, pixels, 0, NULL));
	gt_buf_add(out, (char *)file, n);
	free(pixels);
}

static void tar_header(unsigned char block[512], const char *name, uint64_t size, char type)
{
	unsigned sum = 0;

	memset(block, 0, 512);
	snprintf((char *)block, 100, "%s", name);
	snprintf((char *)block + 100, 8, "%07o", 0644);
	snprintf((char *)block + 124, 13, "%011llo", (unsigned long long)size);
	block[156] = (unsigned char)type;
	memcpy(block + 257, "ustar\0" "00", 8);
	memset(block + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += block[i];
	snprintf((char *)block + 148, 8, "%06o", sum);
}

static void tar_add(struct gt_buf *tar, const char *name, const char *bytes, size_t len)
{
	static const char zero[512];
	unsigned char block[512];

	tar_header(block, name, len, '0');
	gt_buf_add(tar, (char *)block, 512);
	gt_buf_add(tar, bytes, len);
	gt_buf_add(tar, zero, (512 - len % 512) % 512);
}

static void tar_end(struct gt_buf *tar)
{
	static const char zero[1024];

	gt_buf_add(tar, zero, sizeof(zero));
}

/* 40 samples; `damage`: number 7 is not an image, 8 is truncated, 9 has no label, 10 a label of another class. */
static void shard(struct gt_buf *tar, bool damage)
{
	for (int i = 0; i < IMAGES; i++) {
		gt_auto_buf png = { 0 };
		char name[64], label[16];

		add_png(&png, i, SIDE);
		snprintf(name, sizeof(name), "train/%03d.png", i);
		if (damage && i == 7)
			memset(png.s, 'x', 8);
		tar_add(tar, name, png.s, damage && i == 8 ? png.len / 2 : png.len);
		snprintf(name, sizeof(name), "train/%03d.%s", i, i % 2 ? "cls" : "json");
		snprintf(label, sizeof(label), i % 2 ? "%d\n" : "{\"label\":%d}", damage && i == 10 ? 99 : i % 4);
		if (!damage || i != 9)
			tar_add(tar, name, label, strlen(label));
	}
	tar_end(tar);
}

static struct rt_loader_options images(const char *name, bool damage)
{
	gt_auto_buf tar = { 0 };

	shard(&tar, damage);
	return (struct rt_loader_options){ .path = made(name, tar.s, tar.len), .rows = 8, .size = SIDE, .classes = 4, .seed = 3,
					   .max_corrupt = 10, .std = 1.f / 255, .mean = 0 };
}

START_TEST(shards_have_images_and_labels)
{
	struct rt_loader_options o = images("a.tar", false);
	struct rt_loader *l;
	int seen[IMAGES] = { 0 };

	o.workers = 2;
	o.prefetch = 3;
	l = opened(&o);
	ck_assert_uint_eq(rt_loader_samples(l), IMAGES);
	for (int i = 0; i < 5; i++) {
		struct rt_batch b;

		ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
		for (int row = 0; row < 8; row++) {
			const float *x = (const float *)b.x + row * SIDE * SIDE * 3;
			int value = (int)(x[0] + .5f);

			ck_assert_int_eq(seen[value]++, 0);
			ck_assert_int_eq(b.y[row], value % 4);
			for (int k = 0; k < SIDE * SIDE * 3; k++)
				ck_assert_msg(x[k] > (float)value - .01f && x[k] < (float)value + .01f, "%g", (double)x[k]);
		}
	}
	rt_loader_close(l);
}
END_TEST

START_TEST(damaged_samples_are_counted_and_named)
{
	struct rt_loader_options o = images("damaged.tar", true);
	gt_auto_json *doc = NULL;
	struct rt_loader *l;
	const json_t *corrupt;
	size_t len, other;
	char *want, *got;

	o.workers = 2;
	l = opened(&o);
	for (int i = 0; i < 12; i++) {
		struct rt_batch b;

		ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
		for (int row = 0; row < 8; row++) {
			int value = (int)(((const float *)b.x)[row * SIDE * SIDE * 3] + .5f);

			ck_assert(value < 7 || value > 10);
		}
	}
	doc = rt_loader_report(l);
	rt_loader_close(l);
	corrupt = json_object_get(doc, "corrupt");
	ck_assert_int_eq(gt_json_get_int(corrupt, "count", 0), 4);
	ck_assert_uint_eq(json_array_size(json_object_get(corrupt, "samples")), 4);
	for (size_t i = 0; i < 4; i++) {
		const json_t *s = json_array_get(json_object_get(corrupt, "samples"), i);
		const char *where = strstr(gt_json_get_str(s, "where", ""), "damaged.tar: train/0");
		const char *why = gt_json_get_str(s, "reason", "");
		static const char *const reasons[] = { "neither JPEG nor PNG", "ends early", "no label", "of 4 classes" };

		ck_assert(where && strstr(where, " at "));
		ck_assert_msg(strstr(why, reasons[atoi(where + 20) - 7]) != NULL, "%s: %s", where, why);
	}
	o.workers = 0;
	want = batches(&o, 12, &len);
	o.workers = 4;
	got = batches(&o, 12, &other);
	ck_assert(len == other && memcmp(want, got, len) == 0);
	free(want);
	free(got);
	o.max_corrupt = 3;
	refused(&o, EBADMSG, "4 unusable samples, more than the 3 allowed");
}
END_TEST

START_TEST(a_cache_changes_nothing_but_time)
{
	static const struct {
		enum rt_augment augment;
		uint64_t bytes;
	} ways[] = { { RT_AUGMENT_NONE, 1 << 20 }, { RT_AUGMENT_FLIP, 1 << 20 }, { RT_AUGMENT_FLIP, 2000 },
		     { RT_AUGMENT_CROP, 1 << 20 }, { RT_AUGMENT_CROP, 3000 } };
	struct rt_loader_options o = images("cached.tar", true);
	struct rt_loader *l;
	gt_auto_json *doc = NULL;
	size_t len, other;
	char *want, *got;

	o.augment = ways[_i].augment;
	want = batches(&o, 20, &len);
	o.cache_bytes = ways[_i].bytes;
	o.workers = 3;
	got = batches(&o, 20, &other);
	ck_assert(len == other && memcmp(want, got, len) == 0);
	free(want);
	free(got);
	l = opened(&o);
	for (int i = 0; i < 20; i++) {
		struct rt_batch b;

		ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
	}
	doc = rt_loader_report(l);
	rt_loader_close(l);
	ck_assert_int_gt(gt_json_get_int(json_object_get(doc, "cache"), "hits", 0), 0);
	ck_assert_int_le(gt_json_get_int(json_object_get(doc, "cache"), "used_bytes", 0), (int64_t)ways[_i].bytes);
}
END_TEST

START_TEST(folders_are_classes)
{
	struct rt_loader_options o = { .path = gen_path("folder"), .rows = 6, .size = SIDE, .channels = 1, .in_order = true,
				       .std = 1.f / 255 };
	struct rt_loader *l;
	struct rt_batch b;

	mkdir(o.path, 0755);
	for (int i = 0; i < 6; i++) {
		gt_auto_buf png = { 0 };
		char name[64];

		snprintf(name, sizeof(name), "folder/class%d", 1 + i % 3 * 5); /* 1, 6, 11: in numeric order */
		mkdir(gen_path(name), 0755);
		add_png(&png, i, SIDE);
		snprintf(name, sizeof(name), "folder/class%d/%d.png", 1 + i % 3 * 5, i);
		made(name, png.s, png.len);
	}
	l = opened(&o);
	ck_assert_int_eq(rt_loader_kind(l), RT_DATA_FOLDER);
	ck_assert_int_eq(rt_loader_next(l, &b, NULL), 0);
	for (int row = 0; row < 6; row++) {
		ck_assert_int_eq(b.y[row], row / 2);
		ck_assert_int_eq((int)(((const float *)b.x)[row * SIDE * SIDE] + .5f), row / 2 + row % 2 * 3);
	}
	rt_loader_close(l);
}
END_TEST

START_TEST(a_shard_that_ends_early_is_used_up_to_there)
{
	gt_auto_buf tar = { 0 };
	struct rt_loader_options o = images("whole.tar", false);
	gt_auto_json *doc = NULL;
	struct rt_loader *l;

	shard(&tar, false);
	o.path = made("early.tar", tar.s, 20 * 2048 + 512 + 20);
	l = opened(&o);
	ck_assert(rt_loader_samples(l) >= 15 && rt_loader_samples(l) <= 21);
	doc = rt_loader_report(l);
	ck_assert_uint_eq(json_array_size(json_object_get(doc, "truncated")), 1);
	ck_assert(strstr(json_string_value(json_array_get(json_object_get(doc, "truncated"), 0)), "early.tar at "));
	rt_loader_close(l);
	memset(tar.s, 'x', 512);
	o.path = made("none.tar", tar.s, tar.len);
	refused(&o, EBADMSG, "none.tar at 0: not a tar header");
	o.path = made("empty.tar", "", 0);
	refused(&o, ENODATA, "no sample with a .jpg");
}
END_TEST

/* A header may contain any size: 60000 x 60000 pixels in 100 bytes. */
START_TEST(bombs_are_refused_by_their_header)
{
	static const unsigned char head[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\2\0\0\0";
	struct rt_loader_options o = { .size = 8, .channels = 3, .std = 1 };
	struct rt_image_ask ask = { .size = 8 };
	struct rt_image_scratch *s = NULL;
	struct rt_pixels p;
	struct gt_err err = { 0 };
	gt_auto_buf png = { 0 };

	add_png(&png, 1, SIDE);
	memcpy(png.s, head, 29);
	png.s[29] = (char)0x52; /* the checksum of that header */
	png.s[30] = (char)0;
	ck_assert_int_eq(rt_image_scratch_new(&o, &s, &err), 0);
	ck_assert_int_eq(rt_image_decode((unsigned char *)png.s, png.len, &ask, s, &p, &err), -EBADMSG);
	ck_assert_msg(strstr(err.msg, "60000 x 60000") || strstr(err.msg, "CRC"), "%s", err.msg);
	ck_assert_int_eq(rt_image_check_size(60000, 60000, &err), -EBADMSG);
	ck_assert(strstr(err.msg, "60000 x 60000"));
	ck_assert_int_eq(rt_image_check_size(UINT32_MAX, UINT32_MAX, &err), -EBADMSG);
	rt_image_scratch_free(s);
}
END_TEST
#endif

/* An image of one colour keeps this colour at every size; a ramp keeps its mean. */
START_TEST(resizing_keeps_colours)
{
	static const int64_t sizes[] = { 1, 3, 7, 16, 31, 64 };
	struct rt_loader_options o = { .size = sizes[_i], .channels = 3, .std = 1 };
	unsigned char pixels[16 * 24 * 4], *out = calloc((size_t)(o.size * o.size), 3);
	struct rt_pixels p = { pixels, 24, 16, 48, 32 };
	struct rt_image_scratch *s = NULL;
	double mean = 0;

	ck_assert_int_eq(rt_image_scratch_new(&o, &s, NULL), 0);
	memset(pixels, 77, sizeof(pixels));
	ck_assert_int_eq(rt_image_resize(&p, &(struct rt_box){ 3, 5, 44, 31 }, o.size, s, out, NULL), 0);
	for (int64_t i = 0; i < 3 * o.size * o.size; i++)
		ck_assert_int_eq(out[i], 77);
	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (unsigned char)(10 * (i / 4 % 24));
	ck_assert_int_eq(rt_image_resize(&p, &(struct rt_box){ 0, 0, 48, 32 }, o.size, s, out, NULL), 0);
	for (int64_t i = 0; i < o.size * o.size; i++)
		mean += out[3 * i] / (double)(o.size * o.size);
	ck_assert_msg(mean > 112 && mean < 118, "%g", mean);
	rt_image_scratch_free(s);
	free(out);
}
END_TEST

START_TEST(crops_are_as_torchvision_draws_them)
{
	struct rt_image_ask ask = { .augment = RT_AUGMENT_CROP, .seed = 1, .size = 224 };
	double area = 0, mirrored = 0;

	for (ask.sample = 0; ask.sample < 2000; ask.sample++) {
		struct rt_box b = rt_image_box(&ask, 500, 375);
		double w = b.x1 - b.x0, h = b.y1 - b.y0;

		ck_assert(b.x0 >= 0 && b.y0 >= 0 && b.x1 <= 500 && b.y1 <= 375);
		ck_assert_msg(w / h > .72 && w / h < 1.4 && w * h > .075 * 500 * 375, "%g x %g", w, h);
		area += w * h / (500 * 375) / 2000;
		mirrored += rt_image_mirrored(&ask) / 2000.;
	}
	/* expected value: 200000 draws by torchvision's definition give 0.432 for this shape; crops that do not fit are
	 * drawn again */
	ck_assert_msg(area > .412 && area < .452 && mirrored > .46 && mirrored < .54,
		      "%g of the area, %g mirrored", area, mirrored);
}
END_TEST

START_TEST(planes_are_the_same_pixels)
{
	unsigned char in[5 * 5 * 3];
	float a[75], b[75], c[25];
	struct rt_loader_options o = { .size = 5, .channels = 3, .mean = .5f, .std = .25f };

	for (int i = 0; i < 75; i++)
		in[i] = (unsigned char)(i * 3);
	for (int mirrored = 0; mirrored < 2; mirrored++) {
		o.planes = false;
		o.channels = 3;
		rt_image_collate(&o, in, mirrored, a);
		o.planes = true;
		rt_image_collate(&o, in, mirrored, b);
		o.channels = 1;
		rt_image_collate(&o, in, mirrored, c);
		for (int y = 0; y < 5; y++)
			for (int x = 0; x < 5; x++) {
				int from = 3 * (5 * y + (mirrored ? 4 - x : x));

				for (int k = 0; k < 3; k++) {
					float want = ((float)in[from + k] / 255 - .5f) / .25f;

					ck_assert_float_eq_tol(a[3 * (5 * y + x) + k], want, 1e-5f);
					ck_assert_float_eq_tol(b[25 * k + 5 * y + x], want, 1e-5f);
				}
				ck_assert_float_eq_tol(c[5 * y + x], ((float)in[from + 1] / 255 - .5f) / .25f, .02f);
			}
	}
}
END_TEST

/*
 * Interleaved channels, planes, luma, each mirrored or not: the op converts the bytes to the same floats as the loader.
 */
START_TEST(bytes_are_the_same_pixels)
{
	unsigned char in[7 * 7 * 3], bytes[7 * 7 * 3];
	float want[7 * 7 * 3], got[7 * 7 * 3];
	struct rt_loader_options o = { .size = 7, .channels = _i < 4 ? 3 : 1, .planes = _i >= 2, .mean = RT_PIXEL_MEAN,
				       .std = RT_PIXEL_STD };
	size_t n = (size_t)(49 * o.channels);

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 31 + i / 7);
	rt_image_collate(&o, in, _i & 1, want);
	o.u8 = true;
	rt_image_collate(&o, in, _i & 1, bytes);
	rt_pixels_to_f32(bytes, n, 1 / (255 * o.std), -o.mean / o.std, got);
	ck_assert_int_eq(memcmp(got, want, n * sizeof(float)), 0);
}
END_TEST

static int from_memory(void *arg, uint64_t at, void *out, size_t n, struct gt_err *err)
{
	memcpy(out, (char *)arg + at, n);
	return 0;
}

START_TEST(wrong_tar_headers_are_refused)
{
	static const struct {
		int at;
		const char *bytes;
		int len;
		const char *says;
	} lies[] = {
		{ 124, "99999999999", 11, "checksum is wrong" },
		{ 148, "zzzzzz", 6, "checksum is wrong" },
		{ 0, "other", 5, "checksum is wrong" },
	};
	unsigned char tar[1024] = "";
	struct rt_tar t = { .read = from_memory, .arg = tar, .len = sizeof(tar) };
	struct rt_tar_entry e = { 0 };
	struct gt_err err = { 0 };
	bool path = false, size = false;
	uint64_t at;

	memcpy(tar, "a.png", 5);
	memcpy(tar + 124, "00000001000", 11); /* 512 */
	memset(tar + 148, ' ', 8);
	{
		unsigned sum = 0;

		for (int i = 0; i < 512; i++)
			sum += tar[i];
		snprintf((char *)tar + 148, 8, "%06o", sum);
	}
	ck_assert_int_eq(rt_tar_next(&t, &e, &at, &err), 1);
	ck_assert(gt_streq(e.name, "a.png") && e.size == 512 && at == 512);
	memcpy(tar + lies[_i].at, lies[_i].bytes, (size_t)lies[_i].len);
	t.at = 0;
	ck_assert_int_eq(rt_tar_next(&t, &e, &at, &err), -EBADMSG);
	ck_assert_msg(strstr(err.msg, lies[_i].says) != NULL, "%s", err.msg);
	ck_assert_int_eq(rt_tar_pax("11 path=ab\n9999999 size=1\n", 26, &e, &path, &size, &err), -EBADMSG);
	ck_assert_int_eq(rt_tar_pax("12 path=abc\n13 size=4096\n", 25, &e, &path, &size, &err), 0);
	ck_assert(path && size && gt_streq(e.name, "abc") && e.size == 4096);
}
END_TEST

TCase *case_images(void)
{
	TCase *t = tcase_create("images");

#ifdef HAVE_PNG
	tcase_add_test(t, shards_have_images_and_labels);
	tcase_add_test(t, damaged_samples_are_counted_and_named);
	tcase_add_loop_test(t, a_cache_changes_nothing_but_time, 0, 5);
	tcase_add_test(t, folders_are_classes);
	tcase_add_test(t, a_shard_that_ends_early_is_used_up_to_there);
	tcase_add_test(t, bombs_are_refused_by_their_header);
#endif
	tcase_add_loop_test(t, resizing_keeps_colours, 0, 6);
	tcase_add_test(t, crops_are_as_torchvision_draws_them);
	tcase_add_test(t, planes_are_the_same_pixels);
	tcase_add_loop_test(t, bytes_are_the_same_pixels, 0, 6);
	tcase_add_loop_test(t, wrong_tar_headers_are_refused, 0, 3);
	return t;
}
