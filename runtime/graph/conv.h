/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GRAPH_CONV_H
#define RT_GRAPH_CONV_H
#include "runtime/graph/ir.h"

enum rt_conv_kind { RT_CONV_FWD, RT_CONV_BWD_X, RT_CONV_BWD_W };
/* Sets the image, weight and result of a convolution call. The returned kind selects the one that the call writes. *ret_w
 * is NULL if the call computes only the bias gradient. */
enum rt_conv_kind rt_conv_roles(const struct rt_call *c, const struct rt_node **ret_x, const struct rt_node **ret_w,
				const struct rt_node **ret_y);
#endif
