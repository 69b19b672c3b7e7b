/* SPDX-License-Identifier: Apache-2.0 */
/* Disks, network cards and RDMA ports, except virtual ones. */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/text.h"
#include "probe/host/reading.h"
#include "probe/scrub/scrub.h"

#define FAST_MBIT 25000
#define CAP_STEPS 48 /* a list with more members would not fit into 256 bytes; ends loops */

bool pr_is_virtual_disk(const struct pr_host *h, const char *name)
{
	return gt_starts_with(name, "vd") || gt_starts_with(name, "xvd") ||
	       (h->virt.state == PR_PRESENT && !gt_starts_with(name, "nvme"));
}

/* Returns the address of the last PCI device on the path that a link resolves to; NULL if there is none. */
static const char *pci_behind(struct gt_fsroot *fs, struct pr_host *h, const char *link)
{
	gt_autofree char *real = NULL;
	const char *found = NULL;

	if (gt_fs_realpath(fs, link, &real) < 0)
		return NULL;
	for (size_t i = 0; i < h->n_pci; i++) {
		const char *at = strstr(real, h->pci[i].address);

		if (at && at[-1] == '/' && (at[12] == '/' || !at[12]) && (!found || strstr(at, found) == NULL))
			found = h->pci[i].address;
	}
	return found;
}

/* Returns the volume that uses the device, NULL if there is none. */
static const char *holder_of(struct gt_fsroot *fs, struct pr_host *h, const char *dir)
{
	gt_autofree char *path = gt_xasprintf("%s/holders", dir);
	gt_auto_strv names = { 0 };

	return gt_fs_list(fs, path, &names) >= 0 && names.n ? pr_keep(h, names.v[0]) : NULL;
}

/*
 * Returns the volume that uses the disk. If no volume uses the whole disk but volumes use each of its partitions, returns
 * the last of these. Else NULL.
 */
static const char *holder_of_all(struct gt_fsroot *fs, struct pr_host *h, const char *name)
{
	gt_autofree char *dir = gt_xasprintf("/sys/block/%s", name);
	const char *holder = holder_of(fs, h, dir);
	gt_auto_strv parts = { 0 };

	if (holder || gt_fs_list(fs, dir, &parts) < 0)
		return holder;
	for (size_t i = 0; i < parts.n; i++) {
		gt_autofree char *part = gt_xasprintf("%s/%s", dir, parts.v[i]), *mark = gt_xasprintf("%s/partition", part);

		if (!gt_starts_with(parts.v[i], name) || !gt_fs_exists(fs, mark))
			continue;
		holder = holder_of(fs, h, part);
		if (!holder)
			return NULL;
	}
	return holder;
}

static void add_volume(struct gt_fsroot *fs, struct pr_host *h, const char *name)
{
	struct pr_block *b = &h->volume[h->n_volume];
	struct pr_num sectors = pr_read_num(fs, "/sys/block/%s/size", name);

	if (!pr_has(sectors) || sectors.v <= 0 || holder_of_all(fs, h, name))
		return;
	b->name = pr_keep(h, name);
	b->rotational = pr_read_num(fs, "/sys/block/%s/queue/rotational", name);
	b->read_ahead_kb = pr_read_num(fs, "/sys/block/%s/queue/read_ahead_kb", name);
	b->size_bytes = pr_value(sectors.v * 512);
	b->uuid = pr_read_str(h, fs, "/sys/block/%s/dm/uuid", name);
	b->numa_node = (struct pr_num){ PR_UNKNOWN, 0 };
	h->n_volume++;
}

static void add_block(struct gt_fsroot *fs, struct pr_host *h, const char *name)
{
	struct pr_block *b = &h->block[h->n_block];
	gt_autofree char *device = gt_xasprintf("/sys/block/%s/device", name);
	struct pr_num sectors;

	if (!gt_fs_exists(fs, device)) { /* virtual: loop, ram, zram, dm, md */
		if (gt_starts_with(name, "dm-") || (gt_starts_with(name, "md") && name[2] >= '0' && name[2] <= '9'))
			add_volume(fs, h, name);
		return;
	}
	b->name = pr_keep(h, name);
	b->holder = holder_of_all(fs, h, name);
	b->rotational = pr_read_num(fs, "/sys/block/%s/queue/rotational", name);
	b->read_ahead_kb = pr_read_num(fs, "/sys/block/%s/queue/read_ahead_kb", name);
	b->scheduler = pr_read_str(h, fs, "/sys/block/%s/queue/scheduler", name);
	b->model = pr_read_str(h, fs, "/sys/block/%s/device/model", name);
	b->numa_node = pr_read_node(fs, "/sys/block/%s/device/numa_node", name);
	if (b->numa_node.state == PR_ABSENT) /* for NVMe the value is at the controller */
		b->numa_node = pr_read_node(fs, "/sys/block/%s/device/device/numa_node", name);
	b->pci = pci_behind(fs, h, device);
	sectors = pr_read_num(fs, "/sys/block/%s/size", name);
	b->size_bytes = pr_has(sectors) ? pr_value(sectors.v * 512) : sectors;
	h->n_block++;
}

bool pr_is_fast(const struct pr_net *n)
{
	return pr_or(n->speed_mbit, 0) >= FAST_MBIT && !gt_starts_with(n->name, "ib");
}

const struct pr_node *pr_node_of_port(const struct pr_host *h, const struct pr_net *n)
{
	for (size_t i = 0; pr_has(n->numa_node) && i < h->n_node; i++)
		if (h->node[i].id == n->numa_node.v)
			return &h->node[i];
	return NULL;
}

static unsigned word(const unsigned char *config, size_t len, size_t at)
{
	return at + 2 <= len ? config[at] | (unsigned)config[at + 1] << 8 : 0;
}

/* Returns the offset of a capability, 0 if the device has none (PCI Express Base Specification). */
static size_t find_cap(const unsigned char *config, size_t len, unsigned id)
{
	size_t at = word(config, len, PCI_CAPABILITY_LIST) & 0xfc;

	for (int i = 0; at && i < CAP_STEPS; i++) {
		unsigned head = word(config, len, at);

		if ((head & 0xff) == id)
			return at;
		at = head >> 8 & 0xfc;
	}
	return 0;
}

/* Reads the device control word from the configuration space. Users other than root get only its first 64 bytes. */
static struct pr_num read_control(struct gt_fsroot *fs, const char *address)
{
	gt_autofree char *path = gt_xasprintf("/sys/bus/pci/devices/%s/config", address);
	gt_autoclose int fd = gt_fs_open_part(fs, path);
	unsigned char config[256];
	ssize_t n = fd < 0 ? -1 : pread(fd, config, sizeof(config), 0);
	size_t at = n > 0 ? find_cap(config, (size_t)n, PCI_CAP_ID_EXP) : 0;

	if (fd < 0)
		return (struct pr_num){ pr_state_of(fd), 0 };
	if (n == 64)
		return (struct pr_num){ PR_UNREADABLE, 0 };
	if (!at || at + PCI_EXP_DEVCTL + 2 > (size_t)n)
		return (struct pr_num){ PR_UNKNOWN, 0 };
	return pr_value(word(config, (size_t)n, at + PCI_EXP_DEVCTL));
}

static struct pr_num read_flags(struct gt_fsroot *fs, const char *name)
{
	gt_autofree char *path = gt_xasprintf("/sys/class/net/%s/flags", name), *line = NULL;
	int r = gt_fs_read_line(fs, path, &line);
	uint64_t v;

	if (r < 0)
		return (struct pr_num){ pr_state_of(r), 0 };
	return gt_parse_hex(line, &v) < 0 || v > UINT32_MAX ? (struct pr_num){ PR_BROKEN, 0 } : pr_value((int64_t)v);
}

static void add_net(struct gt_fsroot *fs, struct pr_host *h, const char *name)
{
	struct pr_net *n = &h->net[h->n_net];
	gt_autofree char *device = gt_xasprintf("/sys/class/net/%s/device", name),
			 *driver = gt_xasprintf("/sys/class/net/%s/device/driver", name),
			 *irqs = gt_xasprintf("/sys/class/net/%s/device/msi_irqs", name), *target = NULL;
	int r;

	if (!gt_fs_exists(fs, device)) /* virtual: lo, bridges, veth */
		return;
	n->name = pr_keep(h, name);
	n->pci = pci_behind(fs, h, device);
	n->speed_mbit = pr_read_num(fs, "/sys/class/net/%s/speed", name);
	if (n->speed_mbit.state != PR_PRESENT || n->speed_mbit.v <= 0) /* link down, or a virtual card */
		n->speed_mbit = (struct pr_num){ PR_UNKNOWN, 0 };
	n->numa_node = pr_read_node(fs, "/sys/class/net/%s/device/numa_node", name);
	r = gt_fs_readlink(fs, driver, &target);
	n->driver = r < 0 ? (struct pr_str){ pr_state_of(r), NULL } :
			    pr_text(h, gt_basename(target));
	n->mtu = pr_read_num(fs, "/sys/class/net/%s/mtu", name);
	n->flags = read_flags(fs, name);
	n->missed = pr_read_num(fs, "/sys/class/net/%s/statistics/rx_missed_errors", name);
	if (n->pci)
		gt_fs_list(fs, irqs, &n->irqs);
	pr_read_ethtool(fs, n);
	h->n_net++;
}

/* Scrubs the names together, so that different ports get different names. */
static void name_ports(struct pr_host *h)
{
	gt_auto_buf all = { 0 };
	char *rest;

	for (size_t i = 0; i < h->n_net; i++)
		gt_buf_printf(&all, "%s\n", h->net[i].name);
	if (all.s)
		pr_scrub_ids(&all);
	rest = all.s;
	for (size_t i = 0; i < h->n_net; i++) {
		const char *name = gt_cut(&rest, "\n");

		h->net[i].shown = name ? pr_keep(h, name) : h->net[i].name;
	}
}

/* ---- device control words of network cards ---------------------------------------------------------------------- */

static struct pr_pci *find_device(struct pr_host *h, const char *address)
{
	for (size_t i = 0; i < h->n_pci; i++)
		if (!strcmp(h->pci[i].address, address))
			return &h->pci[i];
	return NULL;
}

/* A virtual function has no word of its own, and a virtual machine sees an imitated one (Linux: bd4ba605c4a9). */
static void take_control(struct gt_fsroot *fs, struct pr_host *h, const char *address)
{
	struct pr_pci *d = find_device(h, address);

	if (d)
		d->device_control = d->virtual_function || h->virt.state == PR_PRESENT ? (struct pr_num){ PR_ABSENT, 0 } :
											 read_control(fs, address);
}

/* A capture has the words as the fact "device_control", because the configuration space also contains serial numbers. */
static void take_control_fact(struct pr_host *h, char *text)
{
	gt_each_line(line, text) {
		char address[32], value[16];
		struct pr_pci *d;
		uint64_t v;

		if (sscanf(line, "%31s %15s", address, value) != 2 || !(d = find_device(h, address)))
			continue;
		d->device_control = gt_parse_hex(value, &v) >= 0 && v <= UINT16_MAX ? pr_value((int64_t)v) :
				    (struct pr_num){ !strcmp(value, "unreadable") ? PR_UNREADABLE : PR_BROKEN, 0 };
	}
}

static void read_controls(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *fact = NULL;

	if (gt_fs_fact(fs, "device_control", &fact, NULL) >= 0) {
		take_control_fact(h, fact);
		return;
	}
	for (size_t i = 0; i < h->n_net; i++)
		if (h->net[i].pci && (pr_is_fast(&h->net[i]) || gt_starts_with(h->net[i].name, "ib")))
			take_control(fs, h, h->net[i].pci);
	for (size_t i = 0; i < h->rdma_pci.n; i++)
		take_control(fs, h, h->rdma_pci.v[i]);
}

char *pr_device_control_fact(const struct pr_host *h)
{
	gt_auto_buf b = { 0 };

	for (size_t i = 0; i < h->n_pci; i++) {
		struct pr_num control = h->pci[i].device_control;

		if (pr_has(control))
			gt_buf_printf(&b, "%s %04x\n", h->pci[i].address, (unsigned)control.v);
		else if (control.state == PR_UNREADABLE)
			gt_buf_printf(&b, "%s unreadable\n", h->pci[i].address);
	}
	return b.len ? gt_buf_take(&b) : NULL;
}

/* ---- all devices -------------------------------------------------------------------------------------------------- */

void pr_discover_devices(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = { 0 };

	if (gt_fs_list(fs, "/sys/block", &names) >= 0) {
		h->block = gt_xcalloc(names.n, sizeof(*h->block));
		h->volume = gt_xcalloc(names.n, sizeof(*h->volume));
		for (size_t i = 0; i < names.n; i++)
			add_block(fs, h, names.v[i]);
	}
	if (gt_fs_list(fs, "/sys/class/net", &names) >= 0) {
		h->net = gt_xcalloc(names.n, sizeof(*h->net));
		for (size_t i = 0; i < names.n; i++)
			add_net(fs, h, names.v[i]);
	}
	name_ports(h);
	h->nvme_timeout_s = pr_read_num(fs, "/sys/module/nvme_core/parameters/io_timeout");
	gt_strv_clear(&names);
	gt_fs_list(fs, "/sys/class/infiniband", &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("/sys/class/infiniband/%s", names.v[i]);

		if (gt_fs_exists(fs, path)) { /* a capture may list entries that it does not contain */
			gt_autofree char *device = gt_xasprintf("%s/device", path);
			const char *pci = pci_behind(fs, h, device);

			gt_strv_add(&h->rdma, names.v[i]);
			gt_strv_add(&h->rdma_pci, pci ? pci : "");
		}
	}
	read_controls(fs, h);
}

/* ---- InfiniBand and RoCE --------------------------------------------------------------------------------------- */

#define RDMA	   "/sys/class/infiniband"
#define MOST_PORTS 256
#define MOST_GIDS  32

const char *const pr_rdma_error_files[PR_RDMA_ERRORS] = { [PR_RDMA_SYMBOL] = "symbol_error",
							  [PR_RDMA_RECOVERY] = "link_error_recovery",
							  [PR_RDMA_DOWNED] = "link_downed",
							  [PR_RDMA_RECEIVE] = "port_rcv_errors",
							  [PR_RDMA_INTEGRITY] = "local_link_integrity_errors",
							  [PR_RDMA_OVERRUN] = "excessive_buffer_overrun_errors" };

/* Returns the number at the start of a line such as "4: ACTIVE". */
static struct pr_num leading_number(struct pr_str line)
{
	size_t len = line.v ? strspn(line.v, "0123456789") : 0;

	if (!line.v)
		return (struct pr_num){ line.state, 0 };
	return len && len < 9 ? pr_value(strtol(line.v, NULL, 10)) : (struct pr_num){ PR_BROKEN, 0 };
}

/* Looks for RoCE v2 GIDs. The type of an empty entry cannot be read. */
static void read_gids(struct gt_fsroot *fs, struct pr_host *h, struct pr_rdma_port *p)
{
	int64_t v2 = 0, ipv4 = 0;

	for (int i = 0; i < MOST_GIDS && !ipv4; i++) {
		struct pr_str type = pr_read_str(h, fs, RDMA "/%s/ports/%d/gid_attrs/types/%d", p->device, p->port, i);
		struct pr_str gid = { PR_ABSENT, NULL };

		if (i == 0 && type.state == PR_ABSENT) { /* an old kernel, or a capture without this table */
			p->gids_v2.state = p->gids_v2_ipv4.state = PR_ABSENT;
			return;
		}
		if (!gt_streq(type.v, "RoCE v2"))
			continue;
		gid = pr_read_str(h, fs, RDMA "/%s/ports/%d/gids/%d", p->device, p->port, i);
		v2++;
		ipv4 += gid.v && gt_starts_with(gid.v, "0000:0000:0000:0000:0000:ffff:");
	}
	p->gids_v2 = pr_value(v2);
	p->gids_v2_ipv4 = pr_value(ipv4);
}

static void add_port(struct gt_fsroot *fs, struct pr_host *h, size_t device, int port)
{
	struct pr_rdma_port *p = &h->rdma_ports.port[h->rdma_ports.n++];
	const char *name = h->rdma.v[device];
	struct pr_str layer;

	*p = (struct pr_rdma_port){ .device = name, .pci = h->rdma_pci.v[device], .port = port };
	p->first_function = strlen(p->pci) > 2 && !strcmp(p->pci + strlen(p->pci) - 2, ".0");
	layer = pr_read_str(h, fs, RDMA "/%s/ports/%d/link_layer", name, port);
	p->ethernet = gt_streq(layer.v, "Ethernet");
	p->board = pr_read_str(h, fs, RDMA "/%s/board_id", name);
	p->firmware = pr_read_str(h, fs, RDMA "/%s/fw_ver", name);
	p->state = leading_number(pr_read_str(h, fs, RDMA "/%s/ports/%d/state", name, port));
	p->phys_state = leading_number(pr_read_str(h, fs, RDMA "/%s/ports/%d/phys_state", name, port));
	p->rate = pr_read_str(h, fs, RDMA "/%s/ports/%d/rate", name, port);
	p->rate_gbit = leading_number(p->rate);
	for (int i = 0; i < PR_RDMA_ERRORS; i++)
		p->error[i] = pr_read_num(fs, RDMA "/%s/ports/%d/counters/%s", name, port, pr_rdma_error_files[i]);
	p->gids_v2.state = p->gids_v2_ipv4.state = PR_ABSENT;
	if (p->ethernet && pr_or(p->state, 0) == PR_RDMA_ACTIVE)
		read_gids(fs, h, p);
}

void pr_discover_rdma_ports(struct gt_fsroot *fs, struct pr_host *h)
{
	h->rdma_ports.port = gt_xcalloc(MOST_PORTS, sizeof(*h->rdma_ports.port));
	for (size_t i = 0; i < h->rdma.n; i++) {
		gt_autofree char *dir = gt_xasprintf(RDMA "/%s/ports", h->rdma.v[i]);
		gt_auto_strv names = { 0 };
		uint64_t port;

		gt_fs_list(fs, dir, &names);
		for (size_t k = 0; k < names.n && h->rdma_ports.n < MOST_PORTS; k++)
			if (!gt_parse_u64(names.v[k], &port) && port > 0 && port < 256)
				add_port(fs, h, i, (int)port);
	}
}

void pr_rdma_clear(struct pr_rdma *r)
{
	free(r->port);
}

json_t *pr_rdma_json(const struct pr_rdma *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n; i++) {
		const struct pr_rdma_port *p = &r->port[i];
		json_t *o = json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "device", p->device, "port", p->port,
				      "link_layer", p->ethernet ? "Ethernet" : "InfiniBand", "board", pr_str_json(p->board),
				      "firmware",
				      pr_str_json(p->firmware), "state", pr_num_json(p->state), "phys_state",
						pr_num_json(p->phys_state),
				      "rate_gbit", pr_num_json(p->rate_gbit), "gids_v2", pr_num_json(p->gids_v2));

		for (int k = 0; k < PR_RDMA_ERRORS; k++)
			json_object_set_new(o, pr_rdma_error_files[k], pr_num_json(p->error[k]));
		json_array_append_new(list, o);
	}
	return list;
}
