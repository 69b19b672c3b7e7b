/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the backends of this build and whether the machine has their devices. */
#include <stdio.h>
#include "runtime/backend/backend.h"

int rt_backends(struct rt_backend_info ret[RT_BACKENDS])
{
	int n = 0;

	for (; rt_backend_list[n]; n++) {
		const struct rt_backend *b = rt_backend_list[n];
		struct gt_err err = { 0 };

		ret[n] = (struct rt_backend_info){ .device = b->device, .name = b->name };
		ret[n].available = !b->probe || b->probe(&err) == 0;
		if (!ret[n].available)
			snprintf(ret[n].reason, sizeof(ret[n].reason), "%.511s", err.msg);
	}
	return n;
}
