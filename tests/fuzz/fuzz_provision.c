/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and output of apt and dpkg, and gputune's own record, all untrusted: each name and version in the result is a
 * valid argument of apt-get, and versions have a total order.
 */
#include <string.h>
#include "tests/fuzz/fuzz.h"
#include "tune/provision/record.h"

const unsigned fuzz_rounds = 3000;

static void judge_name(const char *name)
{
	FUZZ_ASSERT(tn_deb_is_name(name) && *name != '-' && !strpbrk(name, " =/\n"));
}

static void judge_version(const char *v)
{
	FUZZ_ASSERT(tn_deb_is_version(v) && *v != '-' && !strpbrk(v, " =/\n"));
	FUZZ_ASSERT(!pr_deb_version_cmp(v, v));
}

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static int paragraph(void *arg, char *p)
{
	gt_autofree char *name = tn_deb_field(p, "Package"), *version = tn_deb_field(p, "Version");
	char **last = arg;

	if (name)
		FUZZ_ASSERT(!strchr(name, '\n'));
	if (!version || !tn_deb_is_version(version))
		return 0;
	judge_version(version);
	if (*last)
		FUZZ_ASSERT(sign(pr_deb_version_cmp(*last, version)) == -sign(pr_deb_version_cmp(version, *last)));
	free(*last);
	*last = gt_take(version);
	return 0;
}

static void as_sources(const char *text, bool deb822)
{
	gt_autofree char *copy = gt_xstrdup(text);
	struct tn_sources s = {0};

	tn_sources_parse("input", deb822, copy, &s);
	for (size_t i = 0; i < s.n; i++) {
		FUZZ_ASSERT(s.source[i].line > 0 && *s.source[i].uri && *s.source[i].suite && s.source[i].components);
		FUZZ_ASSERT(s.source[i].line <= strlen(text) + 1);
		tn_source_has(&s.source[i], "non-free");
	}
	tn_sources_clear(&s);
}

static void as_release(const char *text)
{
	enum tn_origin origin = TN_OTHER;

	FUZZ_ASSERT(tn_release_origin(text, &origin) == (origin != TN_OTHER));
}

static void as_simulation(const char *text)
{
	gt_autofree char *copy = gt_xstrdup(text);
	struct tn_apt_result r;

	tn_apt_parse(copy, &r);
	for (size_t i = 0; i < r.n_move; i++) {
		judge_name(r.move[i].name);
		judge_version(r.move[i].version);
		FUZZ_ASSERT(!i || strcmp(r.move[i - 1].name, r.move[i].name) <= 0);
	}
	for (size_t i = 0; i < r.removals.n; i++)
		judge_name(r.removals.v[i]);
	tn_apt_result_clear(&r);
}

static void as_policy(const char *text)
{
	gt_auto_strv names = {0}, exact = {0};

	gt_strv_add(&names, "a");
	gt_strv_add(&names, "libc6");
	gt_strv_add(&names, "numactl");
	tn_apt_parse_policy(text, &names, &exact);
	for (size_t i = 0; i < exact.n; i++) {
		gt_autofree char *name = gt_xstrndup(exact.v[i], strcspn(exact.v[i], "="));

		FUZZ_ASSERT(gt_strv_has(&names, name));
		if (exact.v[i][strlen(name)])
			judge_version(exact.v[i] + strlen(name) + 1);
	}
}

static void as_record(const char *text, size_t len)
{
	struct tn_record r;
	struct gt_err err = {0};

	if (tn_record_parse(text, len, &r, &err) < 0) {
		FUZZ_ASSERT(err.msg[0] && err.exit_status == TN_EXIT_REFUSED);
		return;
	}
	for (size_t i = 0; i < r.n; i++) {
		judge_name(r.package[i].name);
		judge_version(r.package[i].version);
		FUZZ_ASSERT(tn_record_find(&r, r.package[i].name) == &r.package[i]);
	}
	tn_record_clear(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *text = gt_xstrndup((const char *)data, size), *copy = gt_xstrdup(text);
	gt_autofree char *last = NULL;

	as_sources(text, false);
	as_sources(text, true);
	as_release(text);
	as_simulation(text);
	as_policy(text);
	as_record(text, strlen(text));
	tn_deb_paragraphs_text(copy, paragraph, &last);
	return 0;
}
