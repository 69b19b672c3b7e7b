/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "probe/visible.h"
#include "tune/rank.h"

#define RANKS_MAX 4096

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* "8", or Slurm's "8(x2),4": tasks of the first node. */
static bool leading_number(const char *s, uint64_t *ret)
{
	gt_autofree char *digits = s ? gt_xstrndup(s, strspn(s, "0123456789")) : NULL;

	return digits && *digits && !gt_parse_u64(digits, ret);
}

struct tn_rank tn_rank_of(const struct tn_ctx *c)
{
	static const char *const names[][2] = {
		{"LOCAL_RANK", "LOCAL_WORLD_SIZE"},
		{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
		{"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
		{"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
		{"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
		{"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		const char *index = tn_run_user(c, names[i][0]), *count = tn_run_user(c, names[i][1]);
		uint64_t a, b;

		if (index && !gt_parse_u64(index, &a) && leading_number(count, &b) && b <= RANKS_MAX && a < b)
			return (struct tn_rank){(unsigned)a, (unsigned)b, true};
	}
	return (struct tn_rank){0, 1, false};
}

bool tn_rank_many_hosts(const struct tn_ctx *c)
{
	const char *nodes = tn_run_user(c, "SLURM_NNODES"), *world = tn_run_user(c, "WORLD_SIZE"),
		   *local = tn_run_user(c, "LOCAL_WORLD_SIZE");
	uint64_t a, b;

	if (nodes && !gt_parse_u64(nodes, &a) && a > 1)
		return true;
	return world && local && !gt_parse_u64(world, &a) && !gt_parse_u64(local, &b) && a > b;
}

/* "--nproc_per_node=8", "--nproc-per-node 8", "-np 8", "-n 8" among argv. */
static unsigned asked_ranks(char *const *argv)
{
	static const char *const options[] = {
		"--nproc_per_node", "--nproc-per-node", "--num_processes", "--num_gpus", "-np", "-n"};

	for (size_t i = 1; argv[i]; i++)
		for (size_t k = 0; k < GT_ARRAY_SIZE(options); k++) {
			size_t n = strlen(options[k]);
			uint64_t v;

			if (!gt_starts_with(argv[i], options[k]) || (argv[i][n] && argv[i][n] != '='))
				continue;
			if (!gt_parse_u64(argv[i][n]    ? argv[i] + n + 1
					  : argv[i + 1] ? argv[i + 1]
							: "",
					  &v) &&
			    v && v <= RANKS_MAX)
				return (unsigned)v;
		}
	return 0;
}

unsigned tn_rank_launches(const struct tn_ctx *c)
{
	static const char *const names[] = {"torchrun", "accelerate", "deepspeed", "mpirun",
					    "mpiexec",  "srun",       "horovodrun"};
	const char *base, *module = NULL;
	bool launcher = false;
	size_t gpus = pr_usable_gpus(c->host);

	if (!c->argv || !c->argv[0])
		return 0;
	base = strrchr(c->argv[0], '/');
	base = base ? base + 1 : c->argv[0];
	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		launcher |= !strcmp(base, names[i]);
	for (size_t i = 1; c->argv[i] && gt_starts_with(base, "python"); i++)
		if (!strcmp(c->argv[i], "-m"))
			module = c->argv[i + 1];
	launcher |=
		module && (!strcmp(module, "torch.distributed.run") || !strcmp(module, "torch.distributed.launch") ||
			   !strcmp(module, "accelerate.commands.launch"));
	if (!launcher)
		return 0;
	return asked_ranks(c->argv) ? asked_ranks(c->argv) : gpus ? (unsigned)gpus : 1;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* The nth entry of "0,3,GPU-5ba7"; the list starts again at its end. The caller frees it. */
static char *nth_of(const char *list, unsigned nth)
{
	unsigned n = 1;

	for (const char *p = list; *p; p++)
		n += *p == ',';
	for (nth %= n; nth; nth--)
		list = strchr(list, ',') + 1;
	return gt_xstrndup(list, strcspn(list, ","));
}

static bool on_several_nodes(const struct pr_host *h)
{
	const struct pr_gpu *first = pr_usable_gpu(h, 0), *gpu;

	for (size_t i = 1; (gpu = pr_usable_gpu(h, i)); i++)
		if (gpu->pci->numa_node.state != first->pci->numa_node.state ||
		    pr_or(gpu->pci->numa_node, -1) != pr_or(first->pci->numa_node, -1))
			return true;
	return false;
}

const struct pr_gpu *tn_rank_gpu(const struct tn_ctx *c, struct tn_rank rank, char **ret_why)
{
	const char *list = c->gpus ? c->gpus : tn_run_user(c, "CUDA_VISIBLE_DEVICES");
	size_t n = pr_usable_gpus(c->host);

	if (!n)
		return NULL;
	if (list && *list) {
		gt_autofree char *name = nth_of(list, rank.index);
		const struct pr_gpu *gpu = NULL;
		struct gt_visible seen;
		size_t nth;

		pr_visible(c->fs, c->host, list, &seen);
		nth = seen.bad[0] || !seen.n ? rank.index : rank.index % seen.n;
		if (nth < seen.n && seen.v[nth].gpu >= 0)
			gpu = pr_usable_gpu(c->host, (size_t)seen.v[nth].gpu);
		if (!gpu)
			*ret_why = gt_xasprintf(
				"which GPU '%.60s' of %s is cannot be told: nothing is bound, rather than to a "
				"wrong node",
				name, c->gpus ? "--gpu" : "CUDA_VISIBLE_DEVICES");
		return gpu;
	}
	if (list) /* empty: none is to be used */
		return NULL;
	if (!rank.told && on_several_nodes(c->host)) {
		*ret_why = gt_xasprintf(
			"%zu GPUs on several nodes, and neither --gpu, CUDA_VISIBLE_DEVICES nor a launcher's "
			"LOCAL_RANK says which one this is for: nothing is bound, rather than to a wrong node",
			n);
		return NULL;
	}
	return pr_usable_gpu(c->host, rank.index % n);
}
