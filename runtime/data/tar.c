/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "runtime/data/tar.h"

enum { AT_NAME = 0, AT_SIZE = 124, AT_SUM = 148, AT_TYPE = 156, AT_MAGIC = 257, AT_PREFIX = 345 };

/* Parses octal digits with surrounding blanks, or GNU's binary form (first bit set, big-endian). */
static int number(const unsigned char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0, digits = 0;

	if (p[0] & 0x80) {
		if (p[0] != 0x80)
			return -EBADMSG;
		for (i = 1; i < n; i++) {
			if (v >> 55)
				return -EBADMSG;
			v = v << 8 | p[i];
		}
		*ret = v;
		return 0;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++, digits++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	for (; i < n; i++)
		if (p[i] != ' ' && p[i] != '\0')
			return -EBADMSG;
	*ret = v;
	return digits ? 0 : -EBADMSG;
}

static bool all_zero(const unsigned char *p)
{
	for (size_t i = 0; i < RT_TAR_BLOCK; i++)
		if (p[i])
			return false;
	return true;
}

/* Checks the sum of all bytes, with the checksum field as blanks. Some old programs summed signed bytes. */
static bool sum_fits(const unsigned char *p)
{
	uint64_t said;
	int64_t plain = 0, with_sign = 0;

	for (size_t i = 0; i < RT_TAR_BLOCK; i++) {
		unsigned char c = i >= AT_SUM && i < AT_SUM + 8 ? ' ' : p[i];

		plain += c;
		with_sign += (signed char)c;
	}
	return !number(p + AT_SUM, 8, &said) && said < INT64_MAX && ((int64_t)said == plain || (int64_t)said == with_sign);
}

static enum rt_tar_kind kind_of(unsigned char type)
{
	switch (type) {
	case '0':
	case '\0':
	case '7':
		return RT_TAR_FILE;
	case 'L':
		return RT_TAR_LONG_NAME;
	case 'x':
		return RT_TAR_PAX;
	default:
		return RT_TAR_OTHER;
	}
}

int rt_tar_header(const unsigned char *p, struct rt_tar_entry *ret, struct gt_err *err)
{
	size_t name = strnlen((const char *)p + AT_NAME, 100), prefix = 0;

	if (all_zero(p)) {
		*ret = (struct rt_tar_entry){ .kind = RT_TAR_END };
		return 0;
	}
	if (!sum_fits(p))
		return gt_fail(err, EBADMSG, "not a tar header: its checksum is wrong");
	ret->kind = kind_of(p[AT_TYPE]);
	if (number(p + AT_SIZE, 12, &ret->size) < 0)
		return gt_fail(err, EBADMSG, "a tar header with a size that is not a number");
	if (ret->kind == RT_TAR_OTHER && p[AT_TYPE] >= '1' && p[AT_TYPE] <= '6')
		ret->size = 0; /* links, devices and directories have no contents, whatever the size field */
	if (memcmp(p + AT_MAGIC, "ustar\0", 6) == 0)
		prefix = strnlen((const char *)p + AT_PREFIX, 155);
	snprintf(ret->name, sizeof(ret->name), "%.*s%s%.*s", (int)prefix, (const char *)p + AT_PREFIX, prefix ? "/" : "", (int)name,
		 (const char *)p + AT_NAME);
	return 0;
}

int rt_tar_pax(const char *text, size_t len, struct rt_tar_entry *e, bool *ret_path, bool *ret_size, struct gt_err *err)
{
	while (len) {
		size_t n = 0, digits = 0, key;

		while (digits < len && digits < 8 && text[digits] >= '0' && text[digits] <= '9')
			n = n * 10 + (size_t)(text[digits++] - '0');
		if (!digits || n > len || n < digits + 4 || text[digits] != ' ' || text[n - 1] != '\n')
			return gt_fail(err, EBADMSG, "an invalid pax header");
		key = digits + 1;
		if (n - key > 5 && strncmp(text + key, "path=", 5) == 0) {
			snprintf(e->name, sizeof(e->name), "%.*s", (int)GT_MIN(n - 1 - key - 5, RT_TAR_NAME), text + key + 5);
			*ret_path = true;
		} else if (n - key > 6 && strncmp(text + key, "size=", 5) == 0) {
			uint64_t v = 0;

			for (size_t i = key + 5; i < n - 1; i++) {
				if (text[i] < '0' || text[i] > '9' || v > UINT64_MAX / 20)
					return gt_fail(err, EBADMSG, "a pax header with a size that is not a number");
				v = v * 10 + (uint64_t)(text[i] - '0');
			}
			e->size = v;
			*ret_size = true;
		}
		text += n;
		len -= n;
	}
	return 0;
}

/* Attributes from extra headers, which apply to the next file. */
struct extra {
	struct rt_tar_entry e;
	bool path, size;
};

static int read_extra(struct rt_tar *t, const struct rt_tar_entry *h, struct extra *x, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	int r;

	if (h->size > RT_TAR_EXTRA)
		return gt_fail(err, EBADMSG, "a tar header of %" PRIu64 " bytes for one name", h->size);
	text = gt_xcalloc((size_t)h->size + 1, 1);
	r = t->read(t->arg, t->at, text, (size_t)h->size, err);
	if (r)
		return r;
	if (h->kind == RT_TAR_PAX)
		return rt_tar_pax(text, (size_t)h->size, &x->e, &x->path, &x->size, err);
	snprintf(x->e.name, sizeof(x->e.name), "%s", text);
	x->path = true;
	return 0;
}

static int check_fits(const struct rt_tar *t, const struct rt_tar_entry *h, struct gt_err *err)
{
	if (h->size > t->len - t->at)
		return gt_fail(err, EBADMSG, "it ends early: %.200s has %" PRIu64 " bytes, %" PRIu64 " are left", h->name, h->size,
			       t->len - t->at);
	return 0;
}

int rt_tar_next(struct rt_tar *t, struct rt_tar_entry *ret, uint64_t *ret_at, struct gt_err *err)
{
	struct extra x = { 0 };

	for (;;) {
		unsigned char block[RT_TAR_BLOCK];
		uint64_t padded;
		int r;

		*ret_at = t->at;
		if (t->len - t->at < RT_TAR_BLOCK)
			return t->at == t->len ? 0 : gt_fail(err, EBADMSG, "it ends early, within a header");
		r = t->read(t->arg, t->at, block, sizeof(block), err);
		if (!r)
			r = rt_tar_header(block, ret, err);
		if (r || ret->kind == RT_TAR_END)
			return r;
		t->at += RT_TAR_BLOCK;
		if (x.size && ret->kind == RT_TAR_FILE)
			ret->size = x.e.size;
		r = check_fits(t, ret, err);
		if (!r && (ret->kind == RT_TAR_LONG_NAME || ret->kind == RT_TAR_PAX))
			r = read_extra(t, ret, &x, err);
		if (r)
			return r;
		*ret_at = t->at;
		padded = (ret->size + RT_TAR_BLOCK - 1) / RT_TAR_BLOCK * RT_TAR_BLOCK;
		t->at += GT_MIN(padded, t->len - t->at);
		if (ret->kind != RT_TAR_FILE && ret->kind != RT_TAR_OTHER)
			continue;
		if (ret->kind == RT_TAR_FILE) {
			if (x.path)
				memcpy(ret->name, x.e.name, sizeof(ret->name));
			return 1;
		}
		x = (struct extra){ 0 };
	}
}
