/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted file of sysctl.d: parsed, judged, linted. Effective settings are a subset of the parsed ones, each key
 * occurs once, and every value fits on one line. A value that the kernel's parser accepts is accepted again, without
 * trailing characters.
 */
#include <string.h>
#include "sysctl/sysctl.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"

const unsigned fuzz_rounds = 3000;

static const char tree[] =
	"gpuprobe-capture/1\n"
	"file /etc/sysctl.d/50-b.conf\n\tvm.swappiness = 10\n\tnet.ipv4.conf.*.rp_filter=2\n\t-net.ipv4.conf.all.rp_filter\n"
	"file /proc/sys/vm/swappiness\n\t60\n"
	"file /proc/sys/net/ipv4/conf/all/rp_filter\n\t0\n"
	"file /proc/sys/net/ipv4/conf/eth0.1/rp_filter\n\t0\n";
static struct gt_fsroot *fs;

static void close_root(void)
{
	gt_fs_close(fs);
}

static void judge_value(const char *key, const char *value)
{
	gt_autofree char *taken = NULL, *again = NULL;
	const char *rest = NULL;
	struct gt_err err = { 0 };
	int r = sc_read_value(key, value, &taken, &rest, &err);

	FUZZ_ASSERT(sc_value_equal(key, value, value));
	FUZZ_ASSERT(r < 0 ? !taken && !rest && *err.msg : rest >= value && rest <= value + strlen(value));
	if (r < 0)
		return;
	FUZZ_ASSERT(!sc_read_value(key, taken, &again, &rest, &err) && !strcmp(taken, again) && !*rest);
	FUZZ_ASSERT(sc_value_equal(key, value, taken));
	if (!sc_check_value(key, value, NULL) && sc_key_find(key))
		FUZZ_ASSERT(!sc_check_value(key, taken, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *text = gt_xstrndup((const char *)data, size);
	const struct sc_overlay overlay[] = { { "/etc/sysctl.d/60-input.conf", text }, { 0 } };
	gt_auto(sc_conf) *conf = NULL;
	sc_auto_findings found = { 0 };
	struct gt_err err = { 0 };

	if (!fs) {
		fs = fuzz_root(tree, sizeof(tree) - 1);
		FUZZ_ASSERT(fs);
		atexit(close_root);
	}
	FUZZ_ASSERT(!sc_conf_load(fs, SC_NOW, overlay, &conf, &err));
	for (size_t i = 0; i < conf->n_all; i++) {
		const char *value = conf->all[i].value;

		FUZZ_ASSERT(conf->all[i].key && (!value || !strchr(value, '\n')));
		if (!value)
			continue;
		judge_value(conf->all[i].key, value);
		judge_value("kernel.sched_rt_runtime_us", value);
		judge_value("kernel.shmmax", value);
		judge_value("net.ipv4.tcp_rmem", value);
	}
	for (size_t i = 0; i < conf->n_effective; i++) {
		FUZZ_ASSERT(conf->effective[i] < conf->n_all);
		for (size_t j = 0; j < i; j++)
			FUZZ_ASSERT(strcmp(conf->all[conf->effective[i]].key, conf->all[conf->effective[j]].key));
	}
	sc_boot_value(conf, "vm.swappiness");
	sc_lint(fs, conf, &found);
	for (size_t i = 0; i < found.n; i++)
		FUZZ_ASSERT(found.f[i].file && found.f[i].what);
	return 0;
}
