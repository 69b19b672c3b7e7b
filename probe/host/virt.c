/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the hypervisor from several sources, the most specific first: its signature in CPUID, the clock that KVM gives
 * its guests, Xen's own file, the device tree, and last the firmware's name. QEMU's firmware has the same name with and
 * without KVM, so the name alone does not prove KVM.
 */
#include "config.h"
#ifdef HAVE_LIBCPUID
#include <libcpuid/libcpuid.h>
#endif
#include <string.h>
#include "probe/host/reading.h"

#define CLOCKS "/sys/devices/system/clocksource/clocksource0/available_clocksource"

/*
 * Returns the signature of twelve characters, or NULL. A KVM guest with Hyper-V enlightenments has KVM's signature at a
 * leaf that is 0x100 higher.
 */
static char *query_cpuid(void)
{
#ifdef HAVE_LIBCPUID
	gt_autofree char *first = NULL;

	if (!cpuid_present())
		return NULL;
	for (uint32_t leaf = 0x40000000; leaf <= 0x40000100; leaf += 0x100) {
		uint32_t regs[4] = {0};
		char text[13] = "";

		cpu_exec_cpuid(leaf, regs);
		memcpy(text, regs + 1, 12); /* EBX, ECX, EDX */
		for (char *p = text; *p; p++)
			if (*p < ' ' || *p > '~')
				*p = '\0';
		if (!first)
			first = gt_xstrdup(text);
		if (!strcmp(text, "KVMKVMKVM"))
			return gt_xstrdup(text);
	}
	return *first ? gt_take(first) : NULL;
#else
	return NULL;
#endif
}

static const char *signed_by(const char *signature)
{
	static const struct {
		const char *signature, *name;
	} known[] = {{"KVMKVMKVM", "kvm"},           {"Linux KVM Hv", "kvm"},     {"TCGTCGTCGTCG", "qemu (tcg)"},
		     {"VMwareVMware", "vmware"},     {"Microsoft Hv", "hyper-v"}, {"XenVMMXenVMM", "xen"},
		     {"VBoxVBoxVBox", "virtualbox"}, {"bhyve bhyve ", "bhyve"},   {"prl hyperv", "parallels"},
		     {"lrpepyh  vr", "parallels"},   {"ACRNACRNACRN", "acrn"},    {"QNXQVMBSQG", "qnx"}};

	for (size_t i = 0; signature && i < GT_ARRAY_SIZE(known); i++)
		if (gt_starts_with(signature, known[i].signature))
			return known[i].name;
	return NULL;
}

/* Returns the hypervisor or cloud by the firmware's name; NULL: no virtual machine. */
static const char *firmware(const char *vendor, const char *product)
{
	static const struct {
		const char *word, *name;
	} makers[] = {{"KVM", "kvm"},
		      {"Amazon EC2", "Amazon EC2"},
		      {"Google", "Google"},
		      {"OpenStack", "OpenStack"},
		      {"QEMU", "qemu"},
		      {"VMware", "vmware"},
		      {"innotek", "virtualbox"},
		      {"Xen", "xen"},
		      {"Microsoft", "hyper-v"},
		      {"Parallels", "parallels"}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(makers); i++)
		if ((vendor && strstr(vendor, makers[i].word)) || (product && strstr(product, makers[i].word)))
			return makers[i].name;
	return NULL;
}

/* Uses the processor's signature first, and then features that only one hypervisor provides. */
static const char *find_hypervisor(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_str clocks = pr_read_str(h, fs, CLOCKS), type = pr_read_str(h, fs, "/sys/hypervisor/type"),
		      tree = pr_read_str(h, fs, "/proc/device-tree/hypervisor/compatible");

	if (signed_by(h->hypervisor.v))
		return signed_by(h->hypervisor.v);
	if (clocks.v && strstr(clocks.v, "kvm-clock"))
		return "kvm";
	if (type.v && *type.v)
		return type.v;
	if (tree.v)
		return strstr(tree.v, "kvm") ? "kvm" : strstr(tree.v, "xen") ? "xen" : "virtual machine";
	return NULL;
}

void pr_discover_virt(struct gt_fsroot *fs, struct pr_host *h)
{
	bool guest = pr_cpu_flag(h, "hypervisor"), x86 = !h->kernel.arch.v || !strncmp(h->kernel.arch.v, "x86", 3);
	struct pr_str vendor = pr_read_str(h, fs, "/sys/class/dmi/id/sys_vendor"),
		      product = pr_read_str(h, fs, "/sys/class/dmi/id/product_name");
	gt_autofree char *signature = NULL;
	const char *maker = firmware(vendor.v, product.v), *by;

	h->sys_vendor = vendor;
	h->virt.state = PR_ABSENT;
	h->hypervisor.state = PR_ABSENT;
	if (h->kernel.release.v && (strstr(h->kernel.release.v, "microsoft") || strstr(h->kernel.release.v, "WSL"))) {
		h->virt = pr_text(h, "wsl");
		return;
	}
	if (x86 && !guest)
		return; /* a cloud's bare-metal host has the same firmware name */
	if (h->live)
		signature = query_cpuid();
	else
		gt_fs_fact(fs, "hypervisor", &signature, NULL);
	if (signature)
		h->hypervisor = pr_text(h, gt_strip(signature));
	by = find_hypervisor(fs, h);
	if (!x86 && !by && product.v && strstr(product.v, "metal"))
		return; /* no CPU flag for guests: the product name is that of a cloud's bare-metal host */
	if (by && maker && (!strcmp(by, "kvm") || !strcmp(by, "xen")) && strchr("AGO", *maker))
		h->virt = (struct pr_str){PR_PRESENT, pr_own(h, gt_xasprintf("%s (%s)", by, maker))};
	else if (by || maker || x86)
		h->virt = pr_text(h, by ? by : maker ? maker : "virtual machine");
}
