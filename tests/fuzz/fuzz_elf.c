/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted ELF file: rejected with a message, or read. The result must survive conversion to the text of a capture
 * and back.
 */
#include <errno.h>
#include <string.h>
#include "probe/loader/elf.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 2000;

struct memory {
	const uint8_t *data;
	size_t size;
};

static int from_memory(void *arg, uint64_t offset, void *buf, size_t n)
{
	const struct memory *m = arg;

	if (offset > m->size || n > m->size - offset)
		return -ENODATA;
	memcpy(buf, m->data + offset, n);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = { data, size };
	struct pr_elf once = { 0 }, twice = { 0 };
	struct gt_err err = { 0 };
	gt_autofree char *text = NULL, *again = NULL, *as_text = gt_xstrndup((const char *)data, size);

	if (!pr_elf_parse_text(as_text, &once))
		pr_elf_clear(&once);
	if (pr_elf_read(from_memory, &m, "input", &once, &err) < 0) {
		FUZZ_ASSERT(err.code > 0 && err.msg[0]);
		return 0;
	}
	text = pr_elf_text(&once);
	FUZZ_ASSERT(!pr_elf_parse_text(text, &twice));
	again = pr_elf_text(&twice);
	FUZZ_ASSERT(!strcmp(text, again));
	pr_elf_clear(&once);
	pr_elf_clear(&twice);
	return 0;
}
