/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures and key lists made by the real tools (tests/fuzz/corpus/signature: openssl, the kernel's sign-file,
 * cert-to-efi-sig-list; tests/peers/signatures.py), complete, and truncated at every byte.
 */
#include <errno.h>
#include <string.h>
#include "lib/file.h"
#include "probe/host/signature.h"
#include "tests/unit/check_probe.h"

/* A seed without its first letter, in memory of exact size so that a sanitizer detects an overrun. */
static unsigned char *seed(const char *name, size_t *len)
{
	const char *dir = getenv("TESTDIR");
	gt_autofree char *path = gt_xasprintf("%s/fuzz/corpus/signature/%s", dir ? dir : TESTS_DIR, name), *text = NULL;

	ck_assert(!gt_file_read(path, 1u << 20, &text, len, NULL));
	--*len;
	return memcpy(gt_xcalloc(*len, 1), text + 1, *len);
}

START_TEST(a_signature_and_its_certificate_name_one_key)
{
	size_t n, m, k;
	gt_autofree unsigned char *der = seed("certificate", &n), *by_name = seed("signature", &m),
				  *by_key = seed("signature-by-key", &k);
	struct pr_key certificate, one, two;

	ck_assert(!pr_key_of_certificate(der, n, &certificate));
	ck_assert(!pr_key_of_signature(by_name, m, &one) && !pr_key_of_signature(by_key, k, &two));
	ck_assert_str_eq(certificate.name, "DKMS module signing key");
	ck_assert_str_eq(one.name, "DKMS module signing key");
	ck_assert_str_eq(one.subject, "");
	ck_assert_str_eq(two.serial, "");
	ck_assert_uint_eq(strlen(two.subject), 40); /* SHA-1 of the public key, RFC 5280 4.2.1.2 */
	ck_assert(pr_same_key(&certificate, &one) && pr_same_key(&certificate, &two) && !pr_same_key(&one, &two));
}
END_TEST

static void count(void *arg, const struct pr_key *key)
{
	const char *const want[] = {"DKMS module signing key", "Another key"};

	ck_assert_int_lt(*(int *)arg, 2);
	ck_assert_str_eq(key->name, want[*(int *)arg]);
	++*(int *)arg;
}

START_TEST(lists_of_keys_are_read_up_to_where_they_are_cut)
{
	size_t n, first;
	gt_autofree unsigned char *list = seed("list", &n);
	int seen = 0;

	ck_assert_int_eq(pr_each_key(list, n, count, &seen), 2);
	first = list[16] | (size_t)list[17] << 8;
	for (size_t len = 0; len < n; len++) {
		gt_autofree unsigned char *cut = memcpy(gt_xcalloc(len + 1, 1), list, len);
		int r;

		seen = 0;
		r = pr_each_key(cut, len, count, &seen);
		ck_assert_int_eq(seen, len >= first);
		ck_assert_int_eq(r, !len ? 0 : len == first ? 1 : -EINVAL);
	}
}
END_TEST

START_TEST(truncated_certificates_and_signatures_are_rejected)
{
	static const char *const names[] = {"certificate", "signature", "signature-by-key"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		size_t n;
		gt_autofree unsigned char *whole = seed(names[i], &n);

		for (size_t len = 0; len < n; len++) {
			gt_autofree unsigned char *cut = memcpy(gt_xcalloc(len + 1, 1), whole, len);
			struct pr_key key;

			ck_assert_int_eq(pr_key_of_certificate(cut, len, &key), -EINVAL);
			ck_assert_int_eq(pr_key_of_signature(cut, len, &key), -EINVAL);
		}
	}
}
END_TEST

START_TEST(the_signature_is_found_at_the_end_of_a_module)
{
	size_t n, from_end = 0, len = 0;
	gt_autofree unsigned char *tail = seed("tail", &n);

	ck_assert_int_eq(pr_signature_at(tail, n, &from_end, &len), 1);
	ck_assert_uint_eq(from_end, len + PR_SIGNATURE_TAIL);
	ck_assert_int_eq(pr_signature_at(tail + n - 39, 39, &from_end, &len), 0);
	tail[n - 1] = 'x';
	ck_assert_int_eq(pr_signature_at(tail, n, &from_end, &len), 0);
	tail[n - 1] = '\n';
	tail[n - PR_SIGNATURE_TAIL + 2] = 1; /* X.509, as in Linux before 4.3 */
	ck_assert_int_eq(pr_signature_at(tail, n, &from_end, &len), -EINVAL);
	tail[n - PR_SIGNATURE_TAIL + 2] = 2;
	memset(tail + n - PR_SIGNATURE_TAIL + 8, 0xff, 4);
	ck_assert_int_eq(pr_signature_at(tail, n, &from_end, &len), -EINVAL);
}
END_TEST

TCase *case_signatures(void)
{
	TCase *tc = tcase_create("signatures");

	tcase_add_test(tc, a_signature_and_its_certificate_name_one_key);
	tcase_add_test(tc, lists_of_keys_are_read_up_to_where_they_are_cut);
	tcase_add_test(tc, truncated_certificates_and_signatures_are_rejected);
	tcase_add_test(tc, the_signature_is_found_at_the_end_of_a_module);
	return tc;
}
