/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/prove/state.h"
#include "bench/stats/design.h"

#define ONE_BY_ONE 6 /* more changes are measured together, in a design */

/* Boots are expensive, so with boots each pair must measure every change. */
bool bn_prove_designed(const struct bn_prove *p)
{
	return p->n_proof > (p->by_boot ? 1 : ONE_BY_ONE);
}

size_t bn_prove_aa(const struct bn_prove *p)
{
	return p->by_boot ? BN_BOOT_AA : BN_PROVE_AA;
}

size_t bn_prove_mechanism_pairs(const struct bn_prove *p)
{
	return p->by_boot ? BN_BOOT_PAIRS : BN_PROVE_MECHANISM;
}

size_t bn_prove_design_rows(size_t changes)
{
	size_t order = 2;

	while (order < changes + 1)
		order *= 2;
	return (changes + BN_DESIGN_SPARE + order - 1) / order * order;
}

/* With one change its effect is the total effect. If a pair is two boots, it is not measured again. */
bool bn_prove_total_is_all(const struct bn_prove *p)
{
	return p->by_boot && p->n_proof == 1;
}

json_t *bn_effect_json(const struct bn_effect *e)
{
	if (!isfinite(e->est))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:I}", "change_pct", gt_json_real(100 * expm1(e->est)), "ci_low_pct",
			 gt_json_real(isfinite(e->lo) ? 100 * expm1(e->lo) : NAN), "ci_high_pct",
			 gt_json_real(isfinite(e->hi) ? 100 * expm1(e->hi) : NAN), "p", gt_json_real(e->p), "n",
			 (json_int_t)e->n);
}

const struct bn_phase_result *bn_prove_result(const struct bn_prove *p, const char *name)
{
	for (size_t i = p->n_results; i-- > 0;)
		if (gt_streq(p->result[i]->name, name))
			return p->result[i];
	return NULL;
}
