/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/backend.h"

const struct rt_backend *const rt_backend_list[] = { &rt_backend_cpu, &rt_backend_cuda, NULL };
