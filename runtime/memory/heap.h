/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_HEAP_H
#define RT_HEAP_H
/* Call it after the first steps and rt_keep_heap(). Later steps then take no page fault in memory that libraries allocate. */
void rt_heap_reserve(int threads);
#endif
