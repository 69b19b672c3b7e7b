/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_NVML_QUERY_H
#define PR_NVML_QUERY_H
#include <stdbool.h>
#include <stddef.h>
#include "lib/json.h"

/* Queries everything that discovery needs. Only for a child process: the calls can hang or crash. see_all: this process
 * sees all processes of the host. */
json_t *pr_nvml_query(bool see_all);
/* Converts NVML's address "00000000:3B:00.0" in place to that of sysfs: "0000:3b:00.0". size: of the buffer. */
void pr_sysfs_address(char *address, size_t size);
#endif
