/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_RDMA_H
#define PR_RDMA_H
/* Ports of InfiniBand and RoCE devices, from /sys/class/infiniband. Source: the kernel's
 * Documentation/ABI/stable/sysfs-class-infiniband. */
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/host/value.h"

struct pr_host;

enum pr_rdma_error { PR_RDMA_SYMBOL, PR_RDMA_RECOVERY, PR_RDMA_DOWNED, PR_RDMA_RECEIVE, PR_RDMA_INTEGRITY, PR_RDMA_OVERRUN,
		PR_RDMA_ERRORS };
extern const char *const pr_rdma_error_files[PR_RDMA_ERRORS]; /* names of the counters in sysfs: "symbol_error" */

struct pr_rdma_port {
	const char *device, *pci; /* "mlx5_0"; pci: address of the device, "" if unknown */
	int port;   /* number of the port, from 1 */
	bool first_function;	  /* function 0 of its PCI device, the first port of a card */
	bool ethernet;		  /* RoCE */
	struct pr_str board, firmware;	   /* model of the card ("MT_0000000838"), firmware version */
	struct pr_num state, phys_state;   /* number before the colon of "4: ACTIVE" and "5: LinkUp" */
	struct pr_num rate_gbit;	   /* number in "400 Gb/sec (4X NDR)" */
	struct pr_str rate;		   /* the text */
	struct pr_num error[PR_RDMA_ERRORS];
	struct pr_num gids_v2, gids_v2_ipv4; /* for RoCE: whether a RoCE v2 GID exists, and one with an IPv4 address */
};

struct pr_rdma {
	struct pr_rdma_port *port;
	size_t n;
};

#define PR_RDMA_ACTIVE 4
#define PR_RDMA_INIT   2 /* an InfiniBand link that waits for the subnet manager */
#define PR_RDMA_POLLING 2 /* phys_state: searches a partner */

void pr_discover_rdma_ports(struct gt_fsroot *fs, struct pr_host *h); /* runs after the devices */
void pr_rdma_clear(struct pr_rdma *r);
json_t *pr_rdma_json(const struct pr_rdma *r);
#endif
