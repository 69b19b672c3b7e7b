/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_EXIT_H
#define TN_EXIT_H
/*
 * Exit codes of gputune. A function that decides one stores it in err->exit_status. Functions return 0 or a negative
 * errno with one sentence in err. Outputs are untouched on failure.
 */
#include "lib/err.h"

enum {
	TN_EXIT_FAILED = 1,	 /* failed and rolled back */
	TN_EXIT_REFUSED = 3,	 /* nothing was changed; the reason concerns this moment, this plan or this host */
	TN_EXIT_DRIFT = 4,	 /* a value differs from the one that gputune wrote, or will differ after the next boot */
	TN_EXIT_PENDING = 5,	 /* the rest happens at the next boot */
	TN_EXIT_INTERRUPTED = 6, /* a transaction was interrupted: run gputune recover */
};
#endif
