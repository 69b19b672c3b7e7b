/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenBLAS for tests; with WHEEL defined, that of a wheel. It uses the kernels named by STANDIN_CORE (STANDIN_WHEEL),
 * for example "Prescott", and accepts others by OPENBLAS_CORETYPE like the real one. "STUBBORN …" accepts none, "ONE …"
 * is built for one processor. Other values make it "hang", "crash" or "exit" when it is loaded, answer "null", "nothing"
 * or "rubbish", or return a text without an "end".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef WHEEL
#define NAME(f) scipy_##f##64_
#define CORE	"STANDIN_WHEEL"
#else
#define NAME(f) f
#define CORE	"STANDIN_CORE"
#endif
#define PAGE 4096

static char core[64] = "Prescott";
static const char *config = "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Prescott MAX_THREADS=64";

/* The array ends at the end of a page. The next page must not be read. */
static char *endless(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + PAGE, PAGE, PROT_NONE) < 0)
		return NULL;
	memset(p, 'A', PAGE);
	return p;
}

__attribute__((constructor)) static void choose(void)
{
	static const char *const known[] = { "Prescott", "Haswell", "Zen", "SkylakeX", "SapphireRapids" };
	const char *said = getenv(CORE), *forced = getenv("OPENBLAS_CORETYPE");

	puts("Hello from a library that talks");
	if (said && !strcmp(said, "hang"))
		for (;;)
			pause();
	if (said && !strcmp(said, "crash"))
		kill(getpid(), SIGSEGV);
	if (said && !strcmp(said, "exit"))
		_exit(0);
	if (said && !strncmp(said, "ONE ", 4)) {
		config = "OpenBLAS 0.3.21 NO_LAPACKE NO_AFFINITY Prescott MAX_THREADS=64";
		said += 4;
		forced = NULL;
	}
	if (said && !strncmp(said, "STUBBORN ", 9)) {
		said += 9;
		forced = NULL;
	}
	if (said)
		snprintf(core, sizeof(core), "%s", said);
	for (size_t i = 0; forced && i < sizeof(known) / sizeof(*known); i++)
		if (!strcasecmp(known[i], forced))
			snprintf(core, sizeof(core), "%s", known[i]);
}

char *NAME(openblas_get_corename)(void);
char *NAME(openblas_get_corename)(void)
{
	if (!strcmp(core, "rubbish"))
		return "\033[31mred\t";
	return !strcmp(core, "null") ? NULL : !strcmp(core, "nothing") ? "" : !strcmp(core, "endless") ? endless() : core;
}

const char *NAME(openblas_get_config)(void);
const char *NAME(openblas_get_config)(void)
{
	return config;
}
