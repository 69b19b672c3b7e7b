/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include "runtime/data/ring.h"

#define SPINS	100 /* attempts before sleeping, which cost less than the two system calls */

static uint32_t free_for(uint64_t ticket)
{
	return (uint32_t)(2 * ticket);
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

void rt_ring_init(struct rt_ring *r, uint32_t slots, uint64_t first, uint64_t limit)
{
	r->n = slots;
	r->slot = gt_xcalloc(slots, sizeof(*r->slot));
	for (uint64_t t = first; t < first + slots; t++)
		atomic_init(&r->slot[t % slots].state, free_for(t));
	atomic_init(&r->next, first);
	atomic_init(&r->limit, limit);
	atomic_init(&r->stop, false);
}

void rt_ring_clear(struct rt_ring *r)
{
	free(r->slot);
	r->slot = NULL;
}

/* Sequentially consistent: the store of `state` precedes the load of `sleepers`, and a sleeper increments `sleepers`
 * before it loads `state`. Therefore either the sleeper sees the new state, or this function sees the sleeper. */
static void change(struct rt_ring_slot *s, uint32_t to)
{
	atomic_store(&s->state, to);
	if (atomic_load(&s->sleepers))
		futex(&s->state, FUTEX_WAKE, INT32_MAX);
}

/* Returns false if the ring was stopped. */
static bool wait_for(struct rt_ring *r, struct rt_ring_slot *s, uint32_t want)
{
	uint32_t now;

	for (int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&s->state, memory_order_acquire) == want)
			return true;
		relax();
	}
	atomic_fetch_add(&s->sleepers, 1);
	while ((now = atomic_load(&s->state)) != want && !atomic_load(&r->stop))
		futex(&s->state, FUTEX_WAIT, now);
	atomic_fetch_sub(&s->sleepers, 1);
	return now == want;
}

bool rt_ring_draw(struct rt_ring *r, uint64_t *ret_ticket)
{
	uint64_t t = atomic_load(&r->next);

	do {
		if (atomic_load(&r->stop) || t >= atomic_load(&r->limit))
			return false;
	} while (!atomic_compare_exchange_weak(&r->next, &t, t + 1));
	*ret_ticket = t;
	return wait_for(r, &r->slot[t % r->n], free_for(t));
}

void rt_ring_filled(struct rt_ring *r, uint64_t ticket)
{
	change(&r->slot[ticket % r->n], free_for(ticket) + 1);
}

bool rt_ring_ready(const struct rt_ring *r, uint64_t ticket)
{
	return atomic_load_explicit(&r->slot[ticket % r->n].state, memory_order_acquire) == free_for(ticket) + 1;
}

void rt_ring_wait(struct rt_ring *r, uint64_t ticket)
{
	wait_for(r, &r->slot[ticket % r->n], free_for(ticket) + 1);
}

void rt_ring_release(struct rt_ring *r, uint64_t ticket)
{
	change(&r->slot[ticket % r->n], free_for(ticket + r->n));
}

/* Changes the state to a value that no thread waits for, so that no futex call sleeps on the old value. */
void rt_ring_stop(struct rt_ring *r)
{
	atomic_store(&r->stop, true);
	for (uint32_t i = 0; i < r->n; i++) {
		atomic_fetch_xor(&r->slot[i].state, UINT32_C(1) << 31);
		futex(&r->slot[i].state, FUTEX_WAKE, INT32_MAX);
	}
}
