/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a machine distinguishes hosts, and is not disclosed. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/loader/loader.h"
#include "probe/host/machine_fingerprint.h"
#include "probe/host/reading.h"
#include "probe/scrub/scrub.h"
#include "tests/unit/check_probe.h"

START_TEST(text_that_identifies_a_machine_is_scrubbed)
{
	static const char capture[] =
		"gpuprobe-capture/1\nbare /etc/machine-id\n\t0123456789abcdef0123456789abcdef\n"
		"file /etc/sysctl.conf\n\t# of node, not of nodes\n"
		"file /proc/cmdline\n\troot=UUID=12345678-ABCD-abcd-abcd-123456789abc luks.passphrase=x ip=10.0.0.1 quiet "
		"-- --token y\n"
		"dir  /sys/fs/cgroup/pod12345678-abcd-abcd-abcd-123456789abc\n"
		"dir  /ho" "me/alice/venv\n"
		"file /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c\n"
		"link /sys/class/net/enx0011aabbccdd ../../devices/net/enx0011aabbccdd\n"
		"dir  /sys/class/net/wlx78e7d1ea46da\ndir  /sys/class/net/enxeno1\n"
		"file /sys/x\n\taa:bb:cc:dd:ee:ff 0000:17:00.0 aa:bb:cc:dd:ee:ff:00:11\n"
		"file /proc/net/route\n\tIface\tDestination\tGateway \n\teth0\t00000000\tFE01000A\t0003\n"
		"\teth0\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n\teth1\t0001000A\t00000000\t0001\n"
		"file /.facts/hwloc.xml\n\t    <info name=\"DMIProductSerial\" value=\"S1\"/>\n"
		"\t    <info name=\"CPUModel\" value=\"C1\"/>\n";
	static const char *const gone[] = { "0011aabbccdd", "78e7d1ea46da",
					    "alice", "0123456789abcdef", "12345678", "luks.passphrase=x", "10.0.0.1", "token", "S1",
					    "aa:bb:cc:dd:ee:ff ", "of node,", "FE01000A", "0001000A" };
	static const char *const stays[] = { "net/enx020000000001 ../../devices/net/enx020000000001\n", "wlx020000000002",
					     "enxeno1",
					     "me/user/venv\n", "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c\n",
					     "quiet", "root=UUID=00000000-0000-0000-0000-000000000001", "0000:17:00.0",
					     "pod00000000-0000-0000-0000-000000000001", "C1", "of nodes", "02:00:00:00:00:01 ",
					     "aa:bb:cc:dd:ee:ff:00:11", "\teth0\t00000000\t00000001\t0003\n",
					     "\teth0\t00000002\t00000000\t0001\t0\t0\t0\t00FFFFFF\n\teth1\t00000002\t" };
	gt_auto_buf b = { 0 }, twice = { 0 };

	gt_buf_puts(&b, capture);
	pr_scrub_capture(&b, "node");
	for (size_t i = 0; i < GT_ARRAY_SIZE(gone); i++)
		ck_assert_msg(!strstr(b.s, gone[i]), "%s is still in:\n%s", gone[i], b.s);
	for (size_t i = 0; i < GT_ARRAY_SIZE(stays); i++)
		ck_assert_msg(strstr(b.s, stays[i]), "%s was lost from:\n%s", stays[i], b.s);
	gt_buf_puts(&twice, b.s);
	pr_scrub_capture(&twice, "node");
	ck_assert_str_eq(b.s, twice.s);
}
END_TEST

/*
 * Keys are secret by their complete name. Values that identify another machine are secret too. Values that checks read
 * are preserved.
 */
static const struct {
	const char *words, *scrubbed;
} secrets[] = {
	{ "iommu.passthrough=1 iommu=pt net.ifnames=0 user_namespace.enable=1", NULL },
	{ "isolcpus=1-3 transparent_hugepage=always BOOT_IMAGE=/vmlinuz-5.14.0-70.13.1 rd.luks.options=discard", NULL },
	{ "rd.luks.key=/k luks.passphrase=x", "rd.luks.key=[scrubbed] luks.passphrase=[scrubbed-2]" },
	{ "wifi.password=a wifipassword=a api_token=b", "wifi.password=[scrubbed] wifipassword=[scrubbed] api_token=[scrubbed-2]" },
	{ "ip=10.0.0.1::dhcp nfsroot=srv:/x", "ip=[scrubbed] nfsroot=[scrubbed-2]" },
	{ "root=nfs:srv:/x ds=nocloud;s=http://u:p@h/", "root=[scrubbed] ds=[scrubbed-2]" },
	{ "a.password=\"b c\" quiet", "a.password=[scrubbed] quiet" },
	{ "\"a.password=b c\" quiet", "\"a.password=[scrubbed]\" quiet" },
	{ "systemd.machine_id=0123456789abcdef0123456789abcdef", "systemd.machine_id=00000000000000000000000000000000" },
	{ "quiet -- --token x", "quiet -- [scrubbed]" },
};

START_TEST(whole_names_of_keys_are_secret)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(secrets); i++) {
		gt_autofree char *once = pr_scrub_cmdline(secrets[i].words), *twice = pr_scrub_cmdline(once);

		ck_assert_str_eq(once, secrets[i].scrubbed ? secrets[i].scrubbed : secrets[i].words);
		ck_assert_str_eq(once, twice);
	}
}
END_TEST

/* The environments of two users keep their libraries. A GPU is still found by the first digits of its UUID. */
START_TEST(scrubbed_words_stay_different_and_consistent)
{
	static const char alice[] = "/ho" "me/alice/libcuda.so.1", bob[] = "/ho" "me/bob/libcuda.so.1",
			  uuid[] = "GPU-89abcdef-0000-0000-0000-000000000000";
	gt_autofree char *a = pr_elf_fact_name(alice), *b = pr_elf_fact_name(bob);
	gt_autofree char *a2 = pr_elf_fact_name("/ho" "me/user/libcuda.so.1");
	gt_autofree char *b2 = pr_elf_fact_name("/ho" "me/user2/libcuda.so.1");
	gt_autofree char *want = gt_xasprintf(
		"file /.facts/%s\n\t/ho" "me/user/libcuda.so.1\nfile /.facts/%s\n\t/ho" "me/user2/libcuda.so.1\n"
		"file /.facts/environment\n\tCUDA_VISIBLE_DEVICES=GPU-00000000-0000-0000-0000-000000000001,GPU-77\n"
		"file /.facts/nvml\n\t{\"uuid\": \"GPU-00000000-0000-0000-0000-000000000001\"}\n"
		"file /etc/os-release\n\tID=debian\nfile /etc/sysctl.conf\n\t# host\n\tx = https://[scrubbed]@h\n", a2, b2);
	gt_auto_buf c = { 0 };

	gt_buf_printf(&c, "file /.facts/%s\n\t%s\nfile /.facts/%s\n\t%s\nfile /.facts/environment\n"
			  "\tCUDA_VISIBLE_DEVICES=GPU-89ab,GPU-77\nfile /.facts/nvml\n\t{\"uuid\": \"%s\"}\n"
			  "file /etc/os-release\n\tID=debian\nfile /etc/sysctl.conf\n\t# debian\n\tx = https://me:pw@h\n",
		      a, alice, b, bob, uuid);
	pr_scrub_capture(&c, "debian");
	ck_assert_str_eq(c.s, want);
}
END_TEST

START_TEST(the_identity_is_constant_and_distinguishes_hosts)
{
	gt_auto(gt_fsroot) *a = open_fixture("server-8gpu"), *b = open_fixture("server-8gpu"), *c = open_fixture("nouveau");
	gt_auto(pr_host) *ha = discover(a), *hb = discover(b), *hc = discover(c);

	ck_assert_str_eq(ha->identity, hb->identity);
	ck_assert_str_ne(ha->identity, hc->identity);
}
END_TEST

/* An SMBIOS structure of type 17 with its strings, in the kernel's format. */
static size_t module(unsigned char *at, unsigned size_mb, unsigned speed, const char *slot)
{
	unsigned char s[0x22] = { 17, sizeof(s), 1, 0 };

	s[0x0c] = (unsigned char)size_mb;
	s[0x0d] = (unsigned char)(size_mb >> 8);
	s[0x10] = 1;
	s[0x12] = 34;
	s[0x20] = (unsigned char)speed;
	s[0x21] = (unsigned char)(speed >> 8);
	memcpy(at, s, sizeof(s));
	memcpy(at + sizeof(s), slot, strlen(slot) + 1);
	at[sizeof(s) + strlen(slot) + 1] = 0;
	return sizeof(s) + strlen(slot) + 2;
}

START_TEST(memory_modules_are_read_from_any_smbios_table)
{
	unsigned char table[512] = { 0 };
	gt_auto_buf text = { 0 };
	size_t n = module(table, 0x7d00, 4800, "DIMM_A1");

	n += module(table + n, 0, 0, "DIMM_A2");
	n += module(table + n, 0x7d00, 4800, "DIMM_B1");
	pr_memory_modules(table, n, &text);
	ck_assert_str_eq(text.s, "DIMM_A1: 32000 0:0 MB, type 34, 4800 MT/s\nDIMM_B1: 32000 0:0 MB, type 34, 4800 MT/s\n");
	for (size_t len = 0; len < n; len++) { /* each length, in memory of exact size for the sanitizer */
		gt_autofree unsigned char *cut = malloc(len ? len : 1);
		gt_auto_buf some = { 0 };

		memcpy(cut, table, len);
		pr_memory_modules(cut, len, &some);
	}
	for (unsigned seed = 1; seed < 3000; seed++) { /* and with any lengths */
		gt_autofree unsigned char *odd = malloc(n);
		gt_auto_buf some = { 0 };

		memcpy(odd, table, n);
		for (unsigned k = 0, x = seed; k < 6; k++) {
			x = x * 1664525 + 1013904223;
			odd[(x >> 8) % n] = (unsigned char)(x >> 20);
		}
		pr_memory_modules(odd, n, &some);
	}
}
END_TEST

static json_t *marks(const char *text)
{
	json_t *j = NULL;

	ck_assert_int_eq(gt_json_parse(text, strlen(text), "marks", &j, NULL), 0);
	return j;
}

/* Root reads more than other users, a container has no ports, and a bond gives its ports one address. */
START_TEST(marks_are_compared_if_both_sides_have_them)
{
	static const char whole[] = "{\"machine_id\":\"1\",\"system\":\"2\",\"memory\":\"3\",\"gpus\":{\"17\":\"a\",\"2a\":\"b\"},"
				    "\"ports\":{\"01\":\"c\",\"02\":\"d\"}}";
	static const struct {
		const char *other, *differ;
		bool shared;
	} t[] = {
		{ whole, NULL, true },
		{ "{\"machine_id\":\"1\"}", NULL, true },
		{ "{\"gpus\":{\"17\":\"a\"},\"ports\":{}}", NULL, true },
		{ "{}", NULL, false },
		{ "{\"memory\":\"3\"}", NULL, false }, /* equal hosts have equal modules */
		{ "[1]", NULL, false },
		{ "{\"gpus\":7,\"ports\":{\"01\":1},\"system\":null}", NULL, false },
		{ "{\"machine_id\":\"9\"}", "machine id", false },
		{ "{\"machine_id\":\"1\",\"system\":\"9\"}", "UUID of the system", true },
		{ "{\"machine_id\":\"1\",\"memory\":\"9\"}", "memory modules", true },
		{ "{\"machine_id\":\"1\",\"gpus\":{\"17\":\"a\",\"2a\":\"z\"}}", "UUID of GPU 2a", true },
		{ "{\"ports\":{\"01\":\"c\",\"02\":\"c\"}}", NULL, true },
		{ "{\"ports\":{\"01\":\"x\",\"02\":\"y\"}}", "address of network port 02", false },
	};
	gt_auto_json *a = marks(whole);

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_auto_json *b = marks(t[i].other);

		for (int turned = 0; turned < 2; turned++) {
			gt_auto_buf what = { 0 };

			pr_fingerprint_difference(turned ? b : a, turned ? a : b, &what);
			ck_assert_msg(t[i].differ ? gt_streq(what.s, t[i].differ) : !what.len, "%s: %s", t[i].other,
				      what.s ? what.s : "none");
			ck_assert_msg(pr_fingerprint_shared(turned ? b : a, turned ? a : b) == t[i].shared, "%s", t[i].other);
		}
	}
	ck_assert(!pr_fingerprint_shared(a, NULL));
}
END_TEST

/* Hosts of one model share part numbers. The identity uses serial numbers and ignores placeholders. */
START_TEST(nodes_that_are_cloned_have_marks_of_their_own)
{
	static const char form[] = "file /etc/machine-id\n\t%s\n"
				   "file /sys/class/dmi/id/product_uuid\n\t%s\n";
	static const struct {
		const char *id, *uuid;
		bool known, same;
	} t[] = {
		{ "0123456789abcdef0123456789abcdef", "4c4c4544-0042-3010-8054-b4c04f565131", true, true },
		{ "0123456789abcdef0123456789abcdef", "4c4c4544-0042-3010-8054-b4c04f565132", true, false },
		{ "0123456789abcdef0123456789abcdef", "00000000-0000-0000-0000-000000000000", true, true },
		{ "uninitialized", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", false, true },
		{ "uninitialized", "03000200-0400-0500-0006-000700080009", false, true },
	};
	gt_auto_json *first = NULL;

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *text = gt_xasprintf(form, t[i].id, t[i].uuid);
		gt_auto(gt_fsroot) *fs = open_text(text);
		gt_auto(pr_host) *h = discover(fs);
		gt_auto_json *m = pr_fingerprint(fs, h);
		gt_auto_buf what = { 0 };

		if (!first)
			first = json_incref(m);
		ck_assert_msg(pr_fingerprint_shared(m, m) == t[i].known, "%s %s", t[i].id, t[i].uuid);
		pr_fingerprint_difference(first, m, &what);
		ck_assert_msg(!what.len == t[i].same, "%s %s: %s", t[i].id, t[i].uuid, what.s ? what.s : "none");
	}
}
END_TEST

TCase *case_identity(void)
{
	TCase *tc = tcase_create("identity");

	tcase_add_test(tc, text_that_identifies_a_machine_is_scrubbed);
	tcase_add_test(tc, whole_names_of_keys_are_secret);
	tcase_add_test(tc, scrubbed_words_stay_different_and_consistent);
	tcase_add_test(tc, the_identity_is_constant_and_distinguishes_hosts);
	tcase_add_test(tc, memory_modules_are_read_from_any_smbios_table);
	tcase_add_test(tc, marks_are_compared_if_both_sides_have_them);
	tcase_add_test(tc, nodes_that_are_cloned_have_marks_of_their_own);
	tcase_set_timeout(tc, 120);
	return tc;
}
