/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a program that links only the CPU backend. */
#include "runtime/cpu/run.h"

const struct rt_backend *const rt_backend_list[] = { &rt_backend_cpu, NULL };
