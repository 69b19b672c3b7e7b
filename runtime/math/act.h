/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_MATH_ACT_H
#define RT_MATH_ACT_H
/* Activations, and the bit mask that a relu keeps for its backward pass. */
#include <stdbool.h>
#include <stdint.h>

/* All activations except RT_ACT_NONE. */
#define RT_ACTS(X)	X(RT_ACT_GELU) X(RT_ACT_RELU) X(RT_ACT_GELU_ERF) X(RT_ACT_SILU) X(RT_ACT_TANH) X(RT_ACT_SIGMOID)
#define RT_ACT_ENUM(act) act,
enum rt_act { RT_ACT_NONE, RT_ACTS(RT_ACT_ENUM) };
/* Returns whether the derivative of act reads the input of act; otherwise it reads the output. */
static inline bool rt_act_reads_input(enum rt_act act)
{
	return act == RT_ACT_GELU || act == RT_ACT_GELU_ERF || act == RT_ACT_SILU;
}

/* Returns the bytes of a bit mask for a row of cols elements. Each vector of a row starts at a byte border. */
static inline int64_t rt_bits_bytes(int64_t cols)
{
	return (cols + 15) / 16 * 2;
}
#endif
