/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted profile: rejected with file, line and reason (exit status 64). An accepted profile sets each tunable
 * once, to an allowed value, from an existing line, and a plan can be made from it.
 */
#include <string.h>
#include "lib/buf.h"
#include "lib/capture_write.h"
#include "probe/host/host.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"
#include "tune/knob/list.h"
#include "tune/launch/settings.h"
#include "tune/profiles/profile.h"
#include "tune/plan/plan.h"

const unsigned fuzz_rounds = 1000;

#define PATH "/etc/gputune/profiles/input.conf"

static size_t lines(const uint8_t *data, size_t size)
{
	size_t n = 1;

	for (size_t i = 0; i < size; i++)
		n += data[i] == '\n';
	return n;
}

static void judge_setting(const struct tn_profile *p, size_t i, size_t n_lines)
{
	const struct tn_setting *s = &p->set[i];
	const char *colon = strrchr(s->where, ':');
	size_t line = colon ? strtoul(colon + 1, NULL, 10) : 0;
	const struct tn_launch_setting *launch = tn_launch_find(s->id);
	const struct tn_tunable *k = tn_tunable_find(s->id);
	struct gt_err err = {0};

	FUZZ_ASSERT(!launch == !!k && *s->value && line > 0);
	if (gt_starts_with(s->where, PATH ":"))
		FUZZ_ASSERT(line <= n_lines);
	for (size_t n = 0; n < i; n++)
		FUZZ_ASSERT(strcmp(p->set[n].id, s->id));
	FUZZ_ASSERT(tn_profile_get(p, s->id) == s->value);
	if (!strcmp(s->value, "on") || !strcmp(s->value, "off"))
		return;
	FUZZ_ASSERT(launch || k->tag != 'C');
	FUZZ_ASSERT((launch ? tn_launch_check_value(launch, s->value, &err) :
			      tn_tunable_check_value(k, NULL, s->value, &err)) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pr_host *host; /* the host does not depend on the profile */
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(tn_profile) *p = NULL;
	gt_auto(tn_plan) *plan = NULL;
	struct gt_err err = {0};
	gt_auto_buf b = {0};

	gt_buf_puts(&b, "gpuprobe-capture/1\n");
	gt_capture_file(&b, PATH, (const char *)data, size);
	gt_capture_file(&b, "/proc/sys/vm/swappiness", "60\n", 3);
	fs = fuzz_root(b.s, b.len);
	FUZZ_ASSERT(fs && (host || pr_host_discover(fs, &(struct pr_discover_opts){0}, &host, &err) >= 0));
	if (tn_profile_load(fs, host, "input", &p, &err) < 0) {
		FUZZ_ASSERT(!p && err.msg[0] && (err.exit_status == GT_EXIT_USAGE || err.exit_status == TN_EXIT_REFUSED));
		return 0;
	}
	for (size_t i = 0; i < p->n_set; i++)
		judge_setting(p, i, lines(data, size));
	FUZZ_ASSERT(tn_plan_make(fs, host, &(struct tn_plan_opts){.profile = "input"}, &plan, &err) >= 0);
	FUZZ_ASSERT(tn_plan_changes(plan) <= plan->n_item);
	return 0;
}
