/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PARTS_H
#define RT_PARTS_H
/* Whole tensors from the parts that tensor parallel ranks have of them (struct rt_cut). */
#include "runtime/backend/backend.h"
#include "runtime/transport/comm.h"

struct rt_parts {
	struct rt_comm *comm; /* NULL: one rank has everything */
	struct rt_window window;
	struct rt_coll gather[2];
	int next;
};
/* Collective over the program's tensor group. *ret is all zero without one. */
int rt_parts_open(const struct rt_program *p, struct rt_parts *ret, struct gt_err *err);
void rt_parts_close(struct rt_parts *s);
#define rt_auto_parts	__attribute__((cleanup(rt_parts_close))) struct rt_parts
/* Collective. own: this rank's part of n as stored. whole: receives the tensor in the first rank; NULL in the others. */
int rt_parts_gather(struct rt_parts *s, const struct rt_node *n, const void *own, void *whole, struct gt_err *err);
#endif
