/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels for an x86 instruction set that the compiler's baseline may lack. No include guard: included once per set, with
 * the macros of int8_body.h and RT_I8_TARGET, the names of its features for the compiler.
 */
#include "runtime/math/int8.h"

#if defined(__x86_64__)
#define PRAGMA(text)	_Pragma(#text)
#ifdef __clang__
#define TARGET(features)	PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#else
#define TARGET(features)	PRAGMA(GCC target(features))
#endif
TARGET(RT_I8_TARGET)
#include "runtime/math/int8_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
