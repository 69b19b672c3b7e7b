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
bool rt_parts_is_first(const struct rt_parts *s);
/* Sets *ret to all elements of n in the first rank, and to NULL in the others. *copy owns them unless they are in the program's
 * memory. Collective over the tensor group of the stage that has n. */
int rt_parts_whole(const struct rt_program *p, const struct rt_node *n, struct rt_parts *s, char **copy, const char **ret,
		   struct gt_err *err);
/* Does the same over the stages of a pipeline too: the first rank of stage 0 gets the tensor. */
int rt_parts_collect(const struct rt_program *p, const struct rt_node *n, struct rt_parts *s, char **copy, const char **ret,
		     struct gt_err *err);
#endif
