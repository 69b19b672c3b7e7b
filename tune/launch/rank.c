/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/host/visible.h"
#include "tune/launch/cpu_affinity.h"
#include "tune/launch/rank.h"
#include "tune/preload/rank_variables.h"

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

#define ROW(index, count, world) {index, count, world},
static const struct {
	const char *index, *count, *world;
} launchers[] = {TN_RANK_VARIABLES(ROW)};
#undef ROW

static bool digits(const char **p, uint64_t *ret)
{
	gt_autofree char *d = gt_xstrndup(*p, strspn(*p, "0123456789"));

	*p += strlen(d);
	return !gt_parse_u64(d, ret);
}

/*
 * Parses "8", or Slurm's "8(x2),4" for 8, 8 and 4 tasks on the nodes of the step. SLURM_NODEID (from 0) selects the
 * node. If it is not set, as in an allocation of one node, all numbers must be equal.
 */
static bool tasks_of(const struct tn_launch *c, const char *list, uint64_t *ret)
{
	const char *id = tn_run_user(c, "SLURM_NODEID");
	uint64_t node = 0, tasks, times, first = UINT64_MAX;
	bool here = id && !gt_parse_u64(id, &node);

	if (!list || !gt_parse_u64(list, ret))
		return list;
	for (const char *p = list;; p++) {
		times = 1;
		if (!digits(&p, &tasks) || (gt_starts_with(p, "(x") && (p += 2, !digits(&p, &times) || *p++ != ')')) ||
		    (*p && *p != ','))
			return false;
		first = first == UINT64_MAX ? tasks : first;
		if (here ? node < times : !*p && first == tasks) {
			*ret = tasks;
			return true;
		}
		if (!*p || (!here && first != tasks))
			return false;
		node -= here ? times : 0;
	}
}

struct tn_rank tn_rank_of(const struct tn_launch *c)
{
	if (c->rank) /* one of several ranks that gputune starts */
		return *c->rank;
	for (size_t i = 0; i < GT_ARRAY_SIZE(launchers); i++) {
		const char *index = tn_run_user(c, launchers[i].index), *count = tn_run_user(c, launchers[i].count);
		uint64_t a, b;

		if (index && !gt_parse_u64(index, &a) && tasks_of(c, count, &b) && b <= TN_RANKS_MAX && a < b)
			return (struct tn_rank){(unsigned)a, (unsigned)b, true, launchers[i].index};
	}
	return (struct tn_rank){0, 1, false, NULL};
}

char *tn_rank_identity(char *const *envp)
{
	struct tn_launch c = {.envp = envp};
	gt_auto_buf b = {0};

	for (size_t i = 0; i < GT_ARRAY_SIZE(launchers); i++) {
		const char *index = tn_run_value(&c, launchers[i].index), *count = tn_run_user(&c, launchers[i].count);

		if (index && strspn(index, "0123456789") == strlen(index) && count)
			gt_buf_printf(&b, "%s=%s %s=%s ", launchers[i].index, index, launchers[i].count, count);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}

/* Returns a sentence if a launcher set the rank of this process but not the number of ranks. NULL: no such launcher.
 * The caller frees it. */
static char *missing_count(const struct tn_launch *c)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(launchers); i++) {
		const char *index = tn_run_user(c, launchers[i].index);
		/* SLURM_LOCALID is 0 in a batch script, but the script is no rank */
		bool batch = gt_starts_with(launchers[i].index, "SLURM_") && !tn_run_user(c, "SLURM_STEP_ID");

		if (index && *index && !batch)
			return gt_xasprintf("%s is %.20s, but %s does not give the number of ranks", launchers[i].index, index,
					    launchers[i].count);
	}
	return NULL;
}

bool tn_rank_many_hosts(const struct tn_launch *c)
{
	static const char *const hosts[] = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"};
	uint64_t a, b;

	for (size_t i = 0; i < GT_ARRAY_SIZE(hosts); i++) {
		const char *nodes = tn_run_user(c, hosts[i]);

		if (nodes && !gt_parse_u64(nodes, &a)) {
			if (a > 1)
				return true;
			break;
		}
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(launchers); i++) {
		const char *world = tn_run_user(c, launchers[i].world), *count = tn_run_user(c, launchers[i].count);

		if (world && !gt_parse_u64(world, &a) && tasks_of(c, count, &b) && a > b)
			return true;
	}
	return false;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Returns entry n modulo the length of a list such as "0,3,GPU-5ba7". The caller frees it. */
static char *nth_of(const char *list, unsigned nth)
{
	unsigned n = 1;

	for (const char *p = list; *p; p++)
		n += *p == ',';
	for (nth %= n; nth; nth--)
		list = strchr(list, ',') + 1;
	return gt_xstrndup(list, strcspn(list, ","));
}

static bool same_node(const struct pr_gpu *a, const struct pr_gpu *b)
{
	return a->pci->numa_node.state == b->pci->numa_node.state &&
	       pr_or(a->pci->numa_node, -1) == pr_or(b->pci->numa_node, -1);
}

static bool on_several_nodes(const struct pr_host *h)
{
	const struct pr_gpu *first = pr_usable_gpu(h, 0), *gpu;

	for (size_t i = 1; (gpu = pr_usable_gpu(h, i)); i++)
		if (!same_node(gpu, first))
			return true;
	return false;
}

/* Returns the list of GPUs that the user selected; NULL: none. */
static const char *visible_list(const struct tn_launch *c)
{
	return c->gpus ? c->gpus : tn_run_user(c, "CUDA_VISIBLE_DEVICES");
}

char *tn_rank_order_differs(const struct tn_launch *c)
{
	const char *list = tn_run_user(c, "CUDA_VISIBLE_DEVICES"), *order = tn_run_value(c, "CUDA_DEVICE_ORDER");
	bool numbers = list && *list >= '0' && *list <= '9';

	if (c->gpus || pr_one_model(c->host) || gt_streq(order, "PCI_BUS_ID") || (list && !numbers))
		return NULL;
	if (order)
		return gt_xasprintf("CUDA_DEVICE_ORDER is %.20s", order);
	return numbers ? gt_xstrdup("CUDA_VISIBLE_DEVICES has numbers in CUDA's own order") : NULL;
}

/* Returns whether the list (empty, "-1" or Slurm's word) hides all GPUs from the program. */
static bool none_meant(const char *list)
{
	return !*list || *list == '-' || !strcmp(list, "NoDevFiles");
}

/* Counts the visible GPUs of AMD and Intel. */
static unsigned other_visible(const struct tn_launch *c)
{
	static const char *const lists[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
					    "ZE_AFFINITY_MASK"};
	unsigned n = 0;

	while (n < TN_RANKS_MAX && pr_other_gpu(c->host, n))
		n++;
	for (size_t i = 0; i < GT_ARRAY_SIZE(lists); i++) {
		unsigned named = 1;

		for (const char *p = tn_run_value(c, lists[i]); p && (p = strchr(p, ',')); p++)
			named++;
		n = tn_run_value(c, lists[i]) ? GT_MIN(n, named) : n;
	}
	return n;
}

unsigned tn_rank_visible(const struct tn_launch *c)
{
	const char *list = visible_list(c);
	struct gt_visible visible;

	if (!pr_usable_gpus(c->host) && pr_other_gpu(c->host, 0))
		return other_visible(c);
	if (!list)
		return (unsigned)GT_MIN(pr_usable_gpus(c->host), (size_t)TN_RANKS_MAX);
	pr_visible(c->fs, c->host, list, &visible);
	return (unsigned)visible.n;
}

/*
 * Returns whether the list of GPUs is for this rank alone, as set by srun --gpus-per-task or by a wrapper under mpirun.
 */
static bool list_of_its_own(const struct tn_launch *c, struct tn_rank rank)
{
	const char *list = tn_run_value(c, "CUDA_VISIBLE_DEVICES");
	gt_autofree char *inherited = NULL;

	if (c->gpus || c->rank || rank.count < 2 || !rank.variable)
		return false;
	if (gt_starts_with(rank.variable, "SLURM_") && tn_run_value(c, "SLURM_GPUS_PER_TASK"))
		return true;
	return list && tn_launcher_had(c, rank.variable, "CUDA_VISIBLE_DEVICES", &inherited) && !gt_streq(inherited, list);
}

unsigned tn_rank_gpus(const struct tn_launch *c)
{
	struct tn_rank rank = tn_rank_of(c);
	bool one = c->program == TN_PROGRAM_OPENMP || c->rank || (rank.count > 1 && !list_of_its_own(c, rank));

	return one ? 1 : GT_MAX(1u, tn_rank_visible(c));
}

/* Returns the rank's GPU from the list. NULL: the process may use all GPUs of the list, and they are on several nodes. */
static const struct pr_gpu *listed_gpu(const struct tn_launch *c, struct tn_rank rank, const char *list, char **ret_why)
{
	gt_autofree char *name = nth_of(list, rank.index);
	const struct pr_gpu *gpu = NULL, *other;
	const char *origin = c->gpus ? "--gpu" : "CUDA_VISIBLE_DEVICES";
	struct gt_visible visible;
	size_t nth;

	pr_visible(c->fs, c->host, list, &visible);
	nth = visible.bad[0] || !visible.n ? rank.index : rank.index % visible.n;
	if (nth < visible.n && visible.v[nth].gpu >= 0)
		gpu = pr_usable_gpu(c->host, (size_t)visible.v[nth].gpu);
	if (!gpu && !visible.n)
		*ret_why = gt_xasprintf("CUDA stops at '%.60s' of CUDA_VISIBLE_DEVICES, %s, and shows no GPU: nothing is bound",
					visible.bad, visible.why);
	else if (!gpu)
		*ret_why = gt_xasprintf("GPU '%.60s' of %s is unknown: nothing is bound, to avoid a wrong node",
					name, origin);
	for (size_t i = 0; gpu && !*ret_why && tn_rank_gpus(c) > 1 && i < visible.n; i++) {
		other = visible.v[i].gpu >= 0 ? pr_usable_gpu(c->host, (size_t)visible.v[i].gpu) : NULL;
		if (!other || !same_node(other, gpu))
			*ret_why = gt_xasprintf("%zu GPUs of %s are on several nodes, and the command may start a process for "
						"each: nothing is bound", (size_t)visible.n, origin);
	}
	return *ret_why ? NULL : gpu;
}

const struct pr_gpu *tn_rank_gpu(const struct tn_launch *c, struct tn_rank rank, char **ret_why)
{
	const char *list = visible_list(c);
	size_t n = pr_usable_gpus(c->host);

	if (!n || (list && none_meant(list)))
		return NULL;
	if (c->host->driver.some_inaccessible) {
		*ret_why = gt_xasprintf("this container or job may not use some of the %zu GPUs on the bus, and it is unknown "
					"which: nothing is bound, to avoid a wrong node",
					n);
		return NULL;
	}
	if (on_several_nodes(c->host)) {
		gt_autofree char *differs = tn_rank_order_differs(c);

		if (differs) {
			*ret_why = gt_xasprintf("the GPUs are of several models and %s: nothing is bound, to avoid a wrong "
						"node (CUDA_DEVICE_ORDER=PCI_BUS_ID counts like nvidia-smi)",
						differs);
			return NULL;
		}
	}
	if (list)
		return listed_gpu(c, rank, list, ret_why);
	if (on_several_nodes(c->host) && (!rank.from_launcher || tn_rank_gpus(c) > 1)) {
		gt_autofree char *half = rank.from_launcher ? gt_xstrdup("this one process may use all of them") : missing_count(c);

		if (!half)
			half = gt_xstrdup("neither --gpu, CUDA_VISIBLE_DEVICES nor a launcher's LOCAL_RANK selects one");
		*ret_why = gt_xasprintf("%zu GPUs are on several nodes, and %s: nothing is bound, to avoid a wrong node", n,
					half);
		return NULL;
	}
	return pr_usable_gpu(c->host, rank.index % n);
}

/* ---- one GPU per rank ------------------------------------------------------------------------------------------- */

/* Returns the GPU's index in bus order, in which GPUs that this job may not use count too. */
static unsigned place_of(const struct pr_host *h, const struct pr_gpu *gpu)
{
	unsigned n = 0;

	for (const struct pr_gpu *g = h->gpu; g < gpu; g++)
		n += pr_on_bus(g);
	return n;
}

/* Returns whether each rank sees only its own GPU. */
static bool gpu_of_its_own(const struct tn_launch *c, struct tn_rank rank)
{
	const char *list = tn_run_value(c, "CUDA_VISIBLE_DEVICES"), *slurm = tn_run_user(c, "SLURM_GPUS_PER_TASK");

	return list_of_its_own(c, rank) &&
	       (gt_starts_with(rank.variable, "SLURM_") && slurm ? !strcmp(slurm, "1") : list && !strchr(list, ','));
}

struct tn_rank tn_rank_at_node(const struct tn_launch *c, struct tn_rank rank, const struct pr_gpu *gpu)
{
	const struct pr_host *h = c->host;
	unsigned place = place_of(h, gpu), n = (unsigned)pr_bus_gpus(h);
	bool own = rank.count <= n && gpu_of_its_own(c, rank), in_turn = own && place == rank.index;
	struct tn_rank ret = {0};

	for (unsigned r = 0, b = 0; r < (own && !in_turn ? n : rank.count); r++) {
		gt_autofree char *why = NULL;
		const struct pr_gpu *g = NULL;

		if (!own)
			g = tn_rank_gpu(c, (struct tn_rank){r, rank.count, rank.from_launcher, NULL}, &why);
		for (; own && !g && b < h->n_gpu; b++)
			g = pr_on_bus(&h->gpu[b]) ? &h->gpu[b] : NULL;
		if (!g || !pr_has(g->pci->numa_node) || g->pci->numa_node.v != gpu->pci->numa_node.v)
			continue;
		ret.index += r < (own ? place : rank.index);
		ret.count++;
	}
	return ret;
}
