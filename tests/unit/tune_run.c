/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher sets correct values on every captured host and keeps values that the user set. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/file_trust.h"
#include "tests/unit/tune_launch.h"
#include "tune/launch/library_report.h"
#include "tune/launch/loader.h"

#define TUNABLES(MMAP, TRIM, PAD)                                                                                                 \
	"glibc.malloc.mmap_threshold=" MMAP ":glibc.malloc.trim_threshold=" TRIM ":glibc.malloc.top_pad=" PAD
#define GROUP(FILE, VALUE) "file /sys/fs/cgroup" FILE "\n\t" VALUE "\n"

static const struct {
	const char *more, *tunables; /* tunables NULL: none */
} limit_cases[] = {
	{ GROUP("/memory.max", "max"), TUNABLES("17179869184", "68719476736", "268435456") },
	{ GROUP("/memory.max", "8589934592"), TUNABLES("2147483648", "4294967296", "134217728") },
	{ GROUP("/memory.high", "8589934592") GROUP("/memory.max", "17179869184"),
	  TUNABLES("2147483648", "4294967296", "134217728") },
	{ GROUP("/memory/memory.limit_in_bytes", "9223372036854771712"), TUNABLES("17179869184", "68719476736", "268435456") },
	{ GROUP("/memory.max", "1073741824"), NULL },
};

START_TEST(malloc_keeps_no_more_than_the_control_group_allows)
{
	struct gt_fsroot *fs = open_with("cpu-server", limit_cases[_i].more);
	gt_auto(tn_run) *r = NULL;
	const char *value;

	ck_assert_int_eq(tn_run_make(fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = no_env }, &r, NULL), 0);
	value = var(r, "GLIBC_TUNABLES")->value;
	if (!limit_cases[_i].tunables)
		ck_assert_ptr_null(value);
	else
		ck_assert_msg(gt_starts_with(value, limit_cases[_i].tunables), "%s", value);
	gt_fs_close(fs);
}
END_TEST

START_TEST(the_users_memory_policy_is_unchanged)
{
	unsigned long nodes = 1;
	pid_t pid = fork();
	int st;

	if (pid == 0) {
		gt_auto(gt_fsroot) *live = NULL;
		gt_auto(tn_run) *r = NULL;
		int mode = -1;

		if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 64ul) < 0)
			_exit(77);
		if (gt_fs_open(NULL, &live, NULL) < 0 ||
		    tn_run_make(live, NULL, &(struct tn_run_opts){ .argv = python, .envp = no_env }, &r, NULL) < 0)
			_exit(1);
		if (!r->mem_kept || !gt_streq(r->mem_reason, "set by the user: interleave:0") || tn_run_enter(r, NULL) < 0)
			_exit(2);
		syscall(SYS_get_mempolicy, &mode, NULL, 0ul, NULL, 0ul);
		_exit(mode == MPOL_INTERLEAVE ? 0 : 3);
	}
	waitpid(pid, &st, 0);
	ck_assert_msg(WIFEXITED(st) && (WEXITSTATUS(st) == 0 || WEXITSTATUS(st) == 77), "%d", st);
}
END_TEST

/* Two options with one meaning; the CPUs follow from the option. */
static const struct {
	const char *host, *env, *name, *value; /* value NULL: skipped */
} gpu_cases[] = {
	{ "server-8gpu", "X=1", "CUDA_DEVICE_ORDER", "PCI_BUS_ID" },
	{ "server-8gpu", "CUDA_VISIBLE_DEVICES=1", "CUDA_DEVICE_ORDER", "PCI_BUS_ID" }, /* all equal: nothing changes */
	{ "nouveau", "X=1", "CUDA_DEVICE_ORDER", NULL },
	{ "cpu-server", "X=1", "CUDA_DEVICE_ORDER", NULL },
	{ "server-8gpu", "X=1", "PYTORCH_CUDA_ALLOC_CONF", NULL },
	{ "server-8gpu", "SLURM_NNODES=1", "NCCL_SOCKET_IFNAME", NULL },
	{ "server-8gpu", "SLURM_NNODES=4", "NCCL_SOCKET_IFNAME", "^lo,docker,virbr,br-" },
	{ "server-8gpu", "SLURM_STEP_NUM_NODES=1", "NCCL_SOCKET_IFNAME", NULL },
	{ "server-8gpu", "OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT", NULL },
	{ "server-8gpu", "OMP_WAIT_POLICY=", "GOMP_SPINCOUNT", "3000" }, /* an empty value is ignored */
	{ "server-8gpu", "NCCL_SOCKET_IFNAME=", "NCCL_SOCKET_IFNAME", NULL },
	{ "server-8gpu", "X=1", "GOMP_SPINCOUNT", "3000" },
	{ "container-cpuset", "X=1", "GOMP_SPINCOUNT", "1000" }, /* a quota */
};

START_TEST(variables_of_gpus_and_waiting_follow_from_host_and_job)
{
	char *env[] = { (char *)gpu_cases[_i].env, NULL };
	gt_auto(tn_run) *r = NULL;
	const struct tn_var *v;
	struct box b;

	box_open(&b, gpu_cases[_i].host);
	box_put(&b, "/sys/class/net/virbr0/mtu", "1500\n");
	box_put(&b, "/sys/class/net/br-1f/mtu", "1500\n");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
	v = var(r, gpu_cases[_i].name);
	ck_assert_ptr_nonnull(v);
	ck_assert_int_eq(v->status, gpu_cases[_i].value ? TN_VAR_SET : TN_VAR_SKIPPED);
	ck_assert(gt_streq(v->value, gpu_cases[_i].value));
	box_close(&b);
}
END_TEST

/*
 * A bridge over a device of the host is the host's route to the network. NCCL matches prefixes of names, so the other
 * interfaces are then listed one by one.
 */
START_TEST(a_bridge_that_leads_out_is_left_to_nccl)
{
	char *env[] = { "SLURM_NNODES=4", NULL };
	gt_auto(tn_run) *r = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	box_put(&b, "/sys/class/net/br-mgmt/mtu", "1500\n");
	box_put(&b, "/sys/class/net/br-mgmt/brif/eno1/port_no", "0x1\n");
	box_put(&b, "/sys/class/net/eno1/device/vendor", "0x8086\n");
	box_put(&b, "/sys/class/net/br-vlan/mtu", "1500\n");
	box_put(&b, "/sys/class/net/br-m/mtu", "1500\n");
	box_put(&b, "/sys/class/net/br-vlan/brif/bond0/port_no", "0x1\n");
	box_put(&b, "/sys/class/net/bond0/lower_eno1/mtu", "1500\n");
	box_put(&b, "/sys/class/net/br-5f3a9c01e2d4/brif/veth1/port_no", "0x1\n");
	box_put(&b, "/sys/class/net/veth1/mtu", "1500\n");
	box_put(&b, "/sys/class/net/cni0/mtu", "1500\n");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
	ck_assert_str_eq(var(r, "NCCL_SOCKET_IFNAME")->value, "^lo,docker,br-5f3a9c01e2d4,cni,veth");
	box_close(&b);
}
END_TEST

START_TEST(debugging_variables_are_reported_and_unchanged)
{
	char *env[] = { "CUDA_LAUNCH_BLOCKING=1", "NCCL_DEBUG=WARN", "NCCL_PROTO=Simple", NULL };
	gt_auto(tn_run) *r = make("server-8gpu", python, env, NULL);

	ck_assert_int_eq(var(r, "CUDA_LAUNCH_BLOCKING")->status, TN_VAR_KEPT);
	ck_assert_int_eq(var(r, "NCCL_PROTO")->status, TN_VAR_KEPT);
	ck_assert_ptr_null(var(r, "NCCL_DEBUG"));
}
END_TEST

/* --workers: the workers use this many of a rank's cores. The command does not show their number. */
START_TEST(cores_are_left_to_loader_workers)
{
	static const struct {
		const char *host;
		unsigned ranks, workers;
		const char *threads;
	} rows[] = {
		{ "cpu-server", 0, 0, "8" },	   { "cpu-server", 0, 3, "5" },	      { "cpu-server", 0, 8, "1" },
		{ "cpu-server", 0, 1000, "1" },	   { "cpu-server", 2, 3, "1" },	      { "server-8gpu", 8, 2, "2" },
		{ "container-cpuset", 0, 1, "3" }, { "container-cpuset", 2, 1, "1" },
	};
	static char *with_workers[] = { "python3", "train.py", "--num-workers", "4", NULL };

	for (size_t i = 0; i < GT_ARRAY_SIZE(rows); i++) {
		struct tn_run_opts o = { .argv = with_workers, .envp = no_env, .ranks = rows[i].ranks, .workers = rows[i].workers };
		gt_auto(tn_run) *r = NULL;
		const struct tn_var *v;
		struct box b;

		box_open(&b, rows[i].host);
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
		v = var(r, "OMP_NUM_THREADS");
		ck_assert_msg(gt_streq(v->value, rows[i].threads), "row %zu: %s", i, v->value);
		ck_assert_int_eq(strstr(v->reason, "loader workers") != NULL, rows[i].workers > 0);
		box_close(&b);
	}
}
END_TEST

START_TEST(user_values_are_unchanged)
{
	char *env[] = {"OMP_NUM_THREADS=3", "GLIBC_TUNABLES=glibc.malloc.check=1", "LD_PRELOAD=/libmimalloc.so",
		       "LD_LIBRARY_PATH=/opt/lib", NULL};
	gt_auto(tn_run) *r = make("cpu-server", python, env, "auto");

	ck_assert_int_eq(var(r, "OMP_NUM_THREADS")->status, TN_VAR_KEPT);
	ck_assert_str_eq(var(r, "OMP_NUM_THREADS")->value, "3");
	ck_assert_int_eq(var(r, "LD_PRELOAD")->status, TN_VAR_KEPT);
	ck_assert_int_ne(var(r, "GLIBC_TUNABLES")->status, TN_VAR_SET);
	/* a search path can be extended; the user's directories come first */
	ck_assert_int_eq(var(r, "LD_LIBRARY_PATH")->status, TN_VAR_SET);
	ck_assert_str_eq(var(r, "LD_LIBRARY_PATH")->value, "/opt/lib:/usr/lib/x86_64-linux-gnu/openblas-openmp");
}
END_TEST

START_TEST(python_is_never_bound_by_openmp)
{
	static char *commands[][2] = { { "python3", NULL }, { "/opt/venv/bin/python3.11", NULL }, { "torchrun", NULL },
				       { "./train.py", NULL } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(commands); i++) {
		gt_auto(tn_run) *r = make("cpu-server", commands[i], no_env, NULL);

		ck_assert_int_eq(var(r, "OMP_PROC_BIND")->status, TN_VAR_SKIPPED);
		ck_assert_ptr_null(var(r, "OMP_PLACES"));
	}
}
END_TEST

START_TEST(an_openmp_program_is_bound_unless_the_user_binds_it)
{
	char *gomp[] = { "GOMP_CPU_AFFINITY=0-3", NULL };
	struct tn_run_opts o = { .envp = no_env, .program = TN_PROGRAM_OPENMP };
	gt_auto(tn_run) *r = NULL, *by_user = NULL;
	struct box b;

	box_open(&b, "cpu-server");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	ck_assert_str_eq(var(r, "OMP_PLACES")->value, "cores");
	ck_assert_str_eq(var(r, "OMP_PROC_BIND")->value, "spread"); /* two nodes */
	o.envp = gomp;
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &by_user, NULL), 0);
	ck_assert_int_eq(var(by_user, "OMP_PROC_BIND")->status, TN_VAR_SKIPPED);
	box_close(&b);
}
END_TEST

START_TEST(every_captured_host_gets_cpus_it_may_use)
{
	gt_auto_strv names = box_fixtures();

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(tn_run) *r = make(names.v[i], python, no_env, NULL);
		gt_auto(pr_host) *h = NULL;
		gt_auto_set in = { 0 };
		struct box b;
		uint64_t threads;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
		gt_set_copy(&in, &r->cpus);
		gt_set_and(&in, &h->cpu.allowed);
		ck_assert_msg(gt_set_equal(&in, &r->cpus), "%s: CPUs that are not allowed", names.v[i]);
		ck_assert_int_eq(gt_parse_u64(var(r, "OMP_NUM_THREADS")->value, &threads), 0);
		ck_assert_msg(threads >= 1 && threads <= gt_set_count(&h->cpu.allowed), "%s: %lu threads", names.v[i],
			      threads);
		box_close(&b);
	}
}
END_TEST

/* The facts discovered for a launch are a subset of those of the full discovery, with equal values. */
START_TEST(the_launcher_sees_the_same_host)
{
	gt_auto_strv names = box_fixtures();

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(pr_host) *all = NULL, *few = NULL;
		struct box b;

		box_open(&b, names.v[i]);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &all, NULL), 0);
		ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .launch = true }, &few, NULL), 0);
		ck_assert_uint_eq(few->cpu.n_cpu, all->cpu.n_cpu);
		for (size_t k = 0; k < all->cpu.n_cpu; k++)
			ck_assert_msg(gt_set_equal(&few->cpu.cpu[k].siblings, &all->cpu.cpu[k].siblings), "%s: CPU %d", names.v[i],
				      all->cpu.cpu[k].id);
		ck_assert(gt_set_equal(&few->cpu.allowed, &all->cpu.allowed));
		ck_assert(gt_set_equal(&few->cpu.isolated, &all->cpu.isolated));
		ck_assert(gt_set_equal(&few->cpu.efficiency, &all->cpu.efficiency));
		ck_assert_int_eq(few->cpu.quota_millicpu.v, all->cpu.quota_millicpu.v);
		ck_assert_int_eq(few->mem.total_bytes.v, all->mem.total_bytes.v);
		ck_assert_msg(few->n_node == all->n_node, "%s: %zu nodes, not %zu", names.v[i], few->n_node, all->n_node);
		for (size_t k = 0; k < all->n_node; k++) {
			ck_assert_int_eq(few->node[k].id, all->node[k].id);
			ck_assert_msg(gt_set_equal(&few->node[k].cpus, &all->node[k].cpus), "%s: node %d", names.v[i],
				      all->node[k].id);
			ck_assert_int_eq(pr_or(few->node[k].mem_bytes, 0) > 0, pr_or(all->node[k].mem_bytes, 0) > 0);
		}
		ck_assert_uint_eq(few->n_gpu, all->n_gpu);
		for (size_t k = 0; k < all->n_gpu; k++) {
			ck_assert_str_eq(few->gpu[k].pci->address, all->gpu[k].pci->address);
			ck_assert_int_eq(few->gpu[k].pci->numa_node.v, all->gpu[k].pci->numa_node.v);
			ck_assert(gt_streq(few->gpu[k].pci->driver.v, all->gpu[k].pci->driver.v));
		}
		ck_assert(gt_streq(few->blas.v, all->blas.v));
		box_close(&b);
	}
}
END_TEST

/* On the live host: mask and environment are set, and a refused mask is not a failure. */
START_TEST(entering_applies_the_computed_settings)
{
	struct tn_run_opts o = { .argv = python, .envp = no_env };
	gt_auto(gt_fsroot) *live = NULL;
	gt_auto(tn_run) *r = NULL;
	struct gt_err err = { 0 };
	pid_t pid;
	int st;

	ck_assert_int_eq(gt_fs_open(NULL, &live, NULL), 0);
	ck_assert_msg(tn_run_make(live, NULL, &o, &r, &err) == 0, "%s", err.msg);
	pid = fork();
	if (pid == 0) {
		gt_auto_set have = { 0 };
		cpu_set_t mask;

		unsetenv("OMP_NUM_THREADS");
		if (tn_run_enter(r, NULL) < 0 || sched_getaffinity(0, sizeof(mask), &mask) < 0)
			_exit(1);
		for (unsigned i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &mask))
				gt_set_add(&have, i);
		if (gt_set_count(&r->cpus) && !gt_set_equal(&have, &r->cpus))
			_exit(2);
		_exit(gt_streq(getenv("OMP_NUM_THREADS"), var(r, "OMP_NUM_THREADS")->value) ? 0 : 3);
	}
	waitpid(pid, &st, 0);
	ck_assert_int_eq(st, 0);
	gt_set_clear(&r->cpus);
	gt_set_add(&r->cpus, 4095); /* no such CPU */
	gt_set_add(&r->mem_nodes, 511);
	pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		_exit(tn_run_enter(r, NULL) < 0);
	}
	waitpid(pid, &st, 0);
	ck_assert_int_eq(st, 0);
}
END_TEST

/* Installs a filter like Docker's default without SYS_NICE. */
static bool refuse_mempolicy(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { GT_ARRAY_SIZE(code), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

START_TEST(a_container_that_refuses_memory_policies_is_no_failure)
{
	pid_t pid = fork();
	int st;

	if (pid == 0) {
		struct tn_run r = { 0 };

		gt_set_add(&r.mem_nodes, 0);
		if (!refuse_mempolicy())
			_exit(77);
		if (syscall(SYS_set_mempolicy, 0, NULL, 0ul) == 0)
			_exit(2); /* the filter does not work */
		close(STDERR_FILENO);
		_exit(tn_run_enter(&r, NULL) < 0);
	}
	waitpid(pid, &st, 0);
	ck_assert(WIFEXITED(st) && (WEXITSTATUS(st) == 0 || WEXITSTATUS(st) == 77));
}
END_TEST

START_TEST(open_files_are_raised_as_far_as_they_may_be)
{
	static const struct {
		const char *text;
		int64_t want;
	} limits[] = { { "Max open files            1024                 524288               files\n", 524288 },
		      { "Max open files            1024                 2000000              files\n", 1048576 },
		      { "Max open files            4096                 4096                 files\n", 0 },
		      { "Max open files            unlimited            unlimited            files\n", 0 },
		      { "Max locked memory         1                    2                    bytes\n", 0 } };
	struct box b;

	box_open(&b, "cpu-server");
	for (size_t i = 0; i < GT_ARRAY_SIZE(limits); i++) {
		gt_auto(tn_run) *r = NULL;

		box_put(&b, "/proc/self/limits", limits[i].text);
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = no_env }, &r, NULL), 0);
		ck_assert_int_eq(r->files, limits[i].want);
		ck_assert_ptr_nonnull(r->files_reason);
	}
	box_close(&b);
}
END_TEST

/* The quota of this container allows 4 of 8 CPUs. */
START_TEST(more_loader_workers_than_the_quota_allows_are_reported)
{
	static char *const plain[] = {(char *)"python3", (char *)"train.py", NULL};
	static char *const wrapped[] = {(char *)"nice", (char *)"env", (char *)"A=b", (char *)"python3", (char *)"-E", NULL};
	static char *const emptied[] = {(char *)"env", (char *)"-i", (char *)"python3", NULL};
	static const struct {
		const char *spec;
		char *const *argv;
		const char *want;
	} cases[] = {
		{"workers=4", plain, NULL},
		{"auto", plain, NULL},
		{"workers=5", plain, "--loader starts 5 workers in each rank, but only 4 CPUs can be used"},
		{"auto", wrapped, "--loader has no effect: python ignores sitecustomize or PYTHONPATH because of -E"},
		{"auto", emptied, "--loader has no effect: env removes or replaces PYTHONPATH"},
	};
	struct pr_host *host = NULL;
	struct box b;

	box_open(&b, "container-cpuset");
	ck_assert_int_eq(pr_host_discover(b.fs, NULL, &host, NULL), 0);
	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_autofree char *why = tn_loader_doubt(host, cases[i].spec, cases[i].argv);

		ck_assert_pstr_eq(why, cases[i].want);
	}
	pr_host_free(host);
	box_close(&b);
}
END_TEST

TCase *tune_run_case(void)
{
	TCase *tc = tcase_create("run");
	const TTest *const tests[] = {
		the_users_memory_policy_is_unchanged,
		a_bridge_that_leads_out_is_left_to_nccl,
		debugging_variables_are_reported_and_unchanged,
		cores_are_left_to_loader_workers,
		user_values_are_unchanged,
		python_is_never_bound_by_openmp,
		an_openmp_program_is_bound_unless_the_user_binds_it,
		every_captured_host_gets_cpus_it_may_use,
		the_launcher_sees_the_same_host,
		entering_applies_the_computed_settings,
		a_container_that_refuses_memory_policies_is_no_failure,
		open_files_are_raised_as_far_as_they_may_be,
		more_loader_workers_than_the_quota_allows_are_reported,
	};

	tcase_add_loop_test(tc, malloc_keeps_no_more_than_the_control_group_allows, 0, GT_ARRAY_SIZE(limit_cases));
	tcase_add_loop_test(tc, variables_of_gpus_and_waiting_follow_from_host_and_job, 0, GT_ARRAY_SIZE(gpu_cases));
	for (size_t i = 0; i < GT_ARRAY_SIZE(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	return tc;
}
