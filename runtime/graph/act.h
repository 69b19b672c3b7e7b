/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ACT_H
#define RT_ACT_H
#include "runtime/graph/ir.h"

double rt_act_reference(enum rt_act act, double x);
#endif
