/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each known failure of the GPU stack has a synthetic host. The named check finds it, and no earlier check is reported as the
 * cause unless it is the cause. A search for the users' error message finds the check.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/compat/require.h"
#include "probe/host/host.h"
#include "tests/unit/fixtures.h"

struct failure {
	const char *text; /* the users' error message, as a search text */
	const char *fixture, *check;
	enum pr_result result;
	const char *cause; /* the check that caused it, NULL: it is a cause itself */
};

static const struct failure failures[] = {
	{"Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch", "driver.lib-mismatch",
	 PR_FAIL, NULL},
	{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "driver-not-loaded",
	 "driver.loaded", PR_FAIL, NULL},
	{"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system", "nvml-missing", "driver.nvml-library",
	 PR_FAIL, NULL},
	{"NVRM: The NVIDIA probe routine was not called for 1 device(s)", "nouveau", "driver.nouveau", PR_FAIL, NULL},
	{"", "vfio-all", "driver.vfio", PR_WARN, NULL},
	{"Failed to initialize NVML: GPU access blocked by the operating system", "wsl-linux-driver", "wsl.driver",
	 PR_FAIL, NULL},
	{"modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "secure-boot", "driver.secure-boot",
	 PR_FAIL, NULL},
	{"Required key not available", "secure-boot-not-enrolled", "driver.secure-boot", PR_FAIL, NULL},
	{"modprobe: FATAL: Module nvidia-current not found in directory /lib/modules/", "driver-no-headers",
	 "driver.module-built", PR_FAIL, NULL},
	{"skipped by BUILD_EXCLUSIVE", "preempt-rt", "kernel.preempt-rt", PR_FAIL, NULL},
	{"is supported through the NVIDIA 470.xx Legacy drivers", "legacy-kepler", "driver.legacy-gpu", PR_FAIL, NULL},
	{"requires use of the NVIDIA open kernel modules", "blackwell-proprietary", "driver.open-module", PR_FAIL,
	 NULL},
	{"No devices were found", "blackwell-on-550", "driver.new-gpu", PR_FAIL, NULL},
	{"RmInitAdapter failed!", "gpu-start-failed", "gpu.start", PR_FAIL, NULL},
	{"Direct firmware load for nvidia/595.71.05/gsp_ga10x.bin failed with error -2", "gsp-firmware-missing",
	 "driver.firmware", PR_FAIL, NULL},
	{"CUDA driver version is insufficient for CUDA runtime version", "venv-cuda13-on-550", "python.driver", PR_FAIL,
	 NULL},
	{"The NVIDIA driver on your system is too old (found version 12040)", "venv-cuda13-on-550", "python.driver",
	 PR_FAIL, NULL},
	{"system has unsupported display driver / cuda driver combination", "compat-older", "cuda.libcuda", PR_FAIL,
	 NULL},
	{"forward compatibility was attempted on non supported HW", "compat-geforce", "cuda.forward-compat", PR_FAIL,
	 NULL},
	{"system not yet initialized", "nvswitch-no-manager", "gpu.fabric", PR_FAIL, NULL},
	{"don't match with driver version", "nvswitch-manager-version", "gpu.fabric", PR_FAIL, NULL},
	{"system not yet initialized", "cuda-802-hmm", "cuda.hmm", PR_FAIL, NULL},
	{"CUDA error 999: unknown error", "uvm-missing", "driver.uvm", PR_FAIL, NULL},
	{"open(\"/dev/nvidia-uvm\", O_RDWR) = -1 EPERM (Operation not permitted)", "uvm-number-container",
	 "driver.node-numbers", PR_FAIL, NULL},
	{"", "uvm-number-host", "driver.node-numbers", PR_FAIL, NULL},
	{"no CUDA-capable device is detected", "gpus-hidden", "cuda.visible-devices", PR_FAIL, NULL},
	{"all CUDA-capable devices are busy or unavailable", "compute-prohibited", "gpu.compute-mode", PR_FAIL, NULL},
	{"no kernel image is available for execution on the device", "venv-no-code-for-volta", "python.arch", PR_FAIL,
	 NULL},
	{"the provided PTX was compiled with an unsupported toolchain", "toolkit-newer-ptx", "cuda.ptx", PR_WARN, NULL},
	{"cuDNN version incompatibility: PyTorch was compiled  against (8, 7, 0) but found runtime version (8, 2, 4)",
	 "venv-cudnn-shadowed", "python.cudnn", PR_FAIL, NULL},
	{"Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.6.0", "venv-cudnn8-shadowed",
	 "python.cudnn", PR_FAIL, NULL},
	{"undefined symbol: ncclCommWindowRegister", "venv-two-nccl", "python.nccl", PR_FAIL, NULL},
	{"libcudart.so.12: cannot open shared object file", "venv-libcudart-missing", "python.libraries", PR_FAIL,
	 NULL},
	{"unsupported GNU version! gcc versions later than 13 are not supported!", "toolkit-gcc-too-new",
	 "cuda.host-compiler", PR_WARN, NULL},
	{"exception specification is incompatible with that of previous function \"cospi\"", "toolkit-glibc-2.41",
	 "cuda.glibc", PR_WARN, NULL},
	{"could not select device driver \"\" with capabilities: [[gpu]]", "docker-no-toolkit", "container.runtime",
	 PR_WARN, NULL},
	{"Found no NVIDIA driver on your system", "container-cpuset", "container.devices", PR_FAIL, NULL},
	{"Failed to initialize NVML: Unknown Error", "container-lost-gpu", "container.lost-gpu", PR_FAIL, NULL},
	{"requirement error: unsatisfied condition: cuda>=13.1, please update your driver", "container-require",
	 "container.require", PR_FAIL, NULL},
	{"Insufficient Permissions", "device-permission", "driver.device-nodes", PR_FAIL, NULL},
	{"Error while creating shared memory segment /dev/shm/nccl-", "container-small-shm", "host.shm", PR_WARN, NULL},
	{"Call to ibv_create_qp failed", "rdma-memlock", "host.memlock", PR_WARN, NULL},
	{"79, GPU has fallen off the bus", "gpu-xid-79", "gpu.lost", PR_FAIL, NULL},
	{"Xid 95: Uncontained memory error", "gpu-ecc", "gpu.ecc", PR_WARN, NULL},
	{"Xid 64: Row remapper failure", "gpu-no-spare-rows", "gpu.ecc", PR_FAIL, NULL},
	{"119, Timeout after 6s of waiting for RPC response from GPU0 GSP!", "gpu-gsp-hang", "gpu.gsp", PR_FAIL, NULL},
	{"74, NVLink: fatal error detected on link", "gpu-nvlink-error", "gpu.nvlink", PR_FAIL, NULL},
	{"GPU requires reset", "gpu-reset-required", "gpu.reset", PR_FAIL, NULL},
	{"available PCIe bandwidth, limited by", "pcie-narrow", "gpu.pcie-width", PR_WARN, NULL},
	{"HINT: In many cases this error occurs when ACS is enabled", "acs-below-switch", "pcie.acs", PR_WARN, NULL},
	{"P2P returns wrong data", "iommu-translates", "pcie.iommu", PR_WARN, NULL},
	{"GPU Direct RDMA Disabled", "rdma-no-peermem", "rdma.peermem", PR_WARN, NULL},
	{"successful NUMA node read from SysFS had negative value (-1)", "vm-numa-unknown", "gpu.numa-node", PR_WARN,
	 NULL},
	{"Persistence mode for GPU", "persistence-off", "gpu.persistence", PR_WARN, NULL},
	{"", "gpu-ecc-pending", "gpu.ecc-mode", PR_WARN, NULL},
	{"No CUDA GPUs are available", "mig-no-instance", "gpu.mig", PR_FAIL, NULL},
	{"BAR 1: no space for", "bar1-small", "gpu.bar1", PR_WARN, NULL},
	{"P2P/CNS/chipset not supported", "p2p-geforce", "gpu.p2p", PR_PASS, NULL},
	{"HW Power Brake Slowdown", "gpu-throttled", "gpu.throttle", PR_WARN, NULL},
	{"", "server-8gpu", "host.numa-balancing", PR_PASS, NULL},
	{"version `GLIBC_2.28' not found", "venv-glibc-old", "python.glibc", PR_FAIL, NULL},
	{"", "next-kernel-no-module", "driver.next-kernel", PR_WARN, NULL},
	{"", "next-kernel-build-failed", "driver.next-kernel", PR_WARN, NULL},
	{"", "driver-upgrade-waits", "driver.upgrade", PR_WARN, NULL},
	{"", "driver-reboot-waits", "driver.upgrade", PR_WARN, NULL},
	{"", "acs-control-words", "pcie.acs", PR_WARN, NULL},
	/* consequences are listed under their cause */
	{"", "nvml-missing", "nvml.answers", PR_FAIL, "driver.nvml-library"},
	{"", "legacy-kepler", "gpu.count", PR_FAIL, "driver.legacy-gpu"},
	{"", "blackwell-on-550", "gpu.count", PR_FAIL, "driver.new-gpu"},
	{"", "blackwell-proprietary", "gpu.count", PR_FAIL, "driver.open-module"},
	{"", "gpu-start-failed", "gpu.count", PR_FAIL, "gpu.start"},
	{"", "gsp-firmware-missing", "gpu.start", PR_FAIL, "driver.firmware"},
	{"", "gsp-firmware-missing", "gpu.count", PR_FAIL, "driver.firmware"},
	{"", "cuda-802-hmm", "cuda.init", PR_FAIL, "cuda.hmm"},
	{"", "uvm-missing", "cuda.init", PR_FAIL, "driver.uvm"},
	{"", "uvm-number-container", "cuda.init", PR_FAIL, "driver.node-numbers"},
	{"", "uvm-number-container", "driver.uvm", PR_FAIL, "driver.node-numbers"},
	{"", "container-lost-gpu", "nvml.answers", PR_FAIL, "container.lost-gpu"},
	{"", "device-permission", "nvml.answers", PR_FAIL, "driver.device-nodes"},
	{"", "gpu-gsp-hang", "nvml.answers", PR_FAIL, "gpu.gsp"},
	{"", "container-cpuset", "driver.device-nodes", PR_FAIL, "container.devices"},
};

static size_t judge(const char *fixture, struct gt_fsroot **fs, struct pr_host **h, struct pr_judged **j)
{
	gt_autofree char *path = gt_xasprintf("%s/%s.host", fixture_dir(), fixture);
	struct gt_err err = {0};
	struct pr_context c;

	ck_assert_msg(!gt_fs_open(path, fs, &err), "%s", err.msg);
	ck_assert_msg(!pr_host_discover(*fs, NULL, h, &err), "%s", err.msg);
	c = (struct pr_context){.host = *h, .fs = *fs};
	return pr_judge(&c, j);
}

START_TEST(each_known_failure_is_found_with_its_cause)
{
	const struct failure *t = &failures[_i];
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(pr_host) *h = NULL;
	gt_autofree struct pr_judged *j = NULL;
	size_t n = judge(t->fixture, &fs, &h, &j), at = 0;
	const char *cause;

	while (at < n && strcmp(j[at].check->id, t->check))
		at++;
	ck_assert_msg(at < n, "there is no check %s", t->check);
	cause = j[at].cause >= 0 ? j[j[at].cause].check->id : NULL;
	ck_assert_msg(j[at].f.result == t->result, "%s: %s says %s: %s", t->fixture, t->check,
		      pr_result_name(j[at].f.result), j[at].f.what);
	ck_assert_msg(gt_streq(cause, t->cause), "%s: %s is laid to %s", t->fixture, t->check,
		      cause ? cause : "nothing");
	ck_assert_msg(!*t->text || (j[at].check->messages && strstr(j[at].check->messages, t->text)),
		      "%s does not name \"%s\"", t->check, t->text);
	ck_assert_msg(t->result < PR_WARN || *j[at].f.remedy, "%s: %s has no remedy", t->fixture, t->check);
}
END_TEST

START_TEST(a_failure_brings_no_false_alarm)
{
	const struct failure *t = &failures[_i];
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(pr_host) *h = NULL;
	gt_autofree struct pr_judged *j = NULL;
	size_t n = judge(t->fixture, &fs, &h, &j);
	/* hosts that were made with a second problem */
	static const char *const also[] = {"container-cpuset: host.shm host.cpu-quota",
					   "rdma-memlock: ",
					   "vm-half-topology: ",
					   "gpu-ecc: ",
					   "rdma-no-peermem: ",
					   "toolkit-newer-ptx: "};

	for (size_t i = 0; i < n; i++) {
		bool named = false;

		if (j[i].f.result < PR_WARN || j[i].cause >= 0 || !strcmp(j[i].check->id, t->check) || t->cause ||
		    t->result < PR_WARN)
			continue;
		for (size_t k = 0; k < GT_ARRAY_SIZE(also); k++)
			named |= gt_starts_with(also[k], t->fixture) && strstr(also[k], j[i].check->id);
		ck_assert_msg(named, "%s: %s says %s: %s", t->fixture, j[i].check->id, pr_result_name(j[i].f.result),
			      j[i].f.what);
	}
}
END_TEST

static bool leads_to(const char *text, const char *check)
{
	struct pr_match found[PR_SEARCH_MOST];
	size_t n = pr_check_search(text, found);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(found[i].check->id, check))
			return true;
	return false;
}

/* A pasted message: alone, or with a time stamp and between other lines. */
START_TEST(the_message_leads_to_its_check)
{
	const struct failure *f = &failures[_i];
	gt_autofree char *pasted = gt_xasprintf("[Sat Nov 21 03:00:07 2026] %s\n  File \"train.py\", line 3, in <module>", f->text);

	if (!*f->text)
		return;
	ck_assert_msg(leads_to(f->text, f->check), "\"%s\" does not lead to %s", f->text, f->check);
	ck_assert_msg(leads_to(pasted, f->check), "\"%s\" does not lead to %s", pasted, f->check);
}
END_TEST

/* An error of the program is not reported as a problem of the host. */
START_TEST(a_message_without_a_check_finds_a_story)
{
	static const struct {
		const char *text, *story;
	} said[] = {
		{"CUDA out of memory", "program.gpu-memory"},
		{"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; "
		 "6.31 GiB already allocated; 19.25 MiB free; 6.35 GiB reserved in total by PyTorch)", "program.gpu-memory"},
		{"RuntimeError: CUDA error: out of memory", "program.gpu-memory"},
		{"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "program.gpu-memory"},
		{"error: externally-managed-environment", "program.pip"},
	};
	struct pr_match found[PR_SEARCH_MOST];

	for (size_t i = 0; i < GT_ARRAY_SIZE(said); i++) {
		ck_assert_msg(pr_check_search(said[i].text, found) > 0, "\"%s\" leads nowhere", said[i].text);
		ck_assert_str_eq(found[0].check->id, said[i].story);
	}
	ck_assert(leads_to("Out of memory: Killed process 4711 (python3)", "host.memory"));
}
END_TEST

START_TEST(other_text_finds_nothing)
{
	static const char *const other[] = {"", "the", "error", "12", "Hello world, how are you today", "import numpy as np",
					    "\xff\xfe \x01", "no.such.check"};
	struct pr_match found[PR_SEARCH_MOST];

	for (size_t i = 0; i < GT_ARRAY_SIZE(other); i++)
		ck_assert_msg(!pr_check_search(other[i], found), "\"%s\": %s", other[i], found[0].check->id);
}
END_TEST

START_TEST(requirements_of_images_are_read_as_the_runtime_does)
{
	static const struct pr_require_facts facts = {
		.cuda = "12.4", .driver = "550.163.01", .arch = "9.0", .brand = "tesla"};
	static const struct {
		const char *expression;
		int r; /* -1: refused; 2: unknown */
		const char *why;
	} t[] = {
		{"", 1, NULL},
		{"cuda>=12.4", 1, NULL},
		{"cuda>=12.5", 0, "cuda>=12.5"},
		{"cuda>=12.8 brand=tesla,driver>=550,driver<551", 1, NULL},
		{"cuda>=12.8 brand=geforce,driver>=550,driver<551 brand=tesla,driver>=535,driver<536", 0, "cuda>=12.8"},
		{"driver!=550.163.01", 0, "driver!=550.163.01"},
		{"arch>=9.0,cuda<13", 1, NULL},
		{"cuda", -1, NULL},
		{"cuda=>12", -1, NULL},
		{"cuda!12", -1, NULL},
		{"magic>=1", -1, NULL},
		{"brand>tesla", -1, NULL},
		{"cuda>=x", -1, NULL},
	};
	struct pr_require_facts less = facts;

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *why = NULL;
		struct gt_err err = {0};
		bool unknown = false;
		int r = pr_require(t[i].expression, &facts, &why, &unknown, &err);

		ck_assert_msg((r < 0 ? -1 : r) == t[i].r && !unknown, "\"%s\": %d %s", t[i].expression, r, err.msg);
		ck_assert_msg(gt_streq(why, t[i].why), "\"%s\": %s", t[i].expression, why ? why : "(no reason)");
	}
	less.brand = NULL;
	gt_autofree char *why = NULL;
	bool unknown = false;
	ck_assert_int_eq(pr_require("cuda>=13 brand=tesla,driver>=550", &less, &why, &unknown, NULL), 0);
	ck_assert(unknown);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe_failures");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, each_known_failure_is_found_with_its_cause, 0, (int)GT_ARRAY_SIZE(failures));
	tcase_add_loop_test(tc, a_failure_brings_no_false_alarm, 0, (int)GT_ARRAY_SIZE(failures));
	tcase_add_loop_test(tc, the_message_leads_to_its_check, 0, (int)GT_ARRAY_SIZE(failures));
	tcase_add_test(tc, other_text_finds_nothing);
	tcase_add_test(tc, a_message_without_a_check_finds_a_story);
	tcase_add_test(tc, requirements_of_images_are_read_as_the_runtime_does);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
