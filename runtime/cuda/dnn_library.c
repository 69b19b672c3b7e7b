/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN: finds, checks and opens the library, chooses the plan of a shape, and runs it. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cuda/dnn_api.h"
#include "runtime/cuda/vendor.h"

#define ROUNDS	3 /* timed runs of each plan, after one warm-up run */

static const struct gt_dlsym syms[] = {
	GT_DLSYM(dnn_api, version, cudnnGetVersion),
	GT_DLSYM(dnn_api, cudart_version, cudnnGetCudartVersion),
	GT_DLSYM(dnn_api, error_string, cudnnGetErrorString),
	GT_DLSYM_OPT(dnn_api, last_error, cudnnGetLastErrorString),
	GT_DLSYM(dnn_api, create, cudnnCreate),
	GT_DLSYM(dnn_api, destroy, cudnnDestroy),
	GT_DLSYM(dnn_api, set_stream, cudnnSetStream),
	GT_DLSYM(dnn_api, desc_create, cudnnBackendCreateDescriptor),
	GT_DLSYM(dnn_api, desc_destroy, cudnnBackendDestroyDescriptor),
	GT_DLSYM(dnn_api, desc_set, cudnnBackendSetAttribute),
	GT_DLSYM(dnn_api, desc_get, cudnnBackendGetAttribute),
	GT_DLSYM(dnn_api, desc_finalize, cudnnBackendFinalize),
	GT_DLSYM(dnn_api, execute, cudnnBackendExecute),
};

/* First cuDNN version that starts each list of supported architectures: NVIDIA's cuDNN support matrix, 9.0.0 to 9.27.0. */
static const struct {
	size_t version;
	int arch;
} oldest_arch[] = { { 91100, 75 }, { 90000, 50 } };
#define OLDEST	  90000 /* first version with these status codes, and with graph engines for every convolution */
#define DEVICELESS 90800

int rt_dnn_check(const struct rt_dnn *d, int status, const char *what, struct gt_err *err)
{
	char why[512] = "";

	if (status == DNN_OK)
		return 0;
	if (d->api.last_error)
		d->api.last_error(why, sizeof(why));
	for (char *p = why; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return gt_fail(err, status / 1000 == DNN_NOT_SUPPORTED / 1000 ? ENOTSUP : ENODEV,
		       "%s of cuDNN %s failed with status %d (%s)%s%s", what, d->version, status, d->api.error_string(status),
		       *why ? ": " : "", why);
}

/* Returns whether the library is new enough, and made for this driver and this device. */
static int suits(void *arg, struct gt_err *err)
{
	struct rt_dnn *d = arg;
	int runtime = (int)d->api.cudart_version() / 1000, have = d->dev ? d->dev->version : INT_MAX;
	size_t v = d->api.version();

	snprintf(d->version, sizeof(d->version), "%zu.%zu.%zu", v < OLDEST ? v / 1000 : v / 10000,
		 v < OLDEST ? v / 100 % 10 : v / 100 % 100, v % 100);
	if (v < OLDEST)
		return gt_fail(err, ENOSYS, "cuDNN %s is too old for convolutions: install 9.0 or newer", d->version);
	if (runtime > have / 1000)
		return gt_fail(err, ENOSYS,
			       "cuDNN %s is built for CUDA %d and this driver supports CUDA %d.%d: install a newer driver or "
			       "the cuDNN of CUDA %d",
			       d->version, runtime, have / 1000, have % 1000 / 10, have / 1000);
	for (size_t i = 0; d->dev && i < GT_ARRAY_SIZE(oldest_arch); i++) {
		if (v < oldest_arch[i].version)
			continue;
		if (d->dev->arch < oldest_arch[i].arch)
			return gt_fail(err, ENOSYS, "cuDNN %s has code from sm_%d on and %s is sm_%d: install cuDNN 9.10",
				       d->version, oldest_arch[i].arch, d->dev->name, d->dev->arch);
		break;
	}
	return 0;
}

static int load(struct rt_dnn *d, struct gt_err *err)
{
	static const char *const names[] = { "libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", NULL };
	const struct rt_vendor library = { .names = names, .syms = syms, .n_syms = GT_ARRAY_SIZE(syms), .table = &d->api,
					   .suits = suits, .arg = d, .in_child = true };
	int r = rt_vendor_open(&library, &d->lib, err);

	return r == -ENOENT ? gt_fail_prefix(err, "convolutions on CUDA devices need cuDNN") : r;
}

int rt_dnn_open(struct rt_cuda *dev, bool exact, struct rt_dnn **ret, struct gt_err *err)
{
	struct rt_dnn *d = gt_xcalloc(1, sizeof(*d));
	int r;

	d->dev = dev;
	r = load(d, err);
	if (!r)
		r = rt_dnn_check(d, d->api.create(&d->handle), "cudnnCreate", err);
	if (r) {
		rt_dnn_close(d);
		return r;
	}
	d->tuned = exact ? NULL : rt_tuned_open("cudnn", dev->name, dev->arch, d->api.version());
	*ret = d;
	return 0;
}

int rt_dnn_open_for(const char *properties, struct rt_dnn **ret, struct gt_err *err)
{
	struct rt_dnn *d = gt_xcalloc(1, sizeof(*d));
	int r = load(d, err);

	if (!r && d->api.version() < DEVICELESS)
		r = gt_fail(err, ENOSYS, "cuDNN %s cannot plan for a GPU that is not present: install 9.8 or newer", d->version);
	if (!r)
		r = rt_dnn_check(d, d->api.desc_create(DNN_DEVICEPROP, &d->properties), "a device's descriptor", err);
	if (!r)
		r = rt_dnn_check(d,
				 d->api.desc_set(d->properties, DNN_DEVICEPROP_JSON, DNN_TYPE_CHAR,
						 (int64_t)strlen(properties), properties),
				 "DEVICEPROP_JSON_REPRESENTATION", err);
	if (!r)
		r = rt_dnn_check(d, d->api.desc_finalize(d->properties), "the device's properties", err);
	if (r)
		rt_dnn_close(d);
	else
		*ret = d;
	return r;
}

static void drop(struct rt_dnn *d, struct dnn_choice *c)
{
	for (int k = 0; k < RT_DNN_CANDIDATES; k++)
		if (c->candidates[k].plan)
			d->api.desc_destroy(c->candidates[k].plan);
}

void rt_dnn_close(struct rt_dnn *d)
{
	if (!d)
		return;
	for (int i = 0; i < d->n_convs; i++) {
		drop(d, &d->convs[i]->c);
		free(d->convs[i]);
	}
	free(d->convs);
	for (int i = 0; i < d->n_attentions; i++) {
		drop(d, &d->attentions[i]->c);
		free(d->attentions[i]);
	}
	free(d->attentions);
	if (d->properties)
		d->api.desc_destroy(d->properties);
	if (d->handle)
		d->api.destroy(d->handle);
	rt_tuned_close(d->tuned);
	if (d->lib)
		dlclose(d->lib);
	free(d);
}

const char *rt_dnn_version(const struct rt_dnn *d)
{
	return d->version;
}

void rt_dnn_counts(const struct rt_dnn *d, int *ret_timed, int *ret_cached, int *ret_guessed)
{
	*ret_timed = d->timed;
	*ret_cached = d->cached;
	*ret_guessed = d->guessed;
}

/* ---- running ---- */
static int execute(struct rt_dnn *d, const struct dnn_candidate *candidate, const struct dnn_pack *a)
{
	dnn_desc pack = NULL;
	int status = d->api.desc_create(DNN_PACK, &pack);

	if (status == DNN_OK)
		status = d->api.desc_set(pack, DNN_PACK_POINTERS, DNN_TYPE_VOID_PTR, a->n, a->pointers);
	if (status == DNN_OK)
		status = d->api.desc_set(pack, DNN_PACK_IDS, DNN_TYPE_INT64, a->n, a->ids);
	if (status == DNN_OK)
		status = d->api.desc_set(pack, DNN_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1, &a->workspace);
	if (status == DNN_OK)
		status = d->api.desc_finalize(pack);
	if (status == DNN_OK)
		status = d->api.execute(d->handle, candidate->plan, pack);
	if (pack)
		d->api.desc_destroy(pack);
	return status;
}

/* Runs one plan, or the rival if candidate is NULL. *status: the library's status. A failure is the driver's. */
static int once(struct rt_dnn *d, const struct dnn_candidate *candidate, const struct dnn_pack *a, const struct dnn_rival *rival,
		int *status, struct gt_err *err)
{
	if (!candidate)
		return rival->run(rival->arg, err);
	*status = execute(d, candidate, a);
	return 0;
}

/* ret_ms: time of one run; negative if the library fails. A driver error is a device failure. */
static int time_one(struct rt_dnn *d, const struct dnn_candidate *candidate, const struct dnn_pack *a,
		    const struct dnn_rival *rival, cu_stream stream, const cu_event at[2], float *ret_ms, int *ret_status,
		    struct gt_err *err)
{
	const struct rt_driver *v = &d->dev->d;
	int status = DNN_OK, r = once(d, candidate, a, rival, &status, err);
	float ms = -1;

	*ret_ms = -1;
	if (!r && status == DNN_OK)
		r = rt_cuda_check(d->dev, v->event_record(at[0], stream), "cuEventRecord", err);
	for (int i = 0; !r && i < ROUNDS && status == DNN_OK; i++)
		r = once(d, candidate, a, rival, &status, err);
	if (r || status != DNN_OK) {
		*ret_status = status;
		return r;
	}
	r = rt_cuda_check(d->dev, v->event_record(at[1], stream), "cuEventRecord", err);
	if (!r)
		r = rt_cuda_check(d->dev, v->event_sync(at[1]), "cuEventSynchronize", err);
	if (!r)
		r = rt_cuda_check(d->dev, v->event_elapsed(&ms, at[0], at[1]), "cuEventElapsedTime", err);
	if (!r)
		*ret_ms = ms / ROUNDS;
	return r;
}

/* Chooses the fastest of all plans and the rival. */
static int fastest(struct rt_dnn *d, struct dnn_choice *c, const struct dnn_pack *a, const struct dnn_rival *rival,
		   cu_stream stream, const cu_event at[2], struct gt_err *err)
{
	int status = DNN_OK, r = 0, n = c->info.accepted + (rival != NULL);
	float best = -1;

	for (int i = 0; !r && i < n; i++) {
		bool other = i == c->info.accepted;
		float ms;

		r = time_one(d, other ? NULL : &c->candidates[i], a, rival, stream, at, &ms, &status, err);
		if (ms >= 0 && (best < 0 || ms < best)) {
			best = ms;
			c->chosen = other ? DNN_RIVAL : i;
		}
	}
	return !r && best < 0 ? rt_dnn_check(d, status, c->name, err) : r;
}

/* Takes the choice that another program of this process has made since this one was planned, so that both give the same
 * bits. */
static bool chosen_elsewhere(const struct rt_dnn *d, struct dnn_choice *c, bool rivalled)
{
	uint64_t words[RT_TUNED_WORDS];
	size_t workspace;

	if (c->from_disk || !rt_tuned_get(d->tuned, c->name, words, &workspace))
		return false;
	if (rivalled && !words[1])
		c->chosen = DNN_RIVAL;
	for (int i = 0; i < c->info.accepted; i++)
		if (!memcmp(words, c->candidates[i].words, sizeof(words)))
			c->chosen = i;
	return c->chosen != -1;
}

static int choose(struct rt_dnn *d, struct dnn_choice *c, const struct dnn_pack *a, const struct dnn_rival *rival,
		  cu_stream stream, struct gt_err *err)
{
	static const struct dnn_candidate none;
	const struct rt_driver *v = &d->dev->d;
	cu_event at[2] = { NULL, NULL };
	int r;

	if (chosen_elsewhere(d, c, rival != NULL)) {
		d->cached++;
		return 0;
	}
	r = rt_cuda_check(d->dev, v->event_create(&at[0], CU_EVENT_DEFAULT), "cuEventCreate", err);
	if (!r)
		r = rt_cuda_check(d->dev, v->event_create(&at[1], CU_EVENT_DEFAULT), "cuEventCreate", err);
	if (!r)
		r = fastest(d, c, a, c->from_disk ? NULL : rival, stream, at, err);
	for (int i = 0; i < 2; i++)
		if (at[i])
			v->event_destroy(at[i]);
	if (r)
		return r;
	if (c->from_disk) {
		d->cached++;
	} else {
		const struct dnn_candidate *candidate = c->chosen == DNN_RIVAL ? &none : &c->candidates[c->chosen];

		d->timed++;
		rt_tuned_put(d->tuned, c->name, candidate->words, candidate->workspace);
	}
	return 0;
}

int rt_dnn_do(struct rt_dnn *d, struct dnn_choice *c, const struct dnn_pack *a, const struct dnn_rival *rival, cu_stream stream,
	      bool tune, struct gt_err *err)
{
	int r = 0;

	if (d->stream != stream) {
		r = rt_dnn_check(d, d->api.set_stream(d->handle, stream), "cudnnSetStream", err);
		d->stream = stream;
	}
	if (!r && c->chosen == -1 && tune)
		r = choose(d, c, a, rival, stream, err);
	if (r)
		return r;
	if (c->chosen == -1) {
		c->chosen = 0;
		c->from_disk ? d->cached++ : d->guessed++;
	}
	if (c->chosen == DNN_RIVAL)
		return 1;
	return rt_dnn_check(d, execute(d, &c->candidates[c->chosen], a), c->name, err);
}
