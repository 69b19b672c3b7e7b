/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/err.h"
#include "lib/json.h"
#include "runtime/ckpt/safetensors.h"

static const struct {
	const char *name;
	size_t bytes;
} dtypes[] = {
	{ "F64", 8 }, { "F32", 4 }, { "F16", 2 }, { "BF16", 2 }, { "F8_E4M3", 1 }, { "F8_E5M2", 1 }, { "I64", 8 },
	{ "I32", 4 }, { "I16", 2 }, { "I8", 1 },  { "U64", 8 },	 { "U32", 4 },	   { "U16", 2 },     { "U8", 1 }, { "BOOL", 1 },
};

static int find_dtype(const char *name)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(dtypes); i++)
		if (gt_streq(dtypes[i].name, name))
			return (int)i;
	return -1;
}

size_t rt_st_dtype_bytes(const char *dtype)
{
	int i = find_dtype(dtype);

	return i < 0 ? 0 : dtypes[i].bytes;
}

void rt_safetensors_clear(struct rt_safetensors *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->tensor[i].name);
	free(s->tensor);
	json_decref(s->metadata);
	memset(s, 0, sizeof(*s));
}

const struct rt_st_tensor *rt_safetensors_find(const struct rt_safetensors *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (gt_streq(s->tensor[i].name, name))
			return &s->tensor[i];
	return NULL;
}

/* Converts a non-negative integer. */
static bool non_negative(const json_t *v, uint64_t *ret)
{
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

static int bad(struct gt_err *err, const char *file, const char *name, const char *what)
{
	return gt_fail(err, EBADMSG, "%s: tensor %.200s: %s", file, name, what);
}

static int read_tensor(const char *file, const char *name, const json_t *o, struct rt_st_tensor *t, struct gt_err *err)
{
	const json_t *shape = json_object_get(o, "shape"), *at = json_object_get(o, "data_offsets");
	int dtype = find_dtype(gt_json_get_str(o, "dtype", NULL));
	uint64_t bytes, d;

	if (!json_is_object(o) || json_object_size(o) != 3 || !json_is_array(shape) || !json_is_array(at))
		return bad(err, file, name, "it must have dtype, shape and data_offsets only");
	if (dtype < 0)
		return bad(err, file, name, "its dtype is unknown");
	if (json_array_size(shape) > RT_ST_DIMS)
		return bad(err, file, name, "it has more than 8 dimensions");
	bytes = dtypes[dtype].bytes;
	t->dtype = dtypes[dtype].name;
	t->n_dims = (int)json_array_size(shape);
	for (int i = 0; i < t->n_dims; i++) {
		if (!non_negative(json_array_get(shape, (size_t)i), &d) || __builtin_mul_overflow(bytes, d, &bytes))
			return bad(err, file, name, "its shape is not a list of sizes");
		t->dim[i] = (int64_t)d;
	}
	if (json_array_size(at) != 2 || !non_negative(json_array_get(at, 0), &t->begin) ||
	    !non_negative(json_array_get(at, 1), &t->end) || t->end < t->begin)
		return bad(err, file, name, "its offsets are not a range");
	if (t->end - t->begin != bytes)
		return bad(err, file, name, "its offsets do not match its shape and dtype");
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct rt_st_tensor *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int read_metadata(const char *file, json_t *o, struct rt_safetensors *s, struct gt_err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return gt_fail(err, EBADMSG, "%s: __metadata__ is not an object", file);
	json_object_foreach(o, key, v)
		if (!json_is_string(v))
			return gt_fail(err, EBADMSG, "%s: __metadata__ has a value that is not a string", file);
	s->metadata = json_incref(o);
	return 0;
}

static int check_places(const char *file, const struct rt_safetensors *s, uint64_t data_bytes, struct gt_err *err)
{
	uint64_t end = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->tensor[i].begin != end)
			return bad(err, file, s->tensor[i].name,
				   s->tensor[i].begin < end ? "it overlaps another tensor" : "there is a gap before it");
		end = s->tensor[i].end;
	}
	if (end != data_bytes)
		return gt_fail(err, EBADMSG,
			       "%s: the tensors need %llu bytes and the file has %llu for them: it is truncated or too long", file,
			       (unsigned long long)end, (unsigned long long)data_bytes);
	return 0;
}

static int read_header(json_t *header, uint64_t data_bytes, const char *file, struct rt_safetensors *s, struct gt_err *err)
{
	const char *name;
	json_t *o;
	int r = 0;

	if (!json_is_object(header))
		return gt_fail(err, EBADMSG, "%s: its header is not an object", file);
	s->tensor = gt_xcalloc(json_object_size(header) + 1, sizeof(*s->tensor));
	json_object_foreach(header, name, o) {
		if (gt_streq(name, "__metadata__"))
			r = read_metadata(file, o, s, err);
		else
			r = read_tensor(file, name, o, &s->tensor[s->n], err);
		if (r)
			return r;
		if (!gt_streq(name, "__metadata__"))
			s->tensor[s->n++].name = gt_xstrdup(name);
	}
	qsort(s->tensor, s->n, sizeof(*s->tensor), by_place);
	return check_places(file, s, data_bytes, err);
}

int rt_safetensors_parse(const char *bytes, size_t len, uint64_t file_bytes, const char *name, struct rt_safetensors *ret,
			 struct gt_err *err)
{
	struct rt_safetensors s = { 0 };
	gt_auto_json *header = NULL;
	uint64_t n = 0;
	int r;

	if (len < 8 || file_bytes < len)
		return gt_fail(err, EBADMSG, "%s is not a safetensors file: it is shorter than its first field", name);
	for (int i = 0; i < 8; i++)
		n |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
	if (n > len - 8)
		return gt_fail(err, EBADMSG, "%s is not a safetensors file: its header would need %llu bytes", name,
			       (unsigned long long)n);
	r = gt_json_parse(bytes + 8, (size_t)n, name, &header, err);
	if (r)
		return r;
	s.data_at = 8 + n;
	r = read_header(header, file_bytes - s.data_at, name, &s, err);
	if (r)
		rt_safetensors_clear(&s);
	else
		*ret = s;
	return r;
}
