/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of CUDA and NCCL. Few of them are useful. The libraries' defaults suit the hardware, while values that were
 * chosen for older hardware often stay in scripts. Sources: NCCL's user guide (environment variables), CUDA's
 * programming guide.
 */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/compat/costly_options.h"
#include "probe/host/visible.h"
#include "tune/launch/settings.h"
#include "tune/launch/launcher.h"
#include "tune/launch/rank.h"

/* ---- numbering --------------------------------------------------------------------------------------------------- */

static void prepare_cuda_order(const struct tn_launch *c, struct tn_run *r)
{
	gt_autofree char *differs = tn_rank_order_differs(c);

	for (size_t i = 0; i < r->n_var; i++)
		if (!strcmp(r->var[i].name, "CUDA_DEVICE_ORDER")) /* set already, because of --gpu */
			return;
	if (pr_usable_gpus(c->host) < 2)
		tn_run_skip(r, "CUDA_DEVICE_ORDER",
			    pr_usable_gpus(c->host) ? "one GPU" : "no GPU that CUDA can use");
	else if (differs && !tn_run_value(c, "CUDA_DEVICE_ORDER"))
		tn_run_skip(r, "CUDA_DEVICE_ORDER", "GPUs of several models, and %s: its numbers would select other GPUs", differs);
	else
		tn_run_set(c, r, "CUDA_DEVICE_ORDER", "PCI_BUS_ID",
			   "a GPU's number is the same as in nvidia-smi and gputune");
}

const struct tn_launch_setting tn_launch_cuda_order = {
	.id = "cuda.order",
	.summary = "CUDA numbers the GPUs like nvidia-smi",
	.why = "By default, CUDA numbers the fastest GPU 0, and nvidia-smi numbers GPUs by PCI address. With different GPU "
	       "models the numbers can differ, and a rank would be bound to the CPUs next to the wrong GPU.",
	.hazard = "GPU numbers that a user chose in CUDA's own order would select other GPUs. On a host with several models "
		  "and such numbers, gputune does not set the variable and does not bind the command. The numbers of --gpu "
		  "are those of nvidia-smi.",
	.unit = "environment",
	.unmoved = "affects the order of GPUs, not the speed",
	.prepare = prepare_cuda_order,
};

static void prepare_cuda_segments(const struct tn_launch *c, struct tn_run *r)
{
	if (!pr_usable_gpus(c->host))
		tn_run_skip(r, "PYTORCH_CUDA_ALLOC_CONF", "no GPU that CUDA can use");
	else if (!c->chosen)
		tn_run_skip(r, "PYTORCH_CUDA_ALLOC_CONF",
			    "opt-in: a profile with cuda.segments = on, or --only");
	else
		tn_run_set(c, r, "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True",
			   "batches of changing shape do not fragment GPU memory");
}

const struct tn_launch_setting tn_launch_cuda_segments = {
	.id = "cuda.segments",
	.summary = "PyTorch's GPU memory grows in place",
	.why = "With batches of varying length, PyTorch's allocator keeps blocks that are too small for later requests. A "
	       "job can then run out of memory although gigabytes are reserved. Expandable segments avoid this (PyTorch 2.1 "
	       "or newer).",
	.hazard = "Some programs that share GPU memory between processes fail with expandable segments.",
	.unit = "environment",
	.unmoved = "needs PyTorch and little free GPU memory; measure with your own command",
	.prepare = prepare_cuda_segments,
};

/* ---- NCCL -------------------------------------------------------------------------------------------------------- */

/* Prefixes of interfaces that do not lead to another host. NCCL excludes lo and docker* itself, but would use these. */
static const char *const inward[] = {"virbr", "br-",   "cni",   "flannel", "cali",
				     "veth",  "vxlan", "lxcbr", "lxdbr",   "podman"};

/*
 * Returns whether a port of the bridge is a network device, or a bond or VLAN on one. The bridge then leads to other
 * hosts, whatever its name is (br-mgmt on OpenStack hosts). Ports of virtual machines and containers do not count.
 */
static bool leads_out(const struct tn_launch *c, const char *interface)
{
	gt_autofree char *ports = gt_xasprintf("/sys/class/net/%s/brif", interface);
	gt_auto_strv names = {0};

	gt_fs_list(c->fs, ports, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *port = gt_xasprintf("/sys/class/net/%s", names.v[i]), *device = gt_xasprintf("%s/device", port);
		gt_auto_strv in_port = {0};

		if (gt_fs_exists(c->fs, device))
			return true;
		gt_fs_list(c->fs, port, &in_port);
		for (size_t k = 0; k < in_port.n; k++)
			if (gt_starts_with(in_port.v[k], "lower_"))
				return true;
	}
	return false;
}

/*
 * Appends the interfaces to exclude whose names begin with `word`. NCCL matches prefixes, so ",br-" excludes all of
 * them. If one of them leads to other hosts, the others are excluded by their full names.
 */
static void add_inward(const struct tn_launch *c, const struct gt_strv *names, const char *word, struct gt_buf *to)
{
	gt_auto_strv in = {0}, out = {0};

	for (size_t i = 0; i < names->n; i++)
		if (gt_starts_with(names->v[i], word))
			gt_strv_add(leads_out(c, names->v[i]) ? &out : &in, names->v[i]);
	if (in.n && !out.n)
		gt_buf_printf(to, ",%s", word);
	for (size_t i = 0; out.n && i < in.n; i++) {
		bool begins = false; /* br-ex must not be listed if br-ext leads to other hosts */

		for (size_t k = 0; k < out.n; k++)
			begins |= gt_starts_with(out.v[k], in.v[i]);
		if (!begins)
			gt_buf_printf(to, ",%s", in.v[i]);
	}
}

static void prepare_nccl_ifname(const struct tn_launch *c, struct tn_run *r)
{
	gt_auto_buf found = {0};
	gt_auto_strv names = {0};

	if (!tn_job_has_many_hosts(c)) {
		tn_run_skip(r, "NCCL_SOCKET_IFNAME", "nothing shows that the job spans several hosts");
		return;
	}
	gt_fs_list(c->fs, "/sys/class/net", &names);
	for (size_t i = 0; i < GT_ARRAY_SIZE(inward); i++)
		add_inward(c, &names, inward[i], &found);
	if (found.len) {
		gt_autofree char *value = gt_xasprintf("^lo,docker%s", found.s);

		tn_run_set(c, r, "NCCL_SOCKET_IFNAME", value, "excludes interfaces that do not lead to another host");
	} else {
		tn_run_skip(r, "NCCL_SOCKET_IFNAME", "NCCL excludes all interfaces that do not lead to another host by itself");
	}
}

const struct tn_launch_setting tn_launch_nccl_ifname = {
	.id = "nccl.ifname",
	.summary = "NCCL ignores bridges of containers and VMs",
	.why = "On a host with containers or virtual machines, NCCL may choose one of their bridges. Other hosts cannot reach "
	       "its address, and the job hangs at its first collective.",
	.hazard = "Jobs whose hosts are connected by such a network fail. gputune sets the variable only for jobs on "
		  "several hosts.",
	.unit = "environment",
	.unmoved = "needs a second host; measure with your own command",
	.prepare = prepare_nccl_ifname,
};

/* ---- leftovers of debugging ------------------------------------------------------------------------------------- */

static void prepare_leftovers(const struct tn_launch *c, struct tn_run *r)
{
	for (size_t i = 0; pr_leftover_name(i); i++) {
		const char *name = pr_leftover_name(i), *user = tn_run_value(c, name);
		const char *cost = user ? pr_leftover(name, user) : NULL;

		/* a name with several costly values has several entries */
		if (cost && pr_leftover_is(i, user))
			tn_run_keep(r, name, user, "set by the user: %s", cost);
	}
}

const struct tn_launch_setting tn_launch_leftovers = {
	.id = "run.leftovers",
	.summary = "reports leftover debugging variables",
	.why = "Debugging variables that were left in a script make programs slower, and some make a job hang or compute "
	       "wrong results. NCCL's guide advises against them in production.",
	.hazard = "None: the user's values are kept.",
	.unit = "environment",
	.unmoved = "affects function, not speed",
	.prepare = prepare_leftovers,
};
