/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stddef.h>
#include "lib/util.h"
#include "tune/model/namespaced.h"

/*
 * Namespaced sysctls of tunables. docker and podman accept those of the container's own network and IPC namespace (docker run
 * reference: --sysctl). A pod may set safe ones; others also need the kubelet option --allowed-unsafe-sysctls
 * (kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster). The kernel registers the files of a namespace in
 * net/ipv4/sysctl_net_ipv4.c, net/ipv4/devinet.c and ipc/ipc_sysctl.c. net.core.rmem_max and wmem_max are read-only in
 * other network namespaces (net/core/sysctl_net_core.c).
 */
static const struct {
	const char *pattern;
	bool safe;
} namespaced[] = {
	{ "net.ipv4.tcp_rmem", true }, /* since Kubernetes 1.32 */
	{ "net.ipv4.tcp_wmem", true },
	{ "net.ipv4.conf.*", false },
	{ "net.ipv4.tcp_window_scaling", false },
	{ "net.ipv4.tcp_timestamps", false },
	{ "kernel.shmmax", false },
};

bool tn_is_namespaced(const char *sysctl, bool *ret_safe)
{
	for (size_t i = 0; sysctl && i < GT_ARRAY_SIZE(namespaced); i++) {
		if (fnmatch(namespaced[i].pattern, sysctl, 0))
			continue;
		if (ret_safe)
			*ret_safe = namespaced[i].safe;
		return true;
	}
	return false;
}
