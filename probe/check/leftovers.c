/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and limits that were set for another machine or for debugging and remained in files. They slow down every job.
 */
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/compat/costly_options.h"

#define FILES 65536

static void nofile(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_num soft = c->host->open_files_soft, hard = c->host->open_files_hard;

	if (!pr_has(hard) || !pr_has(soft)) {
		pr_set(f, hard.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN, "the limit of open files is "
									    "%s", pr_state_name(hard.state));
	} else if (hard.v >= FILES) {
		pr_set(f, PR_PASS, "programs can raise their limit of open files sufficiently, and gputune run does");
	} else {
		gt_autofree char *raise = soft.v < hard.v ? gt_xasprintf(", and raise that to %ld", hard.v) : NULL;

		pr_set(f, PR_ADVICE, "a program can open %ld files%s: loader workers pass each tensor as an open file and "
				     "fail with \"too many open files\"", soft.v, raise ? raise : "");
		pr_remedy(f, c->host->container.state == PR_PRESENT ?
				     "Start the container with a higher limit: add --ulimit nofile=1048576 to docker run" :
				     "For all users, at their next login:\n"
				     "  echo '* - nofile 1048576' > /etc/security/limits.d/90-files.conf\n"
				     "A service needs LimitNOFILE=1048576.");
	}
}
const struct pr_check pr_check_nofile = {
	.id = "limits.nofile",
	.title = "the limit of open files is low",
	.story = "PyTorch's loader workers pass each tensor as a file descriptor: thousands with a batch of many small tensors "
		 "and a few batches ahead. Old programs that close every possible descriptor at their start take longer with a "
		 "high limit.",
	.run = nofile,
};

/* Checks the parameters of the loaded NVIDIA module in its /proc file. */
static void driver_options(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_str params = c->host->driver.params;
	gt_auto_buf found = { 0 };
	const char *first = NULL;

	if (!params.v) {
		pr_set(f, params.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN, "%s is %s", PR_NVIDIA_PARAMS,
		       pr_state_name(params.state));
		return;
	}
	for (size_t i = 0; pr_driver_option(i); i++) {
		gt_autofree char *v = pr_driver_param(params.v, pr_driver_option(i));
		const char *cost = v ? pr_driver_option_cost(pr_driver_option(i), v) : NULL;

		if (cost)
			gt_buf_printf(&found, "%sNVreg_%s %s", first ? "; " : "", pr_driver_option(i), cost);
		first = first || !cost ? first : pr_driver_option(i);
	}
	if (!first) {
		pr_set(f, PR_PASS, "the relevant driver options have their defaults");
		return;
	}
	pr_set(f, PR_ADVICE, "%s", found.s);
	pr_remedy(f, "Unless it was validated for this machine, remove it from the file that this prints:\n"
		     "  grep -rl NVreg_%s /etc/modprobe.d\nThen:\n  @{initramfs}; reboot", first);
}
const struct pr_check pr_check_driver_options = {
	.id = "gpu.driver-options",
	.title = "an option of the nvidia module is harmful",
	.story = "NVreg_EnablePCIERelaxedOrderingMode, NVreg_EnableStreamMemOPs and ForceP2P are in scripts for other "
		 "machines. Such a script leaves them in /etc/modprobe.d.",
	.run = driver_options,
};

static void nccl_conf(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_str conf = c->host->nccl_conf;
	unsigned n = 0;

	if (!conf.v) {
		pr_set(f, conf.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN, "/etc/nccl.conf is %s", pr_state_name(conf.state));
		return;
	}
	for (const char *line = conf.v; line && *line; line = gt_next_line(line)) {
		gt_autofree char *copy = gt_xstrndup(line, strcspn(line, "\n")), *name = NULL;
		char *value = strchr(copy, '=');
		const char *cost;

		n++;
		if (!value || *gt_strip(copy) == '#')
			continue;
		name = gt_xstrndup(copy, (size_t)(value - copy));
		value = gt_strip(value + 1);
		cost = pr_leftover(gt_strip(name), value);
		if (!cost)
			continue;
		pr_set(f, PR_ADVICE, "line %u of /etc/nccl.conf sets %.40s=%.40s for every job of this host: "
				     "%s", n, gt_strip(name), value,
		       cost);
		pr_remedy(f, "Some clouds and clusters need what they wrote there. To remove the line:\n  sed -i %ud "
			     "/etc/nccl.conf", n);
		return;
	}
	pr_set(f, PR_PASS, "/etc/nccl.conf has no settings for debugging");
}
const struct pr_check pr_check_nccl_conf = {
	.id = "nccl.conf",
	.title = "/etc/nccl.conf has debugging settings",
	.story = "NCCL reads /etc/nccl.conf before the environment, for every job of the host. A line that was added "
		 "to find an error can slow down or break all jobs. Some clouds and clusters need their settings there.",
	.run = nccl_conf,
};

static void nvme_timeout(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_num seconds = c->host->nvme_timeout_s;

	if (!gt_streq(c->host->sys_vendor.v, "Amazon EC2")) {
		pr_set(f, PR_SKIP, "only for EC2, whose disks are remote");
	} else if (!pr_has(seconds)) {
		pr_set(f, seconds.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN, "the timeout of NVMe requests is %s",
		       pr_state_name(seconds.state));
	} else if (seconds.v >= UINT32_MAX) {
		pr_set(f, PR_PASS, "NVMe requests have the timeout that EC2 recommends");
	} else {
		pr_set(f, PR_ADVICE, "an EBS volume that stalls for more than %ld s fails permanently instead of recovering",
		       seconds.v);
		pr_remedy(f, "A dead local disk is then never noticed:\n"
			     "  echo 'options nvme_core io_timeout=4294967295' > /etc/modprobe.d/nvme-ebs.conf\n"
			     "  @{initramfs}; reboot");
	}
}
const struct pr_check pr_check_nvme_timeout = {
	.id = "nvme.io-timeout",
	.title = "the NVMe timeout is too short for EC2",
	.story = "On EC2 the NVMe disks are network volumes. Amazon's guide sets the longest timeout, so that a checkpoint "
		 "survives a stall of the network. With local disks, this timeout hides a failed disk.",
	.run = nvme_timeout,
};
