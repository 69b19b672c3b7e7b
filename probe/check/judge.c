/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/compat/compat.h"
#include "probe/check/distro.h"

const char *pr_result_name(enum pr_result r)
{
	static const char *const name[] = { [PR_PASS] = "pass",
					    [PR_ADVICE] = "advice",
					    [PR_SKIP] = "skip",
					    [PR_NOT_KNOWN] = "unknown",
					    [PR_WARN] = "warn",
					    [PR_FAIL] = "fail" };

	return name[r];
}

const struct pr_check *pr_check_find(const char *id)
{
	for (size_t i = 0; pr_checks[i]; i++)
		if (!strcmp(pr_checks[i]->id, id))
			return pr_checks[i];
	return NULL;
}

void pr_set(struct pr_finding *f, enum pr_result result, const char *fmt, ...)
{
	va_list ap;

	f->result = result;
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
}

void pr_remedy(struct pr_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

bool pr_without_gpu(const struct pr_context *c, struct pr_finding *f)
{
	if (pr_usable_gpus(c->host))
		return false;
	pr_set(f, PR_SKIP, c->host->n_gpu		? "every GPU is reserved for virtual machines"
			   : c->host->pci_unreadable	? "it is unknown whether there is an NVIDIA GPU"
							: "no NVIDIA GPU on this host");
	return true;
}

bool pr_without_driver(const struct pr_context *c, struct pr_finding *f)
{
	if (pr_without_gpu(c, f))
		return true;
	if (c->host->driver.module_version.state == PR_PRESENT)
		return false;
	pr_set(f, PR_SKIP, "no driver to compare with");
	return true;
}

int pr_arch_of(const struct pr_context *c, const struct pr_gpu *g)
{
	struct pr_gpu_kind k;

	if (pr_has(g->arch))
		return (int)g->arch.v;
	return pr_compat_gpu(c->fs, g->pci->device, &k, NULL) > 0 ? k.arch : 0;
}

int pr_first_arch(const struct pr_context *c)
{
	int arch = 0;

	for (size_t i = 0; i < c->host->n_gpu && !arch; i++)
		arch = pr_arch_of(c, &c->host->gpu[i]);
	return arch;
}

int pr_compare_cuda_range(const struct pr_context *c, const struct pr_gpu *g, const char *cuda, struct pr_span *ret)
{
	int arch = pr_arch_of(c, g);

	if (!arch || pr_compat_span(c->fs, arch, ret, NULL) <= 0)
		return 0;
	return gt_version_cmp(cuda, ret->last) > 0 ? 1 : gt_version_cmp(cuda, ret->first) < 0 ? -1 : 0;
}

static bool is_arm(const struct pr_host *h)
{
	return gt_streq(h->kernel.arch.v, "aarch64");
}

const char *pr_deb_arch(const struct pr_host *h)
{
	return is_arm(h) ? "arm64" : gt_streq(h->kernel.arch.v, "ppc64le") ? "ppc64el" : "amd64";
}

const char *pr_triplet(const struct pr_host *h)
{
	return is_arm(h) ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}

int pr_branch_of(const char *driver_version)
{
	return (int)strtol(driver_version, NULL, 10);
}

/*
 * Returns the root cause of finding i: the first earlier check in its `after` list that failed, or the root cause of
 * that one.
 */
static int find_cause(const struct pr_judged *j, size_t i)
{
	for (const char *const *id = j[i].check->after; id && *id; id++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(j[k].check->id, *id) && j[k].f.result >= PR_WARN)
				return j[k].cause >= 0 ? j[k].cause : (int)k;
	return -1;
}

static void remedy_for_distro(const struct pr_host *h, struct pr_finding *f)
{
	gt_autofree char *text = pr_for_distro(h, f->remedy, "  ", "");

	snprintf(f->remedy, sizeof(f->remedy), "%s", text);
}

void pr_judge_one(const struct pr_context *c, const struct pr_check *check, struct pr_finding *ret)
{
	struct pr_context own = *c;

	own.check = check;
	*ret = (struct pr_finding){ 0 };
	check->run(&own, ret);
	remedy_for_distro(c->host, ret);
}

size_t pr_judge(const struct pr_context *c, struct pr_judged **ret)
{
	struct pr_judged *j;
	size_t n = 0;

	while (pr_checks[n])
		n++;
	j = gt_xcalloc(n, sizeof(*j));
	for (size_t i = 0; i < n; i++) {
		j[i].check = pr_checks[i];
		j[i].cause = -1;
		pr_judge_one(c, pr_checks[i], &j[i].f);
		if (j[i].f.result >= PR_WARN)
			j[i].cause = find_cause(j, i);
	}
	*ret = j;
	return n;
}

int pr_exit_code(const struct pr_judged *j, size_t n)
{
	bool seen[PR_FAIL + 1] = { false };

	for (size_t i = 0; i < n; i++)
		seen[j[i].f.result] = true;
	return seen[PR_FAIL] ? 2 : seen[PR_WARN] ? 1 : seen[PR_NOT_KNOWN] ? 3 : 0;
}
