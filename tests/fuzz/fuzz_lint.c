/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted configuration of modprobe, GRUB, tuned, PAM or NCCL, selected by the first byte: each finding names an
 * existing file and line.
 */
#include <string.h>
#include "lib/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"
#include "tune/lint/lint.h"

const unsigned fuzz_rounds = 2000;

static const char host[] =
	"gpuprobe-capture/1\n"
	"file /proc/sys/kernel/osrelease\n\t6.1.0\n"
	"file /proc/sys/fs/nr_open\n\t1048576\n"
	"file /proc/cmdline\n\tBOOT_IMAGE=/vmlinuz quiet\n"
	"file /proc/driver/nvidia/params\n\tEnableMSI: 1\n"
	"file /sys/module/nvme_core/parameters/io_timeout\n\t30\n"
	"file /lib/modules/6.1.0/modules.builtin\n\tkernel/drivers/char/tpm/tpm-tis.ko\n"
	"file /etc/default/grub.d/50-a.cfg\n\tGRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT iommu=pt\"\n";

static unsigned count_lines(const char *text)
{
	unsigned n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = {"/etc/modprobe.d/input.conf", "/etc/default/grub",
					    "/etc/tuned/input/tuned.conf", "/etc/default/grub",
					    "/etc/security/limits.conf",   "/etc/default/grub",
					    "/etc/nccl.conf",		   "/etc/default/grub"};
	const char *path = paths[size ? data[0] % 8 : 0];
	gt_auto(gt_fsroot) *fs = NULL;
	sc_auto_findings found = {0};
	gt_auto_buf b = {0};

	gt_buf_printf(&b, "%shex %s\n\t", host, path);
	for (size_t i = 1; i < size; i++)
		gt_buf_printf(&b, "%02x", data[i]);
	gt_buf_puts(&b, "\n");
	fs = fuzz_root(b.s, b.len);
	FUZZ_ASSERT(fs);
	tn_lint_modprobe(fs, &found);
	tn_lint_grub(fs, &found);
	tn_lint_tuned(fs, &found);
	tn_lint_limits(fs, &found);
	tn_lint_nccl(fs, &found);
	for (size_t i = 0; i < found.n; i++) {
		gt_autofree char *text = NULL;

		FUZZ_ASSERT(found.f[i].what && *found.f[i].what);
		if (!found.f[i].line)
			continue;
		FUZZ_ASSERT(gt_fs_read(fs, found.f[i].file, &text, NULL) >= 0);
		FUZZ_ASSERT(found.f[i].line <= count_lines(text));
	}
	return 0;
}
