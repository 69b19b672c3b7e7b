/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPUPROBE_H
#define PR_GPUPROBE_H
/* Subcommands of gpuprobe. */
#include "lib/cli.h"

/* Options that several commands share. */
extern double pr_nvml_timeout_s; /* NaN: not given */
extern bool pr_no_nvml, pr_ask_cuda;
extern const char *pr_data_dir;
#define PR_OPT_NVML_TIMEOUT											       \
	{ 0, "nvml-timeout", "SECONDS", "stop waiting for the driver after SECONDS (default: 10)", GT_OPT_ABOVE_0,	       \
	  &pr_nvml_timeout_s }
#define PR_OPT_NO_NVML { 0, "no-nvml", NULL, "do not query the NVIDIA driver (NVML)", GT_OPT_FLAG, &pr_no_nvml }
#define PR_OPT_CUDA												       \
	{ 0, "cuda", NULL, "also start CUDA in a child process and report the result", GT_OPT_FLAG, &pr_ask_cuda }
#define PR_OPT_DATA { 0, "data", "DIR", "also check the disk that holds the data set DIR", GT_OPT_STR, &pr_data_dir }
struct pr_host;
int pr_discover_as_asked(struct gt_cli *cli, struct pr_host **ret);

extern const struct gt_cmd pr_cmd_check, pr_cmd_topo, pr_cmd_capture, pr_cmd_explain, pr_cmd_list, pr_cmd_loads,
	pr_cmd_can, pr_cmd_recommend, pr_cmd_watch, pr_cmd_fleet;
#endif
