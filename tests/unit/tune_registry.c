/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of every tunable: its texts, its id, the range of its value. */
#include <string.h>
#include "sysctl/sysctl.h"
#include "tests/unit/tune_stage.h"
#include "tune/launch/settings.h"
#include "tune/plan/check_plan.h"
#include "tune/profiles/profile.h"
#include "tune/profiles/select.h"

#define GIB (INT64_C(1) << 30)

START_TEST(every_knob_has_all_required_texts)
{
	for (size_t i = 0; tn_tunables[i]; i++) {
		const struct tn_tunable *k = tn_tunables[i];

		ck_assert_msg(k->id && tn_tunable_summary(k) && tn_tunable_why(k) && k->hazard && k->unit && k->mechanism, "%s",
			      k->id);
		ck_assert_msg(strchr("ABC", k->tag) != NULL, "%s", k->id);
		ck_assert_msg(!!k->desired + !!k->check == 1, "%s has one of desired and check", k->id);
		ck_assert_msg(!k->check || (k->tag == 'C' && !k->summary && !k->why), "%s: the check has its texts", k->id);
		ck_assert_msg(!k->check + !k->path + !k->key >= 2, "%s has at most one of check, path and key", k->id);
		ck_assert_msg(!tn_tunable_key(k) || sc_key_find(tn_tunable_key(k)), "%s is no known sysctl", k->id);
		ck_assert_msg(!k->boot_line || k->names_change, "%s", k->id);
	}
	for (size_t i = 0; tn_launch_settings[i]; i++) {
		const struct tn_launch_setting *s = tn_launch_settings[i];

		ck_assert_msg(s->id && s->summary && s->why && s->hazard && s->unit && s->prepare, "%s", s->id);
		ck_assert_msg(!s->mechanism == !!s->unmoved, "%s has one of mechanism and unmoved", s->id);
	}
}
END_TEST

START_TEST(no_two_tunables_or_launch_settings_share_an_id)
{
	for (size_t i = 0; tn_knob_word(i); i++)
		for (size_t n = 0; n < i; n++)
			ck_assert_str_ne(tn_knob_word(n), tn_knob_word(i));
}
END_TEST

/* On every host the plan reports the same finding and the same remedy as gpuprobe. */
START_TEST(a_check_and_the_plan_report_the_same)
{
	gt_auto_strv names = box_fixtures();

	for (size_t n = 0; n < names.n; n++) {
		gt_auto(pr_host) *h = NULL;
		gt_auto(tn_plan) *plan = NULL;
		struct pr_context c = { 0 };
		struct box one;

		box_open(&one, names.v[n]);
		ck_assert_int_eq(pr_host_discover(one.fs, &(struct pr_discover_opts){ 0 }, &h, NULL), 0);
		plan = box_plan(&one);
		c = (struct pr_context){ .host = h, .fs = one.fs };
		for (size_t i = 0; i < plan->n_item; i++) {
			const struct tn_item *it = &plan->item[i];
			struct pr_finding f;

			if (!it->knob->check)
				continue;
			pr_judge_one(&c, it->knob->check, &f);
			ck_assert_msg(!strcmp(it->reason, f.what), "%s, %s: %s, and %s", names.v[n], it->knob->id, it->reason,
				      f.what);
			ck_assert_msg(!strcmp(it->remedy ? it->remedy : "", f.remedy), "%s, %s: %s, and %s", names.v[n],
				      it->knob->id, it->remedy, f.remedy);
			ck_assert_msg((it->status == TN_ADVICE) == (f.result >= PR_WARN || f.result == PR_ADVICE), "%s, %s",
				      names.v[n], it->knob->id);
			ck_assert_msg(it->status != TN_ADVICE || it->remedy, "%s, %s: advice without a remedy", names.v[n],
				      it->knob->id);
		}
		box_close(&one);
	}
}
END_TEST

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static const char *const extremes[] = { "-1", "0", "1", "2147483648", "9223372036854775808", "18446744073709551615" };

/* For every writable tunable: extreme values are refused, except those that do not endanger a host with 512 GiB. */
static const struct {
	const char *id, *harmless;
} accepted[] = {
	{ "vm.dirty_ratio", "1" },
	{ "vm.dirty_background_ratio", "1" },
	{ "vm.dirty_bytes", "2147483648" },
	{ "vm.dirty_background_bytes", "2147483648" },
	{ "vm.swappiness", "0 1" },
	{ "vm.zone_reclaim_mode", "0 1" },
	{ "vm.max_map_count", "" },
	{ "vm.min_free_kbytes", "" },
	{ "vm.compaction_proactiveness", "0 1" },
	{ "kernel.numa_balancing", "0 1" },
	{ "kernel.pid_max", "" },
	{ "fs.inotify.max_user_instances", "" },
	{ "fs.inotify.max_user_watches", "" },
	{ "fs.aio-max-nr", "" },
	{ "fs.file-max", "2147483648" },
	{ "net.core.rmem_max", "" },
	{ "net.core.wmem_max", "" },
	{ "net.ipv4.tcp_rmem", "" },
	{ "net.ipv4.tcp_wmem", "" },
	{ "net.core.netdev_max_backlog", "" },
	{ "net.core.netdev_budget", "" },
	{ "net.ipv4.arp_announce", "0 1" },
	{ "net.ipv4.arp_ignore", "0 1" },
	{ "nfs.slots", "" },
	{ "thp.enabled", "" },
	{ "thp.defrag", "" },
	{ "ksm.run", "0 1" },
	{ "block.scheduler", "" },
	{ "block.read_ahead", "" },
	{ "cpu.platform_profile", "" },
	{ "cpu.governor", "" },
	{ "cpu.epp", "" },
	{ "cpu.min_perf", "0 1" },
	{ "cpu.epb", "0 1" },
	{ "cpu.boost", "0 1" },
	{ "cpu.idle_latency", "1" },
	{ "pcie.aspm", "" },
	{ "irq.affinity", "0 1" },
	{ "gpu.persistence_mode", "0 1" },
	{ "gpu.power_limit", "" },
	{ "gpu.clocks", "" },
	{ "gpu.memory_clocks", "" },
	{ "gpu.application_clocks", "" },
};

static bool is_harmless(const char *id, const char *value)
{
	gt_autofree char *list = NULL, *word = gt_xasprintf(" %s ", value);

	for (size_t i = 0; i < GT_ARRAY_SIZE(accepted); i++)
		if (!strcmp(accepted[i].id, id)) {
			list = gt_xasprintf(" %s ", accepted[i].harmless);
			return strstr(list, word);
		}
	ck_abort_msg("%s has no line in the table of extremes", id);
	return false;
}

static void expect_extreme(const struct pr_host *h, const struct tn_tunable *k, const char *value)
{
	gt_autofree char *three = gt_xasprintf("%s %s %s", value, value, value);
	int r = tn_tunable_check_value(k, h, value, NULL);

	ck_assert_msg((r == 0) == is_harmless(k->id, value), "%s = %s: %d", k->id, value, r);
	if (k->range[1].most)
		ck_assert_msg(tn_tunable_check_value(k, h, three, NULL) < 0, "%s = %s", k->id, three);
}

START_TEST(no_knob_takes_a_value_that_endangers_the_host)
{
	gt_auto(pr_host) *h = NULL;
	struct box server;

	box_open(&server, "cpu-server-512g");
	ck_assert_int_eq(pr_host_discover(server.fs, &(struct pr_discover_opts){ 0 }, &h, NULL), 0);
	for (size_t i = 0; tn_tunables[i]; i++) {
		const struct tn_tunable *k = tn_tunables[i];

		if (k->tag == 'C')
			continue;
		ck_assert_msg(k->range[0].most || k->choices || k->check_value, "%s has no range", k->id);
		for (size_t n = 0; n < GT_ARRAY_SIZE(extremes); n++)
			expect_extreme(h, k, extremes[n]);
	}
	box_close(&server);
}
END_TEST

START_TEST(an_extreme_is_refused_from_a_plan_and_from_a_profile)
{
	gt_auto(tn_plan) *all = NULL;
	struct box server;
	unsigned tried = 0;

	box_open(&server, "cpu-server-512g");
	all = box_plan(&server);
	for (size_t i = 0; i < all->n_item * GT_ARRAY_SIZE(extremes); i++) {
		struct tn_item *it = &all->item[i / GT_ARRAY_SIZE(extremes)];
		const char *value = extremes[i % GT_ARRAY_SIZE(extremes)];
		gt_autofree char *text = gt_xasprintf("[knobs]\n%s = %s\n", it->knob->id, value);
		gt_auto(tn_plan) *plan = NULL;
		gt_auto_json *doc = NULL;
		json_t *o;

		if (it->knob->tag == 'C' || !it->current || is_harmless(it->knob->id, value))
			continue;
		tried++;
		box_put(&server, "/etc/gputune/profiles/site.conf", text);
		if (tn_plan_make(server.fs, NULL, &(struct tn_plan_opts){ .profile = "site" }, &plan, &err) == 0)
			ck_assert_msg(box_item(plan, it->knob->id, NULL)->status != TN_CHANGE, "%s", text);
		doc = tn_plan_to_json(all);
		o = json_array_get(json_object_get(doc, "items"), i / GT_ARRAY_SIZE(extremes));
		json_object_set_new(o, "status", json_string("change"));
		json_object_set_new(o, "wanted", json_string(value));
		tn_plan_free(gt_take(plan));
		if (tn_plan_from_json(doc, &plan, &err) == 0)
			ck_assert_msg(tn_plan_check_host(server.fs, NULL, plan, &err) < 0, "%s", text);
	}
	ck_assert_uint_ge(tried, 60);
	box_close(&server);
}
END_TEST

START_TEST(a_range_follows_the_memory_of_the_host)
{
	static const struct {
		const char *id, *value;
		int64_t memory;
		bool fits;
	} cases[] = {
		{ "vm.dirty_bytes", "17179869184", 32 * GIB, true },
		{ "vm.dirty_bytes", "17179869185", 32 * GIB, false },
		{ "vm.dirty_bytes", "16777215", 32 * GIB, false },
		{ "vm.dirty_background_bytes", "8589934592", 32 * GIB, true },
		{ "vm.dirty_background_bytes", "8589934593", 32 * GIB, false },
		{ "vm.min_free_kbytes", "167772", 32 * GIB, true },
		{ "vm.min_free_kbytes", "167773", 32 * GIB, false },
		{ "net.core.rmem_max", "2147483647", 32 * GIB, true },
		{ "net.core.rmem_max", "2147483647", 8 * GIB, false },
		{ "net.core.rmem_max", "268435456", 0, false }, /* memory unknown: as with 1 GiB */
		{ "net.core.rmem_max", "134217728", 0, true },
		{ "net.ipv4.tcp_rmem", "4096 131072 33554432", 8 * GIB, true },
		{ "net.ipv4.tcp_rmem", "4096 33554432 33554432", 8 * GIB, false },
		{ "net.ipv4.tcp_rmem", "1 131072 33554432", 8 * GIB, false },
	};
	struct pr_host h = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(cases); i++) {
		h.mem.total_bytes = (struct pr_num){ cases[i].memory ? PR_PRESENT : PR_UNKNOWN, cases[i].memory };
		ck_assert_msg((tn_tunable_check_value(tn_tunable_find(cases[i].id), &h, cases[i].value, NULL) == 0) ==
				      cases[i].fits,
			      "%s = %s", cases[i].id, cases[i].value);
	}
}
END_TEST

static void expect_all_in_range(const char *name, struct gt_fsroot *fs, const struct pr_host *h, const char *profile)
{
	gt_auto(tn_plan) *plan = NULL;

	ck_assert_int_eq(tn_plan_make(fs, h, &(struct tn_plan_opts){ .profile = profile, .optional = true }, &plan, &err), 0);
	for (size_t i = 0; i < plan->n_item; i++) {
		const struct tn_item *it = &plan->item[i];

		ck_assert_msg(!it->reason || !strstr(it->reason, "on this host, not"), "%s, %s: %s", name, profile, it->reason);
		if (it->wanted)
			ck_assert_msg(tn_tunable_check_value(it->knob, h, it->wanted, &err) == 0, "%s, %s: %s", name, profile,
				      err.msg);
	}
}

START_TEST(built_in_profiles_give_values_in_range)
{
	gt_auto_strv names = box_fixtures();

	for (size_t i = 0; i < names.n; i++) {
		gt_auto(pr_host) *h = NULL;
		const struct pr_discover_opts o = { .no_nvml = true, .hardware = true };
		struct box one;

		box_open(&one, names.v[i]);
		ck_assert_int_eq(pr_host_discover(one.fs, &o, &h, NULL), 0);
		for (const struct tn_builtin_profile *p = tn_builtin_profiles; p->name; p++)
			expect_all_in_range(names.v[i], one.fs, h, p->name);
		box_close(&one);
	}
}
END_TEST

TCase *tune_registry_case(void)
{
	TCase *tc = tcase_create("registry");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, every_knob_has_all_required_texts);
	tcase_add_test(tc, no_two_tunables_or_launch_settings_share_an_id);
	tcase_add_test(tc, a_check_and_the_plan_report_the_same);
	tcase_add_test(tc, no_knob_takes_a_value_that_endangers_the_host);
	tcase_add_test(tc, an_extreme_is_refused_from_a_plan_and_from_a_profile);
	tcase_add_test(tc, a_range_follows_the_memory_of_the_host);
	tcase_add_test(tc, built_in_profiles_give_values_in_range);
	tcase_set_timeout(tc, 120);
	return tc;
}
