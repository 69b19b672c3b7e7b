/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_COMPAT_H
#define PR_COMPAT_H
/*
 * Compatibility tables. Each table is compiled in from NAME.tsv (with source and as-of date). A file of that name in
 * /etc/gputune/compat.d replaces the whole table. A row is a key, a TAB and one or more comma-separated versions. A
 * missing key may be newer than the table. The answer is then "unknown", never "incompatible".
 */
#include "lib/err.h"
#include "lib/fsroot.h"

#define PR_COMPAT_DIR	"/etc/gputune/compat.d"

struct pr_table {
	const char *name; /* "cuda_driver.tsv" */
	const char *text; /* the compiled-in rows */
};
extern const struct pr_table pr_cuda_driver,  /* CUDA major release -> oldest driver that supports it */
	pr_driver_cuda,			      /* driver branch -> newest CUDA release that it supports */
	pr_forward_compat,		      /* branch of a cuda-compat libcuda -> driver branches that it runs on */
	pr_torch_wheel,			      /* PyTorch release -> CUDA releases of its wheels (or cpu), the default last */
	pr_gpu_arch,			      /* compute capability x 10 -> first and last CUDA release that supports it */
	pr_gpu_pci,			      /* PCI device ids -> capability x 10, driver branches, open module only */
	pr_torch_arch,			      /* PyTorch release + CUDA release of the wheel -> capabilities that it contains
					       * code for */
	pr_torch_rocm,			      /* PyTorch release -> ROCm releases of its wheels, the newest last */
	pr_torch_rocm_arch,		      /* PyTorch release -> AMD GPUs for which these wheels contain code */
	pr_tensorflow_cuda,		      /* TensorFlow release -> CUDA release of its wheels */
	pr_jax_cuda,			      /* JAX release -> CUDA releases of its plug-ins */
	pr_extension,			      /* extension of PyTorch and release -> PyTorch, GPUs and CUDA that it needs */
	pr_framework_python,		      /* "torch-2.4" -> oldest and newest Python of its wheels */
	pr_debian_driver,		      /* Debian release -> driver that it packages */
	pr_debian_legacy,		      /* Debian release -> legacy driver branches that it also packages */
	pr_debian_toolkit,		      /* Debian release -> CUDA toolkit that it packages */
	pr_debian_gcc,			      /* Debian release -> oldest and newest g++ that it packages */
	pr_nvcc_gcc;			      /* CUDA release -> newest gcc that its nvcc accepts */

/*
 * Looks up key. Returns 1 and *ret_value (the caller frees it), or 0 if the table lacks the key. On failure returns a
 * negative errno with a sentence that gives file and line. The whole table is validated first, so a malformed one gives
 * no answers.
 */
int pr_compat_get(struct gt_fsroot *fs, const struct pr_table *t, const char *key, char **ret_value, struct gt_err *err);
/* Calls fn for each row in table order until fn returns non-zero. Returns 0, or a negative errno with a sentence. */
typedef int pr_row_fn(void *arg, const char *key, const char *value);
int pr_compat_each(struct gt_fsroot *fs, const struct pr_table *t, pr_row_fn *fn, void *arg, struct gt_err *err);
/* Looks up key in the text of a table. name: for error messages. */
int pr_compat_lookup(const char *text, const char *name, const char *key, char **ret_value, struct gt_err *err);

/* Returns the oldest driver for a CUDA release such as "12.4", by its major number. Same return values as pr_compat_get(). */
int pr_compat_min_driver(struct gt_fsroot *fs, const char *cuda, char **ret_driver, struct gt_err *err);
/* Returns the newest CUDA release that a driver such as "550.163.01" supports. */
int pr_compat_max_cuda(struct gt_fsroot *fs, const char *driver, char **ret_cuda, struct gt_err *err);

struct pr_gpu_kind {
	int arch, first_branch, last_branch; /* capability x 10; driver branches, last_branch 999: still supported */
	bool open_only;
};
/* Looks up an NVIDIA GPU by its PCI device id. Same return values as pr_compat_get(). */
int pr_compat_gpu(struct gt_fsroot *fs, unsigned device, struct pr_gpu_kind *ret, struct gt_err *err);

struct pr_span { /* inclusive range of releases */
	char first[16], last[16]; /* "99.99": open end */
};
bool pr_span_read(const char *value, struct pr_span *ret); /* "3.10,3.14" */
bool pr_span_holds(const struct pr_span *s, const char *version);
/* Returns the CUDA releases that generate code for a compute capability (x 10). Same return values as pr_compat_get(). */
int pr_compat_span(struct gt_fsroot *fs, int arch, struct pr_span *ret, struct gt_err *err);
/* Returns the Python releases for which a framework release ("torch", "2.9") has wheels. Same return values as
 * pr_compat_get(). */
int pr_compat_python(struct gt_fsroot *fs, const char *framework, const char *release, struct pr_span *ret, struct gt_err *err);

/* Returns whether a comma-separated list of capabilities (x 10) has binary code for arch: same major, and minor not above. */
bool pr_holds_code(const char *list, int arch);
/* Formats the key of a release in the two PyTorch tables: "2.9" and "2.9+13.0", or "2.9+aarch64" and
 * "2.9+13.0+aarch64". machine NULL: unknown, assumed to be x86_64. cuda NULL: all wheels of the release. The caller
 * frees it. */
char *pr_torch_key(const char *torch, const char *cuda, const char *machine);
char *pr_release_of(const char *version); /* "2.9.1+cu126" -> "2.9"; the caller frees it */

struct pr_wheel {
	char torch[16], cuda[16];		  /* newest PyTorch with a wheel that runs, and the CUDA of that wheel */
	char newest[16], newest_cuda[16];	  /* newest PyTorch that pip finds, and the CUDA of its default wheel */
	bool other_python;			  /* no wheel that runs supports the given Python */
};
struct pr_wheel_query {
	const char *release; /* PyTorch release as pr_release_of() returns it; NULL: any */
	const char *machine; /* NULL: unknown, assumed to be x86_64 */
	const char *driver;
	const char *python;  /* "3.11"; NULL: unknown, any */
	int arch;	     /* compute capability x 10 of the GPU; 0: unknown, any */
};
/* Finds the PyTorch wheel that runs on such a host. Within a release prefers pip's default wheel if it runs. Returns 1,
 * 0 if there is none, or a negative errno. */
int pr_compat_wheel(struct gt_fsroot *fs, const struct pr_wheel_query *q, struct pr_wheel *ret, struct gt_err *err);
char *pr_cuda_tag(const char *cuda); /* "12.6" -> "cu126"; the caller frees it */
#endif
