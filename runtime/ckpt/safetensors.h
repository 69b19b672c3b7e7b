/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_SAFETENSORS_H
#define RT_SAFETENSORS_H
/*
 * The safetensors format: u64 little-endian length of the header, the header as JSON { NAME: { dtype, shape,
 * data_offsets } }, the data. A file is accepted only if every tensor is inside the file and has the size of its shape.
 * All tensors together must fill the data without overlaps or gaps.
 */
#include "runtime/runtime.h"

#define RT_ST_DIMS	8
struct rt_st_tensor {
	char *name;
	const char *dtype; /* for example "F32" */
	int n_dims;
	int64_t dim[RT_ST_DIMS];
	uint64_t begin, end; /* byte range, from the start of the data */
};
struct rt_safetensors {
	struct rt_st_tensor *tensor; /* tensors in the order of their data */
	size_t n;
	json_t *metadata; /* strings; may be NULL */
	uint64_t data_at; /* offset of the data in the file */
};
/* Parses the first len bytes of a file of file_bytes bytes. `name` is used in messages. Returns -EBADMSG with the
 * reason. */
int rt_safetensors_parse(const char *bytes, size_t len, uint64_t file_bytes, const char *name, struct rt_safetensors *ret,
			 struct gt_err *err);
void rt_safetensors_clear(struct rt_safetensors *s);
#define rt_auto_safetensors __attribute__((cleanup(rt_safetensors_clear))) struct rt_safetensors
const struct rt_st_tensor *rt_safetensors_find(const struct rt_safetensors *s, const char *name);
size_t rt_st_dtype_bytes(const char *dtype); /* 0: unknown */
#endif
