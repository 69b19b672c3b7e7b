/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_OWNER_H
#define TN_OWNER_H
#include "tune/txn/journal.h"

/* Processes are those of the machine we run on, also when the root is a tree. */
void tn_owner_self(struct tn_owner *ret); /* by is the caller's to free */
bool tn_owner_alive(const struct tn_owner *o);
bool tn_owner_is_self(const struct tn_owner *o);
#endif
