/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/result/gpu.h"

double bn_gpu_limited_pct(const json_t *env)
{
	static const char *const limited[] = { "gpu_power_cap_pct", "gpu_heat_pct", "gpu_brake_pct", "gpu_slowdown_pct" };
	double v = NAN;

	for (size_t i = 0; i < GT_ARRAY_SIZE(limited); i++)
		v = fmax(v, gt_json_get_real(env, limited[i], NAN));
	return v;
}

struct span {
	double lo, hi;
};

static void widen(struct span *s, double v)
{
	s->lo = fmin(s->lo, v); /* fmin and fmax ignore NaN */
	s->hi = fmax(s->hi, v);
}

static void print_span(struct gt_buf *out, const struct span *s, const char *unit)
{
	if (s->lo <= s->hi && s->hi - s->lo < .5)
		gt_buf_printf(out, ", %.0f %s", s->hi, unit);
	else if (s->lo <= s->hi)
		gt_buf_printf(out, ", %.0f to %.0f %s", s->lo, s->hi, unit);
}

void bn_text_gpu(const json_t *doc, struct gt_buf *out)
{
	struct span sm = { NAN, NAN }, temp = sm, power = sm, limited = sm;
	json_t *list = json_object_get(doc, "launches"), *l;
	size_t i, n = 0, n_limited = 0;
	double cpu = 0;

	json_array_foreach(list, i, l) {
		const json_t *env = json_object_get(l, "env"), *gpu = json_object_get(l, "gpu");
		double h = bn_gpu_limited_pct(env);

		if (!json_is_object(gpu))
			continue;
		n++;
		cpu += gt_json_get_real(gpu, "cpu_share", 0);
		widen(&sm, gt_json_get_real(env, "gpu_sm_mhz", NAN));
		widen(&temp, gt_json_get_real(env, "gpu_temp_c", NAN));
		widen(&power, gt_json_get_real(env, "gpu_power_w", NAN));
		widen(&limited, h);
		n_limited += h > 0;
	}
	if (!n)
		return;
	gt_buf_printf(out, "GPU in %zu %s", n, n == 1 ? "launch" : "launches");
	print_span(out, &sm, "MHz");
	print_span(out, &temp, "degrees");
	print_span(out, &power, "W");
	if (n_limited)
		gt_buf_printf(out, ", clocks limited in %zu of them for at most %.0f %% of the time", n_limited, limited.hi);
	gt_buf_printf(out, "; monitoring took %.2g %% of a CPU", 100 * cpu / (double)n);
}
