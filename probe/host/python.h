/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_PYTHON_H
#define PR_PYTHON_H
/* Python environments as files tell them: nothing of them is run. */
#include "probe/host/host.h"

/* A distribution of interest to us, by the name of its dist-info or egg-info directory. */
struct pr_dist {
	const char *name, *version; /* normalised: "nvidia-cudnn-cu12", "9.1.0.70"; "2.14.0+cu126" */
	const char *site;	    /* the directory it lies in */
};

struct pr_pyenv {
	const char *prefix;	 /* "/usr", "/srv/venv" */
	const char *python;	 /* the interpreter, NULL if none was found */
	const char *version;	 /* "3.11", from the name of its library directory */
	struct gt_strv site;	 /* its site-packages directories, in the order of sys.path */
	struct pr_dist *dist;
	size_t n_dist;
	/* of PyTorch, from torch/version.py and the WHEEL file; NULL if there is none or it does not say */
	const char *torch_cuda, *torch_tag;
};

/* The environment at prefix (a venv, a conda environment, /usr): 0, or -ENOENT if there is none. Strings belong to h. */
int pr_pyenv_read(struct gt_fsroot *fs, struct pr_host *h, const char *prefix, struct pr_pyenv *ret);
void pr_pyenv_clear(struct pr_pyenv *e);
const struct pr_dist *pr_pyenv_dist(const struct pr_pyenv *e, const char *name);

/* An object file that importing the module loads, relative to a site directory; the last part may hold one '*'. */
struct pr_import {
	const char *module, *dist; /* "torch"; the distribution by whose presence it is known */
	const char *objects[4];
	const char *opens; /* libraries that it opens by name when it is used, with blanks between them */
};
extern const struct pr_import pr_imports[]; /* ends with module NULL */
/* The file for one of an import's objects, NULL if it is not there; the caller frees it. */
char *pr_pyenv_object(struct gt_fsroot *fs, const struct pr_pyenv *e, const char *object);
#endif
