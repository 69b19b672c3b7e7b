/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_DRIVER_NEED_H
#define PR_DRIVER_NEED_H
/*
 * Determines what this host needs to train: the driver for its GPUs and its source, and the wheels that run on it. Used
 * by both gpuprobe can and gputune provision. Pure except for the compatibility tables.
 */
#include "probe/check/check.h"
#include "probe/compat/compat.h"

/* Debian's packages for computing without a display: the module source of either flavour, and libcuda, NVML,
 * nvidia-smi, device nodes and the persistence daemon. */
#define PR_DEBIAN_MODULE "nvidia-kernel-dkms"
#define PR_DEBIAN_OPEN	 "nvidia-open-kernel-dkms"
#define PR_DEBIAN_DRIVER "libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced"
/* Returns the same packages for a legacy branch of Debian. The caller frees it. */
char *pr_legacy_packages(int branch);
/* Returns the suffix of actions (distro.h) for packages of Debian's legacy branches: "-legacy 470", or "". */
#define PR_BRANCH_SUFFIX 16
void pr_branch_suffix(const struct pr_host *h, char ret[PR_BRANCH_SUFFIX]);
/* Returns the action (distro.h) that keeps this driver version. On Debian it holds every installed package of the version: if
 * only some were held, apt would upgrade the others without them, or remove them. NULL: no package has this version.
 * The caller frees it. */
char *pr_hold_line(const struct pr_host *h, const char *version);

enum pr_driver_state {
	PR_DRIVER_NO_GPU,  /* no NVIDIA GPU that this host may use */
	PR_DRIVER_OK,	   /* the loaded driver supports the GPUs */
	PR_DRIVER_UNLOADED,  /* a suitable driver is installed but not loaded */
	PR_DRIVER_FLAVOUR, /* the driver needs the other flavour of its kernel module */
	PR_DRIVER_DEBIAN,  /* Debian's driver supports the GPUs */
	PR_DRIVER_LEGACY,  /* a legacy branch packaged by Debian supports the GPUs */
	PR_DRIVER_NVIDIA,  /* Debian's driver is too old; NVIDIA's repository has one */
	PR_DRIVER_NONE,	   /* no packaged driver supports the GPUs */
};
struct pr_driver_need {
	enum pr_driver_state state;
	struct pr_gpu_kind kind; /* requirements common to all GPUs: branches from first_branch to last_branch */
	bool known;		 /* the table contains each GPU */
	char *version;		 /* version that is installed or would be; NULL: unknown */
	char *cuda_driver;	 /* driver version that CUDA programs then use (pr_effective_driver); NULL: unknown */
	char *packages;		 /* names of packages, separated by blanks; NULL: there is nothing to install */
	char *why;		 /* one sentence without a full stop */
};
void pr_driver_need_clear(struct pr_driver_need *n);
/* Determines the driver. packaged: the driver version in apt's lists from Debian, NULL: the one in the table of Debian
 * releases. device: PCI device id of a GPU to use instead of the host's GPUs; 0: the host's GPUs. */
void pr_driver_need(const struct pr_context *c, const char *packaged, unsigned device, struct pr_driver_need *ret);
/* Returns whether the flavour of the loaded kernel module supports such GPUs. The open module needs a GPU with a GSP
 * (Turing and later). Grace Hopper and later need the open module. True if no module is loaded. */
bool pr_flavour_fits(const struct pr_host *h, const struct pr_gpu_kind *k);
/* Returns the result as a step for people, { why, lines }; NULL if no change is needed. */
json_t *pr_driver_step(const struct pr_context *c, const struct pr_driver_need *n);

/* Returns the smallest driver change to version `least` or newer, as a step with this `why`. NULL if the installed or
 * planned driver is new enough, or if no such driver supports these GPUs. */
json_t *pr_driver_upgrade_step(const struct pr_context *c, const struct pr_driver_need *n, const char *least, const char *why);
/* Returns the smallest driver change that allows the newest wheel with code for the GPUs, as a step. NULL if `now` is
 * that wheel, or if no driver for these GPUs supports it. */
json_t *pr_wheel_upgrade_step(const struct pr_context *c, const struct pr_driver_need *n, const struct pr_wheel *now);
/* Returns the glibc version that wheels of this PyTorch release need (from their tags on PyPI). */
const char *pr_torch_glibc(const char *release);
/* Adds the steps { why, lines } for PyTorch in a virtual environment: for the installed or planned driver, or for the
 * CPU. Adds none if the driver's version is unknown. lift: also adds pr_wheel_upgrade_step(). */
int pr_wheel_steps(const struct pr_context *c, const struct pr_driver_need *n, bool upgrade, json_t *steps, struct gt_err *err);
#endif
