/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted wheel: the archive is rejected with a message, or its members can be read. METADATA, WHEEL, requirements,
 * tags and fat binaries of any bytes give a message or valid values.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "probe/wheel/fatbin.h"
#include "probe/wheel/metadata.h"
#include "probe/wheel/zip.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 3000;

static void try_requirement(const char *text)
{
	struct pr_requirement r;

	if (!pr_requirement_parse(text, &r))
		return;
	FUZZ_ASSERT(*r.name && !strchr(r.name, '_') && !strchr(r.name, ' '));
	pr_requirement_counts(&r, "x86_64");
	FUZZ_ASSERT(pr_version_satisfies("12.8.90", r.spec) <= 1);
}

static void try_metadata(const char *text)
{
	pr_auto_metadata m = {0};
	struct gt_err err = {0};
	struct pr_tag_answer a;
	gt_autofree char *from = NULL, *cuda = NULL;

	if (pr_metadata_parse(text, "input", &m, &err) < 0)
		FUZZ_ASSERT(err.code > 0 && !strncmp(err.msg, "input:", 6));
	for (size_t i = 0; i < m.requires.n; i++)
		try_requirement(m.requires.v[i]);
	for (size_t i = 0; i < m.tags.n; i++)
		if (pr_tag_judge(m.tags.v[i], "3.11", "2.36", "x86_64", &a))
			FUZZ_ASSERT(*a.python_why && *a.platform_why);
	cuda = pr_metadata_cuda(&m, &from);
	FUZZ_ASSERT(!cuda == !from && (!cuda || strspn(cuda, "0123456789.") == strlen(cuda)));
}

static void try_fatbin(const uint8_t *data, size_t size)
{
	struct pr_fatbin whole = {0}, parts = {0};
	struct pr_fatbin_walk a = {.to = &whole}, b = {.to = &parts};
	gt_autofree char *list = NULL, *again = NULL;

	pr_fatbin_feed(&a, data, size);
	for (size_t i = 0; i < size; i += 7) /* splits the input into arbitrary pieces */
		pr_fatbin_feed(&b, data + i, GT_MIN((size_t)7, size - i));
	list = pr_fatbin_list(&whole);
	again = pr_fatbin_list(&parts);
	FUZZ_ASSERT(!strcmp(list, again) && whole.containers == parts.containers);
}

static void ignore(void *arg, const void *data, size_t n)
{
	*(uint64_t *)arg += n;
}

static void try_archive(const uint8_t *data, size_t size)
{
	int fd = memfd_create("wheel", MFD_CLOEXEC);
	gt_auto(pr_zip) *z = NULL;
	struct gt_err err = {0};

	FUZZ_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (pr_zip_open(fd, "input", &z, &err) < 0)
		FUZZ_ASSERT(!z && err.code > 0 && err.msg[0]);
	for (size_t i = 0; z && i < z->n; i++) {
		uint64_t got = 0;

		FUZZ_ASSERT(z->member[i].name[0] != '/' && !strstr(z->member[i].name, "/../") &&
			    pr_zip_find(z, z->member[i].name) == &z->member[i]);
		if (z->member[i].size < 1 << 20 && !pr_zip_stream(z, &z->member[i], ignore, &got, &err))
			FUZZ_ASSERT(got == z->member[i].size);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *text = gt_xstrndup((const char *)data, size);

	try_metadata(text);
	try_requirement(text);
	try_fatbin(data, size);
	try_archive(data, size);
	return 0;
}
