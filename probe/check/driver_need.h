/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_NEED_H
#define PR_NEED_H
/*
 * What this host needs to train: which driver for its cards and where it comes from, and which wheels run on it. The one
 * judgement behind gpuprobe recommend and gputune provision; pure but for the compatibility tables.
 */
#include "probe/check/check.h"
#include "probe/compat/compat.h"

/* Debian's packages for computing, without a display: module source of either flavour, and libcuda, NVML, nvidia-smi, device
 * nodes and the daemon that keeps the cards awake. */
#define PR_DEBIAN_MODULE "nvidia-kernel-dkms"
#define PR_DEBIAN_OPEN	 "nvidia-open-kernel-dkms"
#define PR_DEBIAN_DRIVER "libcuda1 libnvidia-ml1 nvidia-smi nvidia-modprobe nvidia-persistenced"
/* The same of an older branch, which Debian packages beside its own. The caller frees it. */
char *pr_legacy_packages(int branch);
/* What stands in the names of Debian's packages of this host's branch: "tesla-470-" as in libnvidia-tesla-470-ml1, or "". */
void pr_branch_infix(const struct pr_host *h, char ret[16]);
/* The line that keeps apt from this version of the driver: of some packages only, the others would move without them, or be removed
 * for them. NULL: it is no package's. The caller frees it. */
char *pr_hold_line(const struct pr_host *h, const char *version);

enum pr_driver_way {
	PR_DRIVER_NO_GPU,  /* no NVIDIA GPU that this host may use */
	PR_DRIVER_FITS,	   /* the loaded one drives the cards */
	PR_DRIVER_ASLEEP,  /* one is installed that would, and not loaded */
	PR_DRIVER_FLAVOUR, /* it would by the other flavour of its kernel module */
	PR_DRIVER_DEBIAN,  /* Debian's drives them */
	PR_DRIVER_LEGACY,  /* an older branch, which Debian packages beside its own */
	PR_DRIVER_NVIDIA,  /* newer than Debian's: NVIDIA's repository */
	PR_DRIVER_NONE,	   /* nothing that is packaged drives them */
};
struct pr_driver_need {
	enum pr_driver_way way;
	struct pr_gpu_kind kind; /* what all cards have in common: branches from first_branch to last_branch */
	bool known;		 /* the table knows each card */
	char *version;		 /* that is there or would be; NULL: not known */
	char *cuda_driver;	 /* the version that CUDA programs then get (pr_met_driver); NULL: not known */
	char *packages;		 /* blanks between them; NULL: none to install */
	char *why;		 /* one sentence without full stop */
};
void pr_driver_need_clear(struct pr_driver_need *n);
/* packaged: the driver that apt's lists offer from Debian, NULL: as the table of Debian releases says. device: judge for a
 * card of this PCI device id in place of those that are there; 0: those that are there. */
void pr_driver_need(const struct pr_context *c, const char *packaged, unsigned device, struct pr_driver_need *ret);
/* Does the flavour of the loaded kernel module drive such cards? The open one needs a card with a GSP, which Turing was the first
 * to have; Grace Hopper was the first to need the open one. Where no module is loaded, any does. */
bool pr_flavour_fits(const struct pr_host *h, const struct pr_gpu_kind *k);
/* The same as a step for people: { why, lines }; NULL where nothing is to be done. */
json_t *pr_driver_step(const struct pr_context *c, const struct pr_driver_need *n);

/* The smallest change of driver, as such a step with this `why`, to `least` or newer; NULL where the driver that is there or would
 * be is that, or none such drives these cards. */
json_t *pr_driver_lift(const struct pr_context *c, const struct pr_driver_need *n, const char *least, const char *why);
/* The smallest change of driver, as such a step, that gives the newest wheel with code for the cards; NULL where `now` is that, or
 * no driver of these cards carries it. */
json_t *pr_wheel_lift(const struct pr_context *c, const struct pr_driver_need *n, const struct pr_wheel *now);
/* The glibc that wheels of this PyTorch release need (their tags on PyPI). */
const char *pr_torch_glibc(const char *release);
/* Add the steps { why, lines } for PyTorch in a virtual environment: on the driver that is there or would be, or for the CPU.
 * Nothing is added where the driver's version is not known. lift: also pr_wheel_lift(). */
int pr_wheel_steps(const struct pr_context *c, const struct pr_driver_need *n, bool lift, json_t *steps, struct gt_err *err);
#endif
