/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GRADIENT_H
#define RT_GRADIENT_H
/*
 * Reverse-mode differentiation over the list of calls. A gradient rule gets the gradient of its output, emits calls,
 * and registers the gradients of its inputs. The first contribution to a gradient assigns, later ones add. Gradients
 * are not zeroed first.
 */
#include "runtime/graph/ir.h"

struct rt_ad;
/* ir must already contain all forward calls of the program. */
struct rt_ad *rt_ad_new(struct rt_ir *ir);
void rt_ad_free(struct rt_ad *ad);
GT_DEFINE_AUTO(rt_ad, rt_ad_free);
/* Emits the backward calls of forward call c. Call it after all calls that read c's outputs were differentiated. */
void rt_ad_differentiate(struct rt_ad *ad, const struct rt_call *c);

/* ---- for gradient rules ---- */
/* Returns the gradient of forward node n so far; NULL if the loss does not depend on n. */
struct rt_node *rt_ad_get(struct rt_ad *ad, const struct rt_node *n);
/* Returns whether the gradient of n is needed. False for inputs, NULL, and values that depend on no parameter. */
bool rt_ad_requires_grad(struct rt_ad *ad, const struct rt_node *n);
/* Sets c->out[slot] to the tensor for c's contribution to the gradient of n. Sets the call's accumulate bit if the
 * contribution is added in place. Leaves the slot NULL if the gradient is not needed. */
void rt_ad_into(struct rt_ad *ad, struct rt_call *c, int slot, const struct rt_node *n);
/* Makes the current content of tensor g the gradient of n, or adds it to the existing gradient. Does not copy g. */
void rt_ad_alias(struct rt_ad *ad, const struct rt_node *n, struct rt_node *g);
/* Append an empty backward call, and create a gradient tensor with the shape of `like`. */
struct rt_call *rt_ad_call(struct rt_ad *ad, enum rt_op_id op, const struct rt_attr *attr);
struct rt_node *rt_ad_temp(struct rt_ad *ad, const struct rt_node *like, const char *suffix);
#endif
