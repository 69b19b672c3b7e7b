/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_RING_H
#define RT_RING_H
/*
 * Who may touch a slot. Ticket t uses slot t mod n. A slot's state is 2t while it waits for (or is being filled with) ticket
 * t, and 2t + 1 while the batch of ticket t lies in it. Only the worker that drew t moves it from 2t to 2t + 1, only the
 * reader moves it on to 2(t + n). So there is no lock; a futex is asked only when somebody really has to sleep.
 */
#include <stdatomic.h>
#include "lib/util.h"

struct rt_ring_slot {
	_Atomic uint32_t state; /* modulo 2^32: only ever compared for equality */
	_Atomic uint32_t sleepers;
	char pad[64 - 2 * sizeof(uint32_t)];
};
struct rt_ring {
	struct rt_ring_slot *slot;
	uint32_t n;
	_Atomic uint64_t next;	/* ticket to be drawn */
	_Atomic uint64_t limit; /* no worker draws this one or a later one */
	_Atomic bool stop;
};
void rt_ring_init(struct rt_ring *r, uint32_t slots, uint64_t first, uint64_t limit);
void rt_ring_clear(struct rt_ring *r);
/* A worker: draw a ticket, wait for its slot; false: no more. Then fill slot ticket % n, and say so. */
bool rt_ring_draw(struct rt_ring *r, uint64_t *ret_ticket);
void rt_ring_filled(struct rt_ring *r, uint64_t ticket);
/* The reader: is it there; wait until it is; done with it. */
bool rt_ring_ready(const struct rt_ring *r, uint64_t ticket);
void rt_ring_wait(struct rt_ring *r, uint64_t ticket);
void rt_ring_release(struct rt_ring *r, uint64_t ticket);
void rt_ring_stop(struct rt_ring *r); /* rt_ring_draw returns false from now on, also to those who sleep */
#endif
