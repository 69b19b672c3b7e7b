/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_RING_H
#define RT_RING_H
/*
 * Access to the slots of the ring. Ticket t uses slot t mod n. The state of a slot is 2t while it is free for ticket t
 * or being filled with it, and 2t + 1 while it contains the batch of ticket t. Only the worker that drew t changes it
 * from 2t to 2t + 1. Only the reader changes it to 2(t + n). Therefore no lock is needed, and a futex is used only to
 * sleep.
 */
#include <stdatomic.h>
#include "lib/util.h"

struct rt_ring_slot {
	_Atomic uint32_t state; /* modulo 2^32; only compared for equality */
	_Atomic uint32_t sleepers;
	char pad[64 - 2 * sizeof(uint32_t)];
};
struct rt_ring {
	struct rt_ring_slot *slot;
	uint32_t n;
	_Atomic uint64_t next;	/* next ticket to draw */
	_Atomic uint64_t limit; /* tickets from here on are not drawn */
	_Atomic bool stop;
};
void rt_ring_init(struct rt_ring *r, uint32_t slots, uint64_t first, uint64_t limit);
void rt_ring_clear(struct rt_ring *r);
/* For workers. Draws a ticket and waits for its slot; false: no more tickets. Fill slot ticket % n, then call
 * rt_ring_filled(). */
bool rt_ring_draw(struct rt_ring *r, uint64_t *ret_ticket);
void rt_ring_filled(struct rt_ring *r, uint64_t ticket);
/* For the reader: test for a batch, wait for it, and release it. */
bool rt_ring_ready(const struct rt_ring *r, uint64_t ticket);
void rt_ring_wait(struct rt_ring *r, uint64_t ticket);
void rt_ring_release(struct rt_ring *r, uint64_t ticket);
void rt_ring_stop(struct rt_ring *r); /* rt_ring_draw returns false from now on, also in sleeping threads */
#endif
