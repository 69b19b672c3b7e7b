/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_SECURE_BOOT_H
#define PR_SECURE_BOOT_H
/* Secure Boot, the signature of the nvidia module, and the keys that the firmware trusts. */
#include "lib/fsroot.h"
#include "probe/host/signature.h"
#include "probe/host/value.h"

struct pr_host;

/* A certificate: from the firmware ("MokListRT", "db"; "MokNew": from the next boot on), or from a file of this host,
 * by its path. */
struct pr_trusted {
	const char *where;
	struct pr_key key;
};

struct pr_secure_boot {
	struct pr_num on;	 /* 1: Secure Boot is on */
	struct pr_num shim_off;	 /* 1: Secure Boot is on, but shim and kernel are configured not to check signatures */
	struct pr_num signature; /* 1: the module file is signed, 0: it is not */
	struct pr_key signer;	 /* signer of the module; empty: unknown */
	enum pr_state keys;	 /* state of the firmware's key lists; unknown: no check needed them */
	struct pr_trusted *key;
	size_t n_key;
};

void pr_discover_secure_boot(struct gt_fsroot *fs, struct pr_host *h); /* runs after the module was found */
void pr_secure_boot_clear(struct pr_secure_boot *s);
/* Return the trusted keys as the fact "keys", and the signer of the module as a fact with the name *ret_name. NULL if
 * there is nothing to record. The caller frees both. */
char *pr_keys_fact(const struct pr_host *h);
char *pr_signature_fact(const struct pr_host *h, char **ret_name);
#endif
