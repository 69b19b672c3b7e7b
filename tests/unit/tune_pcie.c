/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCI configuration space of bridges and GPUs, and the kernel arguments that follow from it, on captured hosts with such
 * devices added.
 */
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/check_tune.h"

#define CONFIG 4096

static struct box b;

static void set_up(void)
{
	box_open(&b, "server-8gpu");
}

static void tear_down(void)
{
	box_close(&b);
}

static void put_word(char *c, size_t at, unsigned v)
{
	c[at] = (char)v;
	c[at + 1] = (char)(v >> 8);
}

/*
 * PCI Express capability at 0x60 with the given device control, ACS at 0x100 with the given control; len: readable
 * bytes.
 */
static void put_config(const char *path, unsigned devctl, unsigned acs, size_t len)
{
	char c[CONFIG] = { 0 };
	gt_autofree char *file = gt_xasprintf("%s/config", path);

	put_word(c, PCI_CAPABILITY_LIST, 0x40);
	put_word(c, 0x40, 0x60 << 8 | PCI_CAP_ID_PM);
	put_word(c, 0x60, PCI_CAP_ID_EXP);
	put_word(c, 0x60 + PCI_EXP_DEVCTL, devctl);
	put_word(c, 0x100, PCI_EXT_CAP_ID_ERR);
	put_word(c, 0x102, 0x140 << 4 | 1);
	put_word(c, 0x140, PCI_EXT_CAP_ID_ACS);
	put_word(c, 0x142, 1);
	put_word(c, 0x140 + PCI_ACS_CTRL, acs);
	ck_assert_int_eq(gt_fs_mkdirs(b.fs, path, 0755), 0);
	ck_assert_int_eq(gt_fs_write_atomic(b.fs, file, c, len, 0644), 0);
}

#define ROOT_PORT "/sys/devices/pci0000:f0/0000:f0:01.0"
#define UP_PORT   ROOT_PORT "/0000:f1:00.0"

static void add_bridge(const char *path, unsigned acs, size_t len)
{
	gt_autofree char *link = gt_xasprintf("/sys/bus/pci/devices/%s", strrchr(path, '/') + 1),
			 *up = gt_xasprintf("../../..%s", path + 4), *class = gt_xasprintf("%s/class", path);

	put_config(path, 0, acs, len);
	box_put(&b, class, "0x060400\n");
	box_link(&b, link, up);
}

/* Each GPU below a port of its own: ports of one switch, or root ports. */
static void add_bridges(bool below_switch, unsigned acs, size_t len)
{
	gt_auto(pr_host) *h = NULL;

	ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .hardware = true, .no_nvml = true }, &h, NULL), 0);
	if (below_switch) {
		add_bridge(ROOT_PORT, acs, len);
		add_bridge(UP_PORT, 0, len);
	}
	for (size_t i = 0; i < h->n_gpu; i++) {
		const char *address = h->gpu[i].pci->address;
		gt_autofree char *link = gt_xasprintf("%s/sys/bus/pci/devices/%s", b.dir, address),
				 *parent = below_switch ? gt_xasprintf(UP_PORT "/0000:f2:0%zu.0", i + 1) :
							  gt_xasprintf("/sys/devices/pci0000:1%zu/0000:1%zu:01.0", i, i),
				 *moved = gt_xasprintf("%s/%s", parent, address), *to = gt_xasprintf("%s%s", b.dir, moved),
				 *from = gt_xasprintf("%s%s", b.dir, h->gpu[i].pci->path),
				 *up = gt_xasprintf("../../..%s", moved + 4);

		add_bridge(parent, acs, len);
		ck_assert_int_eq(rename(from, to), 0);
		ck_assert_int_eq(unlink(link), 0);
		ck_assert_int_eq(symlink(up, link), 0);
	}
}

START_TEST(switch_ports_that_redirect_are_named_to_root)
{
	gt_auto(tn_plan) *plan = NULL;
	const struct tn_item *i;

	add_bridges(true, PCI_ACS_SV | PCI_ACS_RR, CONFIG);
	plan = box_plan(&b);
	i = box_item(plan, "pcie.acs", NULL);
	ck_assert(gt_starts_with(i->reason, "8 of 8 switch ports redirect")); /* not the root port above them */
	ck_assert_ptr_nonnull(strstr(i->remedy, "setpci -s 0000:f2:01.0 ECAP_ACS+6.w=0:1d"));
	ck_assert_ptr_nonnull(strstr(i->remedy, "disable_acs_redir=0000:f2:01.0\\;0000:f2:02.0"));
	ck_assert_ptr_nonnull(strstr(i->remedy, "update-grub")); /* the text is complete */
}
END_TEST

/* Traffic between root ports always goes through the root complex. */
START_TEST(root_ports_may_redirect)
{
	gt_auto(tn_plan) *plan = NULL;

	add_bridges(false, PCI_ACS_SV | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF, CONFIG);
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "pcie.acs", NULL)->status, TN_ALREADY);
}
END_TEST

START_TEST(switch_ports_that_do_not_redirect_are_fine_and_unreadable_ones_unknown)
{
	gt_auto(tn_plan) *plan = NULL, *blind = NULL, *captured = NULL;

	add_bridges(true, 0, CONFIG);
	plan = box_plan(&b);
	ck_assert_int_eq(box_item(plan, "pcie.acs", NULL)->status, TN_ALREADY);
	for (int i = 1; i <= 8; i++) {
		gt_autofree char *path = gt_xasprintf(UP_PORT "/0000:f2:0%d.0", i);

		put_config(path, 0, PCI_ACS_RR, 64); /* readable without root */
	}
	blind = box_plan(&b);
	ck_assert_int_eq(box_item(blind, "pcie.acs", NULL)->status, TN_NOT_APPLICABLE);
	ck_assert_ptr_nonnull(strstr(box_item(blind, "pcie.acs", NULL)->reason, "only root can read"));
	box_put(&b, "/.facts/acs", "0000:f2:01.0 0000\n0000:f2:02.0 001d\n"); /* read by root and stored in a capture */
	captured = box_plan(&b);
	ck_assert(gt_starts_with(box_item(captured, "pcie.acs", NULL)->reason, "1 of 2 switch ports redirect"));
}
END_TEST

/* One GPU and a network card, which counts as RDMA only with its driver. Also IOMMU groups that show the same. */
START_TEST(the_acs_finding_equals_that_of_gpuprobe)
{
	static const struct {
		const char *host, *finding;
	} cases[] = { { "acs-control-words", "1 of 2 switch ports redirect" },
		      { "acs-below-switch", "in separate IOMMU groups" } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;

		tear_down();
		box_open(&b, cases[i].host);
		plan = box_plan(&b);
		ck_assert_int_eq(box_item(plan, "pcie.acs", NULL)->status, TN_ADVICE);
		ck_assert_ptr_nonnull(strstr(box_item(plan, "pcie.acs", NULL)->reason, cases[i].finding));
	}
}
END_TEST

START_TEST(a_network_card_with_small_read_requests_is_reported)
{
	static const struct {
		unsigned devctl;
		size_t len;
		enum tn_status status;
		const char *reason;
	} cases[] = { { 2 << 12, CONFIG, TN_ADVICE, "eth9 reads 512 bytes" },
		      { 4 << 12, CONFIG, TN_ADVICE, "eth9 reads 2048 bytes" },
		      { 5 << 12, CONFIG, TN_ALREADY, "4096 bytes" },
		      { 5 << 12, 64, TN_NOT_APPLICABLE, "only root" } };

	box_add_port(&b);
	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;

		put_config(BOX_PORT, cases[i].devctl, 0, cases[i].len);
		plan = box_plan(&b);
		ck_assert_int_eq(box_item(plan, "pcie.read_request", NULL)->status, cases[i].status);
		ck_assert_ptr_nonnull(strstr(box_item(plan, "pcie.read_request", NULL)->reason, cases[i].reason));
	}
}
END_TEST

#define ABOVE_PORT "/sys/devices/pci0000:c0/0000:c0:01.0"

/* Bit 4 is the permission. The kernel takes it away below root ports of Haswell (8086:2f02). */
START_TEST(a_network_card_that_must_keep_the_order_is_reported)
{
	static const struct {
		unsigned devctl;
		size_t len;
		enum tn_status status;
		const char *reason, *port_device;
	} cases[] = { { 5 << 12, CONFIG, TN_ADVICE, "eth9 must keep the order", "0x347a\n" },
		      { 5 << 12 | PCI_EXP_DEVCTL_RELAX_EN, CONFIG, TN_ALREADY, "may use relaxed ordering", "0x347a\n" },
		      { 5 << 12, CONFIG, TN_ALREADY, "a faulty root port forbids it", "0x2f02\n" },
		      { 5 << 12, CONFIG, TN_ADVICE, "eth9 must keep the order", "0x2f0f\n" },
		      { 5 << 12, 64, TN_NOT_APPLICABLE, "only root", "0x347a\n" } };

	box_add_port(&b);
	box_put(&b, ABOVE_PORT "/vendor", "0x8086\n");
	box_put(&b, ABOVE_PORT "/class", "0x060400\n");
	box_link(&b, "/sys/bus/pci/devices/0000:c0:01.0", "../../../devices/pci0000:c0/0000:c0:01.0");
	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		gt_auto(tn_plan) *plan = NULL;

		put_config(BOX_PORT, cases[i].devctl, 0, cases[i].len);
		box_put(&b, ABOVE_PORT "/device", cases[i].port_device);
		plan = box_plan(&b);
		ck_assert_msg(box_item(plan, "pcie.relaxed_order", NULL)->status == cases[i].status, "case %zu", i);
		ck_assert_ptr_nonnull(strstr(box_item(plan, "pcie.relaxed_order", NULL)->reason, cases[i].reason));
	}
}
END_TEST

/* SR-IOV: the word of a virtual function is zero. */
START_TEST(a_virtual_function_is_not_judged_by_its_own_word)
{
	static const char *const tunables[] = { "pcie.read_request", "pcie.relaxed_order" };
	gt_auto(tn_plan) *plan = NULL;

	box_add_port(&b);
	put_config(BOX_PORT, 0, 0, CONFIG);
	box_link(&b, BOX_PORT "/physfn", "../0000:c1:00.1");
	box_put(&b, ABOVE_PORT "/0000:c1:00.1/vendor", "0x15b3\n");
	plan = box_plan(&b);
	for (size_t i = 0; i < GT_ARRAY_SIZE(tunables); i++)
		ck_assert_int_eq(box_item(plan, tunables[i], NULL)->status, TN_NOT_APPLICABLE);
}
END_TEST

/* A cyclic list of capabilities, one that points outside, an empty file. */
START_TEST(a_hostile_configuration_space_ends)
{
	gt_auto(tn_plan) *circle = NULL, *outside = NULL, *empty = NULL;
	char c[CONFIG];

	box_add_port(&b);
	memset(c, 0x40, sizeof(c));
	ck_assert_int_eq(gt_fs_write_atomic(b.fs, BOX_PORT "/config", c, sizeof(c), 0644), 0);
	circle = box_plan(&b);
	memset(c, 0xff, sizeof(c));
	ck_assert_int_eq(gt_fs_write_atomic(b.fs, BOX_PORT "/config", c, sizeof(c), 0644), 0);
	outside = box_plan(&b);
	ck_assert_int_eq(gt_fs_write_atomic(b.fs, BOX_PORT "/config", c, 0, 0644), 0);
	empty = box_plan(&b);
	ck_assert_int_eq(box_item(circle, "pcie.read_request", NULL)->status, TN_NOT_APPLICABLE);
	ck_assert_int_eq(box_item(outside, "pcie.read_request", NULL)->status, TN_NOT_APPLICABLE);
	ck_assert_int_eq(box_item(empty, "pcie.read_request", NULL)->status, TN_NOT_APPLICABLE);
	ck_assert_int_eq(box_item(circle, "pcie.relaxed_order", NULL)->status, TN_NOT_APPLICABLE);
}
END_TEST

START_TEST(lines_for_the_boot_loader_add_and_never_replace)
{
	static const char *const at = "GRUB_CMDLINE_LINUX_DEFAULT=\"";

	for (size_t k = 0; k < 2; k++) {
		gt_auto(tn_plan) *plan = NULL;
		size_t seen = 0;

		tear_down();
		box_open(&b, k ? "iommu-translates" : "server-8gpu");
		if (!k)
			add_bridges(true, PCI_ACS_RR, CONFIG);
		plan = box_plan(&b);
		for (size_t i = 0; i < plan->n_item; i++) {
			const char *line = plan->item[i].remedy ? strstr(plan->item[i].remedy, at) : NULL;

			if (!line)
				continue;
			seen++;
			ck_assert_msg(gt_starts_with(line + strlen(at), "$GRUB_CMDLINE_LINUX_DEFAULT "), "%s", line);
		}
		ck_assert_uint_gt(seen, 0);
	}
}
END_TEST

TCase *tune_pcie_case(void)
{
	TCase *t = tcase_create("pcie");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, switch_ports_that_redirect_are_named_to_root);
	tcase_add_test(t, root_ports_may_redirect);
	tcase_add_test(t, switch_ports_that_do_not_redirect_are_fine_and_unreadable_ones_unknown);
	tcase_add_test(t, the_acs_finding_equals_that_of_gpuprobe);
	tcase_add_test(t, a_network_card_with_small_read_requests_is_reported);
	tcase_add_test(t, a_network_card_that_must_keep_the_order_is_reported);
	tcase_add_test(t, a_virtual_function_is_not_judged_by_its_own_word);
	tcase_add_test(t, a_hostile_configuration_space_ends);
	tcase_add_test(t, lines_for_the_boot_loader_add_and_never_replace);
	return t;
}
