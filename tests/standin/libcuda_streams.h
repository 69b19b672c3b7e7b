/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBCUDA_STREAMS_H
#define LIBCUDA_STREAMS_H
/* Streams, enqueued work, captured graphs and events of the stand-in driver. */
#include <pthread.h>
#include "libcuda.h"

struct work {
	struct work *next;
	unsigned correlation; /* number that a tracer gets */
	void (*run)(void *data);
	int (*poll)(void *data); /* alternative: returns 1 when done */
	atomic_int *holders;	 /* number of captured copies of this */
	void *staged;
	size_t size;
	_Alignas(16) char data[];
};
struct stream {
	struct stream *next;
	struct work *head, **tail;
	unsigned long enqueued, done;
	unsigned number; /* number in the record; 0: the NULL stream */
	struct graph *captures;
	bool blocking, gone;
	bool joined;			  /* the capture started on another stream */
	unsigned long captured, rejoined; /* work of a joined stream, and the part that others have waited for */
};
struct graph {
	struct work *head, **tail;
	struct graph *next; /* next graph of a captured stream */
	struct stream *origin;
	pthread_t thread;
	int mode;
	unsigned number; /* number in the record */
	bool invalid;
};
struct event {
	struct event *next;
	struct stream *stream;
	unsigned long upto;
	double at;
	unsigned number; /* number in the record */
	struct graph *graph; /* recorded during this capture */
	bool recorded, timed, gone;
};
#endif
