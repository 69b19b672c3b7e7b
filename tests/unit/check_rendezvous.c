/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that find each other over TCP: their environment, foreign connections to their port, and the loss of a rank.
 * `check_rendezvous homes` prints the nodes of the devices. `check_rendezvous train STEPS` is a rank on a device,
 * started by tests/peers/check_rendezvous.py.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/parse.h"
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"
#include "tests/unit/check_rendezvous.h"

#define JOB 77

/* ---- the environment ---- */

static const char *const names[] = {"RANK",
				    "WORLD_SIZE",
				    "LOCAL_RANK",
				    "MASTER_ADDR",
				    "MASTER_PORT",
				    "TORCHELASTIC_RUN_ID",
				    "TORCHELASTIC_RESTART_COUNT",
				    "TORCHELASTIC_USE_AGENT_STORE",
				    "SLURM_PROCID",
				    "SLURM_STEP_NUM_TASKS",
				    "SLURM_NTASKS",
				    "SLURM_LOCALID",
				    "SLURM_JOB_ID",
				    "SLURM_STEP_ID",
				    "SLURM_STEP_NODELIST",
				    "PMI_RANK",
				    "PMI_SIZE",
				    "PMI_JOBID",
				    "MPI_LOCALRANKID",
				    "PMIX_RANK",
				    "OMPI_COMM_WORLD_SIZE"};

/* Sets these variables and no others, from "A=1 B=2". */
static void set_all(const char *vars)
{
	char buf[512], *save = NULL;

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	snprintf(buf, sizeof(buf), "%s", vars);
	for (char *v = strtok_r(buf, " ", &save); v; v = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(v, '=');

		*eq = '\0';
		setenv(v, eq + 1, 1);
	}
}

#define TORCH "MASTER_ADDR=n1 MASTER_PORT=29500 WORLD_SIZE=4 RANK=2 "
#define SLURM "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=12 SLURM_STEP_ID=0 "

START_TEST(variables_identify_a_rank)
{
	static const struct {
		const char *vars, *host;
		int rank, size, local, port;
	} t[] = {
		{TORCH "LOCAL_RANK=1", "n1", 2, 4, 1, 29500},
		{TORCH, "n1", 2, 4, -1, 29500},
		{TORCH "TORCHELASTIC_USE_AGENT_STORE=True", "n1", 2, 4, -1, 29501},
		{TORCH "TORCHELASTIC_USE_AGENT_STORE=False", "n1", 2, 4, -1, 29500},
		{SLURM "SLURM_LOCALID=1 MASTER_ADDR=h MASTER_PORT=1", "h", 3, 4, 1, 1},
		{SLURM "SLURM_STEP_NODELIST=n[01-03,7],gpu-a", "n01", 3, 4, -1, 0},
		{SLURM "SLURM_LOCALID=1 LOCAL_RANK=1 " TORCH, "n1", 2, 4, 1, 29500},  /* torchrun under srun */
		{SLURM "WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=5", "h", 3, 4, -1, 5}, /* variables as batch scripts export them */
		{"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 MASTER_ADDR=h MASTER_PORT=5", "h", 1, 2, 0, 5},
		{"PMIX_RANK=3 " SLURM "SLURM_STEP_NODELIST=a", "a", 3, 4, -1, 0},
	};
	struct rt_rendezvous m = {0};
	struct gt_err err = {0};

	set_all(t[_i].vars);
	ck_assert_msg(rt_rendezvous_from_environment(&m, &err) == 1, "%s: %s", t[_i].vars, err.msg);
	ck_assert(rt_env_started());
	ck_assert_str_eq(m.host, t[_i].host);
	ck_assert_int_eq(m.rank, t[_i].rank);
	ck_assert_int_eq(m.size, t[_i].size);
	ck_assert_int_eq(m.local_rank, t[_i].local);
	if (t[_i].port)
		ck_assert_int_eq(m.port, t[_i].port);
	else
		ck_assert(m.port >= 20000 && m.port < 30000);
}
END_TEST

START_TEST(a_single_process_is_no_rank)
{
	static const char *const t[] = {"",
					"WORLD_SIZE=1",
					"WORLD_SIZE=1 RANK=0",
					"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1",
					"SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_ID=3", /* a batch script */
					"PMIX_RANK=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1",
					"PMI_RANK=0 PMI_SIZE=1",
					"PMIX_RANK=0 OMPI_COMM_WORLD_SIZE=1",
					"LOCAL_RANK=0",
					"RANK=",
					"WORLD_SIZE=1 RANK=0 " SLURM};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) { /* the last: torchrun of one process under srun of several */
		set_all(t[i]);
		ck_assert_msg(!rt_env_started(), "%s", t[i]);
	}
}
END_TEST

START_TEST(invalid_variables_are_refused)
{
	static const struct {
		const char *vars, *says;
	} t[] = {
		{"WORLD_SIZE=4", "WORLD_SIZE=4 shows several ranks, but RANK is not set"},
		{"WORLD_SIZE=x", "WORLD_SIZE=x shows several"},
		{"RANK=0 WORLD_SIZE=-2", "WORLD_SIZE=-2 is not a number from 0 to 1048576"},
		{"RANK=4 WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=5", "RANK=4 is not a number from 0 to 3"},
		{"RANK=1x WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=5", "RANK=1x is not a number"},
		{"RANK=1 WORLD_SIZE=65 MASTER_ADDR=h MASTER_PORT=5", "torchrun started 65 ranks: at most 64"},
		{"RANK=1 WORLD_SIZE=2 MASTER_PORT=5", "MASTER_ADDR, the host of rank 0, is not set"},
		{"RANK=1 WORLD_SIZE=2 MASTER_ADDR=h", "MASTER_PORT is not set"},
		{"RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=0", "MASTER_PORT=0 is not a port"},
		{"RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=65536",
		 "MASTER_PORT=65536 is not a number from 0 to 65534"},
		{"RANK=1 WORLD_SIZE=2 LOCAL_RANK=2 MASTER_ADDR=h MASTER_PORT=5",
		 "LOCAL_RANK=2 is not a number from 0 to 1"},
		{SLURM, "srun started 4 ranks, but MASTER_ADDR, the host of rank 0, is not set"},
		{SLURM "SLURM_STEP_NODELIST=n[1", "n[1 is not a list of hosts"},
		{"PMI_RANK=1 PMI_SIZE=2", "mpiexec started 2 ranks, but MASTER_ADDR, the host of rank 0, is not set"},
		{"PMIX_RANK=1", "PMIX_RANK=1 shows several ranks, but their number is unknown"},
	};
	struct rt_rendezvous m = {0};
	struct gt_err err = {0};

	set_all(t[_i].vars);
	ck_assert_int_eq(rt_rendezvous_from_environment(&m, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, t[_i].says) != NULL, "%s: %s", t[_i].vars, err.msg);
	ck_assert(rt_env_started());
}
END_TEST

START_TEST(the_first_of_a_list_of_hosts)
{
	static const char *const t[][2] = {
		{"n1", "n1"},
		{"n[01-03,7],gpu-a", "n01"},
		{"gpu-a,n[01-03]", "gpu-a"},
		{"n[7]", "n7"},
		{"n[9,01-03]", "n9"},
		{"rack[2-3]node[04-05]", "rack2node04"},
		{"n[007-100]-ib0.cluster", "n007-ib0.cluster"},
		{"a_b.c-d", "a_b.c-d"},
		{"", NULL},
		{",a", NULL},
		{"n[", NULL},
		{"n[]", NULL},
		{"n[a]", NULL},
		{"n[1-]", NULL},
		{"n[1", NULL},
		{"n[1,]", NULL},
		{"n[1-2-3]", NULL},
		{"n]", NULL},
		{"n[1[2]]", NULL},
		{"a b", NULL},
		{"$(x)", NULL},
		{"n[-1]", NULL},
	};
	char name[64], tiny[4];
	struct gt_err err = {0};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		int r = rt_first_host(t[i][0], name, sizeof(name), &err);

		ck_assert_msg(r == (t[i][1] ? 0 : -EINVAL), "%s: %d %s", t[i][0], r, r ? "" : name);
		if (!r)
			ck_assert_str_eq(name, t[i][1]);
	}
	ck_assert_int_eq(rt_first_host("abc", tiny, sizeof(tiny), &err), 0);
	ck_assert_int_eq(rt_first_host("abcd", tiny, sizeof(tiny), &err), -EINVAL);
	ck_assert_int_eq(rt_first_host("ab[12]", tiny, sizeof(tiny), &err), -EINVAL);
}
END_TEST

/* ---- the port ---- */

/* Returns a free port. */
static int free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert(fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 &&
		  getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	close(fd);
	return ntohs(a.sin_port);
}

static struct rt_rendezvous meeting(int rank, int size, int port)
{
	return (struct rt_rendezvous){.launcher = "torchrun",
				      .rank = rank,
				      .size = size,
				      .local_rank = rank,
				      .host = "127.0.0.1",
				      .port = port,
				      .job = JOB,
				      .patience_s = 20};
}

typedef int rank_main(struct rt_comm *c, int rank, struct gt_err *err);

/* A rank in a child process; its last output is the error. */
static pid_t start(int rank, int size, int port, rank_main *fn, int *ret_fd)
{
	int p[2];
	pid_t pid;

	ck_assert_int_eq(pipe(p), 0);
	pid = fork();
	if (!pid) {
		struct rt_rendezvous m = meeting(rank, size, port);
		struct rt_comm *c = NULL;
		struct gt_err err = {0};
		int r = rt_star_join(&m, &c, &err);

		if (!r)
			r = fn(c, rank, &err);
		if (r)
			dprintf(p[1], "%s", err.msg);
		else
			rt_star_leave(c, true);
		_exit(r ? 1 : 0);
	}
	close(p[1]);
	*ret_fd = p[0];
	return pid;
}

static int finish(pid_t pid, int fd, char said[512])
{
	ssize_t n = 0, k;
	int status;

	while ((k = read(fd, said + n, 511 - (size_t)n)) > 0)
		n += k;
	said[n] = '\0';
	close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int add_up(struct rt_comm *c, int rank, struct gt_err *err)
{
	double all[RT_MAX_RANKS], sum = 0;

	for (int round = 0; round < 50; round++) {
		int r = rt_comm_gather(c, rank + round, all, err);

		if (!r)
			r = rt_comm_agree(c, 0x123456789abcdefull, "a number", err);
		if (r)
			return r;
		for (int i = 0; i < rt_comm_size(c); i++)
			sum += fabs(all[i] - i - round);
	}
	return sum > 0 ? gt_fail(err, EPROTO, "other values than the ranks gave") : 0;
}

START_TEST(ranks_gather_the_values_of_all)
{
	int port = free_port(), fd[4];
	pid_t pid[4];
	char said[512];

	for (int i = 0; i < 4; i++) /* the first rank starts last: the others wait for it */
		pid[3 - i] = start(3 - i, 4, port, add_up, &fd[3 - i]);
	for (int i = 0; i < 4; i++)
		ck_assert_msg(finish(pid[i], fd[i], said) == 0, "rank %d: %s", i, said);
}
END_TEST

static int go_there(int port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons((uint16_t)port)};

	for (int i = 0; i < 500; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
			return fd;
		close(fd);
		usleep(10000);
	}
	ck_abort_msg("nobody listens");
	return -1;
}

static bool closed_within(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	return poll(&p, 1, ms) == 1 && recv(fd, &c, 1, 0) <= 0;
}

/*
 * A connection that is not from a rank of the job is closed at once, a silent one after a time limit. The ranks find
 * each other meanwhile.
 */
START_TEST(connections_of_other_jobs_are_rejected)
{
	const struct rt_frame good = {.magic = RT_FRAME_MAGIC, .kind = RT_HELLO, .rank = 1, .job = JOB};
	struct rt_frame bad[8];
	int port = free_port(), fd[3], slow, flood[200], half;
	pid_t pid[3];
	char said[512];

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].magic = 0x67747231;
	bad[1].job = JOB + 1;
	bad[2].rank = 0;
	bad[3].rank = 3;
	bad[4].rank = 65535;
	bad[5].kind = RT_VALUE;
	bad[6].kind = 0;
	memset(&bad[7], 'G', sizeof(bad[7]));
	pid[0] = start(0, 3, port, add_up, &fd[0]);
	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		int s = go_there(port);

		ck_assert_int_eq(send(s, &bad[i], sizeof(bad[i]), MSG_NOSIGNAL), sizeof(bad[i]));
		ck_assert_msg(closed_within(s, 3000), "stranger %zu", i);
		close(s);
	}
	half = go_there(port); /* half a frame, then closed */
	ck_assert(send(half, &good, 100, MSG_NOSIGNAL) == 100);
	close(half);
	half = go_there(port); /* a rank that connects and ends before the others connect */
	ck_assert(send(half, &good, sizeof(good), MSG_NOSIGNAL) == sizeof(good));
	usleep(300000);
	close(half);
	for (size_t i = 0; i < GT_ARRAY_SIZE(flood); i++)
		flood[i] = go_there(port);
	slow = go_there(port); /* half a frame, kept open */
	ck_assert(send(slow, &good, 100, MSG_NOSIGNAL) == 100);
	ck_assert(closed_within(flood[0], 3000)); /* the oldest connection is closed */
	ck_assert(closed_within(slow, 9000));
	for (int i = 1; i < 3; i++)
		pid[i] = start(i, 3, port, add_up, &fd[i]);
	for (int i = 0; i < 3; i++)
		ck_assert_msg(finish(pid[i], fd[i], said) == 0, "rank %d: %s", i, said);
	for (size_t i = 0; i < GT_ARRAY_SIZE(flood); i++)
		close(flood[i]);
	close(slow);
}
END_TEST

/* A rank with the same number, or of another job, gets the reason for its rejection. */
START_TEST(a_duplicate_rank_is_reported)
{
	struct rt_rendezvous m = meeting(1, 3, free_port());
	struct rt_comm *c = NULL;
	struct gt_err err = {0};
	int fd[3], other;
	pid_t pid[3];
	char said[512];
	const struct rt_frame good = {.magic = RT_FRAME_MAGIC, .kind = RT_HELLO, .rank = 1, .job = JOB};

	pid[0] = start(0, 3, m.port, add_up, &fd[0]);
	other = go_there(m.port);
	ck_assert(send(other, &good, sizeof(good), MSG_NOSIGNAL) == sizeof(good));
	usleep(300000);
	ck_assert_int_eq(rt_star_join(&m, &c, &err), -ECONNREFUSED);
	ck_assert_msg(strstr(err.msg, "has ended, or belongs to another job, or already has a rank 1"), "%s", err.msg);
	close(other);
	m.job++;
	ck_assert_int_eq(rt_star_join(&m, &c, &err), -ECONNREFUSED);
	for (int i = 1; i < 3; i++)
		pid[i] = start(i, 3, m.port, add_up, &fd[i]);
	for (int i = 0; i < 3; i++)
		ck_assert_msg(finish(pid[i], fd[i], said) == 0, "rank %d: %s", i, said);
}
END_TEST

START_TEST(missing_ranks_are_named)
{
	struct rt_rendezvous m = meeting(0, 3, free_port());
	struct rt_comm *c = NULL;
	struct gt_err err = {0};
	int taken = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons((uint16_t)m.port)};

	m.patience_s = 0.3;
	ck_assert_int_eq(rt_star_join(&m, &c, &err), -ETIMEDOUT);
	ck_assert_msg(strstr(err.msg, "rank 1 of the 3 that torchrun started has not connected to 127.0.0.1 port"), "%s",
		      err.msg);
	m.rank = 1;
	ck_assert_int_lt(rt_star_join(&m, &c, &err), 0);
	ck_assert_msg(strstr(err.msg, "after 0.3 s: rank 0 cannot be reached at 127.0.0.1 port"), "%s", err.msg);
	snprintf(m.host, sizeof(m.host), "no-such-host.invalid");
	ck_assert_int_lt(rt_star_join(&m, &c, &err), 0);
	ck_assert_msg(strstr(err.msg, "the host of rank 0, no-such-host.invalid, cannot be resolved"), "%s", err.msg);
	m = meeting(0, 3, m.port);
	ck_assert(bind(taken, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(taken, 1) == 0);
	ck_assert_int_lt(rt_star_join(&m, &c, &err), 0);
	ck_assert_msg(strstr(err.msg, "rank 0 cannot listen at 127.0.0.1 port"), "%s", err.msg);
	close(taken);
}
END_TEST

/* ---- loss of a rank ---- */

static int wait_for_ever(struct rt_comm *c, int rank, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	int r = rt_comm_gather(c, rank, all, err);

	for (int i = 0; !r && i < 3000; i++) {
		r = rt_comm_alive(c, err);
		usleep(10000);
	}
	return r;
}

START_TEST(a_lost_rank_ends_the_others_by_name)
{
	int port = free_port(), fd[3];
	pid_t pid[3];
	char said[512], want[64];

	for (int i = 0; i < 3; i++)
		pid[i] = start(i, 3, port, wait_for_ever, &fd[i]);
	usleep(700000);
	kill(pid[_i], SIGKILL);
	snprintf(want, sizeof(want), "rank %d has ended: its connection", _i);
	for (int i = 0; i < 3; i++) {
		int status = finish(pid[i], fd[i], said);

		ck_assert_int_eq(status, i == _i ? 128 + SIGKILL : 1);
		ck_assert_msg(i == _i || strstr(said, want), "rank %d: %s", i, said);
	}
}
END_TEST

/* Rank `victim` ends before it takes the memory that rank 0 passes. */
static int victim;

static int share_memory(struct rt_comm *c, int rank, struct gt_err *err)
{
	uint64_t key = (uint64_t)getppid() << 16 | 1;
	double all[RT_MAX_RANKS];
	struct rt_comm *local = NULL;
	int fd = -1, r = rank ? 0 : rt_local_listen(key, &fd, err);

	if (!r)
		r = rt_comm_gather(c, rank, all, err);
	if (!r && rank == victim)
		_exit(2);
	if (!r)
		r = rt_local_join(fd, key, rank, rt_comm_size(c), c, &local, err);
	return r ? r : rt_comm_gather(c, rank, all, err);
}

START_TEST(a_rank_that_ends_before_it_shares_memory_is_named)
{
	int port = free_port(), fd[3];
	pid_t pid[3];
	char said[512], want[64];

	victim = _i;
	snprintf(want, sizeof(want), "rank %d has ended: its connection", _i);
	for (int i = 0; i < 3; i++)
		pid[i] = start(i, 3, port, share_memory, &fd[i]);
	for (int i = 0; i < 3; i++) {
		int status = finish(pid[i], fd[i], said);

		ck_assert_int_eq(status, i == _i ? 2 : 1);
		ck_assert_msg(i == _i || strstr(said, want), "rank %d: %s", i, said);
	}
}
END_TEST

/* Rank 1 ends normally while rank 0 still waits for its value. */
static int leave_early(struct rt_comm *c, int rank, struct gt_err *err)
{
	double all[RT_MAX_RANKS];

	return rank ? 0 : rt_comm_gather(c, 0, all, err);
}

START_TEST(a_rank_that_leaves_early_is_named)
{
	int port = free_port(), fd[2], status[2];
	pid_t pid[2];
	char said[2][512];

	for (int i = 0; i < 2; i++)
		pid[i] = start(i, 2, port, leave_early, &fd[i]);
	for (int i = 1; i >= 0; i--)
		status[i] = finish(pid[i], fd[i], said[i]);
	ck_assert_int_eq(status[1], 0);
	ck_assert_int_eq(status[0], 1);
	ck_assert_str_eq(said[0], "rank 1 has ended before the others");
}
END_TEST

START_TEST(a_rank_that_sends_garbage_is_dropped)
{
	struct rt_frame f = {.magic = RT_FRAME_MAGIC, .kind = RT_HELLO, .rank = 1, .job = JOB};
	int port = free_port(), fd, s;
	pid_t pid = start(0, 2, port, wait_for_ever, &fd);
	char said[512];

	s = go_there(port);
	ck_assert(send(s, &f, sizeof(f), MSG_NOSIGNAL) == sizeof(f));
	ck_assert(recv(s, &f, sizeof(f), MSG_WAITALL) == sizeof(f) && f.kind == RT_WELCOME && !f.rank);
	f.rank = 1;
	f.kind = RT_CAME; /* values that are no counts are ignored */
	f.value[0] = (double)NAN;
	ck_assert(send(s, &f, sizeof(f), MSG_NOSIGNAL) == sizeof(f));
	f.rank = 0;
	ck_assert(send(s, &f, sizeof(f), MSG_NOSIGNAL) == sizeof(f));
	ck_assert_int_eq(finish(pid, fd, said), 1);
	ck_assert_str_eq(said, "rank 1 has ended: it sent an invalid message");
	close(s);
}
END_TEST

/* A rank in a long computation reads nothing. Its queue stays small, and the other ranks do not treat it as lost. */
START_TEST(a_computing_rank_is_not_flooded)
{
	struct rt_frame f = {.magic = RT_FRAME_MAGIC, .kind = RT_HELLO, .rank = 1, .job = JOB};
	int port = free_port(), fd, s, waits = 0;
	pid_t pid = start(0, 2, port, wait_for_ever, &fd);
	char said[512];

	s = go_there(port);
	ck_assert(send(s, &f, sizeof(f), MSG_NOSIGNAL) == sizeof(f));
	ck_assert(recv(s, &f, sizeof(f), MSG_WAITALL) == sizeof(f) && f.kind == RT_WELCOME);
	usleep(4000000);
	ck_assert(ioctl(s, FIONREAD, &waits) == 0);
	ck_assert_msg(waits > 0 && waits <= 8 * (int)sizeof(f), "%d bytes wait", waits);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(finish(pid, fd, said), 128 + SIGKILL);
	close(s);
}
END_TEST

/* Rank 1 stops: the message of a rank that waits for its device names rank 1. */
static int stop_one(struct rt_comm *c, int rank, struct gt_err *err)
{
	double all[RT_MAX_RANKS], until;
	int r = rt_comm_gather(c, rank, all, err), who = -1;

	if (r)
		return r;
	if (rank != 1)
		rt_comm_arrive(c);
	for (until = gt_now_s() + 10; !r && rank != 1 && who != 1 && gt_now_s() < until; usleep(10000)) {
		r = rt_comm_alive(c, err);
		who = rt_comm_missing_rank(c);
	}
	if (!r && rank != 1 && who != 1)
		r = gt_fail(err, EPROTO, "rank %d is behind, not 1", who);
	return r ? r : rt_comm_gather(c, rank, all, err);
}

START_TEST(all_ranks_learn_the_slowest_rank)
{
	int port = free_port(), fd[3];
	pid_t pid[3];
	char said[512];

	for (int i = 0; i < 3; i++)
		pid[i] = start(i, 3, port, stop_one, &fd[i]);
	for (int i = 0; i < 3; i++)
		ck_assert_msg(finish(pid[i], fd[i], said) == 0, "rank %d: %s", i, said);
}
END_TEST

/* ---- as a rank ---- */

/* All ranks have the same batch, so that the loss equals that of one rank. */
static int train(const char *steps, struct rt_comm *c, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = rt_model_mlp(g, 4, (const int64_t[]){3, 5, 2}, 3);
	const struct rt_options o = {.device = RT_CUDA, .optimizer = {.kind = RT_SGD, .lr = 0.1}, .ranks = {.comm = c}};
	const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	const int32_t y[4] = {0, 1, 1, 0};
	struct rt_metrics m = {0};
	uint64_t n = 0;
	int r = gt_parse_u64(steps, &n);

	if (!r)
		r = rt_compile(g, loss, &o, &p, err);
	for (uint64_t i = 0; !r && i < n; i++) {
		r = rt_step(p, (const void *const[]){x, y}, &m, err);
		if (!r && !i)
			fprintf(stderr, "under way\n");
	}
	if (!r)
		r = rt_wait(p, err);
	if (!r)
		printf("rank %d of %d, local %d, on %d hosts over %s, %s, loss %.6f\n", c ? rt_comm_rank(c) : 0,
		       c ? rt_comm_size(c) : 1, c ? rt_comm_local_rank(c) : 0, c ? rt_comm_hosts(c) : 1,
		       c ? rt_comm_transport(c) : "nothing", c && *rt_comm_place(c) ? rt_comm_place(c) : "anywhere",
		       m.loss);
	return r;
}

static int train_and_tell(const char *steps)
{
	gt_auto(rt_comm) *c = NULL;
	struct gt_err err = {0};
	int r = rt_env_started() ? rt_comm_env(false, false, rt_cuda_home_own, &c, &err) : 0;

	if (!r)
		r = train(steps, c, &err);
	if (r) {
		printf("rank %d: %s\n", c ? rt_comm_rank(c) : -1, err.msg);
		fflush(NULL);
		rt_comm_abort(c, 1);
	}
	return 0;
}

int main(int argc, char **argv)
{
	Suite *s = suite_create("meet");
	TCase *t = tcase_create("environment"), *p = tcase_create("port");
	SRunner *r;
	int failed;

	if (argc == 3 && gt_streq(argv[1], "train"))
		return train_and_tell(argv[2]);
	if (argc == 2 && gt_streq(argv[1], "homes"))
		return printf("%d %d %d, own %d\n", rt_cuda_home(0), rt_cuda_home(1), rt_cuda_home(2),
			      rt_cuda_home_own(1)) < 0;
	tcase_add_loop_test(t, variables_identify_a_rank, 0, 10);
	tcase_add_test(t, a_single_process_is_no_rank);
	tcase_add_loop_test(t, invalid_variables_are_refused, 0, 15);
	tcase_add_test(t, the_first_of_a_list_of_hosts);
	tcase_set_timeout(p, 120);
	tcase_add_test(p, ranks_gather_the_values_of_all);
	tcase_add_test(p, connections_of_other_jobs_are_rejected);
	tcase_add_test(p, a_duplicate_rank_is_reported);
	tcase_add_test(p, missing_ranks_are_named);
	tcase_add_loop_test(p, a_lost_rank_ends_the_others_by_name, 0, 3);
	tcase_add_loop_test(p, a_rank_that_ends_before_it_shares_memory_is_named, 1, 3);
	tcase_add_test(p, a_rank_that_leaves_early_is_named);
	tcase_add_test(p, a_rank_that_sends_garbage_is_dropped);
	tcase_add_test(p, a_computing_rank_is_not_flooded);
	tcase_add_test(p, all_ranks_learn_the_slowest_rank);
	suite_add_tcase(s, t);
	suite_add_tcase(s, p);
	suite_add_tcase(s, case_places());
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
