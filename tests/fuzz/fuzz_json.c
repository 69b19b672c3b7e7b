/* SPDX-License-Identifier: Apache-2.0 */
/* An accepted document is equal after printing and parsing again; a rejected one leaves a message. */
#include <string.h>
#include "lib/json.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_json *doc = NULL, *again = NULL;
	gt_autofree char *text = NULL, *text2 = NULL;
	struct gt_err err = { 0 };

	if (gt_json_parse((const char *)data, size, "input", &doc, &err) < 0) {
		FUZZ_ASSERT(!doc && err.code > 0 && err.msg[0]);
		return 0;
	}
	text = gt_json_text(doc);
	FUZZ_ASSERT(text);
	FUZZ_ASSERT(!gt_json_parse(text, strlen(text), "printed", &again, &err));
	text2 = gt_json_text(again);
	FUZZ_ASSERT(text2 && !strcmp(text, text2));
	return 0;
}
