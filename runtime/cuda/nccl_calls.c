/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and messages, enqueued on a stream. */
#include <errno.h>
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/nccl_state.h"

static void *at(cu_ptr p)
{
	return (void *)(uintptr_t)p;
}

/* After a failure the communicator is gone, and every later call fails. */
static int usable(struct rt_nccl *n, struct gt_err *err)
{
	return n->comm ? 0 : gt_fail(err, EIO, "an earlier failure ended NCCL's communicator of this rank");
}

int rt_nccl_mean(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.all_reduce(at(x), at(out), (size_t)count, NCCL_FLOAT, NCCL_AVG, n->comm, stream),
			      "ncclAllReduce", err);
}

int rt_nccl_all_to_all(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err), status, end;

	if (r)
		return r;
	status = n->api.group_start();
	for (int i = 0; status == NCCL_OK && i < n->size; i++) {
		status = n->api.send(at(x + (size_t)i * bytes), bytes, NCCL_INT8, i, n->comm, stream);
		if (status == NCCL_OK)
			status = n->api.recv(at(out + (size_t)i * bytes), bytes, NCCL_INT8, i, n->comm, stream);
	}
	end = n->api.group_end();
	return rt_nccl_settle(n, status == NCCL_OK ? end : status, "ncclSend and ncclRecv", err);
}

int rt_nccl_all_gather(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.all_gather(at(x), at(out), bytes, NCCL_INT8, n->comm, stream), "ncclAllGather",
				      err);
}

static int type_of(enum rt_dtype type)
{
	return type == RT_BF16 ? NCCL_BFLOAT16 : type == RT_F16 ? NCCL_HALF : NCCL_FLOAT;
}

int rt_nccl_sum(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, enum rt_dtype type, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.all_reduce(at(x), at(out), (size_t)count, type_of(type), NCCL_SUM, n->comm, stream),
			      "ncclAllReduce", err);
}

int rt_nccl_sum_double(struct rt_nccl *n, cu_ptr x, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.all_reduce(at(x), at(x), 1, NCCL_DOUBLE, NCCL_SUM, n->comm, stream),
				      "ncclAllReduce", err);
}

int rt_nccl_reduce_scatter(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, enum rt_dtype type, cu_stream stream,
			   struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.reduce_scatter(at(x), at(out), (size_t)count, type_of(type), NCCL_SUM, n->comm,
								stream),
				      "ncclReduceScatter", err);
}

int rt_nccl_send(struct rt_nccl *n, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.send(at(x), bytes, NCCL_INT8, !n->rank, n->comm, stream), "ncclSend", err);
}

int rt_nccl_receive(struct rt_nccl *n, cu_ptr out, size_t bytes, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err);

	return r ? r : rt_nccl_settle(n, n->api.recv(at(out), bytes, NCCL_INT8, !n->rank, n->comm, stream), "ncclRecv", err);
}

int rt_nccl_swap(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, int peer, cu_stream stream, struct gt_err *err)
{
	int r = usable(n, err), status, end;

	if (r)
		return r;
	status = n->api.group_start();
	if (status == NCCL_OK)
		status = n->api.send(at(x), bytes, NCCL_INT8, peer, n->comm, stream);
	if (status == NCCL_OK)
		status = n->api.recv(at(out), bytes, NCCL_INT8, peer, n->comm, stream);
	end = n->api.group_end();
	return rt_nccl_settle(n, status == NCCL_OK ? end : status, "ncclSend and ncclRecv", err);
}
