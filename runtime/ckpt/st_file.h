/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ST_FILE_H
#define RT_ST_FILE_H
#include "runtime/ckpt/safetensors.h"

/*
 * A safetensors file that is read with pread(), not mapped. If the file is truncated while it is read, a function
 * returns an error; a mapping would raise SIGBUS.
 */
struct rt_st_file {
	const char *path; /* owned by the caller */
	int fd;
	uint64_t len, data_at;
};
#define RT_ST_CLOSED	{ .fd = -1 }
/* Opens the file and parses its header. ret must be RT_ST_CLOSED; the caller closes it, also after an error. */
int rt_st_open(const char *path, struct rt_st_file *ret, struct rt_safetensors *ret_head, struct gt_err *err);
void rt_st_close(struct rt_st_file *f);
#define rt_auto_st_file __attribute__((cleanup(rt_st_close))) struct rt_st_file
/* Reads n bytes of the data from byte `at` on. */
int rt_st_read(const struct rt_st_file *f, uint64_t at, void *out, uint64_t n, struct gt_err *err);
#endif
