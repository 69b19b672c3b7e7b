/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ATTENTION_H
#define RT_ATTENTION_H
#include "runtime/graph/ir.h"

static inline bool rt_attention_is_backward(const struct rt_call *c)
{
	return rt_is(c, RT_OP_ATTENTION_BWD);
}
#endif
