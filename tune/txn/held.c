/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include "tune/model/exit.h"
#include "tune/txn/device_renamed.h"
#include "tune/txn/held.h"
#include "tune/txn/persisted_files.h"

size_t tn_held(const struct tn_journal *j, const struct tn_entry ***ret)
{
	const struct tn_entry **v = NULL;
	size_t n = 0;

	for (size_t i = 0; i < j->n_tx; i++) {
		if (tn_tx_status(j, &j->tx[i]) != TN_STATUS_HELD)
			continue;
		for (size_t k = 0; k < j->tx[i].n_entry; k++) {
			const struct tn_entry *e = &j->tx[i].entry[k];
			size_t at = 0;

			if (tn_entry_expired(j, &j->tx[i], e))
				continue;
			while (at < n && !tn_entry_same(j, v[at], e))
				at++;
			if (at == n)
				v = gt_xrealloc(v, ++n * sizeof(*v));
			v[at] = e;
		}
	}
	*ret = v;
	return n;
}

int tn_held_load(struct gt_fsroot *fs, struct tn_journal **ret, bool *ret_all, struct gt_err *err)
{
	int r = tn_journal_load(fs, ret, err);

	*ret_all = r != -EACCES;
	return *ret_all ? r : tn_persisted_load(fs, NULL, ret, err);
}

int tn_held_exit(const struct tn_journal *j, bool drift, bool all)
{
	if (tn_journal_find(j, TN_STATUS_INTERRUPTED))
		return TN_EXIT_INTERRUPTED;
	if (drift)
		return TN_EXIT_DRIFT;
	if (!all)
		return TN_EXIT_REFUSED;
	return tn_journal_find(j, TN_STATUS_PENDING) ? TN_EXIT_PENDING : 0;
}
