/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted state of an interrupted session: rejected with a message, or checked like a command line. Nothing is run. */
#include <string.h>
#include "bench/prove/race_request.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 4000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bn_request q = { .command = { .margin_pct = 1, .warmup = UINT64_MAX } };
	struct bn_race *races = NULL;
	gt_auto_strv argv = { 0 };
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };
	size_t n = 0;
	int r;

	if (gt_json_parse((const char *)data, size, "session", &doc, &err) < 0)
		return 0;
	r = bn_request_restore(doc, &q, &argv, &err);
	if (r == 0)
		r = bn_races_restore(json_object_get(json_object_get(json_object_get(doc, "run"), "prove"), "races"), &races, &n,
				     &err);
	if (r == 0)
		r = bn_request_check(&q, &err);
	FUZZ_ASSERT(r == 0 || err.msg[0]);
	for (size_t i = 0; r == 0 && i < q.env.n; i++)
		FUZZ_ASSERT(strchr(q.env.v[i], '=') && q.env.v[i][0] != '=');
	for (size_t i = 0; r == 0 && i < q.kernel_args.n; i++)
		FUZZ_ASSERT(q.reboot && q.kernel_args.v[i][0] && !strchr(q.kernel_args.v[i], ' '));
	for (size_t i = 0; i < n; i++)
		FUZZ_ASSERT(races[i].id && (r < 0 || races[i].values.n >= 2));
	if (r == 0)
		bn_command_clear(&q.command);
	bn_races_free(races, n);
	gt_strv_clear(&q.env);
	gt_strv_clear(&q.kernel_args);
	free((char *)q.workloads);
	return 0;
}
