/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in /etc for the next boot. Lines of tmpfiles.d are untrusted: each accepted line has a path, a value of one line
 * and an existing directory. Files with gputune's header (the fuzzer corrects the checksum) only yield values of
 * tunables at their own paths.
 */
#include <string.h>
#include "lib/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"
#include "tune/boot/persist.h"
#include "tune/txn/persisted_files.h"

const unsigned fuzz_rounds = 500;

static void put_hex(struct gt_buf *b, const char *path, const void *data, size_t size)
{
	const unsigned char *p = data;

	gt_buf_printf(b, "hex %s\n\t", path);
	for (size_t i = 0; i < size; i++)
		gt_buf_printf(b, "%02x", p[i]);
	gt_buf_puts(b, "\n");
}

/* Adds the header of gputune's files. */
static void put_ours(struct gt_buf *b, enum tn_form form, const char *body)
{
	static const char head[] =
		"# Written by gputune. Not to be edited: a changed file is neither overwritten nor removed.\n# checksum: ";
	gt_autofree char *text = gt_xasprintf("%s%08x\n%s", head, gt_crc32c(body, strlen(body)), body);

	FUZZ_ASSERT(tn_persist_is_unedited(text));
	put_hex(b, tn_persist_file(form), text, strlen(text));
}

static void check_tmpfiles(struct gt_fsroot *fs)
{
	struct tn_tmpfiles t;

	tn_tmpfiles_load(fs, &t);
	for (size_t i = 0; i < t.n; i++) {
		FUZZ_ASSERT(*t.line[i].path && t.line[i].value && !strchr(t.line[i].value, '\n'));
		FUZZ_ASSERT(gt_starts_with(t.line[i].by, "/etc/tmpfiles.d/"));
		FUZZ_ASSERT(strrchr(t.line[i].by, ':')[1] != '0');
	}
	for (size_t i = 0; i < t.n; i++)
		tn_tmpfiles_find(&t, t.line[i].path);
	tn_tmpfiles_clear(&t);
}

static void check_entry(const struct tn_entry *e)
{
	const struct tn_tunable *k = tn_entry_knob(e);
	gt_autofree char *own = NULL;

	if (e->kind == TN_ENTRY_FILE) {
		FUZZ_ASSERT(!strcmp(e->path, tn_persist_file(TN_SYSCTL_D)) || !strcmp(e->path, tn_persist_file(TN_TMPFILES_D)));
		return;
	}
	FUZZ_ASSERT(k && e->new_value && (!e->instance || !strchr(e->instance, '/')));
	own = tn_tunable_path(k, e->instance);
	FUZZ_ASSERT(!strcmp(own, e->path) && !strstr(own, "/../"));
	FUZZ_ASSERT(gt_starts_with(own, "/proc/sys/") || gt_starts_with(own, "/sys/"));
}

/* but: transaction whose files are ignored; NULL: runs as an ordinary user who cannot read the journal. */
static void check_kept(struct gt_fsroot *fs, const struct tn_journal *but)
{
	gt_auto(tn_journal) *j = NULL;
	struct gt_err err = {0};

	if (tn_persisted_load(fs, but, &j, &err) < 0) {
		FUZZ_ASSERT(err.msg[0] && err.exit_status);
		return;
	}
	for (size_t i = 0; i < j->n_tx; i++)
		for (size_t k = 0; k < j->tx[i].n_entry; k++)
			check_entry(&j->tx[i].entry[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *body = gt_xstrndup((const char *)data, strnlen((const char *)data, size));
	gt_auto(gt_fsroot) *fs = NULL;
	const struct tn_journal none = {0};
	gt_auto_buf b = {0};

	gt_buf_puts(&b, "gpuprobe-capture/1\n");
	put_hex(&b, "/etc/tmpfiles.d/10-input.conf", data, size);
	put_ours(&b, TN_SYSCTL_D, body);
	put_ours(&b, TN_TMPFILES_D, body);
	fs = fuzz_root(b.s, b.len);
	FUZZ_ASSERT(fs);
	check_tmpfiles(fs);
	check_kept(fs, NULL);
	check_kept(fs, &none);
	return 0;
}
