/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/vendor.h"

/* nccl.h, as far as used: names and values are NVIDIA's. */
enum { NCCL_OK = 0, NCCL_FLOAT = 7, NCCL_AVG = 4, NCCL_HAS_AVG = 21000 };
struct unique_id {
	char internal[128];
};
struct nccl_api {
	int (*version)(int *);
	int (*unique_id)(struct unique_id *);
	int (*init_rank)(void **, int, struct unique_id, int);
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, cu_stream);
	int (*destroy)(void *);
	const char *(*error_string)(int);
	const char *(*last_error)(void *);
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(nccl_api, version, ncclGetVersion),
	GT_DLSYM(nccl_api, unique_id, ncclGetUniqueId),
	GT_DLSYM(nccl_api, init_rank, ncclCommInitRank),
	GT_DLSYM(nccl_api, all_reduce, ncclAllReduce),
	GT_DLSYM(nccl_api, destroy, ncclCommDestroy),
	GT_DLSYM(nccl_api, error_string, ncclGetErrorString),
	GT_DLSYM_OPT(nccl_api, last_error, ncclGetLastError),
};

struct rt_nccl {
	struct nccl_api api;
	void *lib, *comm;
	int version;
};

static int check(const struct rt_nccl *n, int status, const char *what, struct gt_err *err)
{
	const char *more = status != NCCL_OK && n->api.last_error ? n->api.last_error(n->comm) : NULL;

	if (status == NCCL_OK)
		return 0;
	return gt_fail(err, ENODEV, "%s of NCCL %d failed: %s%s%s", what, n->version, n->api.error_string(status),
		       more && *more ? "; " : "", more ? more : "");
}

/* Rank 0's, by the group's own means: 32 bits at a time, which a double holds exactly. */
static int share_id(struct rt_comm *group, struct unique_id *id, struct gt_err *err)
{
	uint32_t words[sizeof(*id) / 4];
	int r = 0;

	memcpy(words, id, sizeof(*id));
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(words); i++) {
		double all[RT_MAX_RANKS];

		r = rt_comm_gather(group, (double)words[i], all, err);
		if (!r)
			words[i] = (uint32_t)all[0];
	}
	memcpy(id, words, sizeof(*id));
	return r;
}

int rt_nccl_open(struct rt_comm *group, struct rt_nccl **ret, struct gt_err *err)
{
	static const char *const names[] = { "libnccl.so.2", NULL };
	struct rt_nccl *n = gt_xcalloc(1, sizeof(*n));
	struct unique_id id = { 0 };
	int rank = rt_comm_rank(group), r = rt_vendor_open(names, syms, GT_ARRAY_SIZE(syms), &n->api, &n->lib, err);

	if (r < 0) {
		free(n);
		return gt_fail_prefix(err, "ranks on CUDA devices want NCCL");
	}
	r = check(n, n->api.version(&n->version), "ncclGetVersion", err);
	if (!r && n->version < NCCL_HAS_AVG)
		r = gt_fail(err, ENOSYS, "NCCL %d knows no mean: install 2.10 or newer", n->version);
	if (!r && !rank)
		r = check(n, n->api.unique_id(&id), "ncclGetUniqueId", err);
	if (!r)
		r = share_id(group, &id, err);
	if (!r)
		r = check(n, n->api.init_rank(&n->comm, rt_comm_size(group), id, rank), "ncclCommInitRank", err);
	if (r)
		rt_nccl_close(n);
	else
		*ret = n;
	return r;
}

void rt_nccl_close(struct rt_nccl *n)
{
	if (!n)
		return;
	if (n->comm)
		n->api.destroy(n->comm);
	dlclose(n->lib);
	free(n);
}

int rt_nccl_version(const struct rt_nccl *n)
{
	return n->version;
}

int rt_nccl_mean(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, cu_stream stream, struct gt_err *err)
{
	return check(n, n->api.all_reduce((const void *)(uintptr_t)x, (void *)(uintptr_t)out, (size_t)count, NCCL_FLOAT, NCCL_AVG,
					  n->comm, stream), "ncclAllReduce", err);
}
