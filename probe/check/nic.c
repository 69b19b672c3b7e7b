/* SPDX-License-Identifier: Apache-2.0 */
/* Network ports: ring buffers, queues, MTU, interrupts, device control. ethtool -G and -L and a new MTU interrupt the
 * link. Sources: NVIDIA's Grace tuning guide, mlnx-tools. */
#include <linux/pci_regs.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

#define VERY_FAST_MBIT 100000
#define READ_REQUEST   4096

/* Sets the result if no port could be evaluated: unknown for an unreadable value, else skip. */
static void none_judged(struct pr_finding *f, enum pr_state worst, const char *what)
{
	bool unread = worst == PR_UNREADABLE || worst == PR_BROKEN;

	pr_set(f, unread ? PR_NOT_KNOWN : PR_SKIP, unread ? "%s cannot be read" : "no such port reports %s", what);
}

static enum pr_state worse(enum pr_state a, enum pr_state b)
{
	return a == PR_PRESENT ? b : GT_MAX(a, b);
}

static void balance(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *running = pr_find_tuner(&h->tuners, "irqbalance");
	const struct pr_net *fast = NULL;
	size_t known = 0;

	for (size_t i = 0; i < h->n_net; i++) {
		known += pr_has(h->net[i].speed_mbit);
		if (!fast && pr_is_fast(&h->net[i]) && h->net[i].speed_mbit.v >= VERY_FAST_MBIT)
			fast = &h->net[i];
	}
	if (!h->n_net) {
		pr_set(f, PR_SKIP, "no network port");
	} else if (!running) {
		pr_set(f, PR_PASS, "irqbalance is not running: the kernel distributes the queues of a card, and gputune's "
				   "irq.affinity can place them");
	} else if (!known) {
		pr_set(f, PR_SKIP, "no network port reports its speed");
	} else if (!fast || h->n_node < 2) {
		pr_set(f, PR_PASS, "no port of 100 Gbit/s has interrupts that irqbalance could move to another node");
	} else {
		pr_set(f, PR_ADVICE, "%s moves the interrupts of %s between nodes while a job runs", running, fast->shown);
		pr_remedy(f, "Hosts with many slow devices gain from irqbalance. To place the interrupts once instead:\n"
			     "  systemctl disable --now irqbalance\n  gputune apply --only irq.affinity\n"
			     "To keep it and spare some CPUs only: IRQBALANCE_BANNED_CPULIST=LIST in /etc/default/irqbalance.");
	}
}
const struct pr_check pr_check_irq_balance = {
	.id = "irq.balance",
	.title = "irqbalance moves interrupts of very fast ports",
	.story = "irqbalance spreads interrupts by load every ten seconds. For ports of 100 Gbit/s, NVIDIA's guides stop "
		 "irqbalance and assign the interrupts to CPUs once. On hosts with many slow devices, irqbalance is useful.",
	.run = balance,
};

static void rings(const struct pr_context *c, struct pr_finding *f)
{
	enum pr_state worst = PR_ABSENT;
	size_t judged = 0;

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (!pr_has(n->rx_ring) || !pr_has(n->rx_ring_max) || !pr_has(n->missed)) {
			worst = worse(n->missed.state, worst);
			continue;
		}
		judged++;
		if (n->missed.v <= 0 || n->rx_ring_max.v <= n->rx_ring.v)
			continue;
		pr_set(f, PR_ADVICE, "%s dropped %ld frames for lack of a buffer: it has %ld of %ld", n->shown, n->missed.v,
		       n->rx_ring.v, n->rx_ring_max.v);
		pr_remedy(f, "The link is down for a moment, and larger rings fit worse into the cache:\n  ethtool -G %s rx %ld\n"
			     "At every boot:\n  echo 'ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"%s\", "
			     "RUN+=\"/usr/sbin/ethtool -G %s rx %ld\"' > /etc/udev/rules.d/90-ring.rules",
			  n->name, n->rx_ring_max.v, n->name, n->name, n->rx_ring_max.v);
		return;
	}
	if (judged)
		pr_set(f, PR_PASS, "no port with room for more buffers has dropped a frame");
	else
		none_judged(f, worst, "its buffers and dropped frames");
}
const struct pr_check pr_check_nic_rings = {
	.id = "nic.rings",
	.title = "receive rings of a network port are small",
	.story = "Frames that find no buffer are lost and sent again after a timeout. The card counts these frames "
		 "(rx_missed_errors). gpuprobe advises larger rings only if there are any. A change takes the link down for "
		 "a moment, and larger rings use more of the CPU cache.",
	.run = rings,
};

/*
 * Expects one queue per core of the port's NUMA node. With fewer queues some cores do more work; with more queues than
 * cores, queues share a core.
 */
static void queues(const struct pr_context *c, struct pr_finding *f)
{
	size_t judged = 0;

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];
		const struct pr_node *node = pr_node_of_port(c->host, n);
		gt_auto_set cores = { 0 };
		int64_t fit;

		if (!pr_is_fast(n) || !pr_has(n->channels) || !pr_has(n->channels_max))
			continue;
		judged++;
		pr_first_threads(c->host, node ? &node->cpus : &c->host->cpu.online, &cores);
		fit = GT_MIN(n->channels_max.v, GT_MAX(INT64_C(1), (int64_t)gt_set_count(&cores)));
		if (n->channels.v * 2 > fit && n->channels.v <= fit * 2)
			continue;
		pr_set(f, PR_ADVICE, "%s has %ld queues for %u nearby cores", n->shown, n->channels.v, gt_set_count(&cores));
		pr_remedy(f, "The link is down for a moment, and connections may change their queue:\n  ethtool -L %s combined %ld",
			  n->name, fit);
		return;
	}
	pr_set(f, judged ? PR_PASS : PR_SKIP, judged ? "fast ports have about one queue per core of their node" :
						       "no port of 25 Gbit/s or more reports its queues");
}
const struct pr_check pr_check_nic_queues = {
	.id = "nic.queues",
	.title = "a fast network port has fewer queues than cores near it",
	.story = "Each queue is served by one core. A card of 100 Gbit/s with a few queues is as fast as a few cores. With many "
		 "more queues than cores the packets of one queue wait for those of another. The link goes down for a moment when "
		 "their number is changed.",
	.run = queues,
};

/* Drivers with ETHTOOL_COALESCE_USE_ADAPTIVE_RX among their supported_coalesce_params in Linux, drivers/net/ethernet. */
static bool can_adapt(const struct pr_net *n)
{
	static const char *const drivers[] = { "bnxt_en", "ena",  "enic",      "i40e",      "iavf",
					       "ice",	  "idpf", "mlx4_core", "mlx5_core", "sfc" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(drivers); i++)
		if (gt_streq(n->driver.v, drivers[i]))
			return true;
	return false;
}

/* Amazon's ENA reports no speed on most instances. */
static bool may_be_fast(const struct pr_net *n)
{
	return pr_is_fast(n) || (!pr_has(n->speed_mbit) && gt_streq(n->driver.v, "ena"));
}

static void coalescing(const struct pr_context *c, struct pr_finding *f)
{
	size_t judged = 0;

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (!may_be_fast(n) || !can_adapt(n) || !pr_has(n->adaptive_rx) || !pr_has(n->rx_usecs))
			continue;
		judged++;
		if (n->adaptive_rx.v || n->rx_usecs.v)
			continue;
		pr_set(f, PR_ADVICE, "%s interrupts a CPU without delay for received packets (adaptive-rx off, rx-usecs 0)",
		       n->shown);
		pr_remedy(f, "Under load, packets then wait some microseconds, which small messages over TCP notice:\n"
			     "  ethtool -C %1$s adaptive-rx on\nAt every boot:\n  echo 'ACTION==\"add\", SUBSYSTEM==\"net\", "
			     "KERNEL==\"%1$s\", RUN+=\"/usr/sbin/ethtool -C %1$s adaptive-rx on\"' > "
			     "/etc/udev/rules.d/90-moderation.rules", n->name);
		return;
	}
	pr_set(f, judged ? PR_PASS : PR_SKIP, judged ? "fast ports moderate their interrupts" :
						       "no fast port with adaptive interrupt moderation reports it");
}
/* Sources: Linux, 78cb421d185c (off by default in ena, for latency); NVIDIA's MLNX_EN documentation (on by default in mlx5). */
const struct pr_check pr_check_nic_coalescing = {
	.id = "nic.coalescing",
	.title = "a fast network port does not moderate its interrupts",
	.story = "A card that interrupts a CPU for each burst of packets takes CPU time from the data loader. With adaptive "
		 "moderation the driver delays interrupts under load only. It is on by default for mlx5 and off for Amazon's "
		 "ENA. RDMA does not use these interrupts. mpstat -P ALL 5 shows the CPU time (%soft, %irq) while data is "
		 "read over the network.",
	.run = coalescing,
};

static void mtu(const struct pr_context *c, struct pr_finding *f)
{
	enum pr_state worst = PR_ABSENT;
	size_t judged = 0;

	for (size_t i = 0; i < c->host->n_net; i++) {
		const struct pr_net *n = &c->host->net[i];

		if (!pr_is_fast(n))
			continue;
		if (!pr_has(n->mtu)) {
			worst = worse(n->mtu.state, worst);
			continue;
		}
		judged++;
		if (n->mtu.v > 1500)
			continue;
		pr_set(f, PR_ADVICE, "%s sends frames of %ld bytes: six packets instead of one, and RoCE 1024 bytes at a time",
		       n->shown, n->mtu.v);
		pr_remedy(f, "Only if every host and switch of that network has the same MTU, else large packets vanish:\n"
			     "  ip link set %s mtu 9000\nTo test the way to another host: ping -M do -s 8972 PEER\n"
			     "At every boot: mtu 9000 in /etc/network/interfaces.", n->name);
		return;
	}
	if (judged)
		pr_set(f, PR_PASS, "fast ports send large frames");
	else
		none_judged(f, worst, "its frame size at 25 Gbit/s or more");
}
const struct pr_check pr_check_nic_mtu = {
	.id = "nic.mtu",
	.title = "a fast network port sends small frames",
	.story = "A stream of 25 Gbit/s in frames of 1500 bytes is two million packets per second, which CPU cores must "
		 "handle. If one host or switch on the path supports only smaller frames, large packets are lost without a "
		 "message.",
	.run = mtu,
};

/* Amazon's instances have no choice: those of the Nitro system have ENA only. Sources:
 * https://cloud.google.com/kubernetes-engine/docs/how-to/using-gvnic,
 * https://learn.microsoft.com/azure/virtual-network/accelerated-networking-how-it-works,
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/enhanced-networking.html */
static const struct cloud {
	const char *vendor; /* of the firmware */
	const char *slow, *fast[3], *name;
	const char *remedy;
} clouds[] = {
	{"Google", "virtio_net", {"gve"}, "gVNIC",
	 "The type of a network interface is chosen when the instance is created, and the image must have the gve driver:\n"
	 "  gcloud compute instances create NAME --network-interface=nic-type=GVNIC\n"
	 "  gcloud container clusters create NAME --enable-gvnic"},
	{"Microsoft Corporation", "hv_netvsc", {"mlx5_core", "mlx4_core", "mana"}, "accelerated networking",
	 "Stop the virtual machine first, and use an image with the drivers mlx5_core and mana:\n"
	 "  az vm deallocate --resource-group GROUP --name NAME\n"
	 "  az network nic update --resource-group GROUP --name NIC --accelerated-networking true"},
};

static const struct pr_net *port_with_driver(const struct pr_host *h, const char *driver)
{
	for (size_t i = 0; driver && i < h->n_net; i++)
		if (gt_streq(h->net[i].driver.v, driver))
			return &h->net[i];
	return NULL;
}

static void cloud(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_net *slow, *fast = NULL;
	const struct cloud *here = NULL;

	for (size_t i = 0; i < GT_ARRAY_SIZE(clouds); i++)
		if (gt_streq(c->host->sys_vendor.v, clouds[i].vendor))
			here = &clouds[i];
	if (!here && c->host->sys_vendor.state != PR_PRESENT && c->host->sys_vendor.state != PR_ABSENT) {
		pr_set(f, PR_NOT_KNOWN, "the vendor of the host cannot be read");
		return;
	}
	if (!here) {
		pr_set(f, PR_SKIP, "only for instances of Google and Azure");
		return;
	}
	slow = port_with_driver(c->host, here->slow);
	for (size_t i = 0; i < GT_ARRAY_SIZE(here->fast) && !fast; i++)
		fast = port_with_driver(c->host, here->fast[i]);
	if (slow && !fast) {
		pr_set(f, PR_ADVICE, "%s uses the driver %s, and the instance has no port with %s", slow->shown, here->slow,
		       here->name);
		pr_remedy(f, "%s", here->remedy);
	} else if (fast) {
		pr_set(f, PR_PASS, "%s uses the driver %s", fast->shown, fast->driver.v);
	} else {
		pr_set(f, PR_SKIP, "no network port with a driver of this cloud");
	}
}
const struct pr_check pr_check_nic_cloud = {
	.id = "nic.cloud",
	.title = "a cloud instance has the slow network interface",
	.story = "Cloud instances have a network interface that the hypervisor imitates, and one that reaches the card more "
		 "directly: gVNIC (Google), accelerated networking (Azure). The imitated one needs more CPU time and "
		 "has less bandwidth, so all-reduce between hosts and reading of remote data are slower. A change needs a stop or "
		 "a new instance. The rate of an all-reduce between two hosts shows the effect.",
	.run = cloud,
};

/* ---- PCI Express device control ---------------------------------------------------------------------------------- */

/* Returns the name of a network card: its port or RDMA device, else its address. */
static const char *card_name(const struct pr_host *h, const struct pr_pci *d)
{
	for (size_t i = 0; i < h->n_net; i++)
		if (h->net[i].pci && !strcmp(h->net[i].pci, d->address))
			return h->net[i].shown;
	for (size_t i = 0; i < h->rdma.n; i++)
		if (!strcmp(h->rdma_pci.v[i], d->address))
			return h->rdma.v[i];
	return d->address;
}

static bool reads_little(const struct pr_host *h, const struct pr_pci *d, struct pr_finding *f)
{
	long bytes = 128L << ((d->device_control.v & PCI_EXP_DEVCTL_READRQ) >> 12);

	if (bytes >= READ_REQUEST)
		return false;
	pr_set(f, PR_ADVICE, "%s reads %ld bytes of memory at a time", card_name(h, d), bytes);
	pr_remedy(f, "Best in the firmware: PCIe maximum read request 4096. Until the next reset, where a wrong bit in "
		     "the register hangs the device:\n  setpci -s %s CAP_EXP+8.w=5000:7000", d->address);
	return true;
}

/* The root ports of quirk_relaxedordering_disable() in Linux, drivers/pci/quirks.c: Haswell, Broadwell, Opteron A1100. */
static bool has_erratum(const struct pr_pci *d)
{
	return (d->vendor == 0x8086 && (d->device & 0xff) - 1 < 0x0e && (d->device >> 8 == 0x2f || d->device >> 8 == 0x6f)) ||
	       (d->vendor == 0x1022 && d->device - 0x1a00 < 3);
}

static bool is_below_erratum(const struct pr_host *h, const struct pr_pci *d)
{
	for (size_t i = 0; i < h->n_pci; i++) {
		size_t n = strlen(h->pci[i].path);

		if (n && has_erratum(&h->pci[i]) && !strncmp(d->path, h->pci[i].path, n) && d->path[n] == '/')
			return true;
	}
	return false;
}

static bool keeps_order(const struct pr_host *h, const struct pr_pci *d, struct pr_finding *f)
{
	if (d->device_control.v & PCI_EXP_DEVCTL_RELAX_EN || is_below_erratum(h, d))
		return false;
	pr_set(f, PR_ADVICE, "%s must keep the order of its memory accesses (RlxdOrd-); the default of PCI Express is RlxdOrd+",
	       card_name(h, d));
	pr_remedy(f, "Best in the firmware of the host: PCIe relaxed ordering. Until the next reset, where a wrong bit in the "
		     "register hangs the device:\n  setpci -s %1$s CAP_EXP+8.w=0010:0010\nThen load the card's driver again. "
		     "Data that other devices or programs poll can arrive in another order.\nThe firmware of a ConnectX card "
		     "has a setting of its own (0: by memory region, 1: always):\n  mstconfig -d %1$s query PCI_WR_ORDERING",
		  d->address);
	return true;
}

/* A rule for the device control words. finds() returns whether it has set a finding. */
struct control_rule {
	bool (*finds)(const struct pr_host *h, const struct pr_pci *d, struct pr_finding *f);
	const char *pass, *skip;
};

static void judge_controls(const struct pr_context *c, struct pr_finding *f)
{
	const struct control_rule *rule = c->check->rule;
	bool unread = false;
	size_t judged = 0;

	for (size_t i = 0; i < c->host->n_pci; i++) {
		const struct pr_pci *d = &c->host->pci[i];

		unread |= d->device_control.state == PR_UNREADABLE;
		if (!pr_has(d->device_control))
			continue;
		judged++;
		if (rule->finds(c->host, d, f))
			return;
	}
	pr_set(f, judged ? PR_PASS : PR_SKIP, "%s", judged ? rule->pass :
	       unread ? "only root can read the configuration of network cards" : rule->skip);
}

const struct pr_check pr_check_read_request = {
	.id = "pcie.read-request",
	.title = "the maximum read request of a fast network card is small",
	.story = "A network card reads the data that it sends from memory, in requests of this size. With 512 bytes, it "
		 "hardly reaches 100 Gbit/s. NVIDIA's mlnx_tune reports values below 4096 as a problem. A wrong bit in the "
		 "register hangs the device; a reset undoes it.",
	.run = judge_controls,
	.rule = &(const struct control_rule){ reads_little, "fast ports read 4096 bytes of memory or more at a time",
					      "no fast network card reports its read request size" },
};

/* Sources: PCI Express Base Specification, 7.5.3.4; Linux, 17347d5430c4 (mlx5e follows the bit) and 87e09cdec4da (errata). */
const struct pr_check pr_check_relaxed_ordering = {
	.id = "pcie.relaxed-order",
	.title = "a network card may not reorder its memory accesses",
	.story = "With relaxed ordering, writes of a network card to memory do not wait for earlier ones. The driver mlx5 "
		 "uses it for Ethernet if the device control word of the card allows it. Its authors measured four times the "
		 "bandwidth on an Arm host whose card was at the other node. Bandwidth between two hosts (ib_write_bw, "
		 "iperf3, all_reduce_perf of nccl-tests) shows the effect. Linux clears the bit below root ports of Haswell, "
		 "Broadwell and Opteron A1100, because of errata. Virtual functions follow their physical function.",
	.run = judge_controls,
	.rule = &(const struct control_rule){ keeps_order, "fast network cards may use relaxed ordering, or a faulty root port "
					      "forbids it", "no fast network card reports whether it may use relaxed ordering" },
};
