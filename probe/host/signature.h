/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_SIGNATURE_H
#define PR_SIGNATURE_H
/*
 * Reads the signer of a kernel module and the keys that the firmware trusts. Parses parts of X.509 (RFC 5280), PKCS #7
 * (RFC 2315), the kernel's appended signatures (include/linux/module_signature.h) and UEFI signature lists (UEFI 2.10,
 * 32.4.1). Compares names only, because the kernel verifies the signatures. All input is untrusted.
 */
#include "lib/util.h"

/* Identifies the certificate of a signature. The kernel accepts either serial or subject. */
struct pr_key {
	char name[64];	  /* common name, printable; "" if the signature identifies its key only by a hash */
	char serial[128]; /* serial number in hex, '@', hash of the issuer's name; "": absent */
	char subject[128]; /* subject key identifier in hex; "": absent */
};

/* Reads the key of a certificate in DER. Returns 0 or -EINVAL. */
int pr_key_of_certificate(const unsigned char *der, size_t len, struct pr_key *ret);
/* Reads the first signer of a PKCS #7 SignedData in DER. Returns 0 or -EINVAL. */
int pr_key_of_signature(const unsigned char *der, size_t len, struct pr_key *ret);
bool pr_same_key(const struct pr_key *a, const struct pr_key *b);

/* Calls fn for each certificate of a signature list from a firmware variable. Skips certificates that cannot be parsed.
 * Returns the number of certificates, or -EINVAL if the sizes of a list contradict each other; fn was then called for
 * the ones before. */
typedef void pr_key_fn(void *arg, const struct pr_key *key);
int pr_each_key(const unsigned char *list, size_t len, pr_key_fn *fn, void *arg);

/* Finds the signature at the end of a signed module: PKCS #7 data, a trailer of 12 bytes, a magic string of 28. Returns
 * 1 with the start of the data, counted from the end of the file, and its length. Returns 0: unsigned, -EINVAL:
 * unsupported kind. tail: the file's last `len` bytes. */
#define PR_SIGNATURE_TAIL 40
int pr_signature_at(const unsigned char *tail, size_t len, size_t *ret_from_end, size_t *ret_len);
#endif
