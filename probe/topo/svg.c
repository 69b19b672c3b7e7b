/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the host: nodes on the left, their PCI trees to the right, one row per device, NVLinks on the far right. A link
 * that is narrower or slower than both ends support is a thick dashed line with a text label. Colour adds no further
 * information.
 */
#include <stdio.h>
#include <string.h>
#include "probe/topo/topo.h"

enum {
	ROW = 46, /* height of a device with its gap, pixels */
	BOX = 36, /* height of a box, pixels */
	TOP = 82,
	NODE_X = 16,
	NODE_W = 190,
	TREE_X = 250,
	STEP = 224,
	BRIDGE_W = 104, /* width of a bridge box; STEP: one level of the PCI tree, its box and the link after it */
	DEVICE_W = 300,
	NVLINK_GAP = 40,
	SWITCH_W = 112,
	DEPTH_MAX = 6,
	DEVICES_MAX = 512,
};

struct row {
	const json_t *device;
	const char *bridge[DEPTH_MAX]; /* root port, then the upstream port of each switch */
	size_t n_bridge;
	int y; /* vertical middle */
};

struct drawing {
	const json_t *doc;
	struct gt_buf *out;
	struct row *row;
	size_t n_row;
	size_t levels; /* largest number of bridges above one device */
	int device_x, width, height;
	int bad;
};

static const char style[] =
	"svg{font:13px "
	"system-ui,sans-serif;--back:#fff;--ink:#1a1a1a;--soft:#5a5a5a;--box:#f1f3f5;--line:#7a8086;--gpu:#e3f2e1;"
	"--net:#e2ecf8;--disk:#f6efdc;--bad:#b00020;--nv:#2f7d32}"
	"@media(prefers-color-scheme:dark){svg{--back:#16181b;--ink:#ececec;--soft:#a8adb3;--box:#25292e;--line:#"
	"8b9197;--gpu:#1f3a21;"
	"--net:#1d3047;--disk:#3b341f;--bad:#ff8a80;--nv:#81c784}}"
	".back{fill:var(--back)}text{fill:var(--ink)}.soft{fill:var(--soft)}.head{font-size:18px;font-weight:600}.name{"
	"font-weight:600}"
	"rect.box{fill:var(--box);stroke:var(--line)}rect.node{stroke-width:2}rect.lost{stroke-dasharray:3 "
	"4}rect.GPU{fill:var(--gpu)}"
	"rect.NIC,rect.IB{fill:var(--net)}rect.NVMe{fill:var(--disk)}path{fill:none;stroke:var(--line);stroke-width:1."
	"5}"
	"path.bad{stroke:var(--bad);stroke-width:5;stroke-dasharray:9 5}text.bad{fill:var(--bad);font-weight:700}"
	"rect.bad{fill:var(--back);stroke:var(--bad);stroke-width:2}path.nv{stroke:var(--nv);stroke-width:2.5}.small{"
	"font-size:11px}";

static void put_text(struct drawing *d, int x, int y, const char *class, const char *anchor, const char *text)
{
	gt_buf_printf(d->out, "<text x=\"%d\" y=\"%d\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
	gt_buf_xml(d->out, text);
	gt_buf_puts(d->out, "</text>\n");
}

static void put_box(struct drawing *d, int x, int y, int w, int h, const char *class)
{
	gt_buf_printf(d->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" class=\"box %s\"/>\n", x, y,
		      w, h, class);
}

static const char *short_pci(const char *pci)
{
	return gt_starts_with(pci, "0000:") ? pci + 5 : pci;
}

/* ---- layout ---- */

/* Collects from the path each root port and the upstream port of each switch. The other ports of a switch are part of
 * the switch. */
static void find_bridges(struct row *r)
{
	const json_t *under = json_object_get(r->device, "under");
	size_t n = json_array_size(under);

	for (size_t i = 0; i < n && r->n_bridge < DEPTH_MAX; i += i ? 2 : 1)
		r->bridge[r->n_bridge++] = json_string_value(json_array_get(under, i));
}

static int64_t node_of(const json_t *device)
{
	return gt_json_get_int(device, "numa_node", -1);
}

/* Adds the rows of a node; node -1: devices with an unknown node. The document lists devices by address. */
static int add_rows(struct drawing *d, int64_t node, int y)
{
	const json_t *list = json_object_get(d->doc, "devices"), *dev;
	size_t i;

	json_array_foreach(list, i, dev)
	{
		struct row *r = &d->row[d->n_row];

		if (node_of(dev) != node || d->n_row == DEVICES_MAX)
			continue;
		*r = (struct row){.device = dev, .y = y + BOX / 2};
		find_bridges(r);
		d->levels = GT_MAX(d->levels, r->n_bridge);
		d->n_row++;
		y += ROW;
	}
	return y;
}

/* ---- links ---- */

static const json_t *find(const json_t *list, const char *pci)
{
	const json_t *e;
	size_t i;

	json_array_foreach(list, i, e) if (!strcmp(gt_json_get_str(e, "pci", ""), pci)) return e;
	return NULL;
}

static bool is_bad(const json_t *link)
{
	const char *state = gt_json_get_str(link, "state", "unknown");

	return !strcmp(state, "narrow") || !strcmp(state, "slow");
}

/* Formats "x16 32 GT/s"; for a degraded link the current and the expected value. */
static void link_text(const json_t *link, char *buf, size_t size)
{
	int width = (int)gt_json_get_int(link, "width", 0), max = (int)gt_json_get_int(link, "max_width", 0);
	double speed = gt_json_get_real(link, "gt_per_s", 0), max_speed = gt_json_get_real(link, "max_gt_per_s", 0);
	const char *state = gt_json_get_str(link, "state", "unknown");

	if (!strcmp(state, "unknown"))
		*buf = '\0';
	else if (!strcmp(state, "narrow"))
		snprintf(buf, size, "! x%d of x%d", width, max);
	else if (!strcmp(state, "slow"))
		snprintf(buf, size, "! %g of %g GT/s", speed, max_speed);
	else if (!strcmp(state, "resting"))
		snprintf(buf, size, "x%d %g GT/s", width, max_speed);
	else
		snprintf(buf, size, "x%d %g GT/s", width, speed);
}

/* Draws a line with one corner, and a label on its last part. Lines from one bridge share the corner. */
static void put_link(struct drawing *d, int x0, int y0, int x1, int y1, const json_t *link)
{
	int corner = x0 + 12, chars;
	char text[64];

	link_text(link, text, sizeof(text));
	chars = (int)strlen(text);
	gt_buf_printf(d->out, "<path d=\"M%d %dH%dV%dH%d\"/>\n", x0, y0, corner, y1, x1);
	if (!is_bad(link)) {
		if (chars)
			put_text(d, x1 - 4, y1 - 4, "soft small", "end", text);
		return;
	}
	d->bad++;
	gt_buf_printf(d->out, "<path class=\"bad\" d=\"M%d %dH%d\"/>\n", corner + 2, y1, x1);
	gt_buf_printf(d->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"18\" rx=\"4\" class=\"bad\"/>\n",
		      x1 - 12 - chars * 7, y1 - 24, chars * 7 + 8);
	put_text(d, x1 - 8 - chars * 7 / 2, y1 - 11, "bad small", "middle", text);
}

static int bridge_x(size_t level)
{
	return TREE_X + (int)level * STEP;
}

/* Returns whether two rows are below the same bridge at this level. */
static bool same_to(const struct row *a, const struct row *b, size_t level)
{
	if (a->n_bridge <= level || b->n_bridge <= level || node_of(a->device) != node_of(b->device))
		return false;
	for (size_t i = 0; i <= level; i++)
		if (!gt_streq(a->bridge[i], b->bridge[i]))
			return false;
	return true;
}

/* Returns the vertical middle of all rows below the row's bridge. */
static int middle(const struct drawing *d, const struct row *r, size_t level)
{
	int first = r->y, last = r->y;

	for (size_t i = 0; i < d->n_row; i++)
		if (same_to(&d->row[i], r, level)) {
			first = GT_MIN(first, d->row[i].y);
			last = GT_MAX(last, d->row[i].y);
		}
	return (first + last) / 2;
}

static void put_bridge(struct drawing *d, const struct row *r, size_t level)
{
	const json_t *self = find(json_object_get(d->doc, "bridges"), r->bridge[level]);
	int x = bridge_x(level), y = middle(d, r, level);

	if (level)
		put_link(d, bridge_x(level - 1) + BRIDGE_W, middle(d, r, level - 1), x, y,
			 json_object_get(self, "link"));
	else
		gt_buf_printf(d->out, "<path d=\"M%d %dH%d\"/>\n", NODE_X + NODE_W, y, x);
	gt_buf_puts(d->out, "<g>\n");
	put_box(d, x, y - BOX / 2, BRIDGE_W, BOX, "bridge");
	put_text(d, x + BRIDGE_W / 2, y - 2, "small soft", "middle", level ? "PCIe switch" : "root port");
	put_text(d, x + BRIDGE_W / 2, y + 12, "small", "middle", short_pci(r->bridge[level]));
	gt_buf_puts(d->out, "</g>\n");
}

static void put_device(struct drawing *d, const struct row *r)
{
	const char *name = gt_json_get_str(r->device, "name", ""), *pci = gt_json_get_str(r->device, "pci", ""),
		   *kind = gt_json_get_str(r->device, "kind", ""), *model = gt_json_get_str(r->device, "model", NULL);
	int from = r->n_bridge ? bridge_x(r->n_bridge - 1) + BRIDGE_W : NODE_X + NODE_W,
	    y0 = r->n_bridge ? middle(d, r, r->n_bridge - 1) : r->y;
	const json_t *names = json_object_get(r->device, "system_names"), *n;
	gt_auto_buf second = {0};
	size_t i;

	put_link(d, from, y0, d->device_x, r->y, json_object_get(r->device, "link"));
	gt_buf_puts(&second, model ? model : "");
	json_array_foreach(names, i, n) gt_buf_printf(&second, "%s%s", second.len ? ", " : "", json_string_value(n));
	if (second.len > 44)
		strcpy(second.s + 41, "..");
	gt_buf_puts(d->out, "<g><title>");
	gt_buf_xml(d->out, name);
	gt_buf_puts(d->out, " ");
	gt_buf_xml(d->out, pci);
	gt_buf_puts(d->out, ", near CPUs ");
	gt_buf_xml(d->out, gt_json_get_str(r->device, "local_cpulist", "unknown"));
	gt_buf_puts(d->out, "</title>\n");
	put_box(d, d->device_x, r->y - BOX / 2, DEVICE_W, BOX, kind);
	put_text(d, d->device_x + 10, r->y - 3, "name", "start", name);
	put_text(d, d->device_x + DEVICE_W - 10, r->y - 3, "small soft", "end", pci);
	put_text(d, d->device_x + 10, r->y + 12, "small soft", "start", second.s ? second.s : "");
	gt_buf_puts(d->out, "</g>\n");
}

/* ---- NVLink ---- */

static void put_switched(struct drawing *d)
{
	int x0 = d->device_x + DEVICE_W, x1 = x0 + NVLINK_GAP + 40, first = 0, last = 0, cards = 0, down = 0;
	char text[96];

	for (size_t i = 0; i < d->n_row; i++) {
		const json_t *links = json_object_get(d->row[i].device, "nvlinks"), *l;
		int n = 0;
		size_t k;

		json_array_foreach(links, k, l) n +=
			!strcmp(gt_json_get_str(l, "kind", ""), "switch") ? (int)gt_json_get_int(l, "links", 0) : 0;
		if (!n)
			continue;
		down = (int)gt_json_get_int(d->row[i].device, "nvlinks_down", 0);
		first = cards++ ? first : d->row[i].y;
		last = d->row[i].y;
		gt_buf_printf(d->out, "<path class=\"%s\" d=\"M%d %dH%d\"/>\n", down > 0 ? "bad" : "nv", x0, last, x1);
		if (down > 0)
			snprintf(text, sizeof(text), "! %d, %d down", n, down);
		else
			snprintf(text, sizeof(text), "%d links", n);
		d->bad += down > 0;
		put_text(d, (x0 + x1) / 2, last - 5, down > 0 ? "bad small" : "small", "middle", text);
	}
	if (!cards)
		return;
	put_box(d, x1, first - BOX / 2, SWITCH_W, last - first + BOX, "switch");
	snprintf(text, sizeof(text), "%d NVSwitches", (int)gt_json_get_int(d->doc, "nvswitches", 0));
	put_text(d, x1 + SWITCH_W / 2, (first + last) / 2 + 4, "name", "middle",
		 gt_json_get_int(d->doc, "nvswitches", 0) > 1 ? text : "NVSwitch");
}

static void put_direct(struct drawing *d)
{
	int x0 = d->device_x + DEVICE_W;
	char text[32];

	for (size_t i = 0; i < d->n_row; i++)
		for (size_t k = i + 1; k < d->n_row; k++) {
			const json_t *links = json_object_get(d->row[i].device, "nvlinks"), *l;
			const char *to = gt_json_get_str(d->row[k].device, "pci", "");
			int y0 = d->row[i].y, y1 = d->row[k].y, bulge = GT_MIN(16 + (int)(k - i) * 16, 130);
			size_t j;

			json_array_foreach(links, j, l)
			{
				if (strcmp(gt_json_get_str(l, "kind", ""), "gpu") ||
				    strcmp(gt_json_get_str(l, "to", ""), to))
					continue;
				gt_buf_printf(d->out, "<path class=\"nv\" d=\"M%d %dC%d %d %d %d %d %d\"/>\n", x0, y0,
					      x0 + bulge, y0, x0 + bulge, y1, x0, y1);
				snprintf(text, sizeof(text), "NV%d", (int)gt_json_get_int(l, "links", 0));
				put_text(d, x0 + bulge * 3 / 4 + 3, (y0 + y1) / 2 + 4, "small", "start", text);
			}
		}
}

/* ---- NVLink-C2C ---- */

/* Draws the connection of a GPU to the processor of its node, above the boxes of the PCI tree. */
static void put_c2c(struct drawing *d, const struct row *r)
{
	int x = NODE_X + NODE_W, y = r->y - BOX / 2 - 5;
	bool down = gt_json_get_int(json_object_get(r->device, "c2c"), "links_down", 0) > 0;
	char text[64];

	if (!*pr_topo_c2c_text(r->device, text, sizeof(text)))
		return;
	gt_buf_printf(d->out, "<path class=\"%s\" d=\"M%d %dH%dV%d\"/>\n", down ? "bad" : "nv", x, y, d->device_x + 20,
		      r->y - BOX / 2);
	put_text(d, x + 6, y - 4, down ? "bad small" : "small", "start", text);
	d->bad += down;
}

/* ---- nodes ---- */

static void put_node(struct drawing *d, const json_t *node, int top, int bottom)
{
	int y = top - 6, h = GT_MAX(bottom - top - ROW + BOX + 12, 84);
	char text[128], mem[32] = "memory unknown";
	const json_t *distances = json_object_get(node, "distances"), *v;
	size_t i;

	put_box(d, NODE_X, y, NODE_W, h, node ? "node" : "node lost");
	if (!node) {
		put_text(d, NODE_X + 12, y + 24, "name", "start", "unknown node");
		put_text(d, NODE_X + 12, y + 44, "small soft", "start", "not reported by the firmware");
		return;
	}
	snprintf(text, sizeof(text), "node %d", (int)gt_json_get_int(node, "id", -1));
	put_text(d, NODE_X + 12, y + 24, "name", "start", text);
	if (json_is_integer(json_object_get(node, "mem_bytes")))
		gt_format_bytes(mem, sizeof(mem), (uint64_t)gt_json_get_int(node, "mem_bytes", 0));
	if (pr_topo_memory_of(d->doc, gt_json_get_int(node, "id", -1)))
		snprintf(text, sizeof(text), "memory of %.24s", pr_topo_memory_of(d->doc, gt_json_get_int(node, "id", -1)));
	else
		snprintf(text, sizeof(text), "%.16s%.24s", *gt_json_get_str(node, "cpus", "") ? "CPUs " : "no CPU",
			 gt_json_get_str(node, "cpus", ""));
	put_text(d, NODE_X + 12, y + 42, "small soft", "start", text);
	put_text(d, NODE_X + 12, y + 57, "small soft", "start", mem);
	if (json_array_size(distances) < 2)
		return;
	snprintf(text, sizeof(text), "distances");
	json_array_foreach(distances, i, v) if (i < 8)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d", (int)json_integer_value(v));
	put_text(d, NODE_X + 12, y + 72, "small soft", "start", text);
}

/* Adds the rows and draws the nodes next to them. Returns the y coordinate after the last one. */
static int put_nodes(struct drawing *d, int y)
{
	const json_t *nodes = json_object_get(d->doc, "nodes"), *n;
	size_t i;

	json_array_foreach(nodes, i, n)
	{
		int end = add_rows(d, gt_json_get_int(n, "id", 0), y);

		put_node(d, n, y, end);
		y = GT_MAX(end, y + 92) + 22;
	}
	if (add_rows(d, -1, y) > y) {
		put_node(d, NULL, y, d->row[d->n_row - 1].y + ROW - BOX / 2);
		y = GT_MAX(d->row[d->n_row - 1].y + ROW, y + 92);
	}
	return y;
}

static void put_all(struct drawing *d)
{
	for (size_t level = 0; level < d->levels; level++)
		for (size_t i = 0; i < d->n_row; i++) {
			const struct row *r = &d->row[i];
			bool first = r->n_bridge > level;

			for (size_t k = 0; k < i && first; k++)
				first = !same_to(&d->row[k], r, level);
			if (first)
				put_bridge(d, r, level);
		}
	for (size_t i = 0; i < d->n_row; i++) {
		put_device(d, &d->row[i]);
		put_c2c(d, &d->row[i]);
	}
	put_switched(d);
	put_direct(d);
}

static int put_doubts(struct drawing *d, int y)
{
	const json_t *list = json_object_get(d->doc, "contradictions"), *c;
	size_t i;

	if (json_array_size(list))
		put_text(d, NODE_X, y += 18, "name", "start", "Contradictions");
	json_array_foreach(list, i, c) put_text(d, NODE_X, y += 18, "bad small", "start", json_string_value(c));
	return y;
}

/* Adds a note if the NVLinks are unknown, so that a drawing without NVLinks is not misread as a host without any. */
static void put_unknown(struct drawing *d)
{
	const char *state = gt_json_get_str(json_object_get(d->doc, "nvml"), "state", "ok");
	gt_autofree char *text = gt_xasprintf("NVLinks unknown: NVML %s", state);

	for (size_t i = 0; strcmp(state, "ok") && i < d->n_row; i++)
		if (!strcmp(gt_json_get_str(d->row[i].device, "kind", ""), "GPU")) {
			put_text(d, NODE_X, 65, "soft small", "start", text);
			return;
		}
}

static void describe(struct gt_buf *out, const json_t *doc, int bad)
{
	const json_t *devices = json_object_get(doc, "devices"), *d;
	bool any = false;
	char text[64];
	size_t i;

	gt_buf_printf(out, "%zu NUMA nodes, %zu devices. ", json_array_size(json_object_get(doc, "nodes")),
		      json_array_size(devices));
	json_array_foreach(devices, i, d)
	{
		if (!is_bad(json_object_get(d, "link")))
			continue;
		link_text(json_object_get(d, "link"), text, sizeof(text));
		gt_buf_puts(out, any ? "; " : "Degraded links: ");
		gt_buf_xml(out, gt_json_get_str(d, "name", ""));
		gt_buf_printf(out, " %s", text + 2);
		any = true;
	}
	gt_buf_puts(out, any   ? "."
			 : bad ? "A link is degraded."
			       : "No degraded link is known.");
}

void pr_topo_svg(const json_t *doc, struct gt_buf *out)
{
	struct gt_buf body = {0};
	struct drawing d = {.doc = doc, .out = &body, .row = gt_xcalloc(DEVICES_MAX + 1, sizeof(*d.row))};
	const json_t *devices = json_object_get(doc, "devices"), *dev;
	size_t depth = 0, i;

	json_array_foreach(devices, i, dev)
	{ /* the depth of the tree determines the position of the devices */
		struct row r = {.device = dev};

		find_bridges(&r);
		depth = GT_MAX(depth, r.n_bridge);
	}
	d.device_x = bridge_x(depth);
	d.width = d.device_x + DEVICE_W + 16 + NVLINK_GAP + 40 + SWITCH_W;
	d.height = put_nodes(&d, TOP);
	put_all(&d);
	d.height = put_doubts(&d, d.height) + 24;

	gt_buf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
		      "role=\"img\" "
		      "aria-labelledby=\"t d\">\n<title id=\"t\">",
		      d.width, d.height, d.width, d.height);
	gt_buf_xml(out, gt_json_get_str(json_object_get(doc, "cpu"), "model_name", "Host"));
	gt_buf_puts(out, ": nodes, devices and links</title>\n<desc id=\"d\">");
	describe(out, doc, d.bad);
	gt_buf_printf(out, "</desc>\n<style>%s</style>\n<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n",
		      style);
	d.out = out;
	put_text(&d, NODE_X, 30, "head", "start", gt_json_get_str(json_object_get(doc, "cpu"), "model_name", "Host"));
	put_text(&d, NODE_X, 50, d.bad ? "bad" : "soft", "start",
		 d.bad ? "! marks a link that is narrower or slower than both of its ends support"
		       : "no degraded link is known");
	put_unknown(&d);
	gt_buf_puts(out, body.s ? body.s : "");
	gt_buf_puts(out, "</svg>\n");
	gt_buf_clear(&body);
	free(d.row);
}
