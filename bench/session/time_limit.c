/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include "bench/session/time_limit.h"
#include "lib/cli.h"

/* Returns minutes with two significant digits, rounded up. */
static double minutes_of(double s)
{
	double m = s / 60, unit = pow(10, floor(log10(fmax(m, 1e-4))) - 1);

	return ceil(m / unit) * unit;
}

int bn_session_short(double limit_s, double need_s, double all_s, const char *file, struct gt_err *err)
{
	gt_autofree char *more = !file ? NULL :
		gt_xasprintf("; continue with: gpubench run --resume %s --minutes %g", file, minutes_of(need_s));

	return gt_fail_exit(err, GT_EXIT_USAGE, ETIME,
			    "--minutes %.3g is too short for the A/A pairs and one pair with the change: these take "
			    "about %g min, the whole session %g%s", limit_s / 60, minutes_of(need_s),
			    minutes_of(fmax(all_s, need_s)), more ? more : "");
}
