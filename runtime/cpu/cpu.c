/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cpu/cpu.h"

#define AT(ID, name) [RT_OP_##ID] = &rt_cpu_##name,
#define ENTRY(ID, name, kernels) RT_CPU_##kernels(AT, ID, name)
const struct rt_cpu_kernel *const rt_cpu_kernels[RT_N_OPS] = { RT_OPS(ENTRY) };
