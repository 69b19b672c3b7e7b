/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogues of messages and of Xid numbers. */
#include <regex.h>
#include <string.h>
#include "lib/util.h"
#include "probe/check/check.h"
#include "probe/compat/messages.h"
#include "probe/compat/xid.h"
#include "tests/unit/check_probe.h"

static bool exists(const char *id)
{
	for (size_t i = 0; pr_stories[i]; i++)
		if (!strcmp(pr_stories[i]->id, id))
			return true;
	return pr_check_find(id) != NULL;
}

START_TEST(messages_are_sound)
{
	ck_assert_uint_ge(pr_n_messages, 200);
	for (size_t i = 0; i < pr_n_messages; i++) {
		const struct pr_message *m = &pr_messages[i];
		regex_t re;

		ck_assert_msg(!regcomp(&re, m->pattern, REG_EXTENDED | REG_NOSUB), "%s: %s", m->id, m->pattern);
		ck_assert_msg(regexec(&re, "", 0, NULL, 0), "%s matches the empty line", m->id);
		regfree(&re);
		ck_assert_msg(!m->check || exists(m->check), "%s: no check %s", m->id, m->check);
		ck_assert_msg(pr_message_fault(m) != m->fault, "%s: no fault %s", m->id, m->fault);
		ck_assert_msg(*m->cause && *m->remedy && *m->source, "%s", m->id);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(strcmp(pr_messages[k].id, m->id), "%s is there twice", m->id);
	}
}
END_TEST

START_TEST(the_specific_message_comes_first)
{
	static const struct {
		const char *text, *id;
	} t[] = {
		{"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible", "loader-bus"},
		{"Bus error (core dumped)", "sigbus"},
		{"ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "pip-disk"},
		{"OSError: [Errno 28] No space left on device: '/data/x'", "no-space"},
		{"x.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev", "undef-torch"},
		{"x.so: undefined symbol: foo", "undef-other"},
		{"ChildFailedError\n[rank0]: torch.OutOfMemoryError: CUDA out of memory", "torch-cuda-oom"},
		{"CUDA out of memory", "torch-cuda-oom"},
	};
	const struct pr_message *m[4];

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		ck_assert_uint_ge(pr_message_find(t[i].text, m, GT_ARRAY_SIZE(m)), 1);
		ck_assert_str_eq(m[0]->id, t[i].id);
	}
	ck_assert_uint_eq(pr_message_find("foo bar baz", m, 4), 0);
	ck_assert_uint_eq(pr_message_find("", m, 4), 0);
}
END_TEST

START_TEST(each_xid_has_a_check)
{
	size_t n = 0;

	for (int i = 1; i < 100000; i++)
		for (int nvswitch = 0; nvswitch < 2; nvswitch++) {
			const struct pr_xid_entry *e = pr_xid_find(&(struct pr_xid){i, nvswitch});

			n += e != NULL;
			ck_assert_msg(!e || exists(e->check), "%d: no check %s", i, e ? e->check : "");
			ck_assert_msg(!e || (*e->name && *e->meaning), "%d", i);
		}
	ck_assert_uint_ge(n, 260);
}
END_TEST

TCase *case_messages(void)
{
	TCase *tc = tcase_create("messages");

	tcase_add_test(tc, messages_are_sound);
	tcase_add_test(tc, the_specific_message_comes_first);
	tcase_add_test(tc, each_xid_has_a_check);
	tcase_set_timeout(tc, 120);
	return tc;
}
