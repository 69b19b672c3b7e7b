/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include "runtime/cpu/cpu.h"
#include "runtime/math/pixels.h"

/* out (f32) = in (u8) * scale + offset, same shape */
static void run_pixels(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t n = rt_shape_elements(&c->in[0]->shape);
	int team = rt_cpu_team(cpu, 5.0 * (double)n);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(n, 64, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		rt_pixels_to_f32((const unsigned char *)c->in[0]->data + lo, (size_t)(hi - lo), c->attr.scale, c->attr.offset,
				 rt_f32(c->out[0]) + lo);
	}
}

const struct rt_cpu_kernel rt_cpu_pixels = { .run = run_pixels };
