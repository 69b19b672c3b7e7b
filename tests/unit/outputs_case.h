/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTPUTS_CASE_H
#define OUTPUTS_CASE_H
/* A small model of each kind as a program with two outputs, its logits and its loss. */
#include "runtime/runtime.h"

#define OUTPUTS_MODELS 5
/*
 * Runs model `which` by rt_run on the device. NULL, or what is wrong: the logits against rt_reference() (not of a model with
 * batchnorm, whose reference is that of training), and the loss against the cross entropy of the logits. tolerance: of the
 * largest logit.
 */
const char *outputs_case(int which, enum rt_device device, enum rt_dtype amp, double tolerance);
#endif
