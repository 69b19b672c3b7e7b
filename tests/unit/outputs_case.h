/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTPUTS_CASE_H
#define OUTPUTS_CASE_H
/* A small model of each kind as a program with two outputs, its logits and its loss. */
#include "runtime/runtime.h"

#define OUTPUTS_MODELS 5
/*
 * Runs model `which` by rt_run on the device. Returns NULL or the error: the logits compared with rt_reference() (not
 * for a model with batchnorm, whose reference is that of training), and the loss with the cross entropy of the logits.
 * tolerance: relative to the largest logit.
 */
const char *outputs_case(int which, enum rt_device device, enum rt_dtype amp, double tolerance);
#endif
