/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements of programs and compilers of a CUDA release on this host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/parse.h"
#include "probe/check/check.h"
#include "probe/check/distro.h"
#include "probe/check/list.h"
#include "probe/compat/compat.h"
#include "probe/check/driver_need.h"
#include "probe/host/visible.h"

static const char *toolkit_version(const struct pr_host *h, size_t i)
{
	return strrchr(h->driver.toolkits.v[i], '-') + 1;
}

static bool no_toolkit(const struct pr_context *c, struct pr_finding *f)
{
	if (c->host->driver.toolkits.n)
		return false;
	pr_set(f, PR_SKIP, "no CUDA toolkit under /usr/local");
	return true;
}

struct carrier {
	const char *cuda;
	int branch; /* oldest driver branch that supports it; 0: none in the table */
};

static int take_branch(void *arg, const char *branch, const char *cuda)
{
	struct carrier *s = arg;

	if (gt_version_cmp(cuda, s->cuda) >= 0 && (!s->branch || atoi(branch) < s->branch))
		s->branch = atoi(branch);
	return 0;
}

/* Returns the driver that compiles the PTX of that toolkit, as a step; NULL: none for this GPU. */
static json_t *ptx_driver(const struct pr_context *c, const char *version)
{
	gt_autofree char *why = NULL, *least = NULL;
	struct carrier s = {.cuda = version};
	struct pr_driver_need n;
	json_t *step;

	pr_compat_each(c->fs, &pr_driver_cuda, take_branch, &s, NULL);
	if (!s.branch)
		return NULL;
	least = gt_xasprintf("%d", s.branch);
	why = gt_xasprintf("Only if PTX of CUDA %s is needed: driver %s or newer", version, least);
	pr_driver_need(c, NULL, 0, &n);
	step = pr_driver_upgrade_step(c, &n, least, why);
	pr_driver_need_clear(&n);
	return step;
}

static void ptx(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *driver = pr_effective_driver(c);
	gt_autofree char *cuda = NULL, *up = NULL;
	gt_auto_json *step = NULL;

	if (pr_without_driver(c, f) || no_toolkit(c, f))
		return;
	if (pr_compat_max_cuda(c->fs, driver, &cuda, NULL) <= 0) {
		pr_set(f, PR_NOT_KNOWN, "the CUDA release of driver %s is not in this program's table", driver);
		return;
	}
	for (size_t i = 0; i < h->driver.toolkits.n; i++) {
		const char *version = toolkit_version(h, i);

		if (strtol(version, NULL, 10) != strtol(cuda, NULL, 10) || gt_version_cmp(version, cuda) <= 0)
			continue;
		pr_set(f, PR_WARN, "toolkit %s generates PTX that driver %s, which supports CUDA %s, cannot compile",
		       version, driver, cuda);
		step = ptx_driver(c, version);
		up = pr_step_text(step);
		pr_remedy(f, "Build for the GPU itself, so that no PTX is needed (nvcc -arch=native), or use a toolkit up to CUDA "
			     "%s.%s%s", cuda, step ? "\n" : "", up);
		return;
	}
	pr_set(f, PR_PASS, "the driver compiles the PTX of every installed toolkit");
}
static const char *const after_toolkit[] = {"driver.loaded", "cuda.toolkit", NULL};
const struct pr_check pr_check_ptx = {
	.id = "cuda.ptx",
	.title = "the driver cannot compile PTX of an installed toolkit",
	.after = after_toolkit,
	.story = "Within a major release, programs of a newer toolkit run on an older driver only if they contain "
		 "code for the GPU itself. The compiler of the driver rejects PTX that is newer than its own CUDA release.",
	.messages = "CUDA error 222: the provided PTX was compiled with an unsupported "
		    "toolchain.\nCUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	.run = ptx,
};

int pr_nvcc_gxx(const struct pr_context *c, int most, int *ret_oldest)
{
	const struct pr_host *h = c->host;
	gt_autofree char *range = NULL;
	int newest;

	if (!pr_is_debian(h) || !h->distro.version_id.v ||
	    pr_compat_get(c->fs, &pr_debian_gcc, h->distro.version_id.v, &range, NULL) <= 0 ||
	    sscanf(range, "%d,%d", ret_oldest, &newest) != 2)
		return most;
	return most < *ret_oldest ? 0 : GT_MIN(most, newest);
}

static void remedy_gcc(const struct pr_context *c, struct pr_finding *f, const char *version, int most)
{
	gt_autofree char *own = NULL;
	int oldest, gxx = pr_nvcc_gxx(c, most, &oldest);

	if (gxx) {
		pr_remedy(f, "  @{nvcc-gxx %d}", gxx);
		return;
	}
	own = pr_own_toolkit(c);
	pr_remedy(f,
		  "Debian %s has no g++ older than %d. Compile in a container that has one, such as NVIDIA's image for CUDA "
		  "%s%s%s%s",
		  c->host->distro.version_id.v, oldest, version, own ? "; or take Debian's own toolkit, CUDA " : "", own ? own : "",
		  own ? ", or a newer one:\n  @{debian-toolkit}" : "");
}

static void host_compiler(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	bool judged = false;

	if (no_toolkit(c, f))
		return;
	if (!h->gcc.v) {
		pr_set(f, PR_SKIP, "gcc is %s",
		       h->gcc.state == PR_ABSENT ? "not installed" : "of an unknown version");
		return;
	}
	for (size_t i = 0; i < h->driver.toolkits.n; i++) {
		const char *version = toolkit_version(h, i);
		gt_autofree char *most = NULL;
		struct gt_err err = {0};
		int r = pr_compat_get(c->fs, &pr_nvcc_gcc, version, &most, &err);

		if (r < 0) {
			pr_set(f, PR_NOT_KNOWN, "%s", err.msg);
			return;
		}
		judged |= r > 0;
		if (!r || atoi(h->gcc.v) <= atoi(most))
			continue;
		pr_set(f, PR_WARN, "gcc is %s, but nvcc of toolkit %s supports gcc up to %s", h->gcc.v, version, most);
		remedy_gcc(c, f, version, atoi(most));
		return;
	}
	if (judged)
		pr_set(f, PR_PASS, "nvcc supports gcc %s", h->gcc.v);
	else
		pr_set(f, PR_NOT_KNOWN,
		       "this program's table has no gcc limit for the installed toolkits: they are newer");
}
const struct pr_check pr_check_host_compiler = {
	.id = "cuda.host-compiler",
	.title = "nvcc does not support the host's compiler",
	.story = "nvcc rejects a gcc newer than the newest one it supports. gcc 12 of Debian 12 is too new for CUDA "
		 "11.8, and gcc 14 of Debian 13 for CUDA 12.4.",
	.messages = "error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!",
	.run = host_compiler,
};

/* Returns the first toolkit whose headers are compatible with this glibc, NULL: all are. */
static const char *agrees_from(const char *glibc)
{
	return gt_version_cmp(glibc, "2.42") >= 0 ? "13.2" : gt_version_cmp(glibc, "2.41") >= 0 ? "13.1" : NULL;
}

static void toolkit_glibc(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	gt_autofree char *own = pr_own_toolkit(c);
	const char *first;

	if (no_toolkit(c, f))
		return;
	if (!h->glibc.v) {
		pr_set(f, PR_SKIP, "the version of glibc is unknown: there is no Debian package database");
		return;
	}
	first = agrees_from(h->glibc.v);
	for (size_t i = 0; first && i < h->driver.toolkits.n; i++) {
		const char *version = toolkit_version(h, i);

		if (gt_version_cmp(version, first) >= 0)
			continue;
		pr_set(f, PR_WARN, "glibc %s and the headers of toolkit %s declare the same functions differently",
		       h->glibc.v, version);
		pr_remedy(f,
			  "Name them as the system's headers, among which nvcc lets that pass:\n"
			  "  export NVCC_APPEND_FLAGS='-isystem /usr/local/cuda-%s/include'\n"
			  "or use toolkit %s or newer, where the driver carries it%s%s%s",
			  version, first, own ? "; those of Debian's own, CUDA " : "",
			  own ? own : "", own ? ", are the system's already" : "");
		return;
	}
	pr_set(f, PR_PASS, "glibc %s and the headers of the toolkits are compatible", h->glibc.v);
}
const struct pr_check pr_check_toolkit_glibc = {
	.id = "cuda.glibc",
	.title = "headers of a toolkit conflict with those of glibc",
	.story = "glibc 2.41 added cospi and sinpi, and 2.42 added rsqrt. CUDA's headers before 13.1 (for cospi and sinpi) "
		 "and 13.2 (for rsqrt) declare them with another exception specification. Code that includes both headers "
		 "does not compile. The headers of Debian's own toolkit compile, because they are system headers.",
	.messages = "error: exception specification is incompatible with that of previous function \"cospi\"\nerror: exception "
		    "specification is incompatible with that of previous function \"rsqrt\"",
	.run = toolkit_glibc,
};

static void hmm(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	bool fails = pr_or(h->cuda.init, 0) == 802;

	if (pr_without_driver(c, f))
		return;
	if (h->fabric.n_switch) {
		pr_set(f, PR_SKIP, "with NVSwitch, error 802 has another cause");
	} else if (!pr_or(h->fabric.hmm, 0)) {
		pr_set(f, PR_PASS, "nvidia_uvm does not use the kernel's HMM");
	} else if (fails) {
		pr_set(f, PR_FAIL,
		       "CUDA conflicts with the kernel's HMM (error 802): there is no NVSwitch, nvidia_uvm uses HMM, and the "
		       "kernel's address randomisation can leave too little space for both");
		pr_remedy(f, "  echo options nvidia_uvm uvm_disable_hmm=1 > /etc/modprobe.d/nvidia-hmm.conf\n"
			     "  @{initramfs}; reboot");
	} else {
		pr_set(f, PR_PASS, "nvidia_uvm uses the kernel's HMM%s",
		       pr_has(h->cuda.init) ? " and CUDA initialises"
						   : "; gpuprobe --cuda checks whether CUDA initialises with it");
	}
}
const struct pr_check pr_check_hmm = {
	.id = "cuda.hmm",
	.title = "CUDA conflicts with kernel HMM (error 802)",
	.after = (const char *const[]){"driver.loaded", "gpu.fabric", NULL},
	.story = "Heterogeneous memory management (HMM) in nvidia_uvm can conflict with the kernel's address randomisation "
		 "on hosts without NVSwitch (release notes of CUDA 12.9 and 13.0). CUDA then returns error 802, which "
		 "usually means a problem with the fabric manager.",
	.messages = "CUDA error 802: system not yet initialized",
	.run = hmm,
};

/* ---- CUDA_VISIBLE_DEVICES ------------------------------------------------------------------------------------- */

static void visible(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *list = pr_getenv(h, "CUDA_VISIBLE_DEVICES");
	int64_t count = pr_or(h->nvml.count, (int64_t)pr_usable_gpus(h));
	struct gt_visible seen;

	if (pr_without_gpu(c, f))
		return;
	pr_visible(NULL, h, list, &seen);
	if (!list) {
		pr_set(f, PR_PASS, "CUDA_VISIBLE_DEVICES is not set: programs see every GPU");
		return;
	}
	if (!seen.bad[0] && seen.n) {
		pr_set(f, PR_PASS, "CUDA_VISIBLE_DEVICES shows %d of %d GPUs", (int)seen.n, (int)count);
		return;
	}
	if (!seen.n)
		pr_set(f, PR_FAIL, "CUDA_VISIBLE_DEVICES=\"%.60s\" hides every GPU", list);
	else
		pr_set(f, PR_WARN, "CUDA_VISIBLE_DEVICES names \"%.40s\", %s: this and all following entries are ignored",
		       seen.bad, seen.why);
	pr_remedy(f, "  unset CUDA_VISIBLE_DEVICES\nor name GPUs from 0 to %d", (int)count - 1);
}
const struct pr_check pr_check_visible = {
	.id = "cuda.visible-devices",
	.title = "CUDA_VISIBLE_DEVICES hides GPUs",
	.story = "CUDA_VISIBLE_DEVICES lists the GPUs that a program may use. An empty value hides all GPUs. If an entry "
		 "does not exist, CUDA ignores it and all entries after it, without a message.",
	.messages = "CUDA error 100: no CUDA-capable device is detected\nRuntimeError: No CUDA GPUs are available",
	.run = visible,
};
