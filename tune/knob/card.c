/* SPDX-License-Identifier: Apache-2.0 */
/* Where the interrupts of network cards go. Sources: Linux' Documentation/core-api/irq/irq-affinity.rst, NVIDIA's Grace tuning
 * guide, mlnx-tools. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"

static void fast_irqs(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_net; i++)
		for (size_t k = 0; pr_is_fast(&h->net[i]) && k < h->net[i].irqs.n; k++) {
			gt_autofree char *path = gt_xasprintf("/proc/irq/%s/smp_affinity_list", h->net[i].irqs.v[k]);

			if (gt_fs_exists(fs, path)) /* a vector that no queue uses has none */
				gt_strv_add(ret, h->net[i].irqs.v[k]);
		}
}

static const struct pr_net *port_of_irq(const struct pr_host *h, const char *irq)
{
	for (size_t i = 0; i < h->n_net; i++)
		if (pr_is_fast(&h->net[i]) && gt_strv_has(&h->net[i].irqs, irq))
			return &h->net[i];
	return NULL;
}

static void need_far_node(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	if (c->host->n_node < 2 || !port_of_irq(c->host, now->instance))
		tn_not_applicable(w, "one NUMA node: no CPU is nearer than another");
}

static void need_known_node(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const struct pr_net *port = port_of_irq(c->host, now->instance);

	if (!pr_node_of_port(c->host, port))
		tn_leave(w, TN_SKIPPED, "the node of %s is not known: left as it is, rather than moved to a wrong one",
			 port->name);
}

/* The CPUs beside the card that are there; "" if none. The caller frees it. */
static char *near_cpus(const struct tn_ctx *c, const struct pr_node *node)
{
	gt_auto_set near = {0};

	gt_set_copy(&near, &node->cpus);
	gt_set_and(&near, &c->host->cpu.online);
	return gt_set_format(&near);
}

static void need_near_cpus(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const struct pr_net *port = port_of_irq(c->host, now->instance);
	const struct pr_node *node = pr_node_of_port(c->host, port);
	gt_autofree char *cpus = near_cpus(c, node);

	if (!*cpus)
		tn_not_applicable(w, "node %d of %s has no CPUs", node->id, port->name);
}

static void need_no_balancer(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const char *balancer = tn_facts_tuner(c->facts, "irqbalance");

	if (balancer)
		tn_leave(w, TN_SKIPPED, "%s moves interrupts by itself: systemctl disable --now irqbalance first",
			 balancer);
}

/* From Linux 6.11 on what the kernel moves itself (managed: a driver has spread its queues) cannot be written by its mode. */
static void need_movable(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	gt_autofree char *path = gt_xasprintf("/proc/irq/%s/smp_affinity_list", now->instance);
	struct stat st;

	/* a captured host has no modes */
	if (gt_fs_dir(c->fs) && gt_fs_stat(c->fs, path, &st) >= 0 && !(st.st_mode & S_IWUSR))
		tn_not_applicable(w, "the kernel keeps this interrupt to itself: its driver has spread the queues");
}

static const struct tn_need irq_needs[] = {
	{ "two or more NUMA nodes", need_far_node },
	{ "a port whose node is known", need_known_node },
	{ "CPUs at that node", need_near_cpus },
	{ "irqbalance is not at work", need_no_balancer },
	{ "an interrupt that the kernel lets others move", need_movable },
	{ 0 },
};

static void want_irq_affinity(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const struct pr_net *port = port_of_irq(c->host, now->instance);
	const struct pr_node *node = pr_node_of_port(c->host, port);
	gt_autofree char *cpus = near_cpus(c, node);

	tn_want(w, cpus, "%s lies at node %d", port->name, node->id);
}

const struct tn_knob tn_knob_irq_affinity = {
	.id = "irq.affinity",
	.path = "/proc/irq/%s/smp_affinity_list",
	.instances = fast_irqs,
	.may_refuse = true,
	.names_move = true,
	.cpu_list = true,
	.summary = "fast network ports interrupt the CPUs of their own node",
	.why = "A packet that is taken by a CPU of the other node crosses the link between the sockets twice, and its "
	       "data "
	       "land in the wrong cache. For ports of 25 Gbit/s and more; NVIDIA's Grace guide and mlnx_tune do the "
	       "same. The "
	       "kernel spreads the queues of a card over the CPUs of the list.",
	.hazard = "Loader workers on that node share their CPUs with the interrupts. Only without irqbalance, which "
		  "would undo "
		  "it. One that the kernel keeps to itself is left out. Interrupt numbers change from boot to boot, so it is "
		  "never persisted: gputune.service applies it anew.",
	.unit = "CPU list",
	.mechanism = "",
	.unmoved = "needs a network card at work; bring your own command",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.form = TN_NO_FORM,
	.rivals = "irqbalance tuned",
	.needs = irq_needs,
	.desired = want_irq_affinity,
};
