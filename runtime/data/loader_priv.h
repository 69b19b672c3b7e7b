/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LOADER_PRIV_H
#define RT_LOADER_PRIV_H
#include <pthread.h>
#include "lib/json.h"
#include "lib/parse.h"
#include "runtime/data/lengths.h"
#include "runtime/data/ring.h"
#include "runtime/data/source.h"
#include "runtime/memory/arena.h"

#define RT_CORRUPT_NAMED	32 /* unusable samples named in the report */
#define RT_EVERY		10 /* one of this number of samples is held out */

struct rt_worker {
	struct rt_loader *loader;
	pthread_t thread;
	struct rt_scratch scratch;
	_Atomic uint64_t work_ns;
};
struct rt_slot {
	char *x;
	int32_t *y;
	uint64_t epoch;
	int length; /* of documents: index of the padded length */
	uint64_t tokens;
	int status; /* result of filling it */
	struct gt_err err;
};
struct rt_corrupt {
	pthread_mutex_t lock; /* locked for an unusable sample only */
	_Atomic uint64_t count;
	_Atomic uint64_t *known; /* one bit per sample: already counted */
	json_t *named;
};
struct rt_loader {
	struct rt_loader_options o; /* options with defaults filled in; path is a copy */
	struct gt_set cpus;
	struct rt_source *source;
	struct rt_image_cache *cache;
	uint64_t n;	      /* samples of this part */
	size_t row_x, row_y;  /* bytes */
	size_t batch_x, batch_y; /* largest of a batch */
	uint64_t tokens, padded; /* for documents: tokens delivered to the reader */
	struct rt_ring ring;
	struct rt_arena arena;
	struct rt_slot *slot;
	struct rt_worker *worker; /* at least one; the reader uses it if there are 0 workers */
	int running;	      /* threads */
	bool pinned, held;    /* held: the reader has a batch */
	uint64_t ticket;      /* ticket of the reader's next batch */
	uint64_t waits, wait_ns, epoch;
	char *copy;       /* copy of the last batch, if copy_batches is set */
	struct rt_corrupt corrupt;
};
/* Fills the slot of batch `ticket`. */
void rt_loader_fill(struct rt_loader *l, struct rt_worker *w, uint64_t ticket);
/* Start the threads, which work up to the ring's limit, and join them. */
int rt_loader_start(struct rt_loader *l, struct gt_err *err);
void rt_loader_join(struct rt_loader *l);
uint64_t rt_loader_epoch_end(const struct rt_loader *l, uint64_t ticket); /* first ticket of the next epoch */
uint64_t rt_now_ns(void);
#endif
