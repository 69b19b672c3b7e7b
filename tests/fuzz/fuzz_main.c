/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without libFuzzer in `make check`: each file of the corpus unchanged, then with mutations that
 * depend only on its name. Each file has its own process and time limit, and one TAP line.
 *
 *   fuzz_NAME [-r ROUNDS] [FILE|DIR...]   default: $TESTDIR/fuzz/corpus/NAME
 *
 * An input that crashes the target is saved as crash-NAME-FILE.
 */
#include "tests/fuzz/fuzz.h"

#ifndef GT_LIBFUZZER
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/util.h"

#define INPUT_MAX  (1u << 20)
#define TIME_LIMIT_S 240

struct input {
	size_t size;
	uint8_t data[INPUT_MAX];
};

static struct input *current; /* shared with the child: its action at the time of a crash */
static unsigned long long rounds;
static unsigned n_done;
static int n_failed;

/* xorshift64*: the same mutations on every host */
static uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

static void insert(struct input *in, size_t at, const void *bytes, size_t n)
{
	if (in->size + n > INPUT_MAX)
		return;
	memmove(in->data + at + n, in->data + at, in->size - at);
	memcpy(in->data + at, bytes, n);
	in->size += n;
}

static void erase(struct input *in, size_t at, size_t n)
{
	if (n > in->size - at)
		n = in->size - at;
	memmove(in->data + at, in->data + at + n, in->size - at - n);
	in->size -= n;
}

/* Values that often break parsers, written over a part of the file. */
static const char *const grit[] = {
	"-1", "0", "18446744073709551616", "9223372036854775807", "-9223372036854775808", "1e999", "NaN", "0x", "4294967295",
	"\n", "\n\n", "\t", "\r\n", " ", "\"", "\\", "\\u0000", "\\ud800", "[", "]", "{", "}", ",", ":", "-", "..", "/", "/..",
	"../../", "%s%n", "\xff\xfe", "\xf0\x9f\x92\xa9", "\xc0\x80", "null", "true", "{\"a\":", "[[[[[[[[", "file ", "link ",
};

static void mutate(struct input *in, uint64_t *rng)
{
	size_t at = in->size ? next(rng) % in->size : 0, from, n;
	uint8_t piece[64];
	const char *g;

	switch (next(rng) % 7) {
	case 0:
		in->size = at;
		break;
	case 1:
		if (in->size)
			in->data[at] ^= (uint8_t)(1u << next(rng) % 8);
		break;
	case 2:
		if (in->size)
			in->data[at] = (uint8_t)next(rng);
		break;
	case 3:
		erase(in, at, 1 + next(rng) % 16);
		break;
	case 4: /* copies a piece to another position */
		from = in->size ? next(rng) % in->size : 0;
		n = 1 + next(rng) % sizeof(piece);
		if (n > in->size - from)
			n = in->size - from;
		memcpy(piece, in->data + from, n);
		insert(in, at, piece, n);
		break;
	default:
		g = grit[next(rng) % (sizeof(grit) / sizeof(*grit))];
		if (next(rng) % 2)
			erase(in, at, strlen(g));
		insert(in, at, g, strlen(g));
	}
}

/* Copies to memory of the exact size, so that a sanitizer detects an overrun by one byte. */
static void try_current(void)
{
	uint8_t *exact = malloc(current->size ? current->size : 1);

	if (!exact)
		_exit(2);
	memcpy(exact, current->data, current->size);
	LLVMFuzzerTestOneInput(exact, current->size);
	free(exact);
}

static void try_all(const struct input *seed, const char *name)
{
	uint64_t rng = gt_hash64(name, strlen(name), 0) | 1;

	alarm(TIME_LIMIT_S);
	for (unsigned long long i = 0; i <= rounds; i++) {
		current->size = seed->size;
		memcpy(current->data, seed->data, seed->size);
		for (unsigned n = i ? 1 + next(&rng) % 4 : 0; n; n--)
			mutate(current, &rng);
		try_current();
	}
}

static void keep_crash(const char *target, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "crash-%s-%s", target, name);
	f = fopen(path, "wb");
	if (!f || fwrite(current->data, 1, current->size, f) != current->size)
		perror(path);
	else
		printf("# the input is kept in %s\n", path);
	if (f)
		fclose(f);
}

static void run_file(const char *target, const char *path)
{
	static struct input seed;
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	FILE *f = fopen(path, "rb");
	int status = 0;
	pid_t pid;

	if (!f) {
		printf("not ok %u - %s: %s: %s\n", ++n_done, target, path, strerror(errno));
		n_failed++;
		return;
	}
	seed.size = fread(seed.data, 1, INPUT_MAX, f);
	fclose(f);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		try_all(&seed, name);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
		printf("not ok %u - %s: %s\n# wait status %#x%s\n", ++n_done, target, name, status,
		       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (it hangs)" : "");
		keep_crash(target, name);
		n_failed++;
		return;
	}
	printf("ok %u - %s: %s and %llu changed copies of it\n", ++n_done, target, name, rounds);
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void run_path(const char *target, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, visible, alphasort);

	if (n < 0) {
		run_file(target, path);
		return;
	}
	for (int i = 0; i < n; i++) {
		char *file;

		if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
			exit(2);
		run_file(target, file);
		free(file);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const char *target = strncmp(base, "fuzz_", 5) ? base : base + 5;
	const char *testdir = getenv("TESTDIR");
	int opt;

	rounds = fuzz_rounds;
	while ((opt = getopt(argc, argv, "r:")) != -1) {
		if (opt != 'r') {
			fprintf(stderr, "Usage: %s [-r ROUNDS] [FILE|DIR...]\n", base);
			return 64;
		}
		rounds = strtoull(optarg, NULL, 10);
	}
	current = mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (current == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	if (optind < argc) {
		for (int i = optind; i < argc; i++)
			run_path(target, argv[i]);
	} else {
		char dir[4096];

		snprintf(dir, sizeof(dir), "%s/fuzz/corpus/%s", testdir ? testdir : "tests", target);
		run_path(target, dir);
	}
	printf("1..%u\n", n_done);
	return n_failed || !n_done;
}
#endif
