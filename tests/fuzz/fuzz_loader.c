/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted data: a tar file, a token file or an image, selected by the first byte. Nothing outside the input is read,
 * and a rejected input leaves a message.
 */
#include <string.h>
#include "runtime/data/image.h"
#include "runtime/data/tar.h"
#include "runtime/data/tokens.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 4000;

#define PIXELS	(1u << 22) /* larger images only take longer */

struct bytes {
	const uint8_t *p;
	size_t n;
};

static int read_bytes(void *arg, uint64_t at, void *out, size_t n, struct gt_err *err)
{
	const struct bytes *b = arg;

	FUZZ_ASSERT(at <= b->n && n <= b->n - at);
	memcpy(out, b->p + at, n);
	return 0;
}

static void tar(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	struct rt_tar t = { .read = read_bytes, .arg = &b, .len = size };
	struct rt_tar_entry e = { 0 };
	struct gt_err err = { 0 };
	uint64_t at, last = 0;
	int r;

	while ((r = rt_tar_next(&t, &e, &at, &err)) == 1) {
		FUZZ_ASSERT(at > last && at <= size && e.size <= size - at && strlen(e.name) <= RT_TAR_NAME);
		last = at;
	}
	FUZZ_ASSERT(r == 0 || (r < 0 && err.msg[0] && at <= size));
}

static void tokens(const uint8_t *data, size_t size)
{
	struct rt_token_file f;
	struct gt_err err = { 0 };

	for (enum rt_token_type type = RT_TOKEN_AUTO; type <= RT_TOKEN_U32; type++) {
		if (rt_token_file_parse(data, size, size, type, "tokens", &f, &err) < 0)
			FUZZ_ASSERT(err.msg[0]);
		else
			FUZZ_ASSERT((f.bytes == 2 || f.bytes == 4) && f.at <= size &&
				    f.tokens <= (size - f.at) / (uint64_t)f.bytes);
	}
}

/* Documents are consecutive, do not overlap and are finite, for any bytes, as text or as ids. */
static void documents(const uint8_t *data, size_t size)
{
	struct rt_documents how = { RT_DOCUMENTS_TOKEN, size ? data[0] : 0 };

	for (enum rt_document_end end = RT_DOCUMENTS_FILE; end <= RT_DOCUMENTS_TOKEN; end++)
		for (int bytes = 1; bytes <= (end == RT_DOCUMENTS_TOKEN ? 4 : 1); bytes *= 2) {
			uint64_t n = size / (size_t)bytes, next = 0;

			how.end = end;
			for (uint64_t at = 0; at < n; at = next) {
				uint64_t to = rt_document_end(data, bytes, n, at, &how, &next);

				FUZZ_ASSERT(at <= to && to <= next && next <= n && next > at);
			}
		}
}

/* skips sizes in headers that take too long */
static bool large(const uint8_t *p, size_t n)
{
	uint32_t w = 0, h = 0;

	if (n > 24 && p[0] == 0x89) {
		w = (uint32_t)p[16] << 24 | (uint32_t)p[17] << 16 | (uint32_t)p[18] << 8 | p[19];
		h = (uint32_t)p[20] << 24 | (uint32_t)p[21] << 16 | (uint32_t)p[22] << 8 | p[23];
		return (uint64_t)w * h > PIXELS && (uint64_t)w * h <= RT_PIXELS_MAX;
	}
	for (size_t i = 0; i + 9 < n; i++)
		if (p[i] == 0xff && p[i + 1] >= 0xc0 && p[i + 1] <= 0xcf &&
		    (uint64_t)(p[i + 5] << 8 | p[i + 6]) * (uint64_t)(p[i + 7] << 8 | p[i + 8]) > PIXELS)
			return true;
	return false;
}

static void image(const uint8_t *data, size_t size)
{
	static struct rt_image_scratch *s;
	struct rt_loader_options o = { .size = 20, .channels = 3, .std = 1 };
	unsigned char small[20 * 20 * 3];

	if (!s)
		FUZZ_ASSERT(rt_image_scratch_new(&o, &s, NULL) == 0);
	for (unsigned way = 0; way < 3 && !large(data, size); way++) {
		struct rt_image_ask ask = { .augment = way ? RT_AUGMENT_CROP : RT_AUGMENT_NONE, .sample = size, .size = 20,
					    .whole = way == 2 };
		struct gt_err err = { 0 };
		struct rt_pixels p;
		struct rt_box box;

		if (rt_image_decode(data, size, &ask, s, &p, &err) < 0) {
			FUZZ_ASSERT(err.code > 0 && err.msg[0]);
			continue;
		}
		FUZZ_ASSERT(p.w && p.h && p.w <= p.full_w && p.h <= p.full_h);
		box = rt_image_box(&ask, p.full_w, p.full_h);
		FUZZ_ASSERT(rt_image_resize(&p, &box, 20, s, small, &err) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 't')
		tar(data + 1, size - 1);
	else if (data[0] == 'd')
		documents(data + 1, size - 1);
	else if (data[0] == 'k')
		tokens(data + 1, size - 1);
	else
		image(data + 1, size - 1);
	return 0;
}
