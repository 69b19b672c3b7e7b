/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_NAMESPACED_H
#define TN_NAMESPACED_H
#include <stdbool.h>

/* Returns whether each container has its own value of the sysctl, which its start can set. sysctl NULL: false. *ret_safe (may be
 * NULL): a Kubernetes pod may set it without an option of the kubelet. */
bool tn_is_namespaced(const char *sysctl, bool *ret_safe);
#endif
