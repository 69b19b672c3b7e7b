/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of processors whose /proc/cpuinfo has no "model name". For 64-bit ARM they follow from two numbers of the MIDR
 * register; other architectures print the name under another key. Source: Linux' arch/arm64/include/asm/cputype.h and
 * util-linux' lscpu, as of 2026-11. All other processors have no name.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/host/reading.h"

static const struct {
	unsigned implementer, part;
	const char *name;
} arm[] = {
	{ 0x41, 0xd03, "ARM Cortex-A53" }, { 0x41, 0xd05, "ARM Cortex-A55" }, { 0x41, 0xd07, "ARM Cortex-A57" },
	{ 0x41, 0xd08, "ARM Cortex-A72" }, { 0x41, 0xd09, "ARM Cortex-A73" }, { 0x41, 0xd0a, "ARM Cortex-A75" },
	{ 0x41, 0xd0b, "ARM Cortex-A76" }, { 0x41, 0xd0c, "ARM Neoverse-N1" }, { 0x41, 0xd0d, "ARM Cortex-A77" },
	{ 0x41, 0xd40, "ARM Neoverse-V1" }, { 0x41, 0xd41, "ARM Cortex-A78" }, { 0x41, 0xd42, "ARM Cortex-A78AE" },
	{ 0x41, 0xd44, "ARM Cortex-X1" }, { 0x41, 0xd49, "ARM Neoverse-N2" }, { 0x41, 0xd4b, "ARM Cortex-A78C" },
	{ 0x41, 0xd4f, "ARM Neoverse-V2" }, { 0x41, 0xd84, "ARM Neoverse-V3" }, { 0x41, 0xd83, "ARM Neoverse-V3AE" },
	{ 0x41, 0xd8e, "ARM Neoverse-N3" }, { 0x41, 0xd85, "ARM Cortex-X925" }, { 0x41, 0xd87, "ARM Cortex-A725" },
	{ 0x43, 0x0a1, "Cavium ThunderX" }, { 0x43, 0x0af, "Cavium ThunderX2" }, { 0x46, 0x001, "Fujitsu A64FX" },
	{ 0x48, 0xd01, "HiSilicon Kunpeng-920" }, { 0x4e, 0x003, "NVIDIA Denver 2" }, { 0x4e, 0x004, "NVIDIA Carmel" },
	{ 0xc0, 0xac3, "Ampere-1" }, { 0xc0, 0xac4, "Ampere-1a" },
};

static unsigned number_of(const char *text, const char *key)
{
	gt_autofree char *v = pr_cpuinfo_value(text, key);

	return v ? (unsigned)strtoul(v, NULL, 0) : 0;
}

static const char *find_arm(unsigned implementer, unsigned part)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(arm); i++)
		if (arm[i].implementer == implementer && arm[i].part == part)
			return arm[i].name;
	return NULL;
}

/* Returns the names of all kinds of core, in the order of their first CPU: "ARM Cortex-A725 + ARM Cortex-X925". NULL:
 * unknown. */
static char *arm_names(const char *text)
{
	gt_auto_strv names = { 0 };
	gt_auto_buf all = { 0 };

	for (const char *cpu = text; cpu && *cpu; cpu = strstr(cpu + 1, "\nCPU implementer")) {
		const char *name = find_arm(number_of(cpu, "CPU implementer"), number_of(cpu, "CPU part"));

		if (name && !gt_strv_has(&names, name))
			gt_strv_add(&names, name);
	}
	for (size_t i = 0; i < names.n; i++)
		gt_buf_printf(&all, "%s%s", i ? " + " : "", names.v[i]);
	return all.len ? gt_buf_take(&all) : NULL;
}

char *pr_cpu_name(const char *text)
{
	char *v = pr_cpuinfo_value(text, "model name");

	if (!v)
		v = arm_names(text);
	if (!v) { /* POWER: "POWER9, altivec supported" */
		v = pr_cpuinfo_value(text, "cpu");
		if (v)
			v[strcspn(v, ",")] = '\0';
	}
	return v;
}
