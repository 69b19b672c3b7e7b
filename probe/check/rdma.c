/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of InfiniBand and RoCE cards, compared with the other cards of the same model. A card without such a sibling is
 * judged by its own errors only. Sources: the kernel's sysfs-class-infiniband, the thresholds of infiniband-diags
 * (ibcheckerrs: 10 per counter), NCCL's documentation (NCCL_IB_GID_INDEX).
 */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

#define DAY_S		86400
#define ERRORS_A_DAY	10

/*
 * One rule for the ports of a host. judge() compares a port with another, or with itself. FOUND: it has set the finding.
 */
enum verdict { NOT_CONCERNED, FINE, UNREADABLE, FOUND };
struct port_rule {
	enum verdict (*judge)(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *other,
			      struct pr_finding *f);
	const char *pass, *skip;	/* pass NULL: judge() sets it */
	const char *unknown;
	bool alone; /* a port is compared with itself only */
};

/* Applies the rule of the check to all ports. */
static void run_rule(const struct pr_context *c, struct pr_finding *f)
{
	const struct port_rule *rule = c->check->rule;
	const struct pr_rdma *r = &c->host->rdma_ports;
	size_t count[FOUND] = { 0 };

	if (!r->n) {
		pr_set(f, PR_SKIP, "no InfiniBand or RoCE port");
		return;
	}
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = rule->alone ? i : 0; k < (rule->alone ? i + 1 : r->n); k++) {
			enum verdict v = rule->judge(c->host, &r->port[i], &r->port[k], f);

			if (v == FOUND)
				return;
			count[v]++;
		}
	if (count[UNREADABLE])
		pr_set(f, PR_NOT_KNOWN, "%s", rule->unknown);
	else if (!count[FINE])
		pr_set(f, PR_SKIP, "%s", rule->skip);
	else if (rule->pass)
		pr_set(f, PR_PASS, "%s", rule->pass);
}

static bool is_active(const struct pr_rdma_port *p)
{
	return pr_or(p->state, 0) == PR_RDMA_ACTIVE;
}

/* Returns whether both are ports of the same model, with the same kind of link and at the same place on their card. */
static bool are_siblings(const struct pr_rdma_port *a, const struct pr_rdma_port *b)
{
	return a != b && gt_streq(a->board.v, b->board.v ? b->board.v : "") && a->ethernet == b->ethernet &&
	       a->first_function == b->first_function && a->port == b->port;
}

/* ---- state ---------------------------------------------------------------------------------------------------- */

static size_t active_siblings(const struct pr_host *h, const struct pr_rdma_port *p)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rdma_ports.n; i++)
		n += are_siblings(p, &h->rdma_ports.port[i]) && is_active(&h->rdma_ports.port[i]);
	return n;
}

static enum verdict state(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *self,
			  struct pr_finding *f)
{
	size_t others = active_siblings(h, p), active = 0;

	if (p->state.state != PR_PRESENT) {
		pr_set(f, PR_NOT_KNOWN, "the state of %s port %d is %s", p->device, p->port, pr_state_name(p->state.state));
		return FOUND;
	}
	if (!p->ethernet && p->state.v == PR_RDMA_INIT) {
		pr_set(f, PR_WARN, "%s port %d has a link, but the subnet manager has not activated it", p->device, p->port);
		pr_remedy(f, "Check that a subnet manager runs on the switch or on a host of this fabric:\n  ibstat %s; sminfo",
			  p->device);
		return FOUND;
	}
	if (!is_active(p) && others >= 2) {
		pr_set(f, PR_WARN, "%s port %d is down%s, but %zu ports of the same model are active", p->device, p->port,
		       pr_or(p->phys_state, 0) == PR_RDMA_POLLING ? " (it finds no partner)" : "", others);
		pr_remedy(f, "Check cable, transceiver and the switch port:\n  ibstat %s; mlxlink -d %s -m", p->device, p->device);
		return FOUND;
	}
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		active += is_active(&h->rdma_ports.port[i]);
	pr_set(f, PR_PASS, "%zu of %zu ports are active, and no port is down where those of the same model are active", active,
	       h->rdma_ports.n);
	return FINE;
}
const struct pr_check pr_check_rdma_state = {
	.id = "rdma.port-state",
	.title = "an InfiniBand or RoCE port is down",
	.story = "NCCL uses all active ports. If one port of several is down, its GPUs share the port of others or use TCP, and "
		 "all ranks wait for them. An InfiniBand port in state INIT has a link but no subnet manager.",
	.messages = "NET/IB : No device found.\nPort 1: State: Down\nPhysical state: Polling",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = state,
					  .alone = true },
};

/* ---- rate ----------------------------------------------------------------------------------------------------- */

static enum verdict rate(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *other,
			 struct pr_finding *f)
{
	if (!is_active(p))
		return NOT_CONCERNED;
	if (!pr_has(p->rate_gbit))
		return UNREADABLE;
	if (!is_active(other) || !are_siblings(p, other) || p->rate_gbit.v >= pr_or(other->rate_gbit, 0))
		return FINE;
	pr_set(f, PR_WARN, "%s port %d runs at %s, but %s of the same model at %s", p->device, p->port, p->rate.v, other->device,
	       other->rate.v);
	pr_remedy(f, "Check cable, transceiver and the speed of the switch port:\n  mlxlink -d %s -m", p->device);
	return FOUND;
}
const struct pr_check pr_check_rdma_rate = {
	.id = "rdma.rate",
	.title = "an InfiniBand or RoCE port is slower than others",
	.story = "A bad cable or a wrong switch port lets a link train at a lower speed or with fewer lanes. Collectives run at "
		 "the speed of the slowest port.",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = rate,
					  .pass = "active ports of the same model run at the same rate",
					  .skip = "no port is active",
					  .unknown = "the rate of an active port cannot be read" },
};

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* The counters start at the load of the driver or at the last reset, so the true rate is at least this one. */
static bool is_frequent(const struct pr_host *h, struct pr_num n)
{
	int64_t days = GT_MAX(pr_or(h->errors.uptime_s, 0) / DAY_S, INT64_C(1));

	return pr_or(n, 0) > ERRORS_A_DAY * days;
}

static enum verdict errors(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *self,
			   struct pr_finding *f)
{
	enum verdict v = NOT_CONCERNED;

	for (int k = 0; k < PR_RDMA_ERRORS; k++) {
		if (is_frequent(h, p->error[k])) {
			pr_set(f, PR_WARN, "%s port %d has %ld errors in %s, more than %d per day of uptime", p->device, p->port,
			       p->error[k].v, pr_rdma_error_files[k], ERRORS_A_DAY);
			pr_remedy(f, "Reseat or clean the cable and its connectors, and read the counters again under load:\n"
				     "  grep . /sys/class/infiniband/%s/ports/%d/counters/*err*\n  mlxlink -d %s -m -c",
				  p->device, p->port, p->device);
			return FOUND;
		}
		if (p->error[k].state == PR_UNREADABLE || p->error[k].state == PR_BROKEN)
			v = UNREADABLE;
		else if (pr_has(p->error[k]) && v == NOT_CONCERNED)
			v = FINE;
	}
	return v;
}
const struct pr_check pr_check_rdma_errors = {
	.id = "rdma.errors",
	.title = "an InfiniBand or RoCE port has link errors",
	.story = "A port counts damaged symbols, damaged packets and lost links. A few are normal. With many errors, "
		"packets are sent again and NCCL slows down or times out. The cause is nearly always the cable or its "
		"connectors.",
	.messages = "NCCL WARN NET/IB : Got completion with error 12",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = errors,
					  .pass = "the ports have at most a few link errors",
					  .skip = "no port has error counters",
					  .unknown = "the error counters of an InfiniBand or RoCE port cannot be read",
					  .alone = true },
};

/* ---- firmware ------------------------------------------------------------------------------------------------- */

static enum verdict firmware(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *other,
			     struct pr_finding *f)
{
	if (other >= p || !p->firmware.v || !other->firmware.v || !gt_streq(p->board.v, other->board.v ? other->board.v : ""))
		return NOT_CONCERNED;
	if (!strcmp(p->firmware.v, other->firmware.v))
		return FINE;
	pr_set(f, PR_WARN, "%s has firmware %s, but %s of the same model %s", p->device, p->firmware.v, other->device,
	       other->firmware.v);
	pr_remedy(f, "Install the same firmware on both, at a time without jobs:\n  mlxfwmanager --query");
	return FOUND;
}
const struct pr_check pr_check_rdma_firmware = {
	.id = "rdma.firmware",
	.title = "network cards of one model have different firmware",
	.story = "An update that failed on one card leaves it with another firmware. Defaults and congestion control then differ "
		 "between ports, and collectives run at the speed of the slowest one.",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = firmware,
					  .pass = "cards of the same model have the same firmware",
					  .skip = "no two cards of one model" },
};

/* ---- RoCE addresses and frames -------------------------------------------------------------------------------- */

static enum verdict gid(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *self,
			struct pr_finding *f)
{
	size_t with_ipv4 = 0;

	for (size_t i = 0; i < h->rdma_ports.n; i++)
		with_ipv4 += pr_or(h->rdma_ports.port[i].gids_v2_ipv4, 0) > 0;
	if (!pr_has(p->gids_v2))
		return NOT_CONCERNED;
	if (p->gids_v2.v && (pr_or(p->gids_v2_ipv4, 0) || !with_ipv4))
		return FINE;
	pr_set(f, PR_WARN, p->gids_v2.v ? "%s port %d has no RoCE v2 GID with an IPv4 address, but other ports have one" :
					  "%s port %d has no RoCE v2 GID: packets cannot cross a router",
	       p->device, p->port);
	pr_remedy(f, "Give its interface an address, and choose an entry of this list with NCCL_IB_GID_INDEX:\n  show_gids %s",
		  p->device);
	return FOUND;
}
const struct pr_check pr_check_rdma_gid = {
	.id = "rdma.gid",
	.title = "a RoCE port has no usable GID",
	.story = "RoCE v2 uses the IP addresses of the interface. A port without an address has only link-local entries in its GID "
		 "table, and NCCL connects to no host on another subnet.",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = gid,
					  .pass = "every active RoCE port has a RoCE v2 GID",
					  .skip = "no active RoCE port reports its GIDs",
					  .alone = true },
};

/* Returns the network interface of a RoCE port, by its PCI device. */
static const struct pr_net *net_of(const struct pr_host *h, const struct pr_rdma_port *p)
{
	for (size_t i = 0; i < h->n_net; i++)
		if (h->net[i].pci && *p->pci && !strcmp(h->net[i].pci, p->pci))
			return &h->net[i];
	return NULL;
}

/* Returns whether both are active RoCE ports of the same model. */
static bool are_roce_siblings(const struct pr_rdma_port *p, const struct pr_rdma_port *q)
{
	return p->ethernet && is_active(p) && is_active(q) && are_siblings(p, q);
}

static enum verdict frames(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *q,
			   struct pr_finding *f)
{
	const struct pr_net *a = net_of(h, p), *b = net_of(h, q);

	if (q >= p || !are_roce_siblings(p, q) || !a || !b || !pr_has(a->mtu) || !pr_has(b->mtu))
		return NOT_CONCERNED;
	if (a->mtu.v == b->mtu.v)
		return FINE;
	pr_set(f, PR_WARN, "%s (%s) has MTU %ld, but %s (%s) of the same model has %ld", p->device, a->shown, a->mtu.v, q->device,
	       b->shown, b->mtu.v);
	pr_remedy(f, "Set the larger one if the switch supports it:\n  ip link set %s mtu %ld",
		  a->mtu.v < b->mtu.v ? a->name : b->name, GT_MAX(a->mtu.v, b->mtu.v));
	return FOUND;
}
const struct pr_check pr_check_rdma_mtu = {
	.id = "rdma.frame-size",
	.title = "RoCE ports have different MTUs",
	.story = "A RoCE connection uses the largest power of two up to 4096 bytes that fits into the MTU of both "
		"interfaces. With MTU 1500 that is 1024 bytes. Two hosts with different values fail to connect or lose packets.",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = frames,
					  .pass = "active RoCE ports of the same model have the same MTU",
					  .skip = "no two active RoCE ports" },
};

/* Formats the mask of priorities: "priority 3", "priorities 3,4" or "no priority". */
static const char *priorities(struct pr_num mask, char *buf, size_t size)
{
	gt_auto_set set = { 0 };
	gt_autofree char *list = NULL;

	for (unsigned i = 0; i < 8; i++)
		if (mask.v >> i & 1)
			gt_set_add(&set, i);
	list = gt_set_format(&set);
	snprintf(buf, size, "%s%s", !*list ? "no priority" : gt_set_count(&set) > 1 ? "priorities " : "priority ", list);
	return buf;
}

static enum verdict pfc(const struct pr_host *h, const struct pr_rdma_port *p, const struct pr_rdma_port *q,
			struct pr_finding *f)
{
	const struct pr_net *a = net_of(h, p), *b = net_of(h, q);
	char one[32], two[32];

	if (!p->ethernet || !is_active(p) || !a || !pr_has(a->pfc))
		return NOT_CONCERNED;
	if (are_roce_siblings(p, q) && b && pr_has(b->pfc) && a->pfc.v < b->pfc.v) {
		pr_set(f, PR_WARN, "%s (%s) has PFC for %s, but %s (%s) of the same model for %s", p->device, a->shown,
		       priorities(a->pfc, one, sizeof(one)), q->device, b->shown, priorities(b->pfc, two, sizeof(two)));
		pr_remedy(f, "Ask the network administrator which priorities the switch protects. Compare both, and set "
			     "all ports alike:\n  dcb pfc show dev %s\n  dcb pfc show dev %s",
			  a->name, b->name);
		return FOUND;
	}
	pr_set(f, PR_PASS, "active RoCE ports have PFC for %s%s", priorities(a->pfc, one, sizeof(one)),
	       a->pfc.v ? "" : ": RoCE relies on ECN and on retransmission");
	return FINE;
}
const struct pr_check pr_check_rdma_pfc = {
	.id = "rdma.pfc",
	.title = "RoCE ports have different flow control",
	.story = "With priority flow control (PFC) a switch pauses a port before it drops RoCE packets. It works only if cards and "
		 "switch protect the same priority. A port without it loses packets under load, and all ranks wait while it sends "
		 "them again.",
	.run = run_rule,
	.rule = &(const struct port_rule){ .judge = pfc, .skip = "no active RoCE port reports its flow control (PFC)" },
};
