/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that hold GPUs: contexts without a running process, and memory of idle GPUs. */
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

/* Sets the result and returns true if there is no GPU, or nothing is known about any. */
static bool no_list(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_holders *h = &c->host->holders;
	size_t known = 0;

	for (size_t i = 0; i < h->n; i++)
		known += h->gpu[i].source || pr_has(h->gpu[i].memory_used_bytes);
	if (!h->n)
		pr_set(f, PR_SKIP, "no GPU on the PCI bus");
	else if (!known)
		pr_set(f, PR_SKIP, "which processes hold the GPUs is unknown%s%s", h->note ? ": " : "", h->note ? h->note : "");
	return !known;
}

static bool in_use(const struct pr_held_gpu *g)
{
	return pr_or(g->memory_used_bytes, 0) >= PR_GPU_IN_USE_BYTES;
}

/* Returns the memory in use as text in buf. */
static const char *used(const struct pr_held_gpu *g, char *buf, size_t size)
{
	gt_format_bytes(buf, size, (uint64_t)pr_or(g->memory_used_bytes, 0));
	return buf;
}

/* Returns the first process that has ended; NULL: none. */
static const struct pr_holder *ended(const struct pr_held_gpu *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->holder[i].state >= PR_HOLDER_EXITING)
			return &g->holder[i];
	return NULL;
}

/* ---- contexts without a process ------------------------------------------------------------------------------- */

static void zombie_remedy(const struct pr_host *h, const struct pr_held_gpu *g, struct pr_finding *f)
{
	const struct pr_gpu *gpu = NULL;
	gt_autofree char *reset = NULL;

	for (size_t i = 0; i < h->n_gpu; i++)
		if (h->gpu[i].pci == g->pci)
			gpu = &h->gpu[i];
	reset = gpu ? pr_reset_lines(h, gpu, NULL) : gt_xstrdup("End these programs. If the memory stays in use, reboot.");
	pr_remedy(f, "A large process needs some seconds to end: check again after a minute. List the programs that still have the "
		     "device open, as root:\n  fuser -v %s\n%s",
		  gpu ? "/dev/nvidia*" : "/dev/kfd /dev/dri/renderD*", reset);
}

static void say_ended(const struct pr_held_gpu *g, const struct pr_holder *p, struct pr_finding *f)
{
	static const char *const what[] = { [PR_HOLDER_EXITING] = "is ending and waits in the kernel",
					    [PR_HOLDER_ZOMBIE] = "has ended (zombie)",
					    [PR_HOLDER_GONE] = "no longer exists" };
	char memory[32] = "memory";

	if (p->memory_bytes >= 0)
		gt_format_bytes(memory, sizeof(memory), (uint64_t)p->memory_bytes);
	pr_set(f, PR_WARN, "process %lld%s%s %s, but still holds %s of GPU %s", (long long)p->pid,
	       p->name ? " " : "", p->name ? p->name : "", what[p->state], memory, g->pci->address);
}

static void zombie(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_held_gpu *unlisted = NULL;
	char memory[32];

	if (no_list(c, f))
		return;
	for (size_t i = 0; i < h->holders.n; i++) {
		const struct pr_held_gpu *g = &h->holders.gpu[i];
		const struct pr_holder *p = ended(g);
		bool nobody = in_use(g) && !g->n && !pr_gpu_memory_is_node(h);

		if (nobody && !g->complete)
			unlisted = g;
		if (!p && !(nobody && g->complete))
			continue;
		if (p)
			say_ended(g, p, f);
		else
			pr_set(f, PR_WARN, "%s of GPU %s are in use, but no process holds the GPU", used(g, memory, sizeof(memory)),
			       g->pci->address);
		zombie_remedy(h, g, f);
		return;
	}
	if (unlisted)
		pr_set(f, PR_SKIP, "%s of GPU %s are in use by an unknown process: %s", used(unlisted, memory, sizeof(memory)),
		       unlisted->pci->address, h->holders.note ? h->holders.note : "no list of processes");
	else
		pr_set(f, PR_PASS, "no process that has ended holds memory of a GPU");
}
const struct pr_check pr_check_gpu_zombie = {
	.id = "gpu.zombie-context",
	.title = "GPU memory is held without a running process",
	.story = "The driver frees the memory of a process when its last thread ends. A thread that hangs in the driver, or a "
		 "parent in another container, can keep a context alive. The next job then finds too little free memory, "
		 "although no running program uses the GPU.",
	.run = zombie,
};

/* ---- memory of idle GPUs -------------------------------------------------------------------------------------- */

static void idle(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_holders *h = &c->host->holders;
	const struct pr_held_gpu *first = NULL;
	size_t n = 0, known = 0;
	gt_autofree char *who = NULL;
	gt_auto_json *list = json_array();
	char memory[32];

	if (no_list(c, f))
		return;
	for (size_t i = 0; i < h->n; i++) {
		known += pr_has(h->gpu[i].memory_used_bytes) && pr_has(h->gpu[i].compute_percent);
		if (!in_use(&h->gpu[i]) || !pr_has(h->gpu[i].compute_percent) || h->gpu[i].compute_percent.v)
			continue;
		first = first ? first : &h->gpu[i];
		n++;
	}
	if (!known) {
		pr_set(f, PR_SKIP, "the utilisation of the GPUs is unknown");
		return;
	}
	if (!first) {
		pr_set(f, PR_PASS, "no GPU with 1 GiB or more in use has a utilisation of 0 %% at this moment");
		return;
	}
	for (size_t i = 0; i < first->n; i++)
		json_array_append_new(list, pr_holder_json(&first->holder[i]));
	who = pr_holders_text(list, 2);
	pr_set(f, PR_PASS, "GPU %s: %s allocated, utilisation 0 %% at this moment%s%s", first->pci->address,
	       used(first, memory, sizeof(memory)), *who ? ", held by " : "", who);
	if (n > 1)
		snprintf(f->what + strlen(f->what), sizeof(f->what) - strlen(f->what), " (and %zu more GPUs)", n - 1);
}
const struct pr_check pr_check_gpu_idle = {
	.id = "gpu.idle-memory",
	.title = "GPU memory is allocated while the GPU is idle",
	.story = "A notebook or a hung job keeps its GPU memory until it ends, and no other job fits. One reading proves nothing: "
		 "training pauses for checkpoints and data. gpuprobe watch takes many readings and reports gpu.idle with the "
		 "processes. Then ask the owner, or end the process: kill PID, or scancel JOB, or kubectl delete pod.",
	.run = idle,
};
