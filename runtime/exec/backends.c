/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the backends of this build and whether the machine has their devices. */
#include <stdio.h>
#include "runtime/backend/backend.h"

int rt_backends(struct rt_backend_info ret[RT_BACKENDS])
{
	for (int i = 0; rt_backend_list[i]; i++) {
		const struct rt_backend *b = rt_backend_list[i];
		struct gt_err err = { 0 };

		ret[i] = (struct rt_backend_info){ .device = b->device, .name = b->name };
		ret[i].available = !b->probe || b->probe(&err) == 0;
		if (!ret[i].available)
			snprintf(ret[i].reason, sizeof(ret[i].reason), "%.511s", err.msg);
	}
	return RT_BACKENDS;
}
