/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_TOKENS_H
#define RT_TOKENS_H
#include "runtime/data/loader.h"

struct rt_token_file {
	int bytes;	 /* of an id: 1, 2, 4 */
	uint64_t at;	 /* where ids begin */
	uint64_t tokens;
};
/* From the first `have` bytes of a file of len bytes. -EBADMSG: cut short, or of an unknown version; -EINVAL: of another type
 * than asked for. What it returns lies within the file. */
int rt_token_file_parse(const unsigned char *p, uint64_t have, uint64_t len, enum rt_token_type type, const char *name,
			struct rt_token_file *ret, struct gt_err *err);
#endif
