/* SPDX-License-Identifier: Apache-2.0 */
/* Socket buffers (Documentation/networking/ip-sysctl.rst and admin-guide/sysctl/net.rst of Linux). */
#include <string.h>
#include "tune/knob/list.h"

#define FAST_MBIT	25000

/* The fastest Ethernet port; InfiniBand's IP interfaces carry RDMA, which has no socket buffers. */
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

/* What is on its way during 5 ms, which is a far corner of a data centre with queues, as a power of two. */
static void want_buffer(const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	const char *name = NULL;
	int64_t mbit = fastest_mbit(c->host, &name), want = 16 << 20;

	if (!mbit) {
		tn_not_applicable(w, "no network port tells its speed");
	} else if (mbit < FAST_MBIT) {
		tn_not_applicable(w, "the fastest port, %s, has %ld Gbit/s; below 25 the default suffices", name,
				  mbit / 1000);
	} else {
		while (want < mbit * 1000 * 1000 / 8 / 200 && want < 128 << 20)
			want *= 2;
		tn_want_num(w, want,
			    "5 ms of %s at %ld Gbit/s, for programs that ask for large socket buffers over TCP", name,
			    mbit / 1000);
	}
}

#define BUFFER_WHY                                                                                                     \
	"The most that a program may ask for with SO_RCVBUF and SO_SNDBUF. NCCL over sockets, NFS and object-store "   \
	"clients "                                                                                                     \
	"do ask; with less than bandwidth times delay a fast link cannot be filled."
#define BUFFER_HAZARD                                                                                                  \
	"No effect on RDMA, NVLink, or TCP that sizes its buffers itself (tcp_rmem and tcp_wmem do that). Memory per " \
	"socket "                                                                                                      \
	"grows for programs that ask for the maximum. Raised only."

const struct tn_knob tn_knob_rmem_max = {
	.id = "net.core.rmem_max",
	.key = "net.core.rmem_max",
	.summary = "largest receive buffer a program may ask for",
	.why = BUFFER_WHY,
	.hazard = BUFFER_HAZARD,
	.unit = "bytes",
	.mechanism = "",
	.tag = 'A',
	.takes_effect = TN_NOW,
	.op = TN_RAISE,
	.form = TN_SYSCTL_D,
	.rivals = "tuned bpftune",
	.desired = want_buffer,
};
const struct tn_knob tn_knob_wmem_max = {
	.id = "net.core.wmem_max", .key = "net.core.wmem_max", .summary = "largest send buffer a program may ask for",
	.why = BUFFER_WHY, .hazard = BUFFER_HAZARD, .unit = "bytes", .mechanism = "", .tag = 'A',
	.takes_effect = TN_NOW, .op = TN_RAISE, .form = TN_SYSCTL_D, .rivals = "tuned bpftune", .desired = want_buffer,
};
