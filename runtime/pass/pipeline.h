/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PIPELINE_H
#define RT_PIPELINE_H
/* The plan of one stage of a pipeline. ddp/pipeline.c executes it. */
#include "runtime/graph/ir.h"

#define RT_CHUNK_BYTES	((size_t)256 << 10) /* largest message that belongs to no microbatch */
#define RT_LINK_SLOTS	2

/* Messages from one stage to another, in the window of the sender. All stages have the same list. */
struct rt_stage_queue {
	int from, to, slots;
	uint64_t bytes, offset;
};
struct rt_stage {
	int n, index; /* number of stages, and the own one */
	struct rt_stage_queue *queue;
	int n_queues;
	uint64_t window_bytes; /* window size of each stage */
	int places;	       /* where the model can be cut */
	int first, end;	       /* forward calls of the graph that belong to this stage, and their number */
	double work, all_work; /* counted work of this stage and of all stages, in flops */
	int in_flight;	       /* most microbatches whose activations are held at a time */
	uint64_t hash;	       /* hash of the cut and the schedule; equal in all stages */
};
/* Returns the queue of chunks from one stage to another. -1: none. */
int rt_stage_chunk_queue(const struct rt_stage *s, int from, int to);
/* Returns the number of forward passes of stage `index` before its first backward pass. */
int rt_stage_warmup(enum rt_schedule schedule, int stages, int index, int microbatches);
#endif
