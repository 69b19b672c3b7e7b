/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_PYTHON_H
#define PR_PYTHON_H
/* Python environments, read from files alone. No code in them is executed. */
#include "probe/host/host.h"

/* A relevant distribution, from the name of its dist-info or egg-info directory. */
struct pr_dist {
	const char *name, *version; /* normalised name "nvidia-cudnn-cu12"; version "9.1.0.70" or "2.14.0+cu126" */
	const char *site;	    /* the site-packages directory that contains it */
};

struct pr_pyenv {
	const char *prefix;	 /* "/usr", "/srv/venv" */
	const char *python;	 /* the interpreter, NULL if none was found */
	const char *version;	 /* "3.11", from the name of its library directory */
	struct gt_strv site;	 /* its site-packages directories, in the order of sys.path */
	struct pr_dist *dist;
	size_t n_dist;
	/* CUDA release and wheel tag of PyTorch, from torch/version.py and the WHEEL file; NULL if unknown */
	const char *torch_cuda, *torch_tag;
};

/* Reads the environment at prefix (a venv, a conda environment, /usr). Returns 0, or -ENOENT if there is none. Strings
 * belong to h. */
int pr_pyenv_read(struct gt_fsroot *fs, struct pr_host *h, const char *prefix, struct pr_pyenv *ret);
void pr_pyenv_clear(struct pr_pyenv *e);
const struct pr_dist *pr_pyenv_dist(const struct pr_pyenv *e, const char *name);

/* Object files that importing the module loads, relative to a site directory. The last path component may contain one '*'. */
struct pr_import {
	const char *module, *dist; /* module: "torch"; dist: the distribution that provides it */
	const char *objects[4];
	const char *dlopen_names; /* libraries that it opens by name when used, separated by blanks */
};
extern const struct pr_import pr_imports[]; /* ends with module NULL */
/* Returns the path of one of an import's objects, NULL if it does not exist. The caller frees it. */
char *pr_pyenv_object(struct gt_fsroot *fs, const struct pr_pyenv *e, const char *object);
#endif
