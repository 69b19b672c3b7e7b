/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the number of threads of an OpenMP runtime that is linked (LINKED), or that the program opens itself. */
#include <dlfcn.h>
#include <stdio.h>
#ifdef LINKED
#include <omp.h>
#endif

int main(void)
{
#ifdef LINKED
	printf("%d\n", omp_get_max_threads());
#else
	void *lib = dlopen("libgomp.so.1", RTLD_NOW);
	int (*threads)(void) = lib ? (int (*)(void))dlsym(lib, "omp_get_max_threads") : NULL;

	if (!threads) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	printf("%d\n", threads());
#endif
	return 0;
}
