/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_EXIT_H
#define TN_EXIT_H
/*
 * Exit codes of gputune, which err->exit_status carries where there is one. Functions return 0 or a negative errno with one
 * sentence in err. Outputs are untouched on failure.
 */
#include "lib/err.h"

enum {
	TN_EXIT_FAILED = 1,	 /* failed and rolled back */
	TN_EXIT_REFUSED = 3,	 /* nothing was changed: not now, not this plan, not this host */
	TN_EXIT_DRIFT = 4,	 /* a value is no longer the one that gputune wrote, or will not be after the next boot */
	TN_EXIT_PENDING = 5,	 /* the rest happens at the next boot */
	TN_EXIT_INTERRUPTED = 6, /* a transaction was interrupted: gputune recover */
};
#endif
