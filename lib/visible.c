/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "lib/visible.h"

struct reader {
	const struct gt_gpu_name *gpus;
	size_t n;
	struct gt_visible *to;
};

/* Parses one entry. Returns NULL and the device, or a clause that describes the error. */
typedef const char *(*entry_fn)(const struct reader *r, const char *word, struct gt_visible_device *ret);

static const char *by_index(const struct reader *r, const char *word, struct gt_visible_device *ret)
{
	size_t v = 0;

	word += strspn(word, " \t");
	word += *word == '+'; /* strtoul() accepts it */
	if (!isdigit((unsigned char)*word))
		return "which is not the number of a GPU";
	for (; isdigit((unsigned char)*word); word++)
		v = v < 1000000 ? 10 * v + (size_t)(*word - '0') : v;
	if (v >= r->n || v >= 1000000)
		return "which this host does not have";
	ret->gpu = (int)v;
	return NULL;
}

/* Finds the one GPU whose UUID has this prefix. Hexadecimal digits match in either case. */
static const char *by_beginning(const struct reader *r, const char *word, size_t len, struct gt_visible_device *ret)
{
	bool unknown = r->n == GT_GPUS_UNKNOWN;

	ret->gpu = -1;
	if (len <= strlen("GPU-"))
		return "which is not a UUID";
	for (size_t i = 0; !unknown && i < r->n; i++)
		if (r->gpus[i].uuid && !strncasecmp(r->gpus[i].uuid, word, len)) {
			if (ret->gpu >= 0)
				return "which is a prefix of several UUIDs";
			ret->gpu = (int)i;
		}
	for (size_t i = 0; !unknown && i < r->n; i++)
		unknown = !r->gpus[i].uuid;
	return ret->gpu < 0 && !unknown ? "which this host does not have" : NULL;
}

static const char *by_uuid(const struct reader *r, const char *word, struct gt_visible_device *ret)
{
	if (strncmp(word, "GPU-", 4) != 0)
		return "which is not a GPU UUID like the entries before it";
	return by_beginning(r, word, strlen(word), ret);
}

/* Matches "/1/2". */
static bool two_instances(const char *s)
{
	for (int k = 0; k < 2; k++) {
		size_t digits = *s == '/' ? strspn(s + 1, "0123456789") : 0;

		if (!digits)
			return false;
		s += 1 + digits;
	}
	return !*s;
}

static const char *by_instance(const struct reader *r, const char *word, struct gt_visible_device *ret)
{
	bool unknown = r->n == GT_GPUS_UNKNOWN;
	size_t cut = 0;

	ret->mig = true;
	ret->gpu = -1;
	if (r->to->n)
		return "but CUDA sees only one instance";
	if (!strncmp(word, "MIG-GPU-", 8)) {
		if (!two_instances(word + strcspn(word, "/")))
			return "which lacks /GPU INSTANCE/COMPUTE INSTANCE";
		return by_beginning(r, word + 4, strcspn(word, "/") - 4, ret);
	}
	if (strncmp(word, "MIG-", 4) != 0 || !word[4])
		return "which is not the UUID of a MIG instance";
	for (size_t i = 0; !unknown && i < r->n; i++) {
		unknown = r->gpus[i].mig < 0;
		if (r->gpus[i].mig == 1) {
			ret->gpu = (int)i;
			cut++;
		}
	}
	if (cut != 1 || unknown)
		ret->gpu = -1; /* not found by the UUID of the GPU: the UUID of a MIG instance does not contain it */
	return cut || unknown ? NULL : "but no GPU of this host is partitioned into MIG instances";
}

/*
 * Returns whether an earlier entry names the same device. Compares the GPUs, or the texts of the entries if the GPU is
 * unknown.
 */
static bool named_before(const struct gt_visible *v, const struct gt_visible_device *d, const char *list, const char *at)
{
	size_t len = strcspn(at, ",");

	for (size_t i = 0; i < v->n && d->gpu >= 0; i++)
		if (v->v[i].gpu == d->gpu)
			return true;
	for (const char *p = list; p < at && d->gpu < 0; p += strcspn(p, ",") + 1)
		if (strcspn(p, ",") == len && !strncmp(p, at, len))
			return true;
	return false;
}

static void stop(struct gt_visible *v, const char *word, const char *why)
{
	snprintf(v->bad, sizeof(v->bad), "%s", *word ? word : " ");
	v->why = why;
}

void gt_visible_parse(const char *list, const struct gt_gpu_name *gpus, size_t n, struct gt_visible *ret)
{
	struct reader r = {gpus, n, ret};
	entry_fn entry;

	*ret = (struct gt_visible){.set = list != NULL};
	if (!list || !*list)
		return;
	entry = !strncmp(list, "GPU-", 4) ? by_uuid : !strncmp(list, "MIG-", 4) ? by_instance : by_index;
	for (const char *p = list;; p++) {
		struct gt_visible_device d = {.gpu = -1};
		size_t len = strcspn(p, ",");
		gt_autofree char *word = gt_xstrndup(p, len);
		const char *why = entry(&r, word, &d);

		if (!why && ret->n == GT_VISIBLE_MAX)
			why = "which exceeds the maximum number of devices";
		if (why) {
			stop(ret, word, why);
			return;
		}
		if (named_before(ret, &d, list, p)) {
			ret->n = 0;
			stop(ret, word, "which is listed twice, so that CUDA sees no GPU");
			return;
		}
		ret->v[ret->n++] = d;
		p += len;
		if (!*p)
			return;
	}
}
