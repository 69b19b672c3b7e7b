/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/data/image.h"
#include "runtime/data/image_scratch.h"
#include "runtime/data/loader_priv.h"
#include "runtime/runtime.h"

static const struct rt_codec *const codecs[RT_CODECS] = { &rt_codec_jpeg, &rt_codec_png };

int rt_image_scratch_new(const struct rt_loader_options *o, struct rt_image_scratch **ret, struct gt_err *err)
{
	struct rt_image_scratch *s = gt_xcalloc(1, sizeof(*s));
	int r = 0;

	s->size = o->size;
	s->small = gt_xcalloc((size_t)(o->size * o->size), 3);
	s->from = gt_xcalloc((size_t)o->size * 4, sizeof(*s->from));
	for (int i = 0; !r && i < RT_CODECS; i++)
		if (codecs[i]->open)
			r = codecs[i]->open(&s->codec[i], err);
	if (r)
		rt_image_scratch_free(s);
	else
		*ret = s;
	return r;
}

void rt_image_scratch_free(struct rt_image_scratch *s)
{
	if (!s)
		return;
	for (int i = 0; i < RT_CODECS; i++)
		if (s->codec[i])
			codecs[i]->close(s->codec[i]);
	free(s->pixels);
	free(s->small);
	free(s->line);
	free(s->weight);
	free(s->from);
	free(s);
}

int rt_image_check_size(uint64_t w, uint64_t h, struct gt_err *err)
{
	if (!w || !h || w > UINT32_MAX / 8 || h > UINT32_MAX / 8 || w * h > RT_PIXELS_MAX)
		return gt_fail(err, EBADMSG, "its header claims %" PRIu64 " x %" PRIu64 " pixels; 1 to 134217728 are supported",
			       w, h);
	return 0;
}

unsigned char *rt_image_pixels(struct rt_image_scratch *s, uint64_t w, uint64_t h, struct gt_err *err)
{
	size_t bytes = (size_t)(w * h * 4);

	if (rt_image_check_size(w, h, err))
		return NULL;
	if (bytes > s->pixels_cap) {
		unsigned char *p = realloc(s->pixels, bytes + bytes / 4);

		if (!p) {
			gt_fail(err, ENOMEM, "no memory for an image of %" PRIu64 " x %" PRIu64 " pixels", w, h);
			return NULL;
		}
		s->pixels = p;
		s->pixels_cap = bytes + bytes / 4;
	}
	return s->pixels;
}

int rt_image_decode(const unsigned char *bytes, size_t len, const struct rt_image_ask *ask, struct rt_image_scratch *s,
		    struct rt_pixels *ret, struct gt_err *err)
{
	for (int i = 0; i < RT_CODECS; i++) {
		if (!codecs[i]->is(bytes, len))
			continue;
		if (!codecs[i]->decode)
			return gt_fail(err, ENOSYS, "this gputune was built without %s: %s images cannot be decoded",
				       codecs[i]->library, codecs[i]->name);
		return codecs[i]->decode(s->codec[i], bytes, len, ask, s, ret, err);
	}
	if (len < 2)
		return gt_fail(err, EBADMSG, "%zu bytes are not an image", len);
	return gt_fail(err, EBADMSG, "neither JPEG nor PNG: it begins with %02x %02x", bytes[0], bytes[1]);
}

static double uniform(const struct rt_image_ask *ask, uint64_t which)
{
	return rt_random_uniform(ask->seed, UINT64_C(0x1000000) + ask->epoch, ask->sample * 64 + which);
}

bool rt_image_mirrored(const struct rt_image_ask *ask)
{
	return ask->augment != RT_AUGMENT_NONE && uniform(ask, 63) < .5;
}

/* Like torchvision, makes ten tries for 8 to 100 % of the area and an aspect ratio of 3:4 to 4:3, then the centre. */
struct rt_box rt_image_box(const struct rt_image_ask *ask, uint32_t w, uint32_t h)
{
	struct rt_box all = { 0, 0, w, h };
	double wide, high;

	if (ask->augment != RT_AUGMENT_CROP)
		return all;
	for (uint64_t i = 0; i < 10; i++) {
		double area = (.08 + .92 * uniform(ask, 4 * i)) * w * h;
		double shape = exp((2 * uniform(ask, 4 * i + 1) - 1) * log(4. / 3));
		double bw = round(sqrt(area * shape)), bh = round(sqrt(area / shape));

		if (bw >= 1 && bh >= 1 && bw <= w && bh <= h) {
			double x0 = floor(uniform(ask, 4 * i + 2) * (w - bw + 1));
			double y0 = floor(uniform(ask, 4 * i + 3) * (h - bh + 1));

			return (struct rt_box){ x0, y0, x0 + bw, y0 + bh };
		}
	}
	/* torchvision's fallback: the largest centre crop with an allowed aspect ratio */
	wide = GT_MIN((double)w, h * 4. / 3);
	high = GT_MIN((double)h, w * 4. / 3);
	return (struct rt_box){ floor((w - wide) / 2), floor((h - high) / 2), floor((w - wide) / 2) + wide,
				floor((h - high) / 2) + high };
}

static int check_label(const struct rt_loader *l, int64_t label, struct gt_err *err)
{
	if (label < 0 || label > INT32_MAX || (l->o.classes && label >= l->o.classes))
		return gt_fail(err, EBADMSG, "its label is %" PRId64 ", of %" PRId64 " classes", label, l->o.classes);
	return 0;
}

/* Decodes the image. With a cache and crops, the whole image is decoded and cached. */
static int get_pixels(struct rt_loader *l, struct rt_scratch *w, struct rt_image_ask *ask, struct rt_pixels *ret, int32_t *y,
		      struct gt_err *err)
{
	struct rt_cached e;
	int64_t label;
	size_t len;
	int r;

	if (ask->whole && rt_image_cache_get(l->cache, ask->sample, &e)) {
		*ret = (struct rt_pixels){ e.p, e.w, e.h, e.full_w, e.full_h };
		*y = e.label;
		return 0;
	}
	r = l->source->ops->image(l->source, ask->sample, w, &len, &label, err);
	if (!r)
		r = check_label(l, label, err);
	if (!r)
		r = rt_image_decode(w->bytes, len, ask, w->image, ret, err);
	if (r)
		return r;
	*y = (int32_t)label;
	if (ask->whole) {
		e = (struct rt_cached){ (unsigned char *)(uintptr_t)ret->p, ret->w, ret->h, ret->full_w, ret->full_h, *y };
		rt_image_cache_put(l->cache, ask->sample, &e, (size_t)ret->w * ret->h * 4);
	}
	return 0;
}

int rt_image_sample(struct rt_loader *l, struct rt_scratch *w, uint64_t epoch, uint64_t sample, void *x, int32_t *y,
		    struct gt_err *err)
{
	struct rt_image_ask ask = { l->o.augment, l->o.seed, epoch, sample, l->o.size,
				    l->cache && l->o.augment == RT_AUGMENT_CROP };
	size_t small = (size_t)(l->o.size * l->o.size * 3);
	struct rt_pixels pixels;
	struct rt_cached e;
	struct rt_box box;
	int r;

	if (!ask.whole && rt_image_cache_get(l->cache, sample, &e)) {
		*y = e.label;
		rt_image_collate(&l->o, e.p, rt_image_mirrored(&ask), x);
		return 0;
	}
	r = get_pixels(l, w, &ask, &pixels, y, err);
	if (r)
		return r;
	box = rt_image_box(&ask, pixels.full_w, pixels.full_h);
	r = rt_image_resize(&pixels, &box, l->o.size, w->image, w->image->small, err);
	if (r)
		return r;
	e = (struct rt_cached){ .p = w->image->small, .label = *y };
	if (!ask.whole)
		rt_image_cache_put(l->cache, sample, &e, small);
	rt_image_collate(&l->o, w->image->small, rt_image_mirrored(&ask), x);
	return 0;
}
