/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CKPT_TENSORS_H
#define RT_CKPT_TENSORS_H
/* The tensors of a program in a checkpoint. */
#include "runtime/backend/backend.h"

#define RT_CKPT_OPTIMIZER	"optimizer." /* prefix of the names of optimizer state */
#define RT_CKPT_PRUNED		"pruned" /* metadata: rt_graph_pruned_text() */

bool rt_ckpt_is_saved(const struct rt_program *p, const struct rt_node *n);
/* Return the shape in the file, which does not depend on how ranks split the tensor, and its bytes. */
const struct rt_shape *rt_ckpt_shape(const struct rt_node *n);
uint64_t rt_ckpt_bytes(const struct rt_node *n);
/* Returns the bytes that get() and put() of the backend copy. */
uint64_t rt_ckpt_own_bytes(const struct rt_node *n);
char *rt_ckpt_name(const struct rt_node *n); /* name of the tensor in the file; the caller frees it */
const char *rt_ckpt_dtype(const struct rt_node *n);
/* Returns the memory that contains all of n, or NULL if the backend has none. */
void *rt_ckpt_memory(const struct rt_program *p, const struct rt_node *n);
#endif
