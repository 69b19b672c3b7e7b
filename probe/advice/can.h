/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_CAN_H
#define PR_CAN_H
/* can.c answers from the tables, can_disk.c from files, can_python.c from the versions of Python. */
#include "lib/json.h"
#include "probe/check/check.h"

enum pr_answer { PR_YES, PR_NO, PR_OPEN /* unknown */ };
const char *pr_answer_name(enum pr_answer a); /* "yes", "no", "unknown" */

struct pr_question {
	const struct pr_context *c;
	struct pr_host *host; /* the same as c->host; only its pool of strings grows */
	struct gt_err *err;
	json_t *reasons;
	enum pr_answer worst;
};

/* Answers "torch==2.14", "cuda>=12.8" or a path; the reasons are in q. Fails (exit 64) if `what` cannot be parsed. */
int pr_can_ask(struct pr_question *q, const char *what);
/* Adds a reason with its source. The worst one decides. */
void pr_can_reason(struct pr_question *q, enum pr_answer a, const char *source, const char *fmt, ...) GT_PRINTF(4, 5);
/* Does the host's driver run programs of that CUDA release? */
void pr_can_driver(struct pr_question *q, const char *cuda);
/* Does that CUDA release make code for the host's cards? Says nothing where it does. */
void pr_can_gpu(struct pr_question *q, const char *cuda);
/* An image's NVIDIA_REQUIRE_CUDA. */
int pr_can_image(struct pr_question *q, const char *expression);
/* Has a release of a framework ("torch", "2.4") wheels for a Python of this host? */
void pr_can_python(struct pr_question *q, const char *framework, const char *release);
/* A wheel, an environment or an unpacked image at a path of the host, or of this machine if the host has none there.
 * Each returns 0, or a negative errno with a sentence. */
int pr_can_disk(struct pr_question *q, const char *path);
#endif
