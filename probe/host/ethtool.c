/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffers, queues, interrupt moderation and flow control of network cards. They are queried through sockets, so a captured
 * host has the results of all cards as the fact "ethtool": a line for rings and queues, one for interrupt moderation, and one
 * for priority flow control (PFC). */
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/host/reading.h"

static bool query(int fd, const char *name, void *command)
{
	struct ifreq r = { .ifr_data = command };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &r) == 0;
}

static struct pr_num positive(uint32_t v)
{
	return v ? pr_value(v) : (struct pr_num){ PR_ABSENT, 0 };
}

/* ---- priority flow control ------------------------------------------------------------------------------------- */

/* PFC (IEEE 802.1Qbb) is read by rtnetlink (linux/dcbnl.h). The kernel answers within send(). Reading needs no privilege. */
struct request {
	struct nlmsghdr head;
	struct dcbmsg dcb;
	struct rtattr name;
	char text[RTA_ALIGN(IFNAMSIZ)];
};

/* Returns the attribute of this type in a list of len bytes; NULL: none. */
static const struct rtattr *find_attribute(const void *list, size_t len, unsigned type)
{
	const struct rtattr *a = list;

	for (int left = (int)len; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

bool pr_parse_pfc(const char *answer, size_t len, struct pr_num *ret)
{
	const struct nlmsghdr *head = (const void *)answer;
	size_t skip = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct dcbmsg)));
	const struct rtattr *a;
	struct ieee_pfc pfc;

	if (len < skip || head->nlmsg_type != RTM_GETDCB)
		return false;
	a = find_attribute(answer + skip, len - skip, DCB_ATTR_IEEE);
	a = a ? find_attribute(RTA_DATA(a), RTA_PAYLOAD(a), DCB_ATTR_IEEE_PFC) : NULL;
	if (!a || RTA_PAYLOAD(a) < sizeof(pfc))
		return false;
	memcpy(&pfc, RTA_DATA(a), sizeof(pfc));
	*ret = pr_value(pfc.pfc_en);
	return true;
}

static void query_pfc(struct pr_net *n)
{
	struct request q = { .head = { .nlmsg_type = RTM_GETDCB, .nlmsg_flags = NLM_F_REQUEST },
			     .dcb = { .cmd = DCB_CMD_IEEE_GET },
			     .name = { .rta_type = DCB_ATTR_IFNAME } };
	gt_autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	_Alignas(struct nlmsghdr) char answer[16384];
	size_t len = strlen(n->name) + 1;
	ssize_t got;

	if (fd < 0 || len > IFNAMSIZ)
		return;
	memcpy(q.text, n->name, len);
	q.name.rta_len = (unsigned short)RTA_LENGTH(len);
	q.head.nlmsg_len = (unsigned)(offsetof(struct request, name) + RTA_ALIGN(q.name.rta_len));
	if (send(fd, &q, q.head.nlmsg_len, 0) < 0)
		return;
	got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	if (got > 0)
		pr_parse_pfc(answer, (size_t)got, &n->pfc);
}

/* ---- rings and queues ------------------------------------------------------------------------------------------ */

static void query_card(struct pr_net *n)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_channels ch = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_coalesce co = { .cmd = ETHTOOL_GCOALESCE };
	gt_autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (query(fd, n->name, &ring)) {
		n->rx_ring = positive(ring.rx_pending);
		n->rx_ring_max = positive(ring.rx_max_pending);
	}
	if (query(fd, n->name, &co)) {
		n->adaptive_rx = pr_value(co.use_adaptive_rx_coalesce != 0);
		n->rx_usecs = pr_value(co.rx_coalesce_usecs);
	}
	if (pr_is_fast(n))
		query_pfc(n);
	if (query(fd, n->name, &ch)) {
		n->channels = positive(ch.combined_count);
		n->channels_max = positive(ch.max_combined);
	}
}

static void read_fact(struct gt_fsroot *fs, struct pr_net *n)
{
	gt_autofree char *text = NULL;

	if (gt_fs_fact(fs, "ethtool", &text, NULL) < 0)
		return;
	gt_each_line(line, text) {
		size_t len = strcspn(line, " ");
		uint32_t v[4];

		if (len != strlen(n->name) || strncmp(line, n->name, len))
			continue;
		if (sscanf(line + len, " pfc %x", &v[0]) == 1 && v[0] <= 0xff)
			n->pfc = pr_value(v[0]);
		if (sscanf(line + len, " adaptive-rx %u usecs %u", &v[0], &v[1]) == 2) {
			n->adaptive_rx = pr_value(v[0] != 0);
			n->rx_usecs = pr_value(v[1]);
		}
		if (sscanf(line + len, " ring %u of %u queues %u of %u", &v[0], &v[1], &v[2], &v[3]) != 4)
			continue;
		n->rx_ring = positive(v[0]);
		n->rx_ring_max = positive(v[1]);
		n->channels = positive(v[2]);
		n->channels_max = positive(v[3]);
	}
}

void pr_read_ethtool(struct gt_fsroot *fs, struct pr_net *n)
{
	n->rx_ring.state = n->rx_ring_max.state = n->channels.state = n->channels_max.state = n->pfc.state = PR_UNKNOWN;
	n->adaptive_rx.state = n->rx_usecs.state = PR_UNKNOWN;
	if (gt_fs_is_live(fs))
		query_card(n);
	else
		read_fact(fs, n);
}

char *pr_ethtool_fact(const struct pr_host *h)
{
	gt_auto_buf b = { 0 };

	for (size_t i = 0; i < h->n_net; i++) {
		const struct pr_net *n = &h->net[i];

		if (pr_has(n->rx_ring) || pr_has(n->channels))
			gt_buf_printf(&b, "%s ring %ld of %ld queues %ld of %ld\n", n->name, pr_or(n->rx_ring, 0),
				      pr_or(n->rx_ring_max, 0), pr_or(n->channels, 0), pr_or(n->channels_max, 0));
		if (pr_has(n->adaptive_rx))
			gt_buf_printf(&b, "%s adaptive-rx %ld usecs %ld\n", n->name, n->adaptive_rx.v, n->rx_usecs.v);
		if (pr_has(n->pfc))
			gt_buf_printf(&b, "%s pfc %02x\n", n->name, (unsigned)n->pfc.v);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}
