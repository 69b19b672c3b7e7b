/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include "bench/stats/metric.h"

const char *const bn_direction_name[] = { [BN_LOWER] = "lower", [BN_HIGHER] = "higher", NULL };
const char *const bn_role_name[] = { [BN_PRIMARY] = "primary", [BN_GUARD] = "guard", [BN_EXPLORE] = "explore",
				     [BN_CONTROL] = "control", NULL };
