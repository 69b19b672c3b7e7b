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
#define SHRINK_S     20

/* The outcome of one program, written by its process. */
struct outcome {
	int property; /* the property that runs, or that failed */
	bool good;
	char message[1024];
	const char *kind;
	int discarded[VARIANTS_MOST];
	long compared, imprecise; /* counts of gradients over all programs */
};

struct request {
	int programs, property; /* property -1: all properties */
	uint64_t seed;
	double seconds; /* time limit; 0: no limit */
	bool print;	/* print all programs */
	bool once;	/* stop at the first counterexample */
};

static struct outcome *outcome; /* memory shared with the child process */
static int seen[VARIANTS_MOST], failed[VARIANTS_MOST];

static void draw_seed(struct gen_program *m, uint64_t seed)
{
	uint8_t bytes[GEN_BYTES];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(rt_random_u64(seed, 1, i) >> 13);
	gen_draw(m, bytes, sizeof(bytes));
}

static void check_properties(const struct gen_program *m, int only)
{
	outcome->good = true;
	for (int w = 0; w < n_variants && outcome->good; w++) {
		struct gen_program mine = *m;
		struct trial t = { .m = &mine };

		if (only >= 0 && w != only)
			continue;
		outcome->property = w;
		outcome->good = variants[w].holds(&t);
		outcome->good |= t.refused;
		read_clear();
		outcome->discarded[w] += t.discarded || t.refused;
		outcome->compared += t.compared;
		outcome->imprecise += t.imprecise;
		memcpy(outcome->message, t.message, sizeof(t.message));
		outcome->kind = t.kind;
	}
}

/* Runs the program in a child process. Returns true if all properties hold. */
static bool try_program(const struct gen_program *m, int only, int limit_s)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	outcome->message[0] = '\0';
	outcome->kind = NULL;
	outcome->good = false;
	pid = fork();
	if (pid == 0) {
		/* CPU time, because the machine may be busy. The alarm ends a rank that waits for ever. */
		setrlimit(RLIMIT_CPU, &(struct rlimit){ (rlim_t)limit_s, (rlim_t)limit_s });
		alarm(10 * (unsigned)limit_s);
		check_properties(m, only);
		exit(0); /* exit() runs the leak check */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		exit(2);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) && outcome->good)
		snprintf(outcome->message, sizeof(outcome->message), "%s", "the process leaks memory");
	else if (status)
		snprintf(outcome->message, sizeof(outcome->message), "the process died: wait status %#x", (unsigned)status);
	return outcome->good && !status;
}

static void shrink(struct gen_program *m, int property)
{
	double until = gt_now_s() + SHRINK_S;
	struct outcome before = *outcome; /* programs that shrinking made are not counted */
	const char *kind = outcome->kind;
	struct gen_program smaller;
	bool again = true;
	int null = open("/dev/null", O_WRONLY), old = dup(2);

	dup2(null, 2);
	while (again && gt_now_s() < until) {
		again = false;
		for (int k = 0; gt_now_s() < until && gen_shrink(m, k, &smaller); k++) {
			if (!smaller.n || try_program(&smaller, property, 10) || outcome->kind != kind)
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
	try_program(m, property, 30);
	outcome->compared = before.compared;
	outcome->imprecise = before.imprecise;
	memcpy(outcome->discarded, before.discarded, sizeof(before.discarded));
}

static void report(struct gen_program *m, const char *name, int property, bool as_found)
{
	printf("# %s: %s: %s\n", name, variants[property].name, outcome->message);
	if (as_found)
		return;
	if (variants[property].holds != variant_refused)
		shrink(m, property);
	printf("# shrunk: %s\n", outcome->message);
	gen_print(m, stdout);
	fflush(stdout);
}

static bool check_program(struct gen_program *m, const char *name, const struct request *a)
{
	bool good;
	int property;

	if (a->print) {
		printf("# %s\n", name);
		gen_print(m, stdout);
	}
	good = try_program(m, a->property, TIME_LIMIT_S);

	property = outcome->property;
	for (int w = 0; w < n_variants; w++) {
		seen[w] += a->property < 0 ? good || w < property : w == a->property && good;
		failed[w] += !good && w == property;
	}
	if (!good)
		report(m, name, property, a->once);
	return good;
}

static void check_file(const char *path, const struct request *a)
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

static int summary(const struct request *a)
{
	int bad = 0, n = 0;

	for (int w = 0; w < n_variants; w++) {
		if (a->property >= 0 && w != a->property)
			continue;
		printf("%s %d - %d random programs: %s (%d discarded)\n", failed[w] ? "not ok" : "ok", ++n, seen[w] + failed[w],
		       variants[w].property, outcome->discarded[w]);
		bad += failed[w];
	}
	if (outcome->compared)
		printf("# %ld gradients compared in f32; %.1f %% of them have an error bound of 2 %% or more\n", outcome->compared,
		       100.0 * (double)outcome->imprecise / (double)outcome->compared);
	printf("1..%d\n", n);
	return bad != 0;
}

static int find_property(const char *name)
{
	for (int w = 0; w < n_variants; w++)
		if (gt_streq(variants[w].name, name))
			return w;
	fprintf(stderr, "no property '%s'\n", name);
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
	struct request a = { .programs = variants_programs, .property = -1, .seed = (uint64_t)variants_first };
	double start = gt_now_s();
	const char *libraries = variants_libraries;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:w:d:p1r")) != -1) {
		if (opt == 'n')
			a.programs = atoi(optarg);
		else if (opt == 's')
			a.seed = strtoull(optarg, NULL, 10);
		else if (opt == 'w')
			a.property = find_property(optarg);
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
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcome == MAP_FAILED)
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
