/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries that reports list. For these the loader simulation also records hidden copies, which a search would find
 * later.
 */
#include <string.h>
#include "lib/text.h"
#include "probe/loader/loader.h"

/* dist: the Python distribution that contains the library, NULL if there is none. */
static const struct {
	const char *stem, *dist;
} watched[] = {
	{"libcuda", NULL},
	{"libcudart", "nvidia-cuda-runtime"},
	{"libcudnn", "nvidia-cudnn"},
	{"libnccl", "nvidia-nccl"},
	{"libcublas", "nvidia-cublas"},
	{"libcublasLt", "nvidia-cublas"},
	{"libcufft", "nvidia-cufft"},
	{"libcusparse", "nvidia-cusparse"},
	{"libnvrtc", "nvidia-cuda-nvrtc"},
	{"libnvJitLink", "nvidia-nvjitlink"},
	{"libcupti", "nvidia-cuda-cupti"},
	{"libnvidia-ml", NULL},
	{"libstdc++", NULL},
	{"libgomp", NULL},
	{"libiomp5", "intel-openmp"},
	{"libomp", NULL},
	{"libmpi", NULL},
	{"libmkl_rt", "mkl"},
	{"libblas", NULL},
	{"libopenblas", NULL},
};

/* Accepts "libcudart.so.12" and auditwheel's "libcudart-d0da41ae.so.11.0" for the stem "libcudart", but not "libcudart2.so". */
bool pr_has_stem(const char *soname, const char *stem)
{
	size_t n = strlen(stem);

	soname = gt_basename(soname);
	return !strncmp(soname, stem, n) && (soname[n] == '.' || soname[n] == '-');
}

static int find(const char *soname)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(watched); i++)
		if (pr_has_stem(soname, watched[i].stem))
			return (int)i;
	return -1;
}

bool pr_is_watched(const char *soname)
{
	return find(soname) >= 0;
}

const char *pr_watched_dist(const char *soname)
{
	int i = find(soname);

	return i < 0 ? NULL : watched[i].dist;
}
