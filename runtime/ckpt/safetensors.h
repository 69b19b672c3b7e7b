/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_SAFETENSORS_H
#define RT_SAFETENSORS_H
/*
 * The safetensors format: u64 little-endian length of the header, the header as JSON { NAME: { dtype, shape, data_offsets } },
 * the data. Accepted only if every tensor lies inside the file, has the size of its shape, and all together fill the data
 * without overlap or hole.
 */
#include "runtime/runtime.h"

#define RT_ST_DIMS	8
struct rt_st_tensor {
	char *name;
	const char *dtype; /* "F32" … */
	int n_dims;
	int64_t dim[RT_ST_DIMS];
	uint64_t begin, end; /* bytes, from the start of the data */
};
struct rt_safetensors {
	struct rt_st_tensor *tensor; /* in order of their data */
	size_t n;
	json_t *metadata; /* strings; may be NULL */
	uint64_t data_at; /* in the file */
};
/* The first len bytes of a file of file_bytes; name is for sentences. -EBADMSG with what is wrong. */
int rt_safetensors_parse(const char *bytes, size_t len, uint64_t file_bytes, const char *name, struct rt_safetensors *ret,
			 struct gt_err *err);
void rt_safetensors_clear(struct rt_safetensors *s);
const struct rt_st_tensor *rt_safetensors_find(const struct rt_safetensors *s, const char *name);
size_t rt_st_dtype_bytes(const char *dtype); /* 0: unknown */
#endif
