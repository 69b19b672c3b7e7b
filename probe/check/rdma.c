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

static bool no_port(const struct pr_context *c, struct pr_finding *f)
{
	if (c->host->rdma_ports.n)
		return false;
	pr_set(f, PR_SKIP, "no InfiniBand or RoCE port");
	return true;
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

static void state(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t active = 0;

	if (no_port(c, f))
		return;
	for (size_t i = 0; i < h->rdma_ports.n; i++) {
		const struct pr_rdma_port *p = &h->rdma_ports.port[i];
		size_t others = active_siblings(h, p);

		active += is_active(p);
		if (p->state.state != PR_PRESENT) {
			pr_set(f, PR_NOT_KNOWN, "the state of %s port %d is %s", p->device, p->port, pr_state_name(p->state.state));
			return;
		}
		if (!p->ethernet && p->state.v == PR_RDMA_INIT) {
			pr_set(f, PR_WARN, "%s port %d has a link, but the subnet manager has not activated it", p->device,
					p->port);
			pr_remedy(f, "Check that a subnet manager runs on the switch or on a host of this fabric:\n  ibstat %s; "
					"sminfo",
				  p->device);
			return;
		}
		if (is_active(p) || others < 2)
			continue;
		pr_set(f, PR_WARN, "%s port %d is down%s, but %zu ports of the same model are active", p->device, p->port,
		       pr_or(p->phys_state, 0) == PR_RDMA_POLLING ? " (it finds no partner)" : "", others);
		pr_remedy(f, "Check cable, transceiver and the switch port:\n  ibstat %s; mlxlink -d %s -m", p->device, p->device);
		return;
	}
	pr_set(f, PR_PASS, "%zu of %zu ports are active, and no port is down where those of the same model are active", active,
	       h->rdma_ports.n);
}
const struct pr_check pr_check_rdma_state = {
	.id = "rdma.port-state",
	.title = "an InfiniBand or RoCE port is down",
	.story = "NCCL uses all active ports. If one port of several is down, its GPUs share the port of others or use TCP, and "
		 "all ranks wait for them. An InfiniBand port in state INIT has a link but no subnet manager.",
	.messages = "NET/IB : No device found.\nPort 1: State: Down\nPhysical state: Polling",
	.run = state,
};

/* ---- rate ----------------------------------------------------------------------------------------------------- */

static void rate(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t active = 0, known = 0;

	if (no_port(c, f))
		return;
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		for (size_t k = 0; k < h->rdma_ports.n; k++) {
			const struct pr_rdma_port *p = &h->rdma_ports.port[i], *other = &h->rdma_ports.port[k];

			active += is_active(p);
			known += is_active(p) && pr_has(p->rate_gbit);
			if (!is_active(p) || !pr_has(p->rate_gbit))
				continue;
			if (!is_active(other) || !are_siblings(p, other) || p->rate_gbit.v >= pr_or(other->rate_gbit, 0))
				continue;
			pr_set(f, PR_WARN, "%s port %d runs at %s, but %s of the same model at %s", p->device, p->port, p->rate.v,
			       other->device, other->rate.v);
			pr_remedy(f, "Check cable, transceiver and the speed of the switch port:\n  mlxlink -d %s -m", p->device);
			return;
		}
	if (known < active)
		pr_set(f, PR_NOT_KNOWN, "the rate of an active port cannot be read");
	else
		pr_set(f, active ? PR_PASS : PR_SKIP,
		       active ? "active ports of the same model run at the same rate" : "no port is active");
}
const struct pr_check pr_check_rdma_rate = {
	.id = "rdma.rate",
	.title = "an InfiniBand or RoCE port is slower than others",
	.story = "A bad cable or a wrong switch port lets a link train at a lower speed or with fewer lanes. Collectives run at "
		 "the speed of the slowest port.",
	.run = rate,
};

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* The counters start at the load of the driver or at the last reset, so the true rate is at least this one. */
static bool is_frequent(const struct pr_host *h, struct pr_num n)
{
	int64_t days = GT_MAX(pr_or(h->errors.uptime_s, 0) / DAY_S, INT64_C(1));

	return pr_or(n, 0) > ERRORS_A_DAY * days;
}

static void errors(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t known = 0, unread = 0;

	if (no_port(c, f))
		return;
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		for (int k = 0; k < PR_RDMA_ERRORS; k++) {
			const struct pr_rdma_port *p = &h->rdma_ports.port[i];

			known += pr_has(p->error[k]);
			unread += p->error[k].state == PR_UNREADABLE || p->error[k].state == PR_BROKEN;
			if (!is_frequent(h, p->error[k]))
				continue;
			pr_set(f, PR_WARN, "%s port %d has %ld errors in %s, more than %d per day of uptime", p->device, p->port,
			       p->error[k].v, pr_rdma_error_files[k], ERRORS_A_DAY);
			pr_remedy(f, "Reseat or clean the cable and its connectors, and read the counters again under load:\n"
				     "  grep . /sys/class/infiniband/%s/ports/%d/counters/*err*\n  mlxlink -d %s -m -c",
				     p->device, p->port,
				  p->device);
			return;
		}
	if (unread)
		pr_set(f, PR_NOT_KNOWN, "the error counters of an InfiniBand or RoCE port cannot be read");
	else
		pr_set(f, known ? PR_PASS : PR_SKIP, known ? "the ports have at most a few link errors" :
				"no port has error counters");
}
const struct pr_check pr_check_rdma_errors = {
	.id = "rdma.errors",
	.title = "an InfiniBand or RoCE port has link errors",
	.story = "A port counts damaged symbols, damaged packets and lost links. A few are normal. With many errors, "
		"packets are sent again and NCCL slows down or times out. The cause is nearly always the cable or its "
		"connectors.",
	.messages = "NCCL WARN NET/IB : Got completion with error 12",
	.run = errors,
};

/* ---- firmware ------------------------------------------------------------------------------------------------- */

static void firmware(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t known = 0;

	if (no_port(c, f))
		return;
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct pr_rdma_port *p = &h->rdma_ports.port[i], *other = &h->rdma_ports.port[k];

			if (!p->firmware.v || !other->firmware.v || !gt_streq(p->board.v, other->board.v ? other->board.v : ""))
				continue;
			known++;
			if (!strcmp(p->firmware.v, other->firmware.v))
				continue;
			pr_set(f, PR_WARN, "%s has firmware %s, but %s of the same model %s", p->device, p->firmware.v,
					other->device,
			       other->firmware.v);
			pr_remedy(f, "Install the same firmware on both, at a time without jobs:\n  mlxfwmanager --query");
			return;
		}
	pr_set(f, known ? PR_PASS : PR_SKIP, known ? "cards of the same model have the same firmware" :
			"no two cards of one model");
}
const struct pr_check pr_check_rdma_firmware = {
	.id = "rdma.firmware",
	.title = "network cards of one model have different firmware",
	.story = "An update that failed on one card leaves it with another firmware. Defaults and congestion control then differ "
		 "between ports, and collectives run at the speed of the slowest one.",
	.run = firmware,
};

/* ---- RoCE addresses and frames -------------------------------------------------------------------------------- */

static void gid(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t with_ipv4 = 0, known = 0;

	if (no_port(c, f))
		return;
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		with_ipv4 += pr_or(h->rdma_ports.port[i].gids_v2_ipv4, 0) > 0;
	for (size_t i = 0; i < h->rdma_ports.n; i++) {
		const struct pr_rdma_port *p = &h->rdma_ports.port[i];

		if (!pr_has(p->gids_v2))
			continue;
		known++;
		if (p->gids_v2.v && (pr_or(p->gids_v2_ipv4, 0) || !with_ipv4))
			continue;
		pr_set(f, PR_WARN, p->gids_v2.v ? "%s port %d has no RoCE v2 GID with an IPv4 address, but other ports have one" :
						  "%s port %d has no RoCE v2 GID: packets cannot cross a router", p->device,
						  p->port);
		pr_remedy(f, "Give its interface an address, and choose an entry of this list with NCCL_IB_GID_INDEX:\n  "
				"show_gids %s",
			  p->device);
		return;
	}
	pr_set(f, known ? PR_PASS : PR_SKIP, known ? "every active RoCE port has a RoCE v2 GID" :
			"no active RoCE port reports its GIDs");
}
const struct pr_check pr_check_rdma_gid = {
	.id = "rdma.gid",
	.title = "a RoCE port has no usable GID",
	.story = "RoCE v2 uses the IP addresses of the interface. A port without an address has only link-local entries in its GID "
		 "table, and NCCL connects to no host on another subnet.",
	.messages = "NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\nCall to ibv_modify_qp "
		    "failed with error Connection timed out",
	.run = gid,
};

/* Returns the network interface of a RoCE port, by its PCI device. */
static const struct pr_net *net_of(const struct pr_host *h, const struct pr_rdma_port *p)
{
	for (size_t i = 0; i < h->n_net; i++)
		if (h->net[i].pci && *p->pci && !strcmp(h->net[i].pci, p->pci))
			return &h->net[i];
	return NULL;
}

static void frames(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t known = 0;

	if (no_port(c, f))
		return;
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct pr_rdma_port *p = &h->rdma_ports.port[i], *q = &h->rdma_ports.port[k];
			const struct pr_net *a = net_of(h, p), *b = net_of(h, q);

			if (!p->ethernet || !is_active(p) || !is_active(q) || !are_siblings(p, q) || !a || !b || !pr_has(a->mtu) ||
			    !pr_has(b->mtu))
				continue;
			known++;
			if (a->mtu.v == b->mtu.v)
				continue;
			pr_set(f, PR_WARN, "%s (%s) has MTU %ld, but %s (%s) of the same model has %ld", p->device, a->shown,
					a->mtu.v,
			       q->device, b->shown, b->mtu.v);
			pr_remedy(f, "Set the larger one if the switch supports it:\n  ip link set %s mtu %ld",
				  a->mtu.v < b->mtu.v ? a->name : b->name, GT_MAX(a->mtu.v, b->mtu.v));
			return;
		}
	pr_set(f, known ? PR_PASS : PR_SKIP, known ? "active RoCE ports of the same model have the same MTU" :
			"no two active RoCE ports");
}
const struct pr_check pr_check_rdma_mtu = {
	.id = "rdma.frame-size",
	.title = "RoCE ports have different MTUs",
	.story = "A RoCE connection uses the largest power of two up to 4096 bytes that fits into the MTU of both "
		"interfaces. With MTU 1500 that is 1024 bytes. Two hosts with different values fail to connect or lose packets.",
	.run = frames,
};
