/* SPDX-License-Identifier: Apache-2.0 */
/* Socket buffers (Documentation/networking/ip-sysctl.rst and admin-guide/sysctl/net.rst of Linux). */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/knob/list.h"

#define FAST_MBIT 25000

/* Returns the speed of the fastest Ethernet port. IP interfaces of InfiniBand carry RDMA, which uses no socket buffers. */
static int64_t fastest_mbit(const struct pr_host *h, const char **ret_name)
{
	int64_t best = 0;

	for (size_t i = 0; i < h->n_net; i++) {
		int64_t v = pr_or(h->net[i].speed_mbit, 0);

		if (gt_starts_with(h->net[i].name, "ib") || v <= best)
			continue;
		best = v;
		*ret_name = h->net[i].name;
	}
	return best;
}

/* Formats a link speed such as "100 Gbit/s", "2.5 Gbit/s" or "100 Mbit/s". */
static const char *speed(char text[32], int64_t mbit)
{
	if (mbit < 1000)
		snprintf(text, 32, "%ld Mbit/s", mbit);
	else
		snprintf(text, 32, "%g Gbit/s", (double)mbit / 1000);
	return text;
}

static bool has_fast_port(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	const char *name = NULL;
	int64_t mbit = fastest_mbit(c->host, &name);
	char text[32];

	if (!mbit)
		gt_buf_puts(found, "no port reports its speed");
	else if (mbit < FAST_MBIT)
		gt_buf_printf(found, "the fastest port, %s, has %s", name, speed(text, mbit));
	return mbit >= FAST_MBIT;
}

static const struct tn_precondition fast_port = { "a network port of 25 Gbit/s or more; the default suffices for slower ones",
						  has_fast_port };

/*
 * Returns the data in flight during 5 ms, rounded up to a power of two. 5 ms is the delay of a long path with queues in
 * a data centre.
 */
static void want_buffer(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	const char *name = NULL;
	int64_t mbit = fastest_mbit(c->host, &name), want = 16 << 20;
	char text[32];

	while (want < mbit * 1000 * 1000 / 8 / 200 && want < 128 << 20)
		want *= 2;
	tn_set_num(w, want, "5 ms of %s at %s, for programs that request large buffers for TCP sockets", name, speed(text, mbit));
}

#define BUFFER_WHY                                                                                                     \
	"This is the maximum for SO_RCVBUF and SO_SNDBUF. NCCL over sockets, NFS and object-store clients request " \
	"large buffers. A buffer smaller than the bandwidth multiplied by the delay cannot fill a fast link."
#define BUFFER_HAZARD                                                                                                  \
	"No effect on RDMA, NVLink, or TCP that sizes its own buffers (tcp_rmem, tcp_wmem). Programs that request " \
	"the maximum use more memory per socket. gputune only raises the value."

const struct tn_tunable tn_tunable_rmem_max = {
	.id = "net.core.rmem_max",
	.summary = "largest receive buffer a program may request",
	.why = BUFFER_WHY,
	.hazard = BUFFER_HAZARD,
	.unit = "bytes",
	.mechanism = "",
	.unmoved = "a limit: nothing becomes faster until a program requests a larger buffer",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned bpftune",
	.preconditions = { &fast_port },
	.range = { { 212992, INT32_MAX, 8 } },
	.desired = want_buffer,
};
const struct tn_tunable tn_tunable_wmem_max = {
	.id = "net.core.wmem_max",
	.summary = "largest send buffer a program may request",
	.why = BUFFER_WHY,
	.hazard = BUFFER_HAZARD,
	.unit = "bytes",
	.mechanism = "",
	.unmoved = "a limit: nothing becomes faster until a program requests a larger buffer",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned bpftune",
	.preconditions = { &fast_port },
	.range = { { 212992, INT32_MAX, 8 } },
	.desired = want_buffer,
};

/* ---- buffers of TCP --------------------------------------------------------------------------------------------- */

/* The sysctls have the form "min default max". Only the maximum is raised. */
static void want_tcp_mem(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	long min, start, max;
	struct tn_desired third = {0};

	want_buffer(c, now, &third);
	if (!now->current || sscanf(now->current, "%ld %ld %ld", &min, &start, &max) != 3)
		tn_leave(w, TN_BLOCKED, "the file does not contain three numbers");
	else {
		gt_autofree char *value = gt_xasprintf("%ld %ld %s", min, start, third.value);

		tn_set(w, value, "%s", third.reason);
	}
}

#define TCP_MEM_WHY                                                                                                    \
	"TCP sizes its buffers automatically, up to the third number. The defaults are 6 MiB for receiving and 4 " \
	"MiB for sending. This is enough for 10 Gbit/s with a delay of 5 ms, and limits a single faster stream from " \
	"NFS or an object store. tuned's network-throughput profile raises it to 16 MiB."
#define TCP_MEM_HAZARD                                                                                                 \
	"More memory per busy connection, and longer queues on a slow one. No effect on RDMA and NVLink. " \
	"gputune does not change the first two numbers, which apply to every connection, and only raises the third."

/* Every connection gets the minimum and the default, so with large values a few connections could take all memory. */
#define TCP_MEM_RANGE { { 1024, 1 << 20, 0 }, { 4096, 64 << 20, 1024 }, { 65536, INT32_MAX, 8 } }

const struct tn_tunable tn_tunable_tcp_rmem = {
	.id = "net.ipv4.tcp_rmem",
	.summary = "limit of TCP's automatic receive buffer",
	.why = TCP_MEM_WHY,
	.hazard = TCP_MEM_HAZARD,
	.unit = "bytes",
	.mechanism = "tcp.stream",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned bpftune",
	.preconditions = { &fast_port },
	.range = TCP_MEM_RANGE,
	.desired = want_tcp_mem,
};
const struct tn_tunable tn_tunable_tcp_wmem = {
	.id = "net.ipv4.tcp_wmem",
	.summary = "limit of TCP's automatic send buffer",
	.why = TCP_MEM_WHY,
	.hazard = TCP_MEM_HAZARD,
	.unit = "bytes",
	.mechanism = "tcp.stream",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned bpftune",
	.preconditions = { &fast_port },
	.range = TCP_MEM_RANGE,
	.desired = want_tcp_mem,
};

/* ---- by counters, and by number of ports -------------------------------------------------------------------------- */

/*
 * The value is raised by one step only. The counters cover the whole time since boot, so they do not show whether a change
 * stopped the losses.
 */

static bool has_dropped(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return c->facts->dropped;
}

static const struct tn_precondition dropped = { "packets dropped since boot because the backlog was full", has_dropped };

static void want_backlog(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 10000, "%ld packets were dropped since boot because it was full", (long)c->facts->dropped);
}

const struct tn_tunable tn_tunable_backlog = {
	.id = "net.core.netdev_max_backlog",
	.summary = "received packets that may wait for a CPU",
	.why = "If packets arrive faster than a CPU handles them, they wait in this queue; when it is full, further packets "
	       "are dropped and sent again. The kernel counts dropped packets (/proc/net/softnet_stat). gputune raises the "
	       "limit only if there are any.",
	.hazard = "A longer queue means a longer delay. Drops may also mean that one core handles all interrupts.",
	.unit = "packets",
	.mechanism = "",
	.unmoved = "has an effect only if a network card delivers faster than a CPU handles packets, which needs a second host",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned bpftune",
	.preconditions = { &dropped },
	.range = { { 1000, 1000000, 0 } },
	.desired = want_backlog,
};

static bool has_squeezed(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return c->facts->squeezed;
}

static const struct tn_precondition squeezed = { "a CPU that stopped since boot while packets were waiting",
						 has_squeezed };

static void want_budget(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 600, "a CPU stopped %ld times since boot while packets were waiting", (long)c->facts->squeezed);
}

const struct tn_tunable tn_tunable_budget = {
	.id = "net.core.netdev_budget",
	.summary = "packets handled before other programs run",
	.why = "A CPU that has handled this number of packets lets other programs run, even if more packets wait. The "
	       "kernel counts such stops (/proc/net/softnet_stat). gputune raises the budget only if there are any.",
	.hazard = "Programs on that CPU wait longer. net.core.netdev_budget_usecs limits the time; if that limit is reached "
		  "first, a larger budget has no effect.",
	.unit = "packets",
	.mechanism = "tcp.stream",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned bpftune",
	.preconditions = { &squeezed },
	.range = { { 300, 100000, 0 } },
	.desired = want_budget,
};

static bool is_fast(const struct pr_net *port)
{
	return pr_or(port->speed_mbit, 0) >= FAST_MBIT;
}

static size_t fast_ports(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_net; i++)
		n += is_fast(&h->net[i]);
	return n;
}

/* Counts the fast ports that share a subnet with another fast port. */
static size_t rails_in_one(const struct tn_ctx *c)
{
	const struct pr_host *h = c->host;
	size_t n = 0;

	for (size_t i = 0; i < h->n_net; i++) {
		bool shared = false;

		for (size_t k = 0; k < h->n_net && is_fast(&h->net[i]); k++)
			shared |= k != i && is_fast(&h->net[k]) && tn_facts_same_subnet(c->facts, h->net[i].name, h->net[k].name);
		n += shared;
	}
	return n;
}

static bool has_rails(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return fast_ports(c->host) >= 2;
}

static bool has_routes(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return c->facts->routes;
}

static bool shares_subnet(const struct tn_ctx *c, const struct tn_now *now, struct gt_buf *found)
{
	return rails_in_one(c);
}

static const struct tn_precondition two_fast_ports = { "two or more ports of 25 Gbit/s or more", has_rails };
static const struct tn_precondition known_subnets = { "a readable /proc/net/route with the subnets of the ports", has_routes,
						      TN_SKIPPED };
static const struct tn_precondition one_subnet = { "two fast ports with addresses in one subnet", shares_subnet };

static void rails(const struct tn_ctx *c, struct tn_desired *w, int64_t value)
{
	tn_set_num(w, value, "%zu fast ports are in one subnet; each should answer for its own address only", rails_in_one(c));
}

static void want_arp_announce(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	rails(c, w, 2);
}

static void want_arp_ignore(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	rails(c, w, 1);
}

#define ARP_WHY                                                                                                        \
	"If several ports are in one subnet, Linux answers ARP requests for any of its addresses on any port. RoCE " \
	"connections of different network cards (rails) then all use one card. NVIDIA's base profile sets it."
#define ARP_HAZARD                                                                                                     \
	"Breaks addresses that move between hosts (VRRP, keepalived, load balancers)."

const struct tn_tunable tn_tunable_arp_announce = {
	.id = "net.ipv4.arp_announce",
	.key = "net.ipv4.conf.all.arp_announce",
	.summary = "address that a port announces by ARP",
	.why = ARP_WHY,
	.hazard = ARP_HAZARD,
	.unit = "0 to 2",
	.mechanism = "",
	.unmoved = "determines which card answers, not the speed",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.preconditions = { &two_fast_ports, &known_subnets, &one_subnet },
	.range = { { 0, 2, 0 } },
	.desired = want_arp_announce,
};
const struct tn_tunable tn_tunable_arp_ignore = {
	.id = "net.ipv4.arp_ignore",
	.key = "net.ipv4.conf.all.arp_ignore",
	.summary = "ARP requests that a port answers",
	.why = ARP_WHY,
	.hazard = ARP_HAZARD,
	.unit = "0 to 8",
	.mechanism = "",
	.unmoved = "determines which card answers, not the speed",
	.tag = 'B',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.rivals = "tuned",
	.preconditions = { &two_fast_ports, &known_subnets, &one_subnet },
	.range = { { 0, 2, 0 } },
	.desired = want_arp_ignore,
};

static void want_sunrpc(const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	tn_set_num(w, 128, "allows that many simultaneous reads of a data set on NFS");
}

static const char *sunrpc(const struct pr_host *h)
{
	return "sunrpc";
}

const struct tn_tunable tn_tunable_sunrpc = {
	.id = "nfs.slots",
	.key = "sunrpc.tcp_max_slot_table_entries",
	.module = sunrpc,
	.summary = "simultaneous requests to an NFS server",
	.why = "With few simultaneous requests, loader workers that read a data set over NFS wait for each other.",
	.hazard = "Many requests may overload a server with many clients. Since Linux 2.6.38 the kernel's default of 65536 "
		  "is higher already. Affects new mounts only. The setting exists only after the sunrpc module is loaded.",
	.unit = "requests",
	.mechanism = "",
	.unmoved = "needs an NFS server; measure with your own command",
	.tag = 'B',
	.takes_effect = TN_NEW_DEVICE,
	.op = TN_RAISE,
	.rivals = "tuned",
	.range = { { 2, 65536, 0 } },
	.desired = want_sunrpc,
};
