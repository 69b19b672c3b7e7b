/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_RECEIPT_H
#define BN_PROVE_RECEIPT_H
#include "bench/prove/state.h"

json_t *bn_prove_receipt(const struct bn_prove *p, const struct pr_host *host, const char *profile);
#endif
