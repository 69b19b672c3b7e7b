/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of few rows with a weight, as in decoding. Their time is that of reading the weight from memory, so it is read
 * once and not packed. Threads claim strips of its rows. Each element is a sum in RT_W parts.
 */
#include <omp.h>
#include "runtime/math/gemm.h"

#define STRIP_BYTES	(INT64_C(128) << 10)

void rt_gemm_rows(const struct rt_cpu *cpu, enum rt_dtype dtype, int64_t m, int64_t n, int64_t k, const float *a, const void *b,
		  bool add, float *c, int64_t ldc, const struct rt_gemm_end *end)
{
	int64_t row_bytes = k * (int64_t)rt_dtype_bytes(dtype), strip = GT_MAX(STRIP_BYTES / GT_MAX(row_bytes, 1) / 4 * 4, 4);
	int team = rt_cpu_team(cpu, (double)n * (double)row_bytes);

#pragma omp parallel for schedule(dynamic) num_threads(team) if (team > 1)
	for (int64_t i = 0; i < n; i += strip) {
		int64_t rows = GT_MIN(strip, n - i);
		const char *part = (const char *)b + i * row_bytes;

		if (dtype == RT_BF16)
			cpu->simd->rows_bf16(c + i, ldc, a, (const uint16_t *)(const void *)part, m, rows, k, add);
		else
			cpu->simd->rows_f32(c + i, ldc, a, (const float *)(const void *)part, m, rows, k, add);
		if (end)
			end->run(end, 0, m, i, rows);
	}
}
