/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_NCCL_STATE_H
#define RT_CUDA_NCCL_STATE_H
/* The library and a communicator; shared by nccl.c and nccl_calls.c. */
#include "runtime/cuda/driver.h"
#include "runtime/transport/comm.h"

/* The used part of nccl.h. Names and values are NVIDIA's. */
enum {
	NCCL_OK = 0,
	NCCL_REMOTE_ERROR = 6,
	NCCL_IN_PROGRESS = 7,
	NCCL_INT8 = 0,
	NCCL_HALF = 6,
	NCCL_FLOAT = 7,
	NCCL_DOUBLE = 8,
	NCCL_BFLOAT16 = 9,
	NCCL_SUM = 0,
	NCCL_AVG = 4,
	NCCL_HAS_AVG = 21000,
	NCCL_NONBLOCKING = 21400,
};
struct unique_id {
	char internal[128];
};
/* ncclConfig_t of 2.14. Newer libraries accept its size and version. */
struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};
struct nccl_api {
	int (*version)(int *);
	int (*unique_id)(struct unique_id *);
	int (*init_rank)(void **, int, struct unique_id, int);
	int (*init_config)(void **, int, struct unique_id, int, struct config *);
	int (*async_error)(void *, int *);
	int (*abort)(void *);
	int (*finalize)(void *);
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, cu_stream);
	int (*all_gather)(const void *, void *, size_t, int, void *, cu_stream);
	int (*reduce_scatter)(const void *, void *, size_t, int, int, void *, cu_stream);
	int (*send)(const void *, size_t, int, int, void *, cu_stream);
	int (*recv)(void *, size_t, int, int, void *, cu_stream);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*destroy)(void *);
	const char *(*error_string)(int);
	const char *(*last_error)(void *);
};
struct ending;
struct rt_nccl {
	struct nccl_api api;
	void *lib, *comm;
	const struct rt_cuda *dev;
	struct rt_comm *group;
	int rank, size; /* in the communicator */
	int version;
	bool nonblocking;
	struct ending *ending; /* set after an abort */
	bool abandoned;	       /* not freed, because NCCL may still use it */
};

/* Waits until NCCL has processed a call. */
int rt_nccl_settle(struct rt_nccl *n, int status, const char *what, struct gt_err *err);
#endif
