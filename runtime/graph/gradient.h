/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GRADIENT_H
#define RT_GRADIENT_H
/*
 * Reverse-mode differentiation over the list of calls. A gradient rule asks for the gradient of its output, emits calls, and
 * hands over the gradients of its inputs. Gradients are assigned by the first contribution and added to by later ones;
 * nothing is zeroed first.
 */
#include "runtime/graph/ir.h"

struct rt_ad;
/* All forward calls of the program are in ir by now. */
struct rt_ad *rt_ad_new(struct rt_ir *ir);
void rt_ad_free(struct rt_ad *ad);
/* Emits the backward calls of the forward call c, after those of all calls that read its outputs. */
void rt_ad_differentiate(struct rt_ad *ad, const struct rt_call *c);

/* ---- for gradient rules ---- */
/* Gradient of the forward node n so far; NULL if the loss does not depend on it. */
struct rt_node *rt_ad_get(struct rt_ad *ad, const struct rt_node *n);
/* Does anything want the gradient of n? False for inputs, NULL, and values that no parameter leads to. */
bool rt_ad_wants(struct rt_ad *ad, const struct rt_node *n);
/* Where call c is to write its contribution to the gradient of n, as out[slot]. Sets the call's accumulate bit when the
 * contribution is to be added in place. Leaves the slot NULL when nobody wants it. */
void rt_ad_into(struct rt_ad *ad, struct rt_call *c, int slot, const struct rt_node *n);
/* The gradient of n is (also) the present content of tensor g, which this does not copy. */
void rt_ad_share(struct rt_ad *ad, const struct rt_node *n, struct rt_node *g);
/* A new backward call, to be filled; and where it is to be added. */
struct rt_call *rt_ad_call(struct rt_ad *ad, enum rt_op_id op, const struct rt_attr *attr);
struct rt_node *rt_ad_temp(struct rt_ad *ad, const struct rt_node *like, const char *suffix);
#endif
