/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_SIGNATURE_H
#define PR_SIGNATURE_H
/*
 * Who signed a kernel module, and whose signatures a firmware takes: what is read of X.509 (RFC 5280), PKCS #7 (RFC 2315), of the
 * kernel's appended signatures (include/linux/module_signature.h) and of UEFI's signature lists (UEFI 2.10, 32.4.1). Nothing is
 * verified here, only names are compared: the kernel verifies. All input is a stranger's.
 */
#include "lib/util.h"

/* By what the kernel finds the certificate of a signature: either of the two. */
struct pr_key {
	char name[64];	  /* the common name, printable; of a signature that names its key only by a hash "" */
	char serial[128]; /* serial number in hex, '@', hash of the issuer's name; "": not told */
	char subject[128]; /* subject key identifier in hex; "": not told */
};

/* Of a certificate in DER. 0, or -EINVAL. */
int pr_key_of_certificate(const unsigned char *der, size_t len, struct pr_key *ret);
/* Of the first signer of a PKCS #7 SignedData in DER. 0, or -EINVAL. */
int pr_key_of_signature(const unsigned char *der, size_t len, struct pr_key *ret);
bool pr_same_key(const struct pr_key *a, const struct pr_key *b);

/* Calls fn for each certificate of a signature list, as a variable of the firmware holds it; what cannot be read is left out. How
 * many there were, or -EINVAL where a list's sizes contradict each other: those before it count. */
typedef void pr_key_fn(void *arg, const struct pr_key *key);
int pr_each_key(const unsigned char *list, size_t len, pr_key_fn *fn, void *arg);

/* The end of a signed module: PKCS #7 text, 12 bytes about it, a mark of 28. Where the text begins, counted from the end of the
 * file, and its length; 0: no signature, -EINVAL: one that this program does not know. tail: the file's last `len` bytes. */
#define PR_SIGNATURE_TAIL 40
int pr_signature_at(const unsigned char *tail, size_t len, size_t *ret_from_end, size_t *ret_len);
#endif
