/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "probe/host/signature.h"

/* ---- DER ------------------------------------------------------------------------------------------------------ */

struct der {
	const unsigned char *at, *end;
};

enum tag {
	INTEGER = 0x02,
	OCTETS = 0x04,
	OID = 0x06,
	SEQUENCE = 0x30,
	SET = 0x31,
	KEY_ID = 0x80,
	CONTEXT_0 = 0xa0,
	CONTEXT_3 = 0xa3
};

/* Reads the next element: its tag and its content. Returns false at the end and for malformed data. Lengths are
 * definite in DER. */
static bool next(struct der *d, int *tag, struct der *ret)
{
	size_t left = (size_t)(d->end - d->at), len, head = 2;

	if (left < 2)
		return false;
	*tag = d->at[0];
	len = d->at[1];
	if (len > 0x7f) {
		size_t n = len & 0x7f;

		if (!n || n > 4 || left < 2 + n)
			return false;
		len = 0;
		for (size_t i = 0; i < n; i++)
			len = len << 8 | d->at[2 + i];
		head += n;
	}
	if (left - head < len)
		return false;
	*ret = (struct der){d->at + head, d->at + head + len};
	d->at = ret->end;
	return true;
}

/* Reads the next element, which must have that tag. */
static bool take(struct der *d, int tag, struct der *ret)
{
	int found;

	return next(d, &found, ret) && found == tag;
}

/* Reads the next element if it has that tag (an optional element). */
static bool take_if(struct der *d, int tag, struct der *ret)
{
	return d->at < d->end && *d->at == tag && take(d, tag, ret);
}

static bool is_oid(const struct der *d, const char *oid, size_t len)
{
	return (size_t)(d->end - d->at) == len && !memcmp(d->at, oid, len);
}
#define IS_OID(d, bytes) is_oid(d, bytes, sizeof(bytes) - 1)

static void put_hex(char *to, size_t size, const struct der *d)
{
	size_t n = (size_t)(d->end - d->at);

	for (size_t i = 0; i < n && 2 * i + 3 <= size; i++)
		snprintf(to + 2 * i, 3, "%02x", d->at[i]);
}

/* Returns the last common name in a name: SEQUENCE of SET of { OID, string }. */
static void common_name(struct der name, char to[64])
{
	struct der set, pair, oid, text;
	int tag;

	while (take(&name, SET, &set))
		while (take(&set, SEQUENCE, &pair))
			if (take(&pair, OID, &oid) && IS_OID(&oid, "\x55\x04\x03") && next(&pair, &tag, &text)) {
				size_t n = GT_MIN((size_t)(text.end - text.at), (size_t)63);

				for (size_t i = 0; i < n; i++)
					to[i] = isprint(text.at[i]) ? (char)text.at[i] : '?';
				to[n] = '\0';
			}
}

static void issuer_and_serial(const struct der *issuer, struct der serial, char to[128])
{
	while (serial.end - serial.at > 1 && !*serial.at) /* a sign byte, not a digit */
		serial.at++;
	serial.end = serial.at + GT_MIN(serial.end - serial.at, 40);
	put_hex(to, 100, &serial);
	snprintf(to + strlen(to), 20, "@%016llx",
		 (unsigned long long)gt_hash64(issuer->at, (size_t)(issuer->end - issuer->at), 0));
}

/* ---- certificates --------------------------------------------------------------------------------------------- */

static void key_identifier(struct der extensions, char to[128])
{
	struct der all, one, oid, value, id;
	int tag;

	if (!take(&extensions, SEQUENCE, &all))
		return;
	while (take(&all, SEQUENCE, &one)) {
		if (!take(&one, OID, &oid) || !IS_OID(&oid, "\x55\x1d\x0e"))
			continue;
		while (next(&one, &tag, &value)) /* "critical" may come first */
			if (tag == OCTETS && take(&value, OCTETS, &id)) {
				id.end = id.at + GT_MIN(id.end - id.at, 60);
				put_hex(to, 128, &id);
			}
	}
}

int pr_key_of_certificate(const unsigned char *der, size_t len, struct pr_key *ret)
{
	struct der all = {der, der + len}, certificate, body, version, serial, skip, issuer, subject, rest;
	struct pr_key key = {.name = ""};
	int tag;

	if (!take(&all, SEQUENCE, &certificate) || !take(&certificate, SEQUENCE, &body))
		return -EINVAL;
	take_if(&body, CONTEXT_0, &version);
	if (!take(&body, INTEGER, &serial) || !take(&body, SEQUENCE, &skip) || !take(&body, SEQUENCE, &issuer) ||
	    !take(&body, SEQUENCE, &skip) || !take(&body, SEQUENCE, &subject) || !take(&body, SEQUENCE, &skip))
		return -EINVAL;
	common_name(subject, key.name);
	issuer_and_serial(&issuer, serial, key.serial);
	while (next(&body, &tag, &rest))
		if (tag == CONTEXT_3)
			key_identifier(rest, key.subject);
	*ret = key;
	return 0;
}

/* ---- signatures ----------------------------------------------------------------------------------------------- */

int pr_key_of_signature(const unsigned char *der, size_t len, struct pr_key *ret)
{
	struct der all = {der, der + len}, content, type, tagged, data, skip, signers, signer, who, issuer, serial;
	struct pr_key key = {.name = ""};
	int tag;

	if (!take(&all, SEQUENCE, &content) || !take(&content, OID, &type) ||
	    !IS_OID(&type, "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02") || !take(&content, CONTEXT_0, &tagged) ||
	    !take(&tagged, SEQUENCE, &data) || !take(&data, INTEGER, &skip) || !take(&data, SET, &skip) ||
	    !take(&data, SEQUENCE, &skip))
		return -EINVAL;
	do { /* certificates and revocations may come before the signers */
		if (!next(&data, &tag, &signers))
			return -EINVAL;
	} while (tag != SET);
	if (!take(&signers, SEQUENCE, &signer) || !take(&signer, INTEGER, &skip) || !next(&signer, &tag, &who))
		return -EINVAL;
	if (tag == KEY_ID) {
		who.end = who.at + GT_MIN(who.end - who.at, 60);
		put_hex(key.subject, sizeof(key.subject), &who);
	} else if (tag == SEQUENCE && take(&who, SEQUENCE, &issuer) && take(&who, INTEGER, &serial)) {
		common_name(issuer, key.name);
		issuer_and_serial(&issuer, serial, key.serial);
	} else {
		return -EINVAL;
	}
	*ret = key;
	return 0;
}

bool pr_same_key(const struct pr_key *a, const struct pr_key *b)
{
	return (*a->serial && !strcmp(a->serial, b->serial)) || (*a->subject && !strcmp(a->subject, b->subject));
}

static uint32_t u32_le(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int pr_signature_at(const unsigned char *tail, size_t len, size_t *ret_from_end, size_t *ret_len)
{
	static const char mark[] = "~Module signature appended~\n";
	const unsigned char *trailer = tail + len - PR_SIGNATURE_TAIL;
	size_t n;

	if (len < PR_SIGNATURE_TAIL || memcmp(tail + len - (sizeof(mark) - 1), mark, sizeof(mark) - 1))
		return 0;
	n = (size_t)trailer[8] << 24 | (size_t)trailer[9] << 16 | (size_t)trailer[10] << 8 | trailer[11];
	if (trailer[2] != 2 || !n || n > 65536) /* 2: PKCS #7, the only kind since Linux 4.3 */
		return -EINVAL;
	*ret_from_end = n + PR_SIGNATURE_TAIL;
	*ret_len = n;
	return 1;
}

/* ---- signature lists ----------------------------------------------------------------------------------------- */

/* EFI_SIGNATURE_LIST: a type of 16 bytes; the sizes of the list, of its header and of each signature; the header; the
 * signatures, each after the 16 bytes of its owner. */
#define LIST_HEAD 28
#define OWNER	  16

int pr_each_key(const unsigned char *list, size_t len, pr_key_fn *fn, void *arg)
{
	/* EFI_CERT_X509_GUID, a5c059a1-94e4-4aa7-87b5-ab155c2bf072 */
	static const char x509[] = "\xa1\x59\xc0\xa5\xe4\x94\xa7\x4a\x87\xb5\xab\x15\x5c\x2b\xf0\x72";
	int n = 0;

	while (len >= LIST_HEAD) {
		size_t size = u32_le(list + 16), head = u32_le(list + 20), each = u32_le(list + 24);

		if (size < LIST_HEAD || size > len || head > size - LIST_HEAD || each <= OWNER)
			return -EINVAL;
		for (size_t at = LIST_HEAD + head; !memcmp(list, x509, 16) && at + each <= size; at += each) {
			struct pr_key key;

			if (pr_key_of_certificate(list + at + OWNER, each - OWNER, &key) < 0)
				continue;
			fn(arg, &key);
			n++;
		}
		list += size;
		len -= size;
	}
	return len ? -EINVAL : n;
}
