/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Property-based tests of the runtime: random programs, with all passes and techniques, against the references in double.
 *
 *   check_graphs [-n PROGRAMS] [-s FIRST_SEED] [-w PROPERTY] [-d SECONDS] [-p] [-1] [FILE...]
 *   check_graphs_cuda [-r] …
 *
 * check_graphs_cuda runs the programs on the stand-in driver, or with -r on a real GPU. Prints one TAP line per property. A file
 * has the bytes of one program, such as an input that libFuzzer saved. Each program runs in a process of its own. A counterexample
 * is shrunk and printed with its seed. -1 stops at the first counterexample and does not shrink it. -p prints all programs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/cuda/cuda.h"
#include "tests/graphs/variants.h"

#define TIME_LIMIT_S 120
#define REDUCE_S     20

/* The outcome of one program, written by its process. */
struct told {
	int way; /* the property that runs, or that failed */
	bool good;
	char said[1024];
	const char *kind;
	int passed_over[16];
	long judged, mildly; /* counts of gradients over all programs */
};

struct asked {
	int programs, way; /* way -1: all properties */
	uint64_t seed;
	double seconds; /* time limit; 0: no limit */
	bool print;	/* print all programs */
	bool once;	/* stop at the first counterexample */
};

static struct told *told; /* memory shared with the child process */
static int seen[16], failed[16];

static void draw_seed(struct gen_program *m, uint64_t seed)
{
	uint8_t bytes[GEN_BYTES];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(rt_random_u64(seed, 1, i) >> 13);
	gen_draw(m, bytes, sizeof(bytes));
}

static void try_ways(const struct gen_program *m, int only)
{
	told->good = true;
	for (int w = 0; w < n_variants && told->good; w++) {
		struct gen_program mine = *m;
		struct trial t = { .m = &mine };

		if (only >= 0 && w != only)
			continue;
		told->way = w;
		told->good = variants[w].holds(&t);
		told->good |= t.refused;
		seen_clear();
		told->passed_over[w] += t.passed_over || t.refused;
		told->judged += t.judged;
		told->mildly += t.mildly;
		memcpy(told->said, t.said, sizeof(t.said));
		told->kind = t.kind;
	}
}

/* Runs the program in a child process. Returns true if all properties hold. */
static bool try_program(const struct gen_program *m, int only, int limit_s)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	told->said[0] = '\0';
	told->kind = NULL;
	told->good = false;
	pid = fork();
	if (pid == 0) {
		/* CPU time, because the machine may be busy. The alarm ends a rank that waits for ever. */
		setrlimit(RLIMIT_CPU, &(struct rlimit){ (rlim_t)limit_s, (rlim_t)limit_s });
		alarm(10 * (unsigned)limit_s);
		try_ways(m, only);
		exit(0); /* runs the leak check */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(2);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) && told->good)
		snprintf(told->said, sizeof(told->said), "%s", "it leaks");
	else if (status)
		snprintf(told->said, sizeof(told->said), "it dies: wait status %#x", (unsigned)status);
	return told->good && !status;
}

static void reduce(struct gen_program *m, int way)
{
	double until = gt_now_s() + REDUCE_S;
	struct told before = *told; /* programs of the shrinking are not counted */
	const char *kind = told->kind;
	struct gen_program smaller;
	bool again = true;
	int null = open("/dev/null", O_WRONLY), old = dup(2);

	dup2(null, 2);
	while (again && gt_now_s() < until) {
		again = false;
		for (int k = 0; gt_now_s() < until && gen_smaller(m, k, &smaller); k++) {
			if (!smaller.n || try_program(&smaller, way, 10) || told->kind != kind)
				continue;
			*m = smaller;
			again = true;
			k -= k % 20 + 1; /* try the same step again */
			k = GT_MAX(k, -1);
		}
	}
	dup2(old, 2);
	close(null);
	close(old);
	try_program(m, way, 30);
	told->judged = before.judged;
	told->mildly = before.mildly;
	memcpy(told->passed_over, before.passed_over, sizeof(before.passed_over));
}

static void report(struct gen_program *m, const char *name, int way, bool as_it_is)
{
	printf("# %s: %s: %s\n", name, variants[way].name, told->said);
	if (as_it_is)
		return;
	if (variants[way].holds != variant_refused)
		reduce(m, way);
	printf("# reduced: %s\n", told->said);
	gen_print(m, stdout);
	fflush(stdout);
}

static bool check_program(struct gen_program *m, const char *name, const struct asked *a)
{
	bool good;
	int way;

	if (a->print) {
		printf("# %s\n", name);
		gen_print(m, stdout);
	}
	good = try_program(m, a->way, TIME_LIMIT_S);

	way = told->way;
	for (int w = 0; w < n_variants; w++) {
		seen[w] += a->way < 0 ? good || w < way : w == a->way && good;
		failed[w] += !good && w == way;
	}
	if (!good)
		report(m, name, way, a->once);
	return good;
}

static void check_file(const char *path, const struct asked *a)
{
	gt_autofree char *bytes = NULL;
	size_t n = 0;
	struct gen_program m;
	struct gt_err err = { 0 };

	if (gt_file_read(path, 1 << 20, &bytes, &n, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(2);
	}
	gen_draw(&m, (const uint8_t *)bytes, n);
	check_program(&m, path, a);
}

static int summary(const struct asked *a)
{
	int bad = 0, n = 0;

	for (int w = 0; w < n_variants; w++) {
		if (a->way >= 0 && w != a->way)
			continue;
		printf("%s %d - %d random programs: %s (%d passed over)\n", failed[w] ? "not ok" : "ok", ++n, seen[w] + failed[w],
		       variants[w].promise, told->passed_over[w]);
		bad += failed[w];
	}
	if (told->judged)
		printf("# %ld gradients compared in f32; of %.1f %% rounding may be a fiftieth or more\n", told->judged,
		       100.0 * (double)told->mildly / (double)told->judged);
	printf("1..%d\n", n);
	return bad != 0;
}

static int find_way(const char *name)
{
	for (int w = 0; w < n_variants; w++)
		if (gt_streq(variants[w].name, name))
			return w;
	fprintf(stderr, "no promise '%s'\n", name);
	exit(64);
}

/* Restarts the program with the stand-in libraries first. Unsets the cache directories, so that no timed choice is kept. */
static void run_beside(const char *libraries, char **argv)
{
	const char *now = getenv("LD_LIBRARY_PATH");

	if (!libraries || (now && strstr(now, libraries)))
		return;
	setenv("LD_LIBRARY_PATH", libraries, 1);
	setenv("STANDIN_DEVICES", "4", 1);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	execv("/proc/self/exe", argv);
	perror("/proc/self/exe");
	exit(2);
}

int main(int argc, char **argv)
{
	struct asked a = { .programs = variants_programs, .way = -1, .seed = (uint64_t)variants_first };
	double start = gt_now_s();
	const char *libraries = variants_libraries;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:w:d:p1r")) != -1) {
		if (opt == 'n')
			a.programs = atoi(optarg);
		else if (opt == 's')
			a.seed = strtoull(optarg, NULL, 10);
		else if (opt == 'w')
			a.way = find_way(optarg);
		else if (opt == 'p')
			a.print = true;
		else if (opt == 'r')
			libraries = NULL;
		else if (opt == '1')
			a.once = true;
		else if (opt == 'd')
			a.seconds = atof(optarg);
		else
			return 64;
	}
	if (variants_device == RT_CUDA && !*rt_cuda_built_archs()) {
		puts("1..0 # SKIP built without CUDA kernels");
		return 0;
	}
	run_beside(libraries, argv);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 2;
	for (int i = optind; i < argc; i++)
		check_file(argv[i], &a);
	for (int i = 0; optind == argc && i < a.programs && !(a.seconds > 0 && gt_now_s() - start > a.seconds); i++) {
		char name[32];
		struct gen_program m;

		snprintf(name, sizeof(name), "seed %llu", (unsigned long long)a.seed + (unsigned)i);
		draw_seed(&m, a.seed + (uint64_t)i);
		if (!check_program(&m, name, &a) && a.once)
			break;
	}
	return summary(&a);
}
