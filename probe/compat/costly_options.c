/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the NVIDIA module and environment variables with a known cost in speed or correctness. */
#include <string.h>
#include "lib/util.h"
#include "probe/compat/costly_options.h"

/* value NULL: any value except 0 and empty */
static const struct {
	const char *name, *value, *cost;
} options[] = {
	{"EnablePCIERelaxedOrderingMode", "1",
	 "forces relaxed ordering on every device, which is validated for few platforms (AMD Rome and Milan with several "
	 "roots): on others data may be read before it arrives"},
	{"EnableStreamMemOPs", NULL, "enables a feature that the driver disables as unsafe"},
	{"RegistryDwords", "ForceP2P", "forces transfers between GPUs that the platform does not support, which can corrupt data"},
};

char *pr_driver_param(const char *text, const char *name)
{
	for (const char *line = text; line && *line; line = gt_next_line(line))
		if (gt_starts_with(line, name) && line[strlen(name)] == ':') {
			const char *v = line + strlen(name) + 1;

			v += strspn(v, " \t");
			return gt_xstrndup(v, strcspn(v, "\n"));
		}
	return NULL;
}

const char *pr_driver_option(size_t i)
{
	return i < GT_ARRAY_SIZE(options) ? options[i].name : NULL;
}

const char *pr_driver_option_reason(size_t i)
{
	return options[i].cost;
}

static bool harms(size_t i, const char *value)
{
	if (!value || !*value || !strcmp(value, "0") || !strcmp(value, "\"\""))
		return false;
	return !options[i].value || strstr(value, options[i].value);
}

const char *pr_driver_option_cost(const char *name, const char *value)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].name, name) && harms(i, value))
			return options[i].cost;
	return NULL;
}

static const struct {
	const char *name, *value; /* value NULL: any */
	const char *cost;
} leftovers[] = {
	{"CUDA_LAUNCH_BLOCKING", "1", "serialises kernel launches: for debugging only"},
	{"NCCL_DEBUG", "TRACE", "NCCL logs each call: for debugging only"},
	{"NCCL_DEBUG", "INFO", "NCCL logs hundreds of lines per rank: for debugging only"},
	{"TORCH_DISTRIBUTED_DEBUG", "DETAIL", "each collective is checked across all ranks: for debugging only"},
	{"TORCH_SHOW_CPP_STACKTRACES", "1", "collects a stack trace for each error: for debugging only"},
	{"NCCL_P2P_DISABLE", "1", "GPUs exchange data through host memory"},
	{"NCCL_SHM_DISABLE", "1", "ranks of one host exchange data through the network"},
	{"NCCL_IB_DISABLE", "1", "InfiniBand and RoCE are not used"},
	{"NCCL_ALGO", NULL, "fixes the algorithm that NCCL would choose by message size and topology"},
	{"NCCL_PROTO", NULL, "fixes the protocol that NCCL would choose by message size; LL128 on unsupported hardware "
			     "corrupts data"},
	{"NCCL_BUFFSIZE", NULL, "fixes a value that suited an older NCCL"},
	{"MALLOC_CHECK_", NULL, "glibc checks each memory block: for debugging only"},
	{"MALLOC_PERTURB_", NULL, "glibc fills each memory block: for debugging only"},
	{"MKL_NUM_THREADS", NULL, "overrides OMP_NUM_THREADS in MKL: a different number creates a second thread pool"},
	{"OPENBLAS_NUM_THREADS", NULL, "overrides OMP_NUM_THREADS in OpenBLAS: a different number creates a second thread pool"},
};

const char *pr_leftover_name(size_t i)
{
	return i < GT_ARRAY_SIZE(leftovers) ? leftovers[i].name : NULL;
}

bool pr_leftover_is(size_t i, const char *value)
{
	return !leftovers[i].value || !strcmp(value, leftovers[i].value);
}

const char *pr_leftover(const char *name, const char *value)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(leftovers); i++)
		if (!strcmp(name, leftovers[i].name) && (!leftovers[i].value || !strcmp(value, leftovers[i].value)))
			return leftovers[i].cost;
	return NULL;
}
