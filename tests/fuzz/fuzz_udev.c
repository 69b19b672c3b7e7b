/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an untrusted file of udev rules next to a valid one, evaluates events of a disk and a CPU, and lints both. Each
 * rule has a line of its file, a jump leads forward in the same file, and an answer names the file that decides it. Only
 * a rule without unevaluated keys can be certain.
 */
#include <string.h>
#include "lib/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"
#include "tune/lint/lint.h"
#include "tune/boot/udev.h"

const unsigned fuzz_rounds = 1500;

static const char host[] =
	"gpuprobe-capture/1\n"
	"file /proc/cmdline\n\tBOOT_IMAGE=/vmlinuz quiet my-word=5\n"
	"file /sys/block/sda/uevent\n\tMAJOR=8\n\tMINOR=0\n\tDEVNAME=sda\n\tDEVTYPE=disk\n"
	"file /sys/block/sda/size\n\t500118192\n"
	"file /sys/block/sda/queue/rotational\n\t1\n"
	"file /sys/block/sda/queue/scheduler\n\tnone [mq-deadline]\n"
	"file /sys/block/sda/queue/read_ahead_kb\n\t128\n"
	"file /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n\tpowersave\n"
	"file /sys/devices/system/cpu/cpufreq/policy0/scaling_governor\n\tpowersave\n"
	"file /etc/udev/rules.d/60-good.rules\n"
	"\tSUBSYSTEM==\"block\", ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"mq-deadline\"\n"
	"\tSUBSYSTEM==\"cpu\", ENV{MINE}==\"?*\", ATTR{cpufreq/scaling_governor}=\"performance\"\n";

static unsigned count_lines(const char *text)
{
	unsigned n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void did(void *ctx, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on)
{
	FUZZ_ASSERT(!tn_udev_compares(t) && t->value && (strcmp(t->key, "ATTR") || *t->name));
	FUZZ_ASSERT(depends_on ? *depends_on != '\0' : t->literal && !r->unread);
}

static void check_rules(const struct tn_udev *u)
{
	for (size_t i = 0; i < u->n; i++) {
		const struct tn_udev_rule *r = &u->rule[i];

		FUZZ_ASSERT(r->file < u->files.n && r->line && r->line <= count_lines(u->texts.v[r->file]));
		FUZZ_ASSERT(!r->go_to || (r->go_to > i && r->go_to < u->n && u->rule[r->go_to].file == r->file));
		FUZZ_ASSERT(!r->go_to || gt_streq(u->rule[r->go_to].label, r->wants));
	}
	for (size_t i = 0; i < u->n_problem; i++)
		FUZZ_ASSERT(u->problem[i].what && *u->problem[i].what && u->problem[i].file < u->files.n);
}

static void ask(struct tn_udev *u, const char *path, const char *ours)
{
	struct tn_udev_answer a;

	tn_udev_ask(u, path, ours, &a);
	FUZZ_ASSERT(!a.value == !a.by);
	FUZZ_ASSERT(!a.by || gt_starts_with(a.by, "/etc/udev/rules.d/"));
	FUZZ_ASSERT(!a.may || strstr(a.may, "/etc/udev/rules.d/"));
	tn_udev_answer_clear(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const devices[] = {"/sys/block/sda", "/sys/devices/system/cpu/cpu0"};
	static const char *const actions[] = {"add", "change"};
	gt_auto(gt_fsroot) *fs = NULL;
	sc_auto_findings found = {0};
	gt_auto_buf b = {0};
	struct tn_udev u;

	gt_buf_printf(&b, "%shex /etc/udev/rules.d/95-input.rules\n\t", host);
	for (size_t i = 0; i < size; i++)
		gt_buf_printf(&b, "%02x", data[i]);
	gt_buf_puts(&b, "\n");
	fs = fuzz_root(b.s, b.len);
	FUZZ_ASSERT(fs);
	tn_udev_load(fs, SC_NEXT_BOOT, &u);
	for (size_t i = 0; i < GT_ARRAY_SIZE(devices); i++) {
		struct tn_udev_device d;

		FUZZ_ASSERT(tn_udev_device_open(fs, devices[i], &d));
		for (size_t k = 0; k < GT_ARRAY_SIZE(actions); k++)
			tn_udev_event(&u, &d, actions[k], did, &u);
		tn_udev_device_clear(&d);
	}
	check_rules(&u);
	ask(&u, "/sys/block/sda/queue/scheduler", NULL);
	ask(&u, "/sys/block/sda/queue/read_ahead_kb", "4096");
	ask(&u, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", NULL);
	ask(&u, "/proc/sys/vm/swappiness", NULL);
	tn_udev_clear(&u);
	tn_lint_udev(fs, &found);
	for (size_t i = 0; i < found.n; i++)
		FUZZ_ASSERT(found.f[i].file && found.f[i].what && *found.f[i].what);
	return 0;
}
