/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted checkpoint: rejected with a message, or every tensor lies inside the file and none overlaps another. */
#include "runtime/ckpt/safetensors.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rt_safetensors s = { 0 };
	struct gt_err err = { 0 };
	uint64_t end = 0;

	if (rt_safetensors_parse((const char *)data, size, size, "checkpoint", &s, &err) < 0) {
		FUZZ_ASSERT(err.code > 0 && err.msg[0] && !s.tensor);
		return 0;
	}
	for (size_t i = 0; i < s.n; i++) {
		const struct rt_st_tensor *t = &s.tensor[i];
		uint64_t bytes = rt_st_dtype_bytes(t->dtype);

		for (int d = 0; d < t->n_dims; d++)
			bytes *= (uint64_t)t->dim[d];
		FUZZ_ASSERT(t->begin == end && t->end - t->begin == bytes && rt_safetensors_find(&s, t->name));
		end = t->end;
	}
	FUZZ_ASSERT(s.data_at + end == size);
	rt_safetensors_clear(&s);
	return 0;
}
