/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_COMPAT_H
#define PR_COMPAT_H
/*
 * Compatibility facts. Each table is compiled in from NAME.tsv (with source and as-of date); a file of that name in
 * /etc/gputune/compat.d replaces it whole. A row is a key, a TAB and one or more versions with commas between them. What a
 * table does not know may be newer than it: unknown, never bad.
 */
#include "lib/err.h"
#include "lib/fsroot.h"

#define PR_COMPAT_DIR	"/etc/gputune/compat.d"

struct pr_table {
	const char *name; /* "cuda_driver.tsv" */
	const char *text; /* the compiled-in rows */
};
extern const struct pr_table pr_cuda_driver,  /* CUDA major release -> oldest driver that carries it */
	pr_driver_cuda,			      /* driver branch -> newest CUDA release it carries */
	pr_forward_compat,		      /* branch of a cuda-compat libcuda -> driver branches under which it runs */
	pr_torch_wheel,			      /* PyTorch release -> CUDA releases of its wheels (or cpu), the default last */
	pr_gpu_arch,			      /* compute capability x 10 -> first and last CUDA release for it */
	pr_gpu_pci,			      /* PCI device ids -> capability x 10, driver branches, open module only */
	pr_torch_arch,			      /* PyTorch release + CUDA release of the wheel -> capabilities it holds code for */
	pr_tensorflow_cuda,		      /* TensorFlow release -> CUDA release of its wheels */
	pr_jax_cuda,			      /* JAX release -> CUDA releases of its plug-ins */
	pr_framework_python,		      /* "torch-2.4" -> the oldest and the newest Python of its wheels */
	pr_debian_driver,		      /* Debian release -> the driver that it packages */
	pr_debian_legacy,		      /* Debian release -> older branches that it packages beside its own */
	pr_debian_toolkit,		      /* Debian release -> the CUDA toolkit that it packages */
	pr_debian_gcc,			      /* Debian release -> the oldest and the newest g++ that it packages */
	pr_nvcc_gcc;			      /* CUDA release -> newest gcc that its nvcc accepts */

/* Value of key: 1 and *ret_value (caller frees), 0 if the table does not know it, or a negative errno with a sentence that
 * names file and line: the whole table is checked first, so that a broken one decides nothing. */
int pr_compat_get(struct gt_fsroot *fs, const struct pr_table *t, const char *key, char **ret_value, struct gt_err *err);
/* Each row of a table in its order; fn ends it by a value other than 0. Returns 0, or a negative errno with a sentence. */
typedef int pr_row_fn(void *arg, const char *key, const char *value);
int pr_compat_each(struct gt_fsroot *fs, const struct pr_table *t, pr_row_fn *fn, void *arg, struct gt_err *err);
/* The value of key in a text; name is for sentences. */
int pr_compat_lookup(const char *text, const char *name, const char *key, char **ret_value, struct gt_err *err);

/* Oldest driver for a CUDA release "12.4" (its major decides). Returns as pr_compat_get. */
int pr_compat_min_driver(struct gt_fsroot *fs, const char *cuda, char **ret_driver, struct gt_err *err);
/* Newest CUDA release that a driver "550.163.01" carries. */
int pr_compat_max_cuda(struct gt_fsroot *fs, const char *driver, char **ret_cuda, struct gt_err *err);

struct pr_gpu_kind {
	int arch, first_branch, last_branch; /* capability x 10; driver branches, 999: not ended */
	bool open_only;
};
/* What the PCI device id says of an NVIDIA GPU. Returns as pr_compat_get. */
int pr_compat_gpu(struct gt_fsroot *fs, unsigned device, struct pr_gpu_kind *ret, struct gt_err *err);

struct pr_span { /* of releases, both included */
	char first[16], last[16]; /* "99.99": not ended yet */
};
bool pr_span_read(const char *value, struct pr_span *ret); /* "3.10,3.14" */
bool pr_span_holds(const struct pr_span *s, const char *version);
/* The CUDA releases that make code for a compute capability (x 10). Returns as pr_compat_get. */
int pr_compat_span(struct gt_fsroot *fs, int arch, struct pr_span *ret, struct gt_err *err);
/* The releases of Python for which one of a framework ("torch", "2.9") has wheels. Returns as pr_compat_get. */
int pr_compat_python(struct gt_fsroot *fs, const char *framework, const char *release, struct pr_span *ret, struct gt_err *err);

/* Is one of the comma-separated capabilities (x 10) code that runs on the card? Of the same major, with a minor not above. */
bool pr_holds_code(const char *list, int arch);
/* How the two tables of PyTorch call a release's wheels for a machine ("x86_64"; NULL: not known, taken for that): "2.9" and
 * "2.9+13.0", "2.9+aarch64" and "2.9+13.0+aarch64". cuda NULL: all its wheels. The caller frees it. */
char *pr_torch_key(const char *torch, const char *cuda, const char *machine);
char *pr_release_of(const char *version); /* "2.9.1+cu126" -> "2.9"; the caller frees it */

struct pr_wheel {
	char torch[16], cuda[16];		  /* the newest PyTorch with a wheel that runs, and the wheel's CUDA */
	char newest[16], newest_cuda[16];	  /* the newest that pip would find, and the CUDA of its default wheel */
	bool other_python;			  /* none of those that run has wheels for the Python that was asked about */
};
struct pr_wheel_query {
	const char *release; /* of PyTorch, as pr_release_of() has it; NULL: any */
	const char *machine; /* NULL: not known, taken for x86_64 */
	const char *driver;
	const char *python;  /* "3.11"; NULL: not known, any */
	int arch;	     /* of the GPU, compute capability x 10; 0: not known, any */
};
/* Which PyTorch wheel runs there, of one release pip's default if it does. 1, 0 for none, or negative. */
int pr_compat_wheel(struct gt_fsroot *fs, const struct pr_wheel_query *q, struct pr_wheel *ret, struct gt_err *err);
char *pr_cuda_tag(const char *cuda); /* "12.6" -> "cu126"; the caller frees it */
#endif
