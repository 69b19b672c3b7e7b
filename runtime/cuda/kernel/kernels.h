/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_KERNELS_H
#define RT_CUDA_KERNELS_H
/* All kernels of kernel/ by name. T kernels exist for float, bf16 and f16. The host, and the tests that run kernels on
 * the CPU, find them by this list. */
#define RT_KERNELS_PLAIN(X)                                                                                            \
	X(saxpy) X(narrow_bf16) X(narrow_f16) X(widen_bf16) X(widen_f16) X(fold) X(mean) \
	X(ids_count) X(ids_start) X(ids_fill) X(ids_rank) X(adamw) X(adamw8) X(sgd) \
	X(scaler_begin) X(scaler_check) X(scaler_judge) X(scaler_end) \
	X(squares) X(total) X(clip) X(channel_running) X(channel_bwd_stats) X(channel_move) X(fp8_begin) X(fp8_renew) \
	X(word_sums) X(count_targets) X(kept_begin) X(kept_settle) \
	X(code_feed) X(code_scale) X(code_encode) X(code_sum) X(code_decode) \
	X(lowrank_p) X(lowrank_orthonormal) X(lowrank_q) X(lowrank_fold) X(lowrank_expand) X(lowrank_keep)
#define RT_KERNELS_TYPED(X)                                                                                            \
	X(act) X(act_bwd) X(add) X(bias_act) X(norm) X(norm_bwd) X(column_sums) X(dot) X(embedding) X(embedding_bwd)   \
	X(positions_bwd) X(cross_entropy) X(softmax_part) X(parts_loss) X(scale) X(sum_up) X(odd) X(attention_delta)         \
	X(channel_sums) X(channel_stats) X(channel_affine) X(channel_bwd_sums) X(channel_bwd) X(max_pool) X(avg_pool)  \
	X(pool_bwd) X(pad) X(middle_sum) X(middle_spread) X(pixels) X(fold_norm) X(filter_in) X(filter_out) X(cast8)          \
	X(mul) X(affine) X(dropout) X(softmax) X(softmax_bwd) X(rows_reduce) X(rows_max_bwd) X(middle_max) X(middle_max_bwd) \
	X(rope) X(swiglu) X(swiglu_bwd)
/* kernels for padded depths of 16, 64, 128 */
#define RT_KERNELS_ATTENTION(X)	X(attention) X(attention_dkv) X(attention_dq)
/* kernels for bf16, then for f16, each by padded depth: 64, 128; they need sm_80 or newer */
#define RT_KERNELS_TENSOR(X)	X(attention_tensor) X(attention_dkv_tensor) X(attention_dq_tensor)

enum rt_kernel_id {
#define X(n)	RT_K_##n,
	RT_KERNELS_PLAIN(X)
#undef X
#define X(n)	RT_K_##n, RT_K_##n##_bf16, RT_K_##n##_f16,
	RT_KERNELS_TYPED(X)
#undef X
#define X(n)                                                                                                           \
	RT_K_##n, RT_K_##n##_bf16, RT_K_##n##_f16, RT_K_##n##_64, RT_K_##n##_64_bf16, RT_K_##n##_64_f16, RT_K_##n##_128,      \
		RT_K_##n##_128_bf16, RT_K_##n##_128_f16,
	RT_KERNELS_ATTENTION(X)
#undef X
#define X(n)	RT_K_##n, RT_K_##n##_128, RT_K_##n##_f16, RT_K_##n##_f16_128,
	RT_KERNELS_TENSOR(X)
#undef X
	RT_N_KERNELS,
};

#define RT_KERNEL_NAME_PLAIN(n)	    "rt_" #n,
#define RT_KERNEL_NAME_TYPED(n)	    "rt_" #n "_f32", "rt_" #n "_bf16", "rt_" #n "_f16",
#define RT_KERNEL_NAME_ATTENTION(n)                                                                                    \
	"rt_" #n "_f32_16", "rt_" #n "_bf16_16", "rt_" #n "_f16_16", "rt_" #n "_f32_64", "rt_" #n "_bf16_64",          \
		"rt_" #n "_f16_64", "rt_" #n "_f32_128", "rt_" #n "_bf16_128", "rt_" #n "_f16_128",
#define RT_KERNEL_NAME_TENSOR(n)    "rt_" #n "_bf16_64", "rt_" #n "_bf16_128", "rt_" #n "_f16_64", "rt_" #n "_f16_128",
/* names in the order of enum rt_kernel_id */
#define RT_KERNEL_NAMES                                                                                                \
	RT_KERNELS_PLAIN(RT_KERNEL_NAME_PLAIN) RT_KERNELS_TYPED(RT_KERNEL_NAME_TYPED)                                  \
	RT_KERNELS_ATTENTION(RT_KERNEL_NAME_ATTENTION) RT_KERNELS_TENSOR(RT_KERNEL_NAME_TENSOR)
#endif
