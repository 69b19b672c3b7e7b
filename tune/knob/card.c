/* SPDX-License-Identifier: Apache-2.0 */
/* Network cards: where their interrupts go, their buffers and queues. What restarts a link (ethtool -G, -L, a new MTU)
 * is reported only. Sources: Linux' Documentation/core-api/irq/irq-affinity.rst, NVIDIA's Grace tuning guide,
 * mlnx-tools. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"

#define VERY_FAST_MBIT 100000

static const struct pr_node *node_of(const struct pr_host *h, const struct pr_net *n)
{
	for (size_t i = 0; pr_has(n->numa_node) && i < h->n_node; i++)
		if (h->node[i].id == n->numa_node.v)
			return &h->node[i];
	return NULL;
}

/* ---- interrupts ---------------------------------------------------------------------------------------------------
 */

static void fast_irqs(struct gt_fsroot *fs, const struct pr_host *h, struct gt_strv *ret)
{
	for (size_t i = 0; i < h->n_net; i++)
		for (size_t k = 0; tn_is_fast(&h->net[i]) && k < h->net[i].irqs.n; k++) {
			gt_autofree char *path = gt_xasprintf("/proc/irq/%s/smp_affinity_list", h->net[i].irqs.v[k]);

			if (gt_fs_exists(fs, path)) /* a vector that no queue uses has none */
				gt_strv_add(ret, h->net[i].irqs.v[k]);
		}
}

static const struct pr_net *port_of_irq(const struct pr_host *h, const char *irq)
{
	for (size_t i = 0; i < h->n_net; i++)
		if (tn_is_fast(&h->net[i]) && gt_strv_has(&h->net[i].irqs, irq))
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

	if (!node_of(c->host, port))
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
	const struct pr_node *node = node_of(c->host, port);
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
	const struct pr_node *node = node_of(c->host, port);
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

static char *look_balance(const struct tn_ctx *c)
{
	const char *balancer = tn_facts_tuner(c->facts, "irqbalance");

	return c->host->n_net ? gt_xstrdup(balancer ? balancer : "not installed or not enabled") : NULL;
}

static void want_balance(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const struct pr_net *fast = NULL;

	for (size_t i = 0; i < c->host->n_net && !fast; i++)
		if (tn_is_fast(&c->host->net[i]) && pr_or(c->host->net[i].speed_mbit, 0) >= VERY_FAST_MBIT)
			fast = &c->host->net[i];
	if (!gt_starts_with(now->current, "irqbalance"))
		tn_leave(w, TN_ALREADY,
			 "the kernel spreads the queues of a card by itself, and irq.affinity can place them");
	else if (fast && c->host->n_node > 1)
		tn_leave(w, TN_ADVICE,
			 "it moves the interrupts of %s between nodes while a job runs: systemctl disable --now "
			 "irqbalance; "
			 "gputune apply --only irq.affinity. To keep it and only spare some CPUs: "
			 "IRQBALANCE_BANNED_CPULIST=LIST in /etc/default/irqbalance",
			 fast->name);
	else
		tn_leave(w, TN_ALREADY, "no port of 100 Gbit/s whose interrupts it could take to another node");
}

const struct tn_knob tn_knob_irq_balance = {
	.id = "irq.balance",
	.look = look_balance,
	.summary = "whether irqbalance moves interrupts about",
	.why = "irqbalance spreads interrupts by load every ten seconds. For a port of 100 Gbit/s NVIDIA's guides "
	       "switch it "
	       "off and place the queues once.",
	.hazard = "Hosts with many slow devices gain from it: reported, never stopped.",
	.unit = "service",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_balance,
};

/* ---- buffers and queues --------------------------------------------------------------------------------------------
 */

static char *look_rings(const struct tn_ctx *c)
{
	gt_auto_buf b = {0};

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (pr_has(n->rx_ring) && pr_has(n->rx_ring_max))
			gt_buf_printf(&b, "%s%s %ld of %ld", b.len ? ", " : "", n->name, n->rx_ring.v,
				      n->rx_ring_max.v);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}

static void want_rings(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (pr_or(n->missed, 0) <= 0 || !pr_has(n->rx_ring) || pr_or(n->rx_ring_max, 0) <= n->rx_ring.v)
			continue;
		tn_leave(w, TN_ADVICE,
			 "%s missed %ld frames for want of a buffer: ethtool -G %s rx %ld (the link is down for a "
			 "moment); for "
			 "good: echo 'ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"%s\", RUN+=\"/usr/sbin/ethtool -G "
			 "%s rx %ld\"' > "
			 "/etc/udev/rules.d/90-ring.rules",
			 n->name, n->missed.v, n->name, n->rx_ring_max.v, n->name, n->name, n->rx_ring_max.v);
		return;
	}
	tn_leave(w, TN_ALREADY, "no port with a larger ring to be had has missed a frame");
}

const struct tn_knob tn_knob_nic_rings = {
	.id = "nic.rings",
	.look = look_rings,
	.summary = "buffers in which a network card lays down what arrives",
	.why = "Frames that find no buffer are lost and sent again after a timeout. The card counts them "
	       "(rx_missed_errors), so "
	       "more buffers are advised only where it happened.",
	.hazard =
		"The link goes down for a moment, and larger rings fit worse into the cache: reported, never changed.",
	.unit = "frames",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_rings,
};

static char *look_queues(const struct tn_ctx *c)
{
	gt_auto_buf b = {0};

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (tn_is_fast(n) && pr_has(n->channels) && pr_has(n->channels_max))
			gt_buf_printf(&b, "%s%s %ld of %ld", b.len ? ", " : "", n->name, n->channels.v,
				      n->channels_max.v);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}

/* One queue per core of its node: with fewer some cores take more than their share, with more they share one. */
static void want_queues(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];
		const struct pr_node *node = node_of(c->host, n);
		gt_auto_set cores = {0};
		int64_t fit;

		if (!tn_is_fast(n) || !pr_has(n->channels) || !pr_has(n->channels_max))
			continue;
		pr_first_threads(c->host, node ? &node->cpus : &c->host->cpu.online, &cores);
		fit = GT_MIN(n->channels_max.v, GT_MAX(INT64_C(1), (int64_t)gt_set_count(&cores)));
		if (n->channels.v * 2 > fit && n->channels.v <= fit * 2)
			continue;
		tn_leave(w, TN_ADVICE,
			 "%s has %ld queues, and %u cores are near: ethtool -L %s combined %ld (the link is down for a "
			 "moment)",
			 n->name, n->channels.v, gt_set_count(&cores), n->name, fit);
		return;
	}
	tn_leave(w, TN_ALREADY, "about one queue per core of the port's node");
}

const struct tn_knob tn_knob_nic_queues = {
	.id = "nic.queues",
	.look = look_queues,
	.summary = "queues of a fast network card against the cores near it",
	.why = "Each queue is served by one core. A card of 100 Gbit/s with a few queues is as fast as a few cores; "
	       "with many "
	       "more than there are cores the packets of a queue wait for those of another.",
	.hazard = "The link goes down for a moment, and connections may change their queue: reported, never changed.",
	.unit = "queues",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_queues,
};

static char *look_mtu(const struct tn_ctx *c)
{
	gt_auto_buf b = {0};

	for (size_t i = 0; i < c->host->n_net; i++)
		if (tn_is_fast(&c->host->net[i]) && pr_has(c->host->net[i].mtu))
			gt_buf_printf(&b, "%s%s %ld", b.len ? ", " : "", c->host->net[i].name, c->host->net[i].mtu.v);
	return b.len ? gt_buf_take(&b) : NULL;
}

static void want_mtu(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (!tn_is_fast(n) || !pr_has(n->mtu) || n->mtu.v > 1500)
			continue;
		tn_leave(w, TN_ADVICE,
			 "%s sends frames of %ld bytes, six packets where one would do, and RoCE 1024 bytes at a time; "
			 "only where every "
			 "host and switch of that network does the same: ip link set %s mtu 9000, then ping -M do -s "
			 "8972 PEER; for "
			 "good: mtu 9000 in /etc/network/interfaces",
			 n->name, n->mtu.v, n->name);
		return;
	}
	tn_leave(w, TN_ALREADY, "large frames");
}

const struct tn_knob tn_knob_nic_mtu = {
	.id = "nic.mtu",
	.look = look_mtu,
	.summary = "size of the frames of fast network ports",
	.why = "A stream of 25 Gbit/s in frames of 1500 bytes is two million packets a second, each of which some core "
	       "takes.",
	.hazard = "One host or switch on the way with smaller frames, and large packets vanish without a word: "
		  "reported, never "
		  "changed.",
	.unit = "bytes",
	.mechanism = "",
	.tag = 'C',
	.takes_effect = TN_NOW,
	.op = TN_SET,
	.desired = want_mtu,
};
