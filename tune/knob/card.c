/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts of network ports. Sources: Documentation/core-api/irq/irq-affinity.rst of Linux, NVIDIA's Grace tuning
 * guide, mlnx-tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "tune/knob/list.h"

static void fast_irqs(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_net; i++)
		for (size_t k = 0; pr_is_fast(&h->net[i]) && k < h->net[i].irqs.n; k++) {
			gt_autofree char *path = gt_xasprintf("/proc/irq/%s/smp_affinity_list", h->net[i].irqs.v[k]);

			if (gt_fs_exists(fs, path)) /* an interrupt vector without a queue has no such file */
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

static bool has_node(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	const struct pr_net *port = port_of_irq(c->host, now->instance);

	if (port && pr_node_of_port(c->host, port))
		return true;
	gt_buf_printf(found, "the node of %s is unknown", port ? port->name : "this interrupt's port");
	return false;
}

/* Returns the online CPUs of the network port's NUMA node; "": none. The caller frees it. */
static char *near_cpus(const struct tn_ctx *c, const struct pr_node *node)
{
	gt_auto_set near = {0};

	gt_set_copy(&near, &node->cpus);
	gt_set_and(&near, &c->host->cpu.online);
	return gt_set_format(&near);
}

static bool has_near_cpus(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	const struct pr_net *port = port_of_irq(c->host, now->instance);
	const struct pr_node *node = pr_node_of_port(c->host, port);
	gt_autofree char *cpus = near_cpus(c, node);

	if (!*cpus)
		gt_buf_printf(found, "node %d of %s has none", node->id, port->name);
	return *cpus;
}

static bool has_no_balancer(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	const char *balancer = tn_facts_tuner(c->facts, "irqbalance");

	if (balancer)
		gt_buf_printf(found, "%s; to stop it: systemctl disable --now irqbalance", balancer);
	return !balancer;
}

/* Since Linux 6.11 the mode of the file shows whether the affinity can be changed. */
static bool is_movable(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return !now->read_only;
}

static const struct tn_precondition known_node = { "a port whose NUMA node is known", has_node, TN_SKIPPED };
static const struct tn_precondition near = { "online CPUs at the port's node", has_near_cpus };
static const struct tn_precondition no_balancer = { "no irqbalance, which moves interrupts itself", has_no_balancer, TN_SKIPPED };
static const struct tn_precondition movable = { "an interrupt that programs can move (some drivers forbid it)",
						is_movable, .test_write = true };

static void want_irq_affinity(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	const struct pr_net *port = port_of_irq(c->host, now->instance);
	const struct pr_node *node = pr_node_of_port(c->host, port);
	gt_autofree char *cpus = near_cpus(c, node);

	tn_set(w, cpus, "%s is at node %d", port->name, node->id);
}

static int check_cpu_list(const struct tn_tunable *k, const struct pr_host *host, const char *value, struct gt_err *err)
{
	gt_auto_set cpus = { 0 }, there = { 0 };

	if (gt_parse_cpulist(value, &cpus) < 0 || !gt_set_count(&cpus))
		return gt_fail(err, EINVAL, "%s takes a list of CPUs such as 0-7,16, not '%.40s'", k->id, value);
	if (!host)
		return 0;
	gt_set_copy(&there, &cpus);
	gt_set_and(&there, &host->cpu.online);
	return gt_set_equal(&there, &cpus) ? 0 : gt_fail(err, ERANGE, "%s: some CPUs of '%.40s' are not online on this host", k->id,
							 value);
}

const struct tn_tunable tn_tunable_irq_affinity = {
	.id = "irq.affinity",
	.path = "/proc/irq/%s/smp_affinity_list",
	.instances = fast_irqs,
	.names_change = true,
	.check_value = check_cpu_list,
	.summary = "CPUs for interrupts of fast network ports",
	.why = "If a CPU of another NUMA node handles a packet, the data crosses the link between the sockets twice. It "
		"is then in the wrong cache. gputune sets the CPUs of the port's own node, for ports of 25 Gbit/s and more. "
	       "NVIDIA's Grace guide and mlnx_tune do the same. The kernel distributes the queues of a port over these "
	       "CPUs.",
	.hazard = "Loader workers on that node share their CPUs with the interrupts. irqbalance would undo the change, so "
		  "it must not run. Interrupts that cannot be moved are skipped. Interrupt numbers change from boot to "
		  "boot, so the setting is not stored in a file; gputune.service applies it again at each boot.",
	.unit = "CPU list",
	.mechanism = "",
	.unmoved = "needs traffic on a network card; measure with your own command",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.rivals = "irqbalance tuned",
	.preconditions = { &tn_two_nodes, &known_node, &near, &no_balancer, &movable },
	.desired = want_irq_affinity,
};
