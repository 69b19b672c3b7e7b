/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_BASE_H
#define GT_BASE_H
/* Types and cleanup attributes for the public headers of the runtime. Declares no function of this library. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * The error contract. A function returns 0 (or a count), or a negative errno. The function that detects the error writes
 * one sentence: what failed, on which object, what to do. Callers may put a prefix before the sentence, and main prints
 * it once. Outputs stay untouched on failure. A caller that does not need the sentence passes NULL.
 */
struct gt_err {
	int code;	 /* positive errno, 0 = no error */
	int exit_status; /* documented exit code for main to return; 0 = the tool's default (70) */
	char msg[1024];
};

#define GT_PRINTF(fmt, args)	__attribute__((format(printf, fmt, args)))

static inline void gt_freep(void *p)
{
	free(*(void **)p);
}
#define gt_autofree	__attribute__((cleanup(gt_freep)))

/* After GT_DEFINE_AUTO(tn_plan, tn_plan_free), a variable `gt_auto(tn_plan) *p = NULL;` is freed at the end of its scope. */
#define GT_DEFINE_AUTO(type, freefn)                                                                                   \
	static inline void type##_autop(struct type **p)                                                               \
	{                                                                                                              \
		freefn(*p);                                                                                            \
	}                                                                                                              \
	struct type
#define gt_auto(type)	__attribute__((cleanup(type##_autop))) struct type

/* Functions declared between RT_API_BEGIN and RT_API_END are exported by the shared library; all others are hidden. */
#ifdef __cplusplus
#define RT_API_BEGIN extern "C" { _Pragma("GCC visibility push(default)")
#define RT_API_END   _Pragma("GCC visibility pop") }
#else
#define RT_API_BEGIN _Pragma("GCC visibility push(default)")
#define RT_API_END   _Pragma("GCC visibility pop")
#endif
#endif
