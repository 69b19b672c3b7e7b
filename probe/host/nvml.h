/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_NVML_H
#define PR_NVML_H
/* NVML readings about the whole host. Those about one GPU are in struct pr_gpu. */
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/host/value.h"

struct pr_gpu;
struct pr_host;

enum pr_nvml_answer { PR_NVML_NOT_ASKED, PR_NVML_OK, PR_NVML_NO_LIBRARY, PR_NVML_ERROR, PR_NVML_TIMEOUT };
struct pr_nvml {
	enum pr_nvml_answer answer;
	int code;			/* return code of NVML */
	const char *text;		/* error message, NULL if there was no error */
	struct pr_num count;		/* GPUs that NVML sees */
	struct pr_str driver;		/* "550.163.01" */
	struct pr_num cuda_version;	/* highest CUDA version of the driver: 12040 is 12.4 */
	struct pr_num gpus_lost, gpus_to_reset; /* GPUs for which NVML returns 15 and 16 */
	struct pr_num p2p_status;	/* worst status of a pair of GPUs; 0: no problem */
};

void pr_discover_nvml(struct gt_fsroot *fs, struct pr_host *h, double timeout_s);
/* Returns the readings as text of the fact "nvml" for captures; NULL if NVML was not queried. The caller frees it. */
char *pr_nvml_fact(const struct pr_host *h);
/* A number that NVML reports for a GPU: key in the fact and in documents, offset in struct pr_gpu. */
struct pr_gpu_field {
	const char *key;
	size_t offset;
};
extern const struct pr_gpu_field pr_gpu_numbers[];
extern const size_t pr_n_gpu_numbers;
struct pr_num *pr_gpu_number(const struct pr_gpu *g, size_t i);
#endif
