/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GRAPH_CONV_H
#define RT_GRAPH_CONV_H
#include "runtime/graph/ir.h"

enum rt_conv_kind { RT_CONV_FWD, RT_CONV_BWD_X, RT_CONV_BWD_W };
/* Image, weight and result of a convolution's call; the kind says which of them it writes. *ret_w is NULL when only the gradient of
 * the bias is wanted. */
enum rt_conv_kind rt_conv_roles(const struct rt_call *c, const struct rt_node **ret_x, const struct rt_node **ret_w,
				const struct rt_node **ret_y);
#endif
