/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting processes, as data loaders and launchers do: fork of a process with much memory, and the start of a small
 * program. fork copies the page tables, which are small with huge pages.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench/workload/workloads.h"

#define ROUNDS	30
#define WARMUP	4
#define MAPPED_BYTES	((size_t)256 << 20)
#define PROGRAM	"/bin/true"
#define STATUS	42

static int reap(pid_t pid, int *ret_status, struct gt_err *err)
{
	pid_t got;

	do
		got = waitpid(pid, ret_status, 0);
	while (got < 0 && errno == EINTR);
	return got == pid ? 0 : gt_fail_errno(err, errno, "cannot wait for a child");
}

/* The child checks the parent's memory, changes its own copy and returns the result as its exit status. */
static int fork_once(unsigned char *mapped, uint64_t *bad, struct gt_err *err)
{
	pid_t pid = fork();
	int status = 0, r;

	if (pid < 0)
		return gt_fail_errno(err, errno, "cannot fork");
	if (pid == 0) {
		bool ok = mapped[MAPPED_BYTES / 2] == 7;

		mapped[MAPPED_BYTES / 2] = 9;
		_exit(ok ? STATUS : 1);
	}
	r = reap(pid, &status, err);
	*bad += !WIFEXITED(status) || WEXITSTATUS(status) != STATUS || mapped[MAPPED_BYTES / 2] != 7;
	return r;
}

static int exec_once(uint64_t *bad, struct gt_err *err)
{
	char *argv[] = { (char *)PROGRAM, NULL };
	int status = 0, r;
	pid_t pid;

	r = posix_spawn(&pid, PROGRAM, NULL, NULL, argv, environ);
	if (r)
		return gt_fail_errno(err, r, "cannot start " PROGRAM);
	r = reap(pid, &status, err);
	*bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	return r;
}

static int measure(unsigned char *mapped, double *fork_ns, double *exec_ns, uint64_t *bad, struct gt_err *err)
{
	for (int i = 0; i < ROUNDS; i++) {
		double t0 = gt_now_s(), t1;
		int r;

		r = fork_once(mapped, bad, err);
		if (r)
			return r;
		t1 = gt_now_s();
		fork_ns[i] = (t1 - t0) * 1e9;
		r = exec_once(bad, err);
		if (r)
			return r;
		exec_ns[i] = (gt_now_s() - t1) * 1e9;
	}
	return 0;
}

static int spawn_run(struct bn_launch *l, struct gt_err *err)
{
	unsigned char *mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double fork_ns[ROUNDS], exec_ns[ROUNDS];
	uint64_t bad = l->fault;
	int r;

	if (mapped == MAP_FAILED)
		return gt_fail_errno(err, errno, "cannot map %zu MiB", MAPPED_BYTES >> 20);
	memset(mapped, 7, MAPPED_BYTES);
	r = measure(mapped, fork_ns, exec_ns, &bad, err);
	munmap(mapped, MAPPED_BYTES);
	if (r)
		return r;
	if (bad)
		snprintf(l->wrong, sizeof(l->wrong), "%llu children failed",
			 (unsigned long long)bad);
	json_object_set_new(l->params, "held_bytes", json_integer((json_int_t)MAPPED_BYTES));
	bn_series(l, &bn_workload_spawn, ".fork", BN_EXPLORE, fork_ns, ROUNDS, WARMUP, false);
	bn_series(l, &bn_workload_spawn, ".exec", BN_EXPLORE, exec_ns, ROUNDS, WARMUP, false);
	return 0;
}

static const char *const knobs[] = { "thp.enabled", "vm.overcommit_memory", "cpu.governor", NULL };

const struct bn_workload bn_workload_spawn = {
	.id	   = "proc.spawn",
	.summary   = "fork of a process with 256 MiB, and start of a small program, until the child has ended",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "each child saw the memory, changed only its own, and ended as it should",
	.overhead  = "two clock readings per child, whose exit status is its result",
	.knobs	   = knobs,
	.launch_s  = .7,
	.optional  = true,
	.run	   = spawn_run,
};
