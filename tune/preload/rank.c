/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgputune-rank.so: `gputune run` preloads it into the command and its descendants. In the first process of each rank (a
 * process with a launcher's variables) the constructor asks `gputune rank` for the settings of this rank. It applies CPUs and
 * memory policy, and executes the program again with the rank's environment. setenv() alone would not reach an OpenMP runtime
 * that the loader initialised before. In other processes the constructor returns.
 *
 * If anything fails, nothing is changed and the program continues. Only symbols up to GLIBC_2.17 are used, so that
 * older containers can load the file: no stat(), fcntl() or strtol().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tune/preload/rank_variables.h"

#define LIBRARY	   "libgputune-rank.so"
#define OWN_FILE   "/proc/self/exe"
#define NULL_FILE  "/dev/null"
#define ANSWER_MAX 262144
#define WAIT_MS	   5000 /* longest wait for the answer */
#define CPU_WORDS  128
#define BITS	   (8 * sizeof(unsigned long))

static const char *get(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

static void remove_variable(char **envp, const char *name, size_t n)
{
	char **to = envp;

	for (char **e = envp; *e; e++)
		if (strncmp(*e, name, n) != 0 || (*e)[n] != '=')
			*to++ = *e;
	*to = NULL;
}

static void set_variable(char **envp, char *assignment)
{
	remove_variable(envp, assignment, strcspn(assignment, "="));
	while (*envp)
		envp++;
	envp[0] = assignment;
	envp[1] = NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* Returns whether the blank-separated list has this word. */
static bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

/* ---- programs that lead to another root or host --------------------------------------------------------------------- */

/* Their file systems may lack this library, and ld.so would print an error in each process. */
static const char containers[] = "apptainer singularity starter enroot ch-run shifter udocker bwrap proot chroot schroot "
				 "nsenter podman docker nerdctl crun runc systemd-nspawn flatpak snap fakechroot";
static const char batch[] = "sbatch qsub bsub condor_submit flux";
static const char mpi[] = "mpirun mpiexec orterun prterun mpiexec.hydra mpirun.openmpi mpiexec.openmpi mpirun.mpich "
			  "mpiexec.mpich horovodrun";
static const char host_options[] = "-H -host --host -hosts --hosts -hostfile --hostfile -machinefile --machinefile -f "
				   "-default-hostfile --default-hostfile";

/* Returns whether this process runs in a job of one host. On a login node no variable names the host. */
static bool job_of_one_host(char *const *envp)
{
	const char *nodes = get(envp, "SLURM_JOB_NUM_NODES");

	nodes = nodes ? nodes : get(envp, "SLURM_NNODES");
	return get(envp, "SLURMD_NODENAME") && nodes && !strcmp(nodes, "1");
}

static bool names_other_hosts(char *const *argv, char *const *envp)
{
	const char *nodes = get(envp, "SLURM_JOB_NUM_NODES");

	if (nodes && strcmp(nodes, "1") != 0)
		return true;
	for (; *argv; argv++)
		if (in_list(host_options, *argv) && argv[1] && (strncmp(argv[1], "localhost", 9) != 0 || strchr(argv[1], ',')))
			return true;
	return false;
}

static bool leads_elsewhere(char *const *argv, char *const *envp)
{
	const char *name = base_name(argv[0]);
	bool interpreter = !strncmp(name, "python", 6) || !strcmp(name, "bash") || !strcmp(name, "sh");

	if (interpreter && argv[0])
		name = base_name(argv[1]);
	if (in_list(containers, name) || in_list(batch, name))
		return true;
	if (!strcmp(name, "srun"))
		return !job_of_one_host(envp);
	return in_list(mpi, name) && names_other_hosts(argv, envp);
}

/* Removes this library from the value in place. Programs in Go read the strings on the stack, not environ. */
static void leave_preload(char *const *envp)
{
	char *list = (char *)get(envp, "LD_PRELOAD"), *to = list;

	for (char *word = list, *next; word && *word; word = next) {
		size_t n = strcspn(word, ": ");
		bool own = n >= sizeof(LIBRARY) - 1 && !strncmp(word + n - (sizeof(LIBRARY) - 1), LIBRARY, sizeof(LIBRARY) - 1);

		next = word + n + (word[n] != '\0');
		if (own)
			continue;
		memmove(to, word, (size_t)(next - word));
		to += next - word;
	}
	if (to)
		*to = '\0';
}

/* ---- rank ------------------------------------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	return text && *text && strspn(text, "0123456789") == strlen(text);
}

static void append(char *to, size_t size, const char *word)
{
	size_t have = strlen(to), n = strlen(word);

	if (have + n < size)
		memcpy(to + have, word, n + 1);
}

/* Writes the rank as in TN_RANK_DONE. Returns false if no launcher has set one. */
static bool rank_of(char *const *envp, char *identity, size_t size)
{
#define NAMES(index, count, world) {index, count},
	static const char *const variables[][2] = {TN_RANK_VARIABLES(NAMES)};
#undef NAMES
	bool found = false;

	*identity = '\0';
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *count = get(envp, variables[i][1]);

		if (!is_number(get(envp, variables[i][0])) || !count)
			continue;
		found = true;
		for (size_t k = 0; k < 2; k++) {
			append(identity, size, variables[i][k]);
			append(identity, size, "=");
			append(identity, size, get(envp, variables[i][k]));
			append(identity, size, " ");
		}
	}
	return found;
}

/* ---- answer of gputune rank ------------------------------------------------------------------------------------------- */

static char *answer;

static void *grab(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A copy of the environment with room for n more variables; NULL: no memory. */
static char **copy_environment(char *const *envp, size_t more)
{
	char **copy;
	size_t n = 0;

	while (envp[n])
		n++;
	copy = grab((n + more + 1) * sizeof(*copy));
	if (copy)
		memcpy(copy, envp, (n + 1) * sizeof(*copy));
	return copy;
}

/* Executes gputune rank. done: TN_RANK_DONE=…, because this library is preloaded into that program too. */
static _Noreturn void ask(const char *program, int argc, char **argv, char **envp, char *done, int to)
{
	char **words = grab(((size_t)argc + 4) * sizeof(*words)), **changed = copy_environment(envp, 1);
	int null = open(NULL_FILE, O_RDONLY | O_CLOEXEC);

	if (words && changed && null >= 0 && dup2(null, 0) == 0 && dup2(to, 1) == 1) {
		words[0] = (char *)"gputune";
		words[1] = (char *)"rank";
		words[2] = (char *)"--";
		memcpy(words + 3, argv, ((size_t)argc + 1) * sizeof(*words));
		set_variable(changed, done);
		execve(program, words, changed);
	}
	_exit(127);
}

static long now_ms(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_MONOTONIC, &t) < 0 ? 0 : t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads up to the end of the file. Returns the length; 0: none within the time limit. */
static size_t read_answer(int fd)
{
	long end = now_ms() + WAIT_MS;
	size_t n = 0;

	while (n < ANSWER_MAX - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		long left = end - now_ms();
		ssize_t r;

		if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
			return 0;
		if (!p.revents)
			continue;
		r = read(fd, answer + n, ANSWER_MAX - 1 - n);
		if (r < 0 && errno != EINTR)
			return 0;
		if (!r)
			return n;
		n += r > 0 ? (size_t)r : 0;
	}
	return 0;
}

/* Returns whether the answer is complete: the first record is the version, the last one is ".". */
static bool is_complete(size_t n)
{
	return n > sizeof(TN_RANK_ANSWER) + 1 && !memcmp(answer, TN_RANK_ANSWER, sizeof(TN_RANK_ANSWER)) &&
	       !memcmp(answer + n - 3, "\0.", 3);
}

/* The child sends no SIGCHLD, which could stay pending in a program that blocks it. */
static bool get_answer(const char *program, int argc, char **argv, char **envp, char *done)
{
	int pipes[2], status;
	size_t n = 0;
	long pid;

	answer = grab(ANSWER_MAX);
	if (!answer || pipe2(pipes, O_CLOEXEC) < 0)
		return false;
	pid = pipes[0] > 2 && pipes[1] > 2 ? syscall(SYS_clone, 0ul, 0ul, 0ul, 0ul, 0ul) : -1;
	if (!pid)
		ask(program, argc, argv, envp, done, pipes[1]);
	close(pipes[1]);
	if (pid > 0) {
		n = read_answer(pipes[0]);
		if (!n)
			kill((pid_t)pid, SIGKILL);
		while (waitpid((pid_t)pid, &status, __WALL) < 0 && errno == EINTR)
			;
	}
	close(pipes[0]);
	return is_complete(n);
}

/* ---- settings --------------------------------------------------------------------------------------------------------- */

/* State of this process before the settings were applied. */
struct before {
	unsigned long cpus[CPU_WORDS];
	long cpu_bytes; /* 0: the CPUs are unchanged */
	bool policy;	/* the memory policy was changed; it was the default */
	struct rlimit files;
};

static unsigned long number(const char **p)
{
	unsigned long v = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++)
		v = v * 10 + (unsigned long)(**p - '0');
	return v;
}

/* Parses "0-3,8". */
static void parse_list(const char *p, unsigned long *mask)
{
	while (*p) {
		unsigned long first = number(&p), last = *p == '-' ? (p++, number(&p)) : first;

		for (; first <= last && first < CPU_WORDS * BITS; first++)
			mask[first / BITS] |= 1ul << first % BITS;
		p += *p == ',' ? 1 : strlen(p);
	}
}

static void set_cpus(const char *list, struct before *b)
{
	unsigned long mask[CPU_WORDS] = {0};

	parse_list(list, mask);
	b->cpu_bytes = syscall(SYS_sched_getaffinity, 0, sizeof(b->cpus), b->cpus);
	if (b->cpu_bytes <= 0 || syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask) < 0)
		b->cpu_bytes = 0;
}

static void set_policy(const char *text, struct before *b)
{
	unsigned long mask[CPU_WORDS] = {0}, mode = number(&text);

	if (*text++ != ' ')
		return;
	parse_list(text, mask);
	b->policy = syscall(SYS_set_mempolicy, mode, mask, 1024ul) == 0;
}

static void set_files(const char *text)
{
	struct rlimit l;
	unsigned long files = number(&text);

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || files <= l.rlim_cur)
		return;
	l.rlim_cur = files < l.rlim_max ? files : l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void restore(const struct before *b)
{
	if (b->cpu_bytes)
		syscall(SYS_sched_setaffinity, 0, (size_t)b->cpu_bytes, b->cpus);
	if (b->policy)
		syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul);
	setrlimit(RLIMIT_NOFILE, &b->files);
}

/* Applies the records. Returns the new environment; NULL: no memory, and nothing is changed. */
static char **apply(char **envp, struct before *b)
{
	size_t records = 0;
	char **changed;

	for (const char *p = answer; *p != '.' || p[1]; p += strlen(p) + 1)
		records++;
	changed = copy_environment(envp, records);
	if (!changed || getrlimit(RLIMIT_NOFILE, &b->files) < 0)
		return NULL;
	for (char *p = answer; *p != '.' || p[1]; p += strlen(p) + 1)
		if (*p == 'C')
			set_cpus(p + 1, b);
		else if (*p == 'M')
			set_policy(p + 1, b);
		else if (*p == 'F')
			set_files(p + 1);
		else if (*p == 'S')
			set_variable(changed, p + 1);
		else if (*p == 'U')
			remove_variable(changed, p + 1, strlen(p + 1));
	return changed;
}

/* ---- start ------------------------------------------------------------------------------------------------------------ */

/* Returns the file to execute again. The name that the program was started by is kept, except that of a script. */
static const char *own_file(char *path, char *real)
{
	const char *started = (const char *)getauxval(AT_EXECFN);
	ssize_t n = readlink(OWN_FILE, path, PATH_MAX - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	if (started && realpath(started, real) && !strcmp(real, path))
		return started;
	return access(path, X_OK) == 0 ? path : OWN_FILE;
}

/* `ld.so PROGRAM` cannot be executed again: argv no longer has the name of the program in the right place. */
static bool started_by_loader(const char *path)
{
	return !getauxval(AT_BASE) || !strncmp(base_name(path), "ld-", 3) || !strncmp(base_name(path), "ld.so", 5);
}

static void become_rank(const char *program, int argc, char **argv, char **envp, char *done)
{
	struct before before = {0};
	char path[PATH_MAX], real[PATH_MAX];
	const char *file = own_file(path, real);
	char **changed;

	if (!file || started_by_loader(path) || !get_answer(program, argc, argv, envp, done))
		return;
	changed = apply(envp, &before);
	if (!changed)
		return;
	execve(file, argv, changed);
	restore(&before);
}

/* Another C library, such as musl, may load this file. It lacks this function, and passes no arguments to constructors. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
	static char rank[1024] = TN_RANK_DONE "=";
	char *identity = rank + sizeof(TN_RANK_DONE);
	const char *program, *done;

	if (!gnu_get_libc_version || !argv[0] || getauxval(AT_SECURE))
		return;
	if (leads_elsewhere(argv, envp)) {
		leave_preload(envp);
		return;
	}
	program = get(envp, TN_RANK_PROGRAM);
	if (!program || *program != '/' || !strcmp(base_name(argv[0]), "gputune") ||
	    !rank_of(envp, identity, sizeof(rank) - sizeof(TN_RANK_DONE)))
		return;
	done = get(envp, TN_RANK_DONE);
	if (!done || strcmp(done, identity) != 0)
		become_rank(program, argc, argv, envp, rank);
}
