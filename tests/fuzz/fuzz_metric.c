/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --metric and the output of a command. The first line is the specification, the rest is the output. Either the
 * specification is rejected with a message, or the output gives samples (numbers or null), or one message with the
 * reason.
 */
#include <string.h>
#include "bench/session/command.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 3000;

#define OUTPUT_MAX	512 /* limits the time of regular expressions */
#define SPEC_MAX	100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t len = end ? (size_t)(end - data) : size, rest = size - len - (end != NULL), i;
	char *argv[] = { (char *)"true", NULL };
	struct bn_command c = { .argv = argv, .margin_pct = 1, .warmup = UINT64_MAX };
	gt_autofree char *spec = gt_xstrndup((const char *)data, len), *out = NULL;
	struct gt_spawn sp = { .wall_s = 1 };
	struct gt_err err = { 0 };
	gt_auto_json *doc = NULL;
	json_t *samples, *v;

	/* Skips specifications that read a file, and back references and counted repetitions, which are slow in
	 * regexec(3). */
	if (len > SPEC_MAX || rest > OUTPUT_MAX || gt_starts_with(spec, "file:") || strpbrk(spec, "\\{"))
		return 0;
	c.spec = spec;
	if (bn_command_check(&c, &err) < 0) {
		FUZZ_ASSERT(err.msg[0] && err.exit_status == GT_EXIT_USAGE);
		return 0;
	}
	sp.out = out = gt_xstrndup(end ? (const char *)end + 1 : "", rest);
	sp.out_len = strlen(out);
	doc = bn_command_document(&c, &sp);
	FUZZ_ASSERT(doc);
	samples = json_object_get(json_array_get(json_object_get(doc, "metrics"), 0), "samples");
	FUZZ_ASSERT(json_array_size(samples) || gt_json_get_str(doc, "failure", NULL));
	json_array_foreach(samples, i, v)
		FUZZ_ASSERT(json_is_number(v) || json_is_null(v));
	bn_command_clear(&c);
	return 0;
}
