/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_KERNEL_TENSOR_CUH
#define RT_KERNEL_TENSOR_CUH
/*
 * A warp's tensor-core product of bf16 or f16 with float sums, and asynchronous copies of tiles; since sm_80. Names of
 * fragments: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", "ldmatrix", "cp.async".
 *
 * In a fragment a lane is (group, quad) = (lane / 4, lane % 4).
 *   a (16 x 16): a[0] row group, columns 2 quad, +1; a[1] row group + 8; a[2], a[3] the same, 8 columns further
 *   b (16 x 8):  b0 rows 2 quad, +1, column group; b1 8 rows further
 *   c (16 x 8):  c[0], c[1] row group, columns 2 quad, +1; c[2], c[3] row group + 8
 * So two adjacent c, rounded, are one a.
 */
#include "common.cuh"

/* lo in the lower half */
template <class T> RT_DEVICE uint32_t pack_low(float lo, float hi)
{
	T t[2];
	uint32_t r;

	assign(t[0], lo);
	assign(t[1], hi);
	memcpy(&r, t, sizeof(r));
	return r;
}

#ifndef RT_EMULATE
#if __CUDA_ARCH__ >= 800
#define RT_HAVE_TENSOR 1

/* c += a b */
template <class T> RT_DEVICE void tensor_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <> RT_MEMBER void tensor_mma<bf16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> RT_MEMBER void tensor_mma<f16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Loads four 8 x 8 matrices. Lanes 8 i … 8 i + 7 point to the rows of matrix i, each of 16 bytes in shared memory.
 * r[i]: row group, columns 2 quad, +1 of matrix i. */
RT_DEVICE void tensor_load(uint32_t (&r)[4], const void *row)
{
	unsigned at = (unsigned)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(at)
		     : "memory");
}

/* Does the same with each matrix transposed. r[i]: rows 2 quad, +1, column group. */
RT_DEVICE void tensor_load_turned(uint32_t (&r)[4], const void *row)
{
	unsigned at = (unsigned)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(at)
		     : "memory");
}

/* Starts a copy of 16 bytes to shared memory; zeros if `there` is false. */
RT_DEVICE void copy_start(void *shared, const void *global, bool there)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(shared)),
		     "l"(global), "r"(there ? 16 : 0)
		     : "memory");
}

/* Closes the group of copies started so far. */
RT_DEVICE void copy_commit(void)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for this thread's groups except the last LATE. */
template <int LATE> RT_DEVICE void copy_wait(void)
{
	asm volatile("cp.async.wait_group %0;" ::"n"(LATE) : "memory");
}

/* 2^x with an error of at most 2 ulp; subnormal results are 0 */
RT_DEVICE float exp2_fast(float x)
{
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
#endif
#else
#define RT_HAVE_TENSOR 1
#endif
#endif
