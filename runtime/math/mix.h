/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_MIX_H
#define RT_MIX_H
/*
 * Replaces x (32 bits or a vector of them) by a bijective hash of x. A macro, because the CPU's vectors and the CUDA
 * kernels must draw the same bits.
 */
#define RT_MIX(x)                                                                                                      \
	do {                                                                                                           \
		(x) ^= (x) >> 17;                                                                                      \
		(x) *= 0xed5ad4bbu;                                                                                    \
		(x) ^= (x) >> 11;                                                                                      \
		(x) *= 0xac4c1b51u;                                                                                    \
		(x) ^= (x) >> 15;                                                                                      \
		(x) *= 0x31848babu;                                                                                    \
		(x) ^= (x) >> 14;                                                                                      \
	} while (0)
#endif
