/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of probe/. Readings distinguish absent, unreadable and broken. Every synthetic host is judged to have the
 * problem that it was given. Hostile kernel files never crash gpuprobe and never give a wrong "ok".
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "probe/check/check.h"
#include "probe/loader/ldcache.h"
#include "probe/host/openblas.h"
#include "probe/host/reading.h"
#include "probe/nvml/query.h"
#include "probe/topo/topo.h"
#include "tests/unit/check_probe.h"
#include "tests/unit/fixtures.h"

struct gt_fsroot *open_fixture(const char *name)
{
	gt_autofree char *path = gt_xasprintf("%s/%s.host", fixture_dir(), name);
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!gt_fs_open(path, &fs, &err), "%s", err.msg);
	return fs;
}

struct gt_fsroot *open_text(const char *text)
{
	char path[] = "/tmp/check_probe.XXXXXX";
	int fd = mkstemp(path);
	struct gt_fsroot *fs = NULL;
	struct gt_err err = { 0 };
	gt_autofree char *all = gt_xasprintf("gpuprobe-capture/1\ndir /proc\n%s", text);

	ck_assert(fd >= 0 && write(fd, all, strlen(all)) == (ssize_t)strlen(all));
	close(fd);
	ck_assert_msg(!gt_fs_open(path, &fs, &err), "%s", err.msg);
	unlink(path);
	return fs;
}

struct pr_host *discover(struct gt_fsroot *fs)
{
	struct pr_host *h = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!pr_host_discover(fs, NULL, &h, &err), "%s", err.msg);
	return h;
}

START_TEST(a_server_is_read_whole)
{
	gt_auto(gt_fsroot) *fs = open_fixture("server-8gpu");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->cpu.n_cpu, 64);
	ck_assert_int_eq(h->cpu.n_cores, 32);
	ck_assert_int_eq(h->cpu.n_packages, 2);
	ck_assert_uint_eq(h->n_node, 2);
	ck_assert_uint_eq(gt_set_count(&h->node[1].cpus), 32);
	ck_assert_int_eq(h->node[0].distance[1], 21);
	ck_assert_int_eq(h->node[1].mem_bytes.v, INT64_C(256) << 30);
	ck_assert_uint_eq(h->n_gpu, 8);
	ck_assert_str_eq(h->gpu[0].pci->address, "0000:17:00.0");
	ck_assert_str_eq(h->gpu[7].name.v, "NVIDIA H100 80GB HBM3");
	ck_assert_int_eq(h->gpu[7].pci->numa_node.v, 1);
	ck_assert_str_eq(h->driver.module_version.v, "550.163.01");
	ck_assert_str_eq(pr_find_lib(h, "libcuda.so.1", 0)->version, "550.163.01");
	ck_assert_int_eq(h->net[0].speed_mbit.v, 100000);
	ck_assert_int_eq(h->cpu.cpu[63].node, 1);
	ck_assert(gt_set_has(&h->cpu.cpu[0].siblings, 32));
}
END_TEST

START_TEST(minus_one_is_never_node_0)
{
	gt_auto(gt_fsroot) *fs = open_fixture("gpu-lost-and-narrow");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_int_eq(h->gpu[0].pci->numa_node.state, PR_ABSENT);
	ck_assert_int_eq(pr_or(h->gpu[0].pci->numa_node, -1), -1);
}
END_TEST

START_TEST(a_container_sees_its_cpuset_and_quota)
{
	gt_auto(gt_fsroot) *fs = open_fixture("container-cpuset");
	gt_auto(pr_host) *h = discover(fs);
	gt_auto_set first = { 0 };
	gt_autofree char *list = NULL;

	ck_assert_uint_eq(gt_set_count(&h->cpu.allowed), 8);
	ck_assert_int_eq(h->cpu.quota_millicpu.v, 4000);
	pr_first_threads(h, &h->cpu.allowed, &first);
	list = gt_set_format(&first);
	ck_assert_str_eq(list, "16-19");
	ck_assert_str_eq(h->container.v, "docker");
}
END_TEST

START_TEST(a_node_without_cpus_is_a_node)
{
	gt_auto(gt_fsroot) *fs = open_fixture("cpuless-node");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->n_node, 2);
	ck_assert_int_eq(h->node[1].id, 12);
	ck_assert_uint_eq(gt_set_count(&h->node[1].cpus), 0);
	ck_assert_int_eq(h->node[1].mem_bytes.v, INT64_C(96) << 30);
}
END_TEST

/* A package with one node and one CPU, in hwloc's export format. */
#define SETS(mask)                                                                                                     \
	" cpuset=\"" mask "\" complete_cpuset=\"" mask "\" nodeset=\"" mask "\" complete_nodeset=\"" mask "\""
#define EXPORTED(node, mask)                                                                                           \
	"\t<object type=\"Package\" os_index=\"" node "\"" SETS(mask) ">"                                                 \
	"<object type=\"NUMANode\" os_index=\"" node "\"" SETS(mask) " local_memory=\"100" node "\"/>"                     \
	"<object type=\"PU\" os_index=\"" node "\"" SETS(mask) "/></object>\n"

START_TEST(older_captures_have_distances_in_another_order)
{
	static const int distance[3][3] = {{10, 21, 11}, {22, 10, 12}, {13, 14, 10}};
	gt_auto(gt_fsroot) *fs = open_text(
		"file /sys/devices/system/cpu/online\n\t0-2\nfile /sys/devices/system/node/online\n\t0-2\n"
		"file /sys/devices/system/node/node0/cpulist\n\t0\nfile /sys/devices/system/node/node1/cpulist\n\t1\n"
		"file /sys/devices/system/node/node2/cpulist\n\t2\nfile /.facts/hwloc.xml\n"
		"\t<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"\t<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\t<topology version=\"2.0\">\n"
		"\t<object type=\"Machine\" os_index=\"0\" cpuset=\"0x7\" complete_cpuset=\"0x7\" "
		"allowed_cpuset=\"0x7\" nodeset=\"0x7\" "
		"complete_nodeset=\"0x7\" allowed_nodeset=\"0x7\">\n" EXPORTED("0", "0x1")
		EXPORTED("2", "0x4") EXPORTED("1", "0x2")
		"\t</object>\n\t<distances2 type=\"NUMANode\" nbobjs=\"3\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n"
		"\t<indexes length=\"6\">0 2 1 </indexes>\n\t<u64values length=\"27\">10 11 21 13 10 14 22 12 10 </u64values>\n"
		"\t</distances2>\n\t</topology>\n");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->n_node, 3);
	ck_assert_uint_eq(h->contradictions.n, 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(h->node[i].mem_bytes.v, 1000 + i);
		ck_assert_ptr_nonnull(h->node[i].distance);
		ck_assert_mem_eq(h->node[i].distance, distance[i], sizeof(distance[i]));
	}
}
END_TEST

START_TEST(absent_unreadable_and_broken_are_different)
{
	gt_auto(gt_fsroot) *fs = open_text("deny /proc/sys/kernel/osrelease EACCES\n"
					   "deny /proc/sys/kernel/version EIO\n");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_int_eq(h->kernel.release.state, PR_UNREADABLE);
	ck_assert_int_eq(h->kernel.version.state, PR_BROKEN);
	ck_assert_int_eq(h->kernel.cmdline.state, PR_ABSENT);
	ck_assert_int_eq(h->mem.total_bytes.state, PR_ABSENT);
	ck_assert_int_eq(h->n_node, 1);
}
END_TEST

/* Group "group" in "parent": the tighter limit counts, and page cache counts as free. */
START_TEST(available_memory_respects_the_control_group)
{
#define MEMINFO "file /proc/meminfo\n\tMemTotal:       16777216 kB\n\tMemAvailable:    8388608 kB\n"
#define IN "file /proc/self/cgroup\n\t0::/parent/group\n"
#define NUMBER(GROUP, NAME, VALUE) "file /sys/fs/cgroup" GROUP "/" NAME "\n\t" VALUE "\n"
	static const struct {
		const char *files;
		uint64_t bytes;
	} t[] = {
		{"", 0},
		{MEMINFO, UINT64_C(8) << 30},
		{MEMINFO IN NUMBER("/parent/group", "memory.max", "max") NUMBER("/parent/group", "memory.current", "5"),
		 UINT64_C(8) << 30},
		{MEMINFO IN NUMBER("/parent/group", "memory.max", "1073741824")
		 NUMBER("/parent/group", "memory.current", "73741824"), 1000000000},
		{MEMINFO IN NUMBER("/parent/group", "memory.max", "1073741824")
		 NUMBER("/parent/group", "memory.current", "1073741824")
		 "file /sys/fs/cgroup/parent/group/memory.stat\n\tanon 73741824\n\tinactive_file 1000000000\n", 1000000000},
		{MEMINFO IN NUMBER("/parent", "memory.high", "2147483648") NUMBER("/parent", "memory.current", "147483648")
		 NUMBER("/parent/group", "memory.max", "4294967296") NUMBER("/parent/group", "memory.current", "0"), 2000000000},
		{MEMINFO IN NUMBER("/parent/group", "memory.max", "1000") NUMBER("/parent/group", "memory.current", "2000"), 1},
		{MEMINFO "file /proc/self/cgroup\n\t4:memory:/job\n" NUMBER("/memory/job", "memory.limit_in_bytes", "1073741824")
		 NUMBER("/memory/job", "memory.usage_in_bytes", "73741824"), 1000000000},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto(gt_fsroot) *fs = open_text(t[i].files);

		ck_assert_uint_eq(pr_available_bytes(fs), t[i].bytes);
	}
}
END_TEST

START_TEST(kernels_fit_the_instruction_set_not_the_model)
{
#define AVX512 " avx2 fma avx512f avx512dq avx512bw avx512vl avx512cd "
	static const struct {
		const char *flags, *vendor, *fit, *next, *core;
		bool old;
	} t[] = {
		{ AVX512, "GenuineIntel", "SkylakeX", "Haswell", "Prescott", true },
		{ AVX512, "AuthenticAMD", "SkylakeX", "Zen", "barcelona", true },
		{ AVX512, "GenuineIntel", "SkylakeX", "Haswell", "Haswell", false },
		{ AVX512, "GenuineIntel", "SkylakeX", "Haswell", "SapphireRapids", false },
		{ AVX512, "GenuineIntel", "SkylakeX", "Haswell", "of a later release", false },
		{ " avx2 fma avx512f ", "GenuineIntel", "Haswell", NULL, "Sandybridge", true }, /* truncated */
		{ " avx2 fma ", "HygonGenuine", "Zen", NULL, "Core2", true },
		{ " avx2 fma ", "AuthenticAMD", "Zen", NULL, "Excavator", false },
		{ " avx2 fma ", NULL, "Haswell", NULL, "Nehalem", true },
		{ " avx2 ", "GenuineIntel", NULL, NULL, "Prescott", false },
		{ " xavx2 fma4 ", "GenuineIntel", NULL, NULL, "Prescott", false },
		{ "", NULL, NULL, NULL, "Nehalem", false },
		{ NULL, NULL, NULL, NULL, "Nehalem", false },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		ck_assert_pstr_eq(pr_openblas_fit(t[i].flags, t[i].vendor, 0), t[i].fit);
		ck_assert_pstr_eq(pr_openblas_fit(t[i].flags, t[i].vendor, 1), t[i].next);
		ck_assert_ptr_null(pr_openblas_fit(t[i].flags, t[i].vendor, 2));
		ck_assert_int_eq(pr_openblas_is_old(t[i].core, t[i].flags, t[i].vendor), t[i].old);
	}
}
END_TEST

START_TEST(each_broken_host_has_its_cause)
{
	static const struct {
		const char *fixture, *cause;
		int exit_code;
	} t[] = {
		{"laptop-no-gpu", "host.blas", 1},
		{"newer-than-openblas", "host.blas-kernels", 1},
		{"server-8gpu", NULL, 0},
		{"driver-not-loaded", "driver.loaded", 2},
		{"driver-no-headers", "driver.module-built", 2},
		{"driver-mismatch", "driver.lib-mismatch", 2},
		{"nouveau", "driver.nouveau", 2},
		{"preempt-rt", "kernel.preempt-rt", 2},
		{"gpu-lost-and-narrow", "gpu.count", 2},
		{"container-cpuset", "container.devices", 2},
		{"secure-boot", "driver.secure-boot", 2},
		{"vfio-all", "driver.vfio", 1},
		{"gpu-hung", "nvml.answers", 2},
		{"compat-older", "cuda.libcuda", 2},
		{"compat-lifts", NULL, 0},
		{"compat-note", NULL, 0},
		{"nvswitch-8gpu", NULL, 0},
		{"epyc-nps4", NULL, 0},
		{"xeon-uneven-snc", NULL, 0},
		{"offline-cpus", NULL, 0},
		{"hybrid-laptop", NULL, 0},
		{"arm-server", NULL, 0},
		{"power9-gpu-nodes", NULL, 0},
		{"pcie-switches", NULL, 0},
		{"vm-half-topology", "driver.uvm", 2},
		{"cpuless-node", NULL, 0},
		{"arm-gh200", "grace.arguments", 1},
		{"jetson-orin", NULL, 0},
		{"wsl-rtx", NULL, 0},
		{"gpu-operator-node", NULL, 0},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto(gt_fsroot) *fs = open_fixture(t[i].fixture);
		gt_auto(pr_host) *h = discover(fs);
		struct pr_context c = { .host = h, .fs = fs };
		gt_autofree struct pr_judged *j = NULL;
		size_t n = pr_judge(&c, &j);
		const char *cause = NULL;

		for (size_t k = 0; k < n && !cause; k++)
			if (j[k].f.result == (t[i].exit_code == 1 ? PR_WARN : PR_FAIL) && j[k].cause < 0)
				cause = j[k].check->id;
		ck_assert_msg(gt_streq(cause, t[i].cause), "%s: cause %s", t[i].fixture, cause ? cause : "(none)");
		ck_assert_int_eq(pr_exit_code(j, n), t[i].exit_code);
	}
}
END_TEST

START_TEST(a_host_without_gpu_is_fine_unless_one_is_required)
{
	gt_auto(gt_fsroot) *fs = open_fixture("cpuless-node");
	gt_auto(pr_host) *h = discover(fs);
	struct pr_context c = { .host = h, .fs = fs, .require_gpu = true };
	gt_autofree struct pr_judged *j = NULL;
	size_t n = pr_judge(&c, &j);

	ck_assert_int_eq(pr_exit_code(j, n), 2);
}
END_TEST

START_TEST(every_check_is_complete_and_names_existing_causes)
{
	for (size_t i = 0; pr_checks[i]; i++) {
		const struct pr_check *k = pr_checks[i];

		ck_assert(k->id && k->title && k->story && k->run);
		ck_assert_ptr_eq(pr_check_find(k->id), k);
		for (const char *const *a = k->after; a && *a; a++) {
			const struct pr_check *cause = pr_check_find(*a);
			size_t at = 0;

			ck_assert_msg(cause != NULL, "%s: %s", k->id, *a);
			while (pr_checks[at] != cause)
				at++;
			ck_assert_msg(at < i, "%s stands before its cause %s", k->id, *a);
		}
	}
}
END_TEST

/* A cache of one 64-bit and one 32-bit library after an older header. */
static size_t make_ldcache(unsigned char *out)
{
	static const char strings[] = "libcuda.so.1\0/lib/libcuda.so.1\0/lib32/libcuda.so.1";
#if defined(__aarch64__)
	const uint32_t native = 0x0a03;
#else
	const uint32_t native = 0x0303;
#endif
	const uint32_t at = 48 + 2 * 24, entry[2][3] = { { native, at, at + 13 }, { 0x0003, at, at + 31 } };
	uint32_t n = 2;

	memset(out, 0, 512);
	memcpy(out, "ld.so-1.7.0", 11);
	out += 16;
	memcpy(out, "glibc-ld.so.cache1.1", 20);
	memcpy(out + 20, &n, 4);
	for (unsigned i = 0; i < n; i++)
		memcpy(out + 48 + 24 * i, entry[i], 12);
	memcpy(out + at, strings, sizeof(strings));
	return 16 + at + sizeof(strings);
}

static void join(void *arg, const char *soname, const char *path)
{
	gt_buf_printf(arg, "%s=%s ", soname, path);
}

START_TEST(the_loaders_cache_is_read_and_a_broken_one_is_refused)
{
	unsigned char data[512];
	size_t len = make_ldcache(data);
	gt_auto_buf seen = { 0 };

	ck_assert_int_eq(pr_ldcache_parse((char *)data, len, join, &seen), 0);
	ck_assert_str_eq(seen.s, "libcuda.so.1=/lib/libcuda.so.1 ");
	for (size_t cut = 0; cut < len; cut++) /* a copy of each length, so that a sanitizer detects an overrun */
		if (cut < 16 + 48 + 48 + 31) {
			gt_autofree char *part = gt_xcalloc(cut + 1, 1);

			memcpy(part, data, cut);
			ck_assert_int_eq(pr_ldcache_parse(part, cut, join, &seen), -EINVAL);
		}
	memset(data + 16 + 20, 0xff, 4); /* four billion entries */
	ck_assert_int_eq(pr_ldcache_parse((char *)data, len, join, &seen), -EINVAL);
}
END_TEST

START_TEST(the_loaders_first_find_counts)
{
	gt_auto(gt_fsroot) *fs = open_fixture("compat-older");
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_str_eq(pr_loaded_lib(h, "libcuda.so.1")->version, "575.57.08");
	ck_assert_str_eq(pr_loaded_lib(h, "libcuda.so.1")->rule, "LD_LIBRARY_PATH");
	ck_assert_str_eq(pr_find_lib(h, "libcuda.so.1", 1)->rule, "ld.so.cache");
	ck_assert_ptr_null(pr_find_lib(h, "libcuda.so.1", 2));
	ck_assert_ptr_null(pr_loaded_lib(h, "libcudnn.so.9"));
}
END_TEST

START_TEST(sources_that_disagree_are_named)
{
	gt_auto(gt_fsroot) *fs = open_fixture("vm-half-topology"), *well = open_fixture("server-8gpu");
	gt_auto(pr_host) *h = discover(fs), *hw = discover(well);

	ck_assert_uint_eq(h->contradictions.n, 1);
	ck_assert_ptr_nonnull(strstr(h->contradictions.v[0], "0000:17:00.0 is on node 1"));
	ck_assert_uint_eq(hw->contradictions.n, 0);
}
END_TEST

START_TEST(a_virtual_machine_is_named_if_recognised)
{
	static const struct {
		const char *files, *virt; /* NULL: none */
	} t[] = {
#define GUEST "file /proc/cpuinfo\n\tflags\t: hypervisor\n"
#define SIGNED(by) GUEST "file /.facts/hypervisor\n\t" by "\n"
#define MAKER(name) "file /sys/class/dmi/id/sys_vendor\n\t" name "\n"
		{ "file /proc/cpuinfo\n\tflags\t: fpu\n" MAKER("Amazon EC2"), NULL }, /* bare metal of a cloud */
		{ SIGNED("KVMKVMKVM") MAKER("QEMU"), "kvm" },
		{ SIGNED("TCGTCGTCGTCG") MAKER("QEMU"), "qemu (tcg)" },
		{ GUEST MAKER("QEMU"), "qemu" }, /* with or without KVM: unknown */
		{ GUEST MAKER("QEMU") "file /sys/devices/system/clocksource/clocksource0/available_clocksource\n\tkvm-clock tsc\n",
		  "kvm" },
		{ SIGNED("KVMKVMKVM") MAKER("Amazon EC2"), "kvm (Amazon EC2)" },
		{ SIGNED("XenVMMXenVMM") MAKER("Xen"), "xen" },
		{ GUEST MAKER("Amazon EC2"), "Amazon EC2" },
		{ GUEST "file /sys/hypervisor/type\n\txen\n" MAKER("Amazon EC2"), "xen (Amazon EC2)" },
		{ GUEST "file /sys/class/dmi/id/product_name\n\tVMware7,1\n", "vmware" },
		{ SIGNED("Microsoft Hv"), "hyper-v" },
		{ SIGNED("Something"), "virtual machine" },
		{ GUEST, "virtual machine" },
		{ "file /proc/sys/kernel/arch\n\taarch64\n" MAKER("QEMU"), "qemu" }, /* no flag identifies guests there */
		{ "file /proc/sys/kernel/arch\n\taarch64\nfile /sys/class/dmi/id/product_name\n\tc7g.metal\n" MAKER("Amazon EC2"),
		  NULL },
		{ "file /proc/sys/kernel/arch\n\taarch64\n" MAKER("Made-up maker"), NULL },
		{ "file /proc/sys/kernel/osrelease\n\t5.15.90.1-microsoft-standard-WSL2\n", "wsl" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto(gt_fsroot) *fs = open_text(t[i].files);
		gt_auto(pr_host) *h = discover(fs);

		ck_assert_msg(gt_streq(h->virt.v, t[i].virt), "%s: %s", t[i].files, h->virt.v ? h->virt.v : "(none)");
	}
}
END_TEST

START_TEST(four_thousand_cpus_are_counted)
{
	gt_auto_buf b = { 0 };

	gt_buf_puts(&b, "file /sys/devices/system/cpu/online\n\t0-4095\nfile /proc/self/status\n\tCpus_allowed_list:\t4000-4095\n");
	gt_auto(gt_fsroot) *fs = open_text(b.s);
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->cpu.n_cpu, 4096);
	ck_assert_uint_eq(gt_set_count(&h->cpu.allowed), 96);
}
END_TEST

START_TEST(hostile_kernel_files_do_no_harm)
{
	gt_auto_buf b = { 0 };

	gt_buf_puts(&b, "file /proc/cpuinfo\n\tprocessor\t: ");
	for (int i = 0; i < 1 << 20; i++)
		gt_buf_puts(&b, "9");
	gt_buf_puts(&b, "\nfile /sys/devices/system/cpu/online\n\t0-3,99999999999\n"
			"file /proc/meminfo\n\tMemTotal: -5 kB\n\tSwapTotal: 99999999999999999999 kB\n"
			"link /sys/bus/pci/devices/0000:00:00.0 0000:00:00.0\n"
			"file /sys/bus/pci/devices/x/vendor\n\t0xffffffffffff\n"
			"file /etc/os-release\n\t=\n\tID=\n\tPRETTY_NAME=\"\n"
			"file /proc/self/cgroup\n\t::::\n\t0::\n\t1:cpu:/../..\n"
			"hex  /proc/cmdline\n\t00ff0a\n"
			"file /.facts/nvml\n\t{\"gpus\": [1, null, {\"pci\": 7}], \"code\": \"x\"}\n"
			"file /.facts/hwloc.xml\n\t<topology><object type=\"Machine\">\n");
	gt_auto(gt_fsroot) *fs = open_text(b.s);
	gt_auto(pr_host) *h = discover(fs);
	gt_auto_json *doc = pr_host_to_json(h);

	ck_assert_uint_ge(h->cpu.n_cpu, 1);
	ck_assert_uint_ge(h->n_node, 1);
	ck_assert_int_ne(h->mem.total_bytes.state, PR_PRESENT);
	ck_assert_ptr_nonnull(doc);
}
END_TEST

START_TEST(machines_of_every_kind_are_read)
{
	static const struct {
		const char *fixture;
		size_t cpus, nodes;
		int last_node, packages;
		unsigned efficiency;
	} t[] = {
		{"epyc-nps4", 128, 8, 7, 8, 0},   {"xeon-uneven-snc", 52, 3, 2, 3, 0},
		{"offline-cpus", 5, 1, 0, 1, 0},  {"hybrid-laptop", 16, 1, 0, 1, 8},
		{"arm-server", 128, 2, 1, 2, 0},  {"power9-gpu-nodes", 64, 6, 255, 2, 0},
		{"cpuless-node", 8, 2, 12, 1, 0}, {"nvswitch-8gpu", 64, 2, 1, 2, 0},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto(gt_fsroot) *fs = open_fixture(t[i].fixture);
		gt_auto(pr_host) *h = discover(fs);

		ck_assert_msg(h->cpu.n_cpu == t[i].cpus && h->n_node == t[i].nodes &&
				      h->cpu.n_packages == t[i].packages,
			      "%s: %zu CPUs, %zu nodes, %d packages", t[i].fixture, h->cpu.n_cpu, h->n_node,
			      h->cpu.n_packages);
		ck_assert_int_eq(h->node[h->n_node - 1].id, t[i].last_node);
		ck_assert_uint_eq(gt_set_count(&h->cpu.efficiency), t[i].efficiency);
		ck_assert_msg(h->n_node < 2 || (h->node[0].distance && h->node[0].distance[1] == 21), "%s: distance", t[i].fixture);
	}
}
END_TEST

/* The captured server with other answers of NVML. */
static struct gt_fsroot *with_nvml(const json_t *answer)
{
	gt_autofree char *path = gt_xasprintf("%s/server-8gpu.host", fixture_dir()), *text = NULL,
			 *fact = json_dumps(answer, JSON_COMPACT), *all = NULL;
	static const char head[] = "file /.facts/nvml\n\t";
	char *at, *end;

	ck_assert(!gt_file_read(path, 1u << 24, &text, NULL, NULL));
	at = strstr(text, head);
	ck_assert_ptr_nonnull(at);
	end = strchr(at + strlen(head), '\n');
	*at = '\0';
	all = gt_xasprintf("%s%s%s%s", strchr(text, '\n') + 1, head, fact, end);
	return open_text(all);
}

START_TEST(paths_from_nvml_are_preserved_in_a_capture)
{
	static const struct {
		const char *links, *way, *far; /* path from the first GPU to the next, and to the last */
	} t[] = { { "18", "NV18", "NV18" }, { "-4", "NV4", "SYS" }, { "0", "NODE", "SYS" } };
	gt_autofree char *lib = gt_xasprintf("%s/tests/standin/libnvidia-ml.so.1",
					     getenv("TOP_BUILDDIR") ? getenv("TOP_BUILDDIR") : ".");
	void *handle = dlopen(lib, RTLD_NOW | RTLD_GLOBAL); /* so that its name is found */

	ck_assert_msg(handle != NULL, "%s", dlerror());
	setenv("STANDIN_GPUS", "8", 1);
	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto_json *answer = NULL, *doc = NULL, *kept = NULL;
		gt_autofree char *fact = NULL;
		const json_t *edges;

		setenv("STANDIN_LINKS", t[i].links, 1);
		answer = pr_nvml_query(true);
		gt_auto(gt_fsroot) *fs = with_nvml(answer);
		gt_auto(pr_host) *h = discover(fs);

		doc = pr_topo_json(h);
		edges = json_object_get(doc, "edges");
		ck_assert_uint_eq(json_array_size(json_object_get(doc, "contradictions")), 0);
		ck_assert_str_eq(gt_json_get_str(json_array_get(edges, 0), "way", ""), t[i].way);
		ck_assert_str_eq(gt_json_get_str(json_array_get(edges, 5), "way", ""), t[i].far);
		ck_assert_str_eq(gt_json_get_str(json_array_get(edges, 5), "pcie", ""), "SYS");
		fact = pr_nvml_fact(h);
		ck_assert(!gt_json_parse(fact, strlen(fact), "fact", &kept, NULL));
		gt_auto(gt_fsroot) *again = with_nvml(kept);
		gt_auto(pr_host) *same = discover(again);
		gt_auto_json *twice = pr_topo_json(same);

		ck_assert(json_equal(doc, twice));
	}
	dlclose(handle);
}
END_TEST

START_TEST(c2c_links_from_nvml_are_preserved_in_a_capture)
{
	gt_autofree char *lib = gt_xasprintf("%s/tests/standin/libnvidia-ml.so.1",
					     getenv("TOP_BUILDDIR") ? getenv("TOP_BUILDDIR") : "."), *fact = NULL;
	void *handle = dlopen(lib, RTLD_NOW | RTLD_GLOBAL);
	gt_auto_json *answer = NULL, *kept = NULL;

	ck_assert_msg(handle != NULL, "%s", dlerror());
	setenv("STANDIN_GPUS", "8", 1);
	setenv("STANDIN_C2C", "10", 1);
	answer = pr_nvml_query(true);
	gt_auto(gt_fsroot) *fs = with_nvml(answer);
	gt_auto(pr_host) *h = discover(fs);
	fact = pr_nvml_fact(h);
	ck_assert(!gt_json_parse(fact, strlen(fact), "fact", &kept, NULL));
	gt_auto(gt_fsroot) *again = with_nvml(kept);
	gt_auto(pr_host) *same = discover(again);

	for (size_t i = 0; i < 2; i++) {
		const struct pr_gpu *g = i ? &same->gpu[7] : &h->gpu[7];

		ck_assert_int_eq(pr_or(g->c2c_links, -1), 10);
		ck_assert_int_eq(pr_or(g->c2c_links_down, -1), 1);
		ck_assert_int_eq(pr_or(g->c2c_mb_per_s, -1), 9 * 44712);
		ck_assert_int_eq(pr_or(g->addressing_mode, -1), 2);
		ck_assert_int_eq(pr_or(g->memory_node, -1), 15);
	}
	unsetenv("STANDIN_C2C");
	dlclose(handle);
}
END_TEST

/* The first answer lists a process that has ended. The second one replaces it; the use is unknown if that fails. */
START_TEST(nvml_is_queried_again_about_processes_that_have_ended)
{
	static const struct {
		const char *later;
		size_t n; /* processes; SIZE_MAX: unknown */
	} t[] = { { "none", 0 }, { "error", SIZE_MAX }, { "1=64", 1 } };
	gt_autofree char *lib = gt_xasprintf("%s/tests/standin/libnvidia-ml.so.1",
					     getenv("TOP_BUILDDIR") ? getenv("TOP_BUILDDIR") : "."), *first = NULL;
	void *handle = dlopen(lib, RTLD_NOW | RTLD_GLOBAL);
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	first = gt_xasprintf("%d=512", (int)pid);
	setenv("STANDIN_GPUS", "1", 1);
	setenv("STANDIN_HOLDERS", first, 1);
	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto_json *before = NULL, *answer = NULL;
		const json_t *list;

		unsetenv("STANDIN_HOLDERS_LATER");
		before = pr_nvml_query(false); /* also resets the count of queries */
		setenv("STANDIN_HOLDERS_LATER", t[i].later, 1);
		answer = pr_nvml_query(true);
		list = json_object_get(json_array_get(json_object_get(before, "gpus"), 0), "processes");
		ck_assert_uint_eq(json_array_size(list), 1);
		list = json_object_get(json_array_get(json_object_get(answer, "gpus"), 0), "processes");
		ck_assert_msg(t[i].n == SIZE_MAX ? !list : json_array_size(list) == t[i].n, "%s", t[i].later);
	}
	unsetenv("STANDIN_HOLDERS");
	unsetenv("STANDIN_HOLDERS_LATER");
	dlclose(handle);
}
END_TEST

/* The capture of a host gives the same findings about its log: levels, times and lines are preserved. */
START_TEST(the_kernel_log_of_a_capture_has_levels_and_times)
{
	gt_auto(gt_fsroot) *fs = open_text(
		"file /.facts/kernel_log\n\t<3>[    1.5] mlx5_core 0000:3b:00.0: qwerty\n"
		"\t<3>[   61.25] mlx5_core 0000:3b:00.0: qwerty\n\t<12>mlx5_core: a program's failed line\n"
		"\t<6>mlx5_core 0000:3b:00.0: qwerty 2\n\t<4>NVRM: Xid (PCI:0000:17:00): 79, x\n"
		"\tnvidia: module license taints kernel.\n"
		"file /.facts/kernel_log_source\n\tnow 90.5 start_lost 1 crashes 2 from kernel buffer\n");
	gt_auto(pr_host) *h = discover(fs);
	gt_autofree char *fact = pr_kernel_log_fact(h), *source = pr_log_source_fact(h);

	ck_assert_str_eq(source, "now 90.500000 start_lost 1 crashes 2 from kernel buffer\n");
	ck_assert_uint_eq(h->log[0].count, 2);
	ck_assert(h->log[0].first_s == 1.5 && h->log[0].time_s == 61.25);
	ck_assert_str_eq(fact, "<3>[61.250000] [x2 since 1.500000] mlx5_core 0000:3b:00.0: qwerty\n"
			       "<4>NVRM: Xid (PCI:0000:17:00): 79, x\n"
			       "nvidia: module license taints kernel.\n");
	ck_assert_uint_eq(h->n_log, 3);
	ck_assert_int_eq(h->log[0].kind, PR_LOG_UNREAD);
	ck_assert_str_eq(h->log[0].check, "log.network");
	ck_assert_int_eq(h->log[1].kind, PR_LOG_READ);
	ck_assert_int_eq(h->log[1].xid.number, 79);
	ck_assert_int_eq(h->log[2].kind, PR_LOG_NOTE);
}
END_TEST

START_TEST(error_numbers_are_found_in_free_text)
{
	static const struct {
		const char *text;
		int number;
		bool nvswitch;
	} t[] = {
		{"NVRM: Xid (PCI:0000:17:00): 79, pid=1", 79, false},
		{"NVRM: Xid (0000:03:00): 13, 0007 00000000", 13, false},
		{"NVRM: Xid (PCI:0000:17:00 GPU-I:05): 31, MMU Fault", 31, false},
		{"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal", 12028, true},
		{"Xid 173", 173, false},
		{"xid79", 79, false},
		{"GPU Xid error: 48", 48, false},
		{"XID errors (PCI:0000:17:00) = 63", 63, false},
		{"SXID 20034", 20034, true},
		{"journalctl -k | grep Xid", 0, false},
		{"oxid 5", 0, false},
		{"Xid 79abc", 0, false},
		{"Xid 99999999999999999999", 0, false},
		{"Xid (", 0, false},
		{"", 0, false},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct pr_xid x = {0};

		ck_assert_msg(!pr_xid_next(t[i].text, &x) == !t[i].number, "%s: %d", t[i].text, x.number);
		ck_assert_msg(x.number == t[i].number && x.nvswitch == t[i].nvswitch, "%s: %d", t[i].text, x.number);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;
	const TTest *const tests[] = {
		a_server_is_read_whole,
		minus_one_is_never_node_0,
		a_container_sees_its_cpuset_and_quota,
		a_node_without_cpus_is_a_node,
		older_captures_have_distances_in_another_order,
		absent_unreadable_and_broken_are_different,
		available_memory_respects_the_control_group,
		kernels_fit_the_instruction_set_not_the_model,
		each_broken_host_has_its_cause,
		a_host_without_gpu_is_fine_unless_one_is_required,
		every_check_is_complete_and_names_existing_causes,
		the_loaders_cache_is_read_and_a_broken_one_is_refused,
		the_loaders_first_find_counts,
		sources_that_disagree_are_named,
		a_virtual_machine_is_named_if_recognised,
		four_thousand_cpus_are_counted,
		hostile_kernel_files_do_no_harm,
		machines_of_every_kind_are_read,
		the_kernel_log_of_a_capture_has_levels_and_times,
		error_numbers_are_found_in_free_text,
		paths_from_nvml_are_preserved_in_a_capture,
		c2c_links_from_nvml_are_preserved_in_a_capture,
		nvml_is_queried_again_about_processes_that_have_ended,
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, case_advice());
	suite_add_tcase(s, case_messages());
	suite_add_tcase(s, case_tables());
	suite_add_tcase(s, case_identity());
	suite_add_tcase(s, case_signatures());
	suite_add_tcase(s, case_holders());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
