/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include "bench/workload/workload.h"
#include "bench/workload/workloads.h"
#include "lib/cli.h"

const struct bn_workload *const bn_workloads[] = {
	&bn_workload_null,
	&bn_workload_mem_bw,
	&bn_workload_mem_matrix,
	&bn_workload_mem_latency,
	&bn_workload_alloc,
	&bn_workload_fault,
	&bn_workload_wake,
	&bn_workload_barrier,
	&bn_workload_spawn,
	&bn_workload_file_read,
	&bn_workload_file_write,
	&bn_workload_data_load,
	&bn_workload_tcp,
	&bn_workload_allreduce,
	&bn_workload_mpi,
	&bn_workload_train_gpt,
	&bn_workload_train_resnet,
	&bn_workload_train_mlp,
	&bn_workload_train_ddp,
	&bn_workload_train_gpu,
	&bn_workload_train_gpu_gpt2,
	&bn_workload_train_gpu_resnet,
	&bn_workload_train_gpu_mlp,
	&bn_workload_gpu_copy,
	&bn_workload_gpu_matrix,
	&bn_workload_gpu_feed,
	&bn_workload_gpu_launch,
	&bn_workload_gpu_gemm,
	&bn_workload_gpu_allreduce,
	&bn_workload_cmd,
	&bn_workload_sim,
	NULL,
};

const char *bn_workload_word(size_t i)
{
	return bn_workloads[i] ? bn_workloads[i]->id : NULL;
}

const struct bn_workload *bn_workload_find(const char *id)
{
	for (const struct bn_workload *const *w = bn_workloads; *w; w++)
		if (gt_streq((*w)->id, id))
			return *w;
	return NULL;
}

int bn_no_workload(const char *id, struct gt_err *err)
{
	gt_autofree char *hint = gt_hint(id, bn_workload_word, "see gpubench list");

	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "no workload is called \"%.60s\"; %s", id, hint);
}
