/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe can: extensions of PyTorch such as vllm and flash-attn, by compat/extension.tsv. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/advice/can.h"
#include "probe/compat/compat.h"
#include "probe/wheel/metadata.h"

static const struct extension {
	const char *name;
	const char *instead; /* if no release in the table works on a host */
} extensions[] = {
	{"vllm", "llama.cpp, which also runs on CPUs and on older GPUs"},
	{"xformers", "torch.nn.functional.scaled_dot_product_attention of PyTorch"},
	{"flash-attn", "torch.nn.functional.scaled_dot_product_attention of PyTorch"},
	{"transformer-engine", "torch.autocast with bfloat16 or float16"},
	{"bitsandbytes", "torch.optim's optimizers, and torchao for quantisation"},
	{"deepspeed", "FullyShardedDataParallel of PyTorch"},
	{"triton", "PyTorch without torch.compile"},
};

/* A row of the table. */
struct requirement {
	const struct extension *extension;
	char release[24];
	struct pr_span torch;
	int capability;	   /* x 10; 0: unknown */
	char majors[16];   /* CUDA majors; "": any */
	bool cpu;
};

/* Parses a row for an extension. Returns false if it belongs to another one. */
static bool parse(const struct extension *e, const char *key, const char *value, struct requirement *ret)
{
	size_t n = strlen(e->name);
	int column = 0;

	*ret = (struct requirement){.extension = e};
	if (strncmp(key, e->name, n) || key[n] != '-' || !pr_span_read(value, &ret->torch))
		return false;
	snprintf(ret->release, sizeof(ret->release), "%s", key + n + 1);
	gt_each_word(word, value, ",") {
		if (column == 2)
			ret->capability = atoi(word);
		else if (!strcmp(word, "cpu"))
			ret->cpu = true;
		else if (column > 2)
			snprintf(ret->majors + strlen(ret->majors), sizeof(ret->majors) - strlen(ret->majors), "%s%s",
				 *ret->majors ? "," : "", word);
		column++;
	}
	return true;
}

/* ---- one release --------------------------------------------------------------------------------------------------- */

struct torch_search {
	struct pr_question *q;
	const struct requirement *need;
	char torch[16], cuda[16]; /* newest that runs; "": none */
};

/* Returns whether PyTorch's build for this CUDA has code for the first GPU and runs with the driver. */
static bool build_runs(const struct torch_search *s, const char *torch, const char *cuda)
{
	const struct pr_context *c = s->q->c;
	gt_autofree char *key = pr_torch_key(torch, cuda, c->host->kernel.arch.v), *list = NULL, *least = NULL;
	gt_autofree char *major = gt_xstrndup(cuda, strcspn(cuda, "."));
	int arch = pr_first_arch(c);

	if (*s->need->majors && !gt_word_in(s->need->majors, ",", major))
		return false;
	if (pr_compat_min_driver(c->fs, cuda, &least, NULL) <= 0 || gt_version_cmp(pr_effective_driver(c), least) < 0)
		return false;
	return !arch || pr_compat_get(c->fs, &pr_torch_arch, key, &list, NULL) <= 0 || pr_holds_code(list, arch);
}

static int take_torch(void *arg, const char *key, const char *builds)
{
	struct torch_search *s = arg;
	gt_autofree char *torch = pr_release_of(key), *own = pr_torch_key(torch, NULL, s->q->c->host->kernel.arch.v);

	if (strcmp(own, key) || !pr_span_holds(&s->need->torch, torch) || gt_version_cmp(torch, s->torch) < 0)
		return 0;
	gt_each_word(cuda, builds, ",")
		if (strcmp(cuda, "cpu") && build_runs(s, torch, cuda)) {
			snprintf(s->torch, sizeof(s->torch), "%s", torch);
			snprintf(s->cuda, sizeof(s->cuda), "%s", cuda);
		}
	return 0;
}

/* Adds whether a PyTorch release that the extension needs runs with this host's driver and GPU. */
static void judge_torch(struct pr_question *q, const struct requirement *need)
{
	struct torch_search s = {.q = q, .need = need};

	pr_compat_each(q->c->fs, &pr_torch_wheel, take_torch, &s, NULL);
	if (!*s.torch)
		pr_can_reason(q, PR_NO, "torch_wheel.tsv", "no such PyTorch%s%s runs with driver %s and this GPU",
			      *need->majors ? " with CUDA " : "", need->majors, pr_effective_driver(q->c));
	else
		pr_can_reason(q, PR_YES, "torch_wheel.tsv", "PyTorch %s with CUDA %s has code for this GPU", s.torch, s.cuda);
	if (*s.torch)
		pr_can_driver(q, s.cuda);
	/* PyTorch's wheels have the new C++ ABI since 2.7; a wheel for the other ABI fails with "undefined symbol" */
	if (*s.torch && !strcmp(need->extension->name, "flash-attn"))
		pr_can_reason(q, PR_YES, "extension.tsv", "take the wheel whose name has cu%.2storch%scxx11abi%s", s.cuda, s.torch,
			      gt_version_cmp(s.torch, "2.7") >= 0 ? "TRUE" : "FALSE");
}

static void judge_gpus(struct pr_question *q, const struct requirement *need)
{
	const struct pr_host *h = q->c->host;

	for (size_t i = 0; i < h->n_gpu; i++) {
		int arch = pr_arch_of(q->c, &h->gpu[i]);

		if (!need->capability || !arch)
			pr_can_reason(q, PR_OPEN, "extension.tsv", "it is unknown whether it has code for GPU %s",
				      h->gpu[i].pci->address);
		else
			pr_can_reason(q, arch >= need->capability ? PR_YES : PR_NO, "extension.tsv",
				      "it needs compute capability %d.%d; GPU %s has %d.%d", need->capability / 10,
				      need->capability % 10, h->gpu[i].pci->address, arch / 10, arch % 10);
		return; /* hosts normally have one kind of GPU */
	}
}

static void judge_release(struct pr_question *q, const struct requirement *need)
{
	const struct pr_host *h = q->c->host;
	bool one = !strcmp(need->torch.first, need->torch.last), open_end = !strcmp(need->torch.last, "99.99");

	pr_can_reason(q, PR_YES, "extension.tsv", "%s %s needs PyTorch %s%s%s", need->extension->name, need->release,
		      need->torch.first, one ? "" : open_end ? " or newer" : " to ", one || open_end ? "" : need->torch.last);
	if (!strcmp(need->extension->name, "vllm"))
		pr_can_python(q, "vllm", need->release);
	if (pr_only_cpu(h)) {
		q->on_cpu = need->cpu;
		pr_can_reason(q, need->cpu ? PR_YES : PR_NO, "extension.tsv",
			      need->cpu ? "it also runs on CPUs" : "its wheels need an NVIDIA GPU, and this host has none that it "
								   "may use");
	} else if (!pr_trains_on_gpu(h)) {
		pr_can_reason(q, PR_OPEN, "this host", "the tables have only its wheels for NVIDIA GPUs");
	} else if (!pr_effective_driver(q->c)) {
		pr_can_reason(q, PR_NO, "this host", "no NVIDIA driver is loaded");
		q->instead = q->instead ? q->instead : gt_xstrdup("the driver that gpuprobe can prints, then ask again");
	} else {
		judge_gpus(q, need);
		judge_torch(q, need);
	}
}

/* ---- releases ------------------------------------------------------------------------------------------------------ */

struct release_search {
	struct pr_question *q;
	const struct extension *extension;
	const char *spec, *exact;	/* requirement; exact NULL: a range */
	struct requirement newest, works; /* release "": none */
};

/* Returns whether key, a release of the table, is a prefix of the version: "2.8" is one of "2.8.3.post1". */
static bool begins(const char *key, const char *version)
{
	size_t n = strlen(key);

	return !strncmp(key, version, n) && (!version[n] || version[n] == '.');
}

static bool works(struct release_search *s, const struct requirement *r)
{
	struct pr_question one = {.c = s->q->c, .host = s->q->host, .err = s->q->err, .reasons = json_array()};

	judge_release(&one, r);
	json_decref(one.reasons);
	free(one.instead);
	return one.worst == PR_YES;
}

static int take_release(void *arg, const char *key, const char *value)
{
	struct release_search *s = arg;
	struct requirement r;
	bool matches;

	if (!parse(s->extension, key, value, &r))
		return 0;
	matches = s->exact ? begins(r.release, s->exact) : pr_version_satisfies(r.release, s->spec) > 0;
	if (matches && gt_version_cmp(r.release, s->newest.release) >= 0)
		s->newest = r;
	if ((matches || s->exact) && gt_version_cmp(r.release, s->works.release) >= 0 && works(s, &r))
		s->works = r;
	return 0;
}

static int ask(struct pr_question *q, const struct extension *e, const char *spec)
{
	const char *exact = spec + strspn(spec, "=");
	bool is_exact = *spec == '=' && exact - spec <= 2 && isdigit((unsigned char)*exact) && !strpbrk(exact, ",*<>=");
	struct release_search s = {.q = q, .extension = e, .spec = spec, .exact = is_exact ? exact : NULL};
	int r;

	if (!is_exact && pr_version_satisfies("1", spec) < 0)
		return gt_fail_exit(q->err, GT_EXIT_USAGE, EINVAL, "'%s%.60s' is no requirement: use %s, %s==1.2 or '%s>=1.2'",
				    e->name, spec, e->name, e->name, e->name);
	r = pr_compat_each(q->c->fs, &pr_extension, take_release, &s, q->err);
	if (r < 0)
		return r;
	if (!*s.newest.release) {
		pr_can_reason(q, PR_OPEN, "extension.tsv", "no release of %s in this program's table matches; it may be newer",
			      e->name);
		return 0;
	}
	judge_release(q, !is_exact && *s.works.release ? &s.works : &s.newest);
	if (q->worst != PR_NO || q->instead)
		return 0;
	if (*s.works.release)
		q->instead = gt_xasprintf("%s %s", e->name, s.works.release);
	else if (pr_only_cpu(q->c->host) || pr_first_arch(q->c) < s.newest.capability || pr_can_driver_fits(q))
		q->instead = gt_xstrdup(e->instead);
	return 0;
}

int pr_can_extension(struct pr_question *q, const char *what)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(extensions); i++) {
		size_t n = strlen(extensions[i].name);

		if (gt_starts_with(what, extensions[i].name) && (!what[n] || strchr("<>=!~", what[n])))
			return ask(q, &extensions[i], what + n) < 0 ? -EINVAL : 1;
	}
	return 0;
}
