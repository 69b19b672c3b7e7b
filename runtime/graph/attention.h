/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ATTENTION_H
#define RT_ATTENTION_H
#include "runtime/graph/ir.h"

#define RT_ATTENTION_BLOCK	64 /* queries per block: scores of one block (64,T) stay in the L2 cache */
size_t rt_attention_scratch_floats(const struct rt_call *c); /* per thread */
#endif
