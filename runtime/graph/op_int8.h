/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_OP_INT8_H
#define RT_OP_INT8_H
/* Inputs of linear_int8 after x, the weight and the bias. Each is followed by its bias, except the residual. */
enum { RT_INT8_GAIN = 3, RT_INT8_SECOND = 5, RT_INT8_RESIDUAL = 7 };
#endif
