/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_PARSE_H
#define GT_PARSE_H
/* Strict parsers: the whole string must match the format. They return 0, -EINVAL (wrong format) or -ERANGE. */
#include "lib/util.h"

int gt_parse_u64(const char *s, uint64_t *ret);	 /* decimal */
int gt_parse_i64(const char *s, int64_t *ret);	 /* decimal, optional '-' */
int gt_parse_hex(const char *s, uint64_t *ret);	 /* optional 0x */
int gt_parse_double(const char *s, double *ret); /* finite, C locale */
int gt_parse_size(const char *s, uint64_t *ret_bytes); /* 4096, 64K, 16MiB, 2G: powers of 1024 */
/* Compares dotted version numbers ("12.4.1" and "12.4") number by number. Missing numbers are 0. Returns <0, 0, >0. */
int gt_version_cmp(const char *a, const char *b);

/* A set of small integers (CPUs or nodes). A zero-initialised set is empty. */
struct gt_set {
	uint64_t *w;
	size_t nw;
};
#define GT_SET_MAX	65536
int gt_parse_cpulist(const char *s, struct gt_set *ret); /* kernel list form: "0-3,8,10-11:2/1", "" is empty */
int gt_parse_cpumask(const char *s, struct gt_set *ret); /* kernel mask form: "ff,ffffffff" */
void gt_set_add(struct gt_set *s, unsigned bit);
void gt_set_del(struct gt_set *s, unsigned bit);
bool gt_set_has(const struct gt_set *s, unsigned bit);
unsigned gt_set_count(const struct gt_set *s);
int gt_set_next(const struct gt_set *s, int after); /* first member > after, -1 if there is none; start with -1 */
void gt_set_copy(struct gt_set *dst, const struct gt_set *src);
void gt_set_and(struct gt_set *dst, const struct gt_set *src);
void gt_set_or(struct gt_set *dst, const struct gt_set *src);
bool gt_set_equal(const struct gt_set *a, const struct gt_set *b);
char *gt_set_format(const struct gt_set *s); /* "0-3,8"; the caller frees it */
void gt_set_clear(struct gt_set *s);
#define gt_auto_set	__attribute__((cleanup(gt_set_clear))) struct gt_set
#define gt_set_for_each(i, s) for (int i = gt_set_next((s), -1); i >= 0; i = gt_set_next((s), i))
#endif
