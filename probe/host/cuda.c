/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether CUDA can be initialised. Only libcuda can answer this, and cuInit may take seconds, create device
 * nodes and hang. So it is called only on request (--cuda), in a child with a time limit.
 */
#include <errno.h>
#include <string.h>
#include "lib/dl.h"
#include "lib/spawn.h"
#include "probe/host/reading.h"

struct cuda {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*text)(int, const char **);
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(cuda, init, cuInit),
	GT_DLSYM(cuda, count, cuDeviceGetCount),
	GT_DLSYM_OPT(cuda, text, cuGetErrorString),
};

static int child(void *arg, struct gt_err *err)
{
	static const char *const names[] = {"libcuda.so.1", NULL};
	struct gt_err why = {0};
	struct cuda c = {0};
	const char *text = NULL;
	gt_auto_json *doc = json_object();
	void *handle;
	int r, n = 0;

	if (gt_dl_open(names, syms, GT_ARRAY_SIZE(syms), &c, &handle, &why) < 0) {
		json_object_set_new(doc, "no_library", json_true());
		json_object_set_new(doc, "text", gt_json_str(why.msg));
	} else {
		r = c.init(0);
		if (!r)
			r = c.count(&n);
		json_object_set_new(doc, "code", json_integer(r));
		json_object_set_new(doc, "count", json_integer(n));
		if (r && c.text && !c.text(r, &text))
			json_object_set_new(doc, "text", gt_json_str(text));
	}
	gt_json_print(stdout, doc);
	fflush(stdout);
	return 0;
}

static void take_answer(struct pr_host *h, const char *text, size_t len)
{
	gt_auto_json *doc = NULL;

	if (gt_json_parse(text, len, "cuda", &doc, NULL) < 0) {
		h->cuda.init.state = PR_BROKEN;
		h->cuda.text = "the child process that initialised CUDA died";
		return;
	}
	h->cuda.text = pr_keep(h, gt_json_get_str(doc, "text", NULL));
	h->cuda.init.state = gt_json_get_bool(doc, "no_library", false) ? PR_ABSENT : PR_BROKEN;
	if (json_is_integer(json_object_get(doc, "code")))
		h->cuda.init = pr_value(gt_json_get_int(doc, "code", 0));
}

void pr_discover_cuda(struct gt_fsroot *fs, struct pr_host *h, double timeout_s)
{
	struct gt_spawn s = {.in_child = child, .timeout_s = timeout_s};
	gt_autofree char *fact = NULL;
	size_t len;

	if (!h->live) {
		if (gt_fs_fact(fs, "cuda", &fact, &len) >= 0)
			take_answer(h, fact, len);
		return;
	}
	if (gt_spawn(&s, NULL) == -ETIMEDOUT) {
		h->cuda.init.state = PR_BROKEN;
		h->cuda.text = pr_own(h, gt_xasprintf("CUDA did not initialise within %g s", timeout_s));
	} else {
		take_answer(h, s.out ? s.out : "", s.out_len);
	}
	gt_spawn_clear(&s);
}

char *pr_cuda_fact(const struct pr_host *h)
{
	gt_auto_json *doc = json_object();

	if (h->cuda.init.state == PR_UNKNOWN)
		return NULL;
	if (pr_has(h->cuda.init))
		json_object_set_new(doc, "code", json_integer(h->cuda.init.v));
	else if (h->cuda.init.state == PR_ABSENT)
		json_object_set_new(doc, "no_library", json_true());
	if (h->cuda.text)
		json_object_set_new(doc, "text", gt_json_str(h->cuda.text));
	return gt_json_text(doc);
}
