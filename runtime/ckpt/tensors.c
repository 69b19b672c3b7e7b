/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a program in a checkpoint: names, types, shapes and memory. */
#include "runtime/ckpt/tensors.h"

/* Returns whether n is optimizer state. A device also has reduced-precision copies of parameters and their scales,
 * which follow from the parameters. */
static bool of_optimizer(const struct rt_program *p, const struct rt_node *n)
{
	for (int i = 0; i < p->plan.ir.n_calls; i++)
		if (p->plan.ir.calls[i]->phase == RT_PHASE_UPDATE && rt_writes(p->plan.ir.calls[i], n))
			return true;
	return false;
}

bool rt_ckpt_is_saved(const struct rt_program *p, const struct rt_node *n)
{
	return n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER ||
	       (n->role == RT_ROLE_STATE && (n->absent || (n->first >= 0 && of_optimizer(p, n))));
}

/* Returns the shape that get() and put() of the backend copy. Sharded state is one tensor there. */
static const struct rt_shape *own_shape(const struct rt_node *n)
{
	return n->piece_unit ? &n->whole : &n->shape;
}

const struct rt_shape *rt_ckpt_shape(const struct rt_node *n)
{
	return n->cut.parts ? &n->cut.whole : own_shape(n);
}

uint64_t rt_ckpt_bytes(const struct rt_node *n)
{
	return (uint64_t)rt_shape_elements(rt_ckpt_shape(n)) * rt_dtype_bytes(n->dtype);
}

uint64_t rt_ckpt_own_bytes(const struct rt_node *n)
{
	return (uint64_t)rt_shape_elements(own_shape(n)) * rt_dtype_bytes(n->dtype);
}

char *rt_ckpt_name(const struct rt_node *n)
{
	return n->role == RT_ROLE_STATE ? gt_xasprintf(RT_CKPT_OPTIMIZER "%s", n->name) : gt_xstrdup(n->name);
}

const char *rt_ckpt_dtype(const struct rt_node *n)
{
	static const char *const names[] = {
		[RT_F32] = "F32", [RT_I32] = "I32", [RT_BF16] = "BF16", [RT_F16] = "F16", [RT_U8] = "U8",
		[RT_E4M3] = "F8_E4M3", [RT_E5M2] = "F8_E5M2", [RT_I8] = "I8",
	};

	return names[n->dtype];
}

void *rt_ckpt_memory(const struct rt_program *p, const struct rt_node *n)
{
	bool elsewhere = n->piece_unit || n->cut.parts || (p->ranks.gather && n->role == RT_ROLE_STATE);

	return p->backend->host_memory && !elsewhere ? n->data : NULL;
}
