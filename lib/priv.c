/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of the process, and detection of privileges that the caller lacks. */
#include <errno.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/priv.h"

static int get(struct __user_cap_data_struct d[2])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, d) < 0 ? -errno : 0;
}

/* A security module may also set AT_SECURE although the process gained no privileges. That is not a reason to refuse. */
bool gt_priv_borrowed(void)
{
	struct __user_cap_data_struct d[2] = {0};

	if (!getauxval(AT_SECURE))
		return false;
	if (getuid() != geteuid() || getgid() != getegid())
		return true;
	return getuid() != 0 && get(d) >= 0 && (d[0].permitted || d[1].permitted);
}

int gt_priv_keep(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0};
	uint32_t over = 0;
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : get(d);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		uint32_t may = (uint32_t)(caps >> (32 * i));

		over |= (d[i].permitted | d[i].inheritable) & ~may;
		d[i].permitted &= may;
		d[i].effective &= may;
		d[i].inheritable &= may;
	}
	if (!over) /* nothing to drop; gputune's own service units forbid capset */
		return 0;
	/* capset also drops ambient capabilities that are no longer inheritable */
	return syscall(SYS_capset, &head, d) < 0 ? -errno : 0;
}
