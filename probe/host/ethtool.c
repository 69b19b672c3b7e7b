/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffers and queues of network cards (linux/ethtool.h). They are queried through a socket, so a captured host has
 * the results of all cards as the fact "ethtool", one line each. */
#include <linux/ethtool.h>
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

static void query_card(struct pr_net *n)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_channels ch = { .cmd = ETHTOOL_GCHANNELS };
	gt_autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (query(fd, n->name, &ring)) {
		n->rx_ring = positive(ring.rx_pending);
		n->rx_ring_max = positive(ring.rx_max_pending);
	}
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

		if (len != strlen(n->name) || strncmp(line, n->name, len) ||
		    sscanf(line + len, " ring %u of %u queues %u of %u", &v[0], &v[1], &v[2], &v[3]) != 4)
			continue;
		n->rx_ring = positive(v[0]);
		n->rx_ring_max = positive(v[1]);
		n->channels = positive(v[2]);
		n->channels_max = positive(v[3]);
	}
}

void pr_read_ethtool(struct gt_fsroot *fs, struct pr_net *n)
{
	n->rx_ring.state = n->rx_ring_max.state = n->channels.state = n->channels_max.state = PR_UNKNOWN;
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
	}
	return b.len ? gt_buf_take(&b) : NULL;
}
