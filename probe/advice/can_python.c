/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe can: a framework has wheels only for some Python releases, and pip finds nothing for the others. */
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "probe/advice/can.h"
#include "probe/compat/compat.h"
#include "probe/host/python.h"

/* Returns the newest interpreter within the range: a second one of the host, or that of an environment. The caller frees it. */
static char *another_python(const struct pr_question *q, const struct pr_span *r)
{
	static const char *const dirs[] = {"/usr/local/bin", "/usr/bin"};
	const struct pr_host *h = q->c->host;

	for (int minor = atoi(r->last + strcspn(r->last, ".") + 1); minor >= 0; minor--) {
		gt_autofree char *version = gt_xasprintf("3.%d", minor);

		for (size_t i = 0; i < GT_ARRAY_SIZE(dirs) && pr_span_holds(r, version); i++) {
			gt_autofree char *path = gt_xasprintf("%s/python%s", dirs[i], version);

			if (gt_fs_exists(q->c->fs, path))
				return gt_take(path);
		}
		for (size_t i = 0; i < h->n_pyenv && pr_span_holds(r, version); i++)
			if (h->pyenv[i].python && !strcmp(h->pyenv[i].version, version))
				return gt_xstrdup(h->pyenv[i].python);
	}
	return NULL;
}

struct releases {
	const char *framework, *python;
	char first[16], last[16]; /* range of releases with wheels for it; "": none */
};

static int take_release(void *arg, const char *key, const char *value)
{
	struct releases *s = arg;
	size_t n = strlen(s->framework);
	struct pr_span r;

	if (strncmp(key, s->framework, n) || key[n] != '-' || !pr_span_read(value, &r) || !pr_span_holds(&r, s->python))
		return 0;
	if (!*s->first || gt_version_cmp(key + n + 1, s->first) < 0)
		snprintf(s->first, sizeof(s->first), "%s", key + n + 1);
	if (!*s->last || gt_version_cmp(key + n + 1, s->last) > 0)
		snprintf(s->last, sizeof(s->last), "%s", key + n + 1);
	return 0;
}

void pr_can_python(struct pr_question *q, const char *framework, const char *release)
{
	const struct pr_table *t = &pr_framework_python;
	gt_autofree char *other = NULL, *others = NULL;
	const char *python = q->host->python;
	struct releases s = {.framework = framework, .python = python};
	struct pr_span r;

	if (pr_compat_python(q->c->fs, framework, release, &r, NULL) <= 0) {
		pr_can_reason(q, PR_OPEN, t->name, "the Python releases with wheels are unknown");
		return;
	}
	if (!python || pr_span_holds(&r, python)) {
		pr_can_reason(q, PR_YES, t->name, "it has wheels for Python %s to %s; this host has %s", r.first, r.last,
			      python ? python : "none yet");
		return;
	}
	other = another_python(q, &r);
	if (other) {
		pr_can_reason(q, PR_YES, t->name, "it has wheels for Python %s to %s; not for %s, the host's default, but %s "
						  "is installed",
			      r.first, r.last, python, other);
		return;
	}
	pr_compat_each(q->c->fs, t, take_release, &s, NULL);
	others = *s.first ? gt_xasprintf("%s to %s have them", s.first, s.last) : gt_xstrdup("no release has them");
	pr_can_reason(q, PR_NO, t->name,
		      "it has wheels for Python %s to %s; this host has %s, for which %s. Install a second Python %s, for "
		      "example with uv or conda",
		      r.first, r.last, python, others, gt_version_cmp(python, r.last) > 0 ? r.last : r.first);
}
