/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the CUDA backend, and its checks and defaults of options. */
#include <errno.h>
#include <math.h>
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/engine.h"
#include "runtime/cuda/kernel/fp8.h"
#include "runtime/math/team.h"
#include "runtime/transport/comm.h"

/* The logits of a slice are one product. A device is faster with few large products. */
#define LOGITS_SLICE	(UINT64_C(4) << 30)
#define ALIGN		256

static int probe(struct gt_err *err)
{
	gt_auto(rt_cuda) *device = NULL;

	return rt_cuda_open(&device, err);
}

static int check(const struct rt_options *o, struct gt_err *err)
{
	if (o->debug.zero_gradients)
		return gt_fail(err, ENOSYS, "zero_gradients works only on the CPU: the cuda device assigns gradients");
	if (o->ranks.comm && o->ranks.weight > 0 && fabs(o->ranks.weight * rt_comm_size(o->ranks.comm) - 1) > 1e-9)
		return gt_fail(err, ENOSYS, "ranks on cuda devices have equal weights: different weights need the CPU");
	if (o->pipeline.comm && o->precision.fp8.use)
		return gt_fail(err, ENOSYS, "the stages of a pipeline cannot train in fp8: choose bf16");
	if (o->pipeline.comm && (o->debug.profile || o->debug.trace || o->debug.anomaly))
		return gt_fail(err, ENOSYS, "profile, trace and anomaly of a pipeline need the cpu device: waiting after each call "
					    "would stop the stages");
	if (o->precision.int8 != RT_INT8_OFF)
		return gt_fail(err, ENOSYS, "INT8 products run on the CPU: choose fp8 or bf16 for the cuda device");
	if (o->precision.no_master && o->precision.amp != RT_BF16)
		return gt_fail(err, EINVAL, "parameters without f32 values need the cuda device with amp in bf16 or fp8");
	if (o->attention_by != RT_ATTENTION_FASTEST && o->precision.amp == RT_F32)
		return gt_fail(err, EINVAL, "a choice of attention kernels needs the cuda device with bf16, f16 or fp8");
	return 0;
}

static int cuda_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_cpu cpu;
	int r = rt_cpu_open(&cpu, p->opt.threads, err);

	if (r)
		return r;
	p->threads = cpu.threads;
	r = rt_engine_open(p, err);
	if (r)
		return r;
	rt_engine_limit_memory(p);
	p->opt.debug.no_early_update = true; /* one launch updates all tensors */
	if (!p->opt.memory.logits_slice_bytes)
		p->opt.memory.logits_slice_bytes = LOGITS_SLICE;
	return 0;
}

static bool multiplies(const struct rt_call *c, enum rt_dtype type)
{
	(void)c;
	(void)type;
	return true;
}

const struct rt_backend rt_backend_cuda = {
	.device = RT_CUDA,
	.name = "cuda",
	.track = "calls on the device",
	.scales_loss = true,
	.target = { .reduced_tensors = true, .gelu_epilogue = true, .wide_rows = true, .fp8_words = RT_FP8_HEAD },
	.align = ALIGN,
	.probe = probe,
	.check = check,
	.open = cuda_open,
	.plan_scratch = rt_engine_scratch,
	.plan_bytes = rt_engine_plan_bytes,
	.build = rt_engine_build,
	.free = rt_engine_free,
	.step = rt_engine_step,
	.eval = rt_engine_eval,
	.wait = rt_engine_wait,
	.run_call = rt_engine_run_call,
	.get = rt_engine_get,
	.put = rt_engine_put,
	.fill = rt_engine_fill,
	.finite = rt_engine_finite,
	.scale_changes = rt_engine_forget_scale,
	.restart = rt_engine_clear_residual,
	.pin = rt_engine_pin,
	.unpin = rt_engine_unpin,
	.bytes = rt_engine_bytes,
	.multiplies = multiplies,
	.report = rt_engine_report,
};
