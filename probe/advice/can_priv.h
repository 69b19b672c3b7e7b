/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_CAN_PRIV_H
#define PR_CAN_PRIV_H
/* Between can.c, which answers from the tables, can_disk.c, which answers from what lies on disk, and can_python.c, which looks for
 * the Python. */
#include "lib/json.h"
#include "probe/check/check.h"

enum pr_answer { PR_YES, PR_NO, PR_OPEN /* unknown */ };

struct pr_question {
	const struct pr_context *c;
	struct pr_host *host; /* the same as c->host; only its pool of strings grows */
	struct gt_err *err;
	json_t *reasons;
	enum pr_answer worst;
};

/* Add a reason with its source; the worst one decides. */
void pr_can_reason(struct pr_question *q, enum pr_answer a, const char *source, const char *fmt, ...) GT_PRINTF(4, 5);
/* Does the host's driver run programs of that CUDA release? */
void pr_can_driver(struct pr_question *q, const char *cuda);
/* Does that CUDA release make code for the host's cards? Says nothing where it does. */
void pr_can_card(struct pr_question *q, const char *cuda);
/* An image's NVIDIA_REQUIRE_CUDA. */
int pr_can_image(struct pr_question *q, const char *expression);
/* Has a release of a framework ("torch", "2.4") wheels for a Python of this host? */
void pr_can_python(struct pr_question *q, const char *framework, const char *release);
/* A wheel, an environment or an unpacked image at a path of the host, or of this machine if the host has none there.
 * Each returns 0, or a negative errno with a sentence. */
int pr_can_disk(struct pr_question *q, const char *path);
#endif
