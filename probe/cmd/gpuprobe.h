/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPUPROBE_H
#define PR_GPUPROBE_H
/* The subcommands of gpuprobe. */
#include "lib/cli.h"

/* --nvml-timeout, for the commands that ask the driver. */
extern double pr_nvml_timeout_s;
#define PR_OPT_NVML_TIMEOUT                                                                                            \
	{ 0, "nvml-timeout", "SECONDS", "give up on a driver that does not answer (10)", GT_OPT_REAL, &pr_nvml_timeout_s }
/* --no-nvml, for the same. */
extern bool pr_no_nvml;
#define PR_OPT_NO_NVML { 0, "no-nvml", NULL, "do not ask the driver", GT_OPT_FLAG, &pr_no_nvml }
/* --cuda, for the commands that may start it. */
extern bool pr_ask_cuda;
#define PR_OPT_CUDA                                                                                                    \
	{ 0, "cuda", NULL, "also start CUDA in a child process and report its own answer", GT_OPT_FLAG, &pr_ask_cuda }
/* --data, for the commands that look at a data set's disk. */
extern const char *pr_data_dir;
#define PR_OPT_DATA                                                                                                    \
	{ 0, "data", "DIR", "also look at the disk behind the data set in DIR", GT_OPT_STR, &pr_data_dir }
struct pr_host;
int pr_discover_as_asked(struct gt_cli *cli, struct pr_host **ret);

extern const struct gt_cmd pr_cmd_check, pr_cmd_topo, pr_cmd_capture, pr_cmd_explain, pr_cmd_list, pr_cmd_loads,
	pr_cmd_can, pr_cmd_recommend, pr_cmd_watch;
#endif
