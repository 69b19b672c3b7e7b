/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_IMAGE_H
#define RT_IMAGE_H
/* From an encoded image to a row of a batch: decode, crop and resize, mirror and normalise. */
#include "lib/err.h"
#include "runtime/data/source.h"

#define RT_IMAGE_SIDE_MAX 4096 /* side of a result */
#define RT_PIXELS_MAX	(UINT64_C(1) << 27) /* limit for the size in an image header */

struct rt_box {
	double x0, y0, x1, y1; /* pixels of the whole image */
};
/* Requested pixels of an image, before its size is known. */
struct rt_image_ask {
	enum rt_augment augment;
	uint64_t seed, epoch, sample;
	int64_t size;
	bool whole; /* decode the whole image for a cache: the same pixels in every epoch */
};
/* Decoded pixels of 4 bytes; the fourth byte is undefined. They are in the scratch memory and valid until the next
 * decode. */
struct rt_pixels {
	const unsigned char *p;
	uint32_t w, h;		 /* decoded, possibly at a reduced scale */
	uint32_t full_w, full_h; /* size of the image in the file */
};
/* Scratch memory of one worker: codecs, pixels, one line. */
struct rt_image_scratch;
int rt_image_scratch_new(const struct rt_loader_options *o, struct rt_image_scratch **ret, struct gt_err *err);
void rt_image_scratch_free(struct rt_image_scratch *s);
unsigned char *rt_image_pixels(struct rt_image_scratch *s, uint64_t w, uint64_t h, struct gt_err *err); /* for w x h pixels */

/* Decodes a JPEG or PNG, detected by its first bytes. -EBADMSG: corrupt, or the size in its header is too large.
 * -ENOSYS: not built in. */
int rt_image_decode(const unsigned char *bytes, size_t len, const struct rt_image_ask *ask, struct rt_image_scratch *s,
		    struct rt_pixels *ret, struct gt_err *err);
/* Returns the crop of an image of w x h pixels. */
struct rt_box rt_image_box(const struct rt_image_ask *ask, uint32_t w, uint32_t h);
bool rt_image_mirrored(const struct rt_image_ask *ask);
int rt_image_check_size(uint64_t w, uint64_t h, struct gt_err *err);
/* Resizes part `box` of the pixels to out (size,size,3). Each axis uses a triangle filter as wide as the step between
 * its results, as Pillow's BILINEAR. */
int rt_image_resize(const struct rt_pixels *p, const struct rt_box *box, int64_t size, struct rt_image_scratch *s,
		    unsigned char *out, struct gt_err *err);
/* Converts in (size,size,3) to (size,size,3), (3,size,size) or one luma channel: f32, (v / 255 - mean) / std, or u8. */
void rt_image_collate(const struct rt_loader_options *o, const unsigned char *in, bool mirrored, void *to);

/* The codecs; NULL if not built in. */
struct rt_codec {
	const char *name, *library;
	bool (*is)(const unsigned char *bytes, size_t len);
	int (*open)(void **ret, struct gt_err *err); /* state of one worker */
	void (*close)(void *state);
	int (*decode)(void *state, const unsigned char *bytes, size_t len, const struct rt_image_ask *ask,
		      struct rt_image_scratch *s, struct rt_pixels *ret, struct gt_err *err);
};
extern const struct rt_codec rt_codec_jpeg, rt_codec_png;

/*
 * A cache of decoded images, by sample. It fills up to its budget and never evicts an entry. If each epoch uses each
 * sample once, this gives more hits than evicting the oldest entry.
 */
struct rt_image_cache;
int rt_image_cache_new(const struct rt_loader_options *o, uint64_t n, struct rt_image_cache **ret, struct gt_err *err);
void rt_image_cache_free(struct rt_image_cache *c);
struct rt_cached {
	unsigned char *p;
	uint32_t w, h, full_w, full_h;
	int32_t label;
};
/* Returns the complete entry of a sample, or false. c may be NULL. */
bool rt_image_cache_get(struct rt_image_cache *c, uint64_t sample, struct rt_cached *ret);
void rt_image_cache_put(struct rt_image_cache *c, uint64_t sample, const struct rt_cached *e, size_t bytes);
json_t *rt_image_cache_report(const struct rt_image_cache *c);

struct rt_loader;
/* Writes a sample to its row. */
int rt_image_sample(struct rt_loader *l, struct rt_scratch *w, uint64_t epoch, uint64_t sample, void *x, int32_t *y,
		    struct gt_err *err);
#endif
