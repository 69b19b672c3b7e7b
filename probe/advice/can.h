/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_CAN_H
#define PR_CAN_H
/* Advice for `gpuprobe can`: can.c uses the compatibility tables, can_disk.c files, can_python.c the Python versions. */
#include "lib/json.h"
#include "probe/check/check.h"

enum pr_answer { PR_YES, PR_NO, PR_OPEN /* unknown */ };
const char *pr_answer_name(enum pr_answer a); /* "yes", "no", "unknown" */

struct pr_question {
	const struct pr_context *c;
	struct pr_host *host; /* the same as c->host but writable: only its pool of strings grows */
	struct gt_err *err;
	json_t *reasons;
	enum pr_answer worst;
	bool on_cpu;   /* it works on the CPU only */
	char *instead; /* alternative if the answer is no; NULL: not known yet. The caller frees it */
};

/* Returns whether the loaded driver supports the host's GPUs. */
bool pr_can_driver_fits(const struct pr_question *q);
/* Returns whether the host has no GPU that programs may use, of any maker. */
bool pr_only_cpu(const struct pr_host *h);
/*
 * Evaluates an extension of PyTorch, "vllm" or "flash-attn==2.8.3". Returns 1, 0 if `what` names no extension, or a
 * negative errno.
 */
int pr_can_extension(struct pr_question *q, const char *what);

/* Evaluates "torch==2.14", "cuda>=12.8" or a path; the reasons are in q. Fails (exit 64) if `what` cannot be parsed. */
int pr_can_ask(struct pr_question *q, const char *what);
/* Adds a reason with its source. The result of q is that of its worst reason. */
void pr_can_reason(struct pr_question *q, enum pr_answer a, const char *source, const char *fmt, ...) GT_PRINTF(4, 5);
/* Adds whether the host's driver runs programs of that CUDA release. */
void pr_can_driver(struct pr_question *q, const char *cuda);
/* Adds the requirements of all wheels of a PyTorch release: Python and glibc. */
void pr_can_system(struct pr_question *q, const char *torch);
/* Answers for the ROCm build of a PyTorch release (can_rocm.c). */
void pr_can_rocm(struct pr_question *q, const char *release, const char *rocm);
/* Suggests the ROCm build of the release, if the host has AMD GPUs. */
void pr_can_rocm_instead(struct pr_question *q, const char *release);
/* Adds a reason if that CUDA release cannot generate code for the host's GPUs. */
void pr_can_gpu(struct pr_question *q, const char *cuda);
/* Evaluates an image's NVIDIA_REQUIRE_CUDA. */
int pr_can_image(struct pr_question *q, const char *expression);
/* Adds whether a framework release ("torch", "2.4") has wheels for a Python of this host. */
void pr_can_python(struct pr_question *q, const char *framework, const char *release);
/* Examines a wheel, an environment or an unpacked image at a path of the host, or of this machine if the host lacks the
 * path. Returns 0, or a negative errno with a sentence. */
int pr_can_disk(struct pr_question *q, const char *path);
#endif
