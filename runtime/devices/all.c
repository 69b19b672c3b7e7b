/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a program that links both backends: gpubench, and libgputune-runtime. */
#include "runtime/cpu/run.h"
#include "runtime/cuda/engine.h"

const struct rt_backend *const rt_backend_list[] = { &rt_backend_cpu, &rt_backend_cuda, NULL };
