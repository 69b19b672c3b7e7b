/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/host/grub.h"
#include "tune/lint/lint.h"

static const struct {
	const char *word; /* glob */
	enum sc_severity severity;
	const char *what;
} table[] = {
	{"elevator=*", SC_WARN, "has no effect on the kernels of Debian 12 and 13: each disk has its own block.scheduler"},
	{"amd_iommu=on", SC_WARN, "has no effect: AMD's IOMMU is on by default, and 'on' is not a valid value"},
	{"nouveau.blacklist=*", SC_WARN, "has no effect: nouveau has no such parameter; use modprobe.blacklist=nouveau"},
	{"vm.*=*", SC_WARN, "has no effect: the kernel expects sysctl.vm.NAME"},
	{"kernel.*=*", SC_WARN, "has no effect: the kernel expects sysctl.kernel.NAME"},
	{"net.core.*=*", SC_WARN, "has no effect: the kernel expects sysctl.net.core.NAME"},
	{"numa=off", SC_BAD, "all memory appears equally near, so nothing can be placed"},
	{"mem=*", SC_WARN, "memory beyond that is not used"},
	{"maxcpus=*", SC_WARN, "CPUs beyond that are not used"},
	{"nr_cpus=*", SC_WARN, "CPUs beyond that are not used"},
	{"nosmp", SC_BAD, "only one CPU is used"},
	{"isolcpus=*", SC_WARN,
	 "the scheduler does not use these CPUs by itself: loader workers gather on the others (boot.isolcpus)"},
	{"idle=poll", SC_WARN, "halves the speed of the busy thread of a core, and no core reaches its turbo (boot.idle)"},
	{"init_on_free=1", SC_NOTE, "all freed memory is written once more (boot.init_on_free)"},
	{"mce=off", SC_BAD, "memory errors are not reported and become wrong results"},
	{"transparent_hugepage=never", SC_WARN, "programs that request huge pages get none (thp.enabled)"},
	{"pci=*disable_acs_redir=pci:0:0*", SC_WARN,
	 "applies to every device: name only the bridges above the GPUs (pcie.acs)"},
};

/*
 * Kernel parameters that have one value. Names with a dot are parameters of modules, and some parameters of systemd and
 * dracut are lists. Both are excluded.
 */
static bool is_single(const char *name)
{
	static const char *const single[] = {"transparent_hugepage",
					     "numa_balancing",
					     "preempt",
					     "default_hugepagesz",
					     "elevator",
					     "mitigations",
					     "init_on_alloc",
					     "init_on_free",
					     "intel_pstate",
					     "amd_pstate",
					     "idle",
					     "nmi_watchdog",
					     "pcie_aspm",
					     "selinux",
					     "apparmor",
					     "audit",
					     "mem",
					     "maxcpus",
					     "nr_cpus",
					     "numa"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(single); i++)
		if (!strcmp(name, single[i]))
			return true;
	return strchr(name, '.') && !gt_starts_with(name, "rd.") && !gt_starts_with(name, "systemd.") &&
	       !gt_starts_with(name, "modprobe.") && !gt_starts_with(name, "module_blacklist.");
}

static void judge_word(struct sc_findings *out, const struct pr_param *p)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(table); i++)
		if (!fnmatch(table[i].word, p->word, 0)) {
			sc_find(out, table[i].severity, p->file, p->line,
				gt_xasprintf("%.80s: %s", p->word, table[i].what));
			return;
		}
}

static void judge_twice(struct sc_findings *out, const struct pr_params *all, size_t at)
{
	const struct pr_param *p = &all->p[at], *last = NULL;
	gt_autofree char *name = gt_xstrndup(p->word, strcspn(p->word, "="));
	size_t n = strlen(name);
	bool acs = strstr(p->word, "disable_acs_redir=") && gt_starts_with(p->word, "pci=");

	for (size_t i = at + 1; i < all->n && p->word[n]; i++)
		if ((gt_starts_with(all->p[i].word, name) && all->p[i].word[n] == '=' && is_single(name)) ||
		    (acs && gt_starts_with(all->p[i].word, "pci=") && strstr(all->p[i].word, "disable_acs_redir=")))
			last = &all->p[i];
	if (last && strcmp(last->word, p->word))
		sc_find(out, SC_WARN, p->file, p->line,
			gt_xasprintf("%.80s: overridden by %.80s in %s:%u, which comes later", p->word, last->word,
				     last->file, last->line));
}

/* If the IOMMU is off, its mode has no effect. */
static void judge_iommu(struct sc_findings *out, const struct pr_params *all)
{
	const struct pr_param *off = NULL, *pt = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const char *w = all->p[i].word;

		if (!strcmp(w, "iommu=off") || !strcmp(w, "intel_iommu=off") || !strcmp(w, "amd_iommu=off"))
			off = &all->p[i];
		if (!strcmp(w, "iommu=pt") || !strcmp(w, "iommu.passthrough=1"))
			pt = &all->p[i];
	}
	if (off && pt)
		sc_find(out, SC_WARN, pt->file, pt->line,
			gt_xasprintf("%s: has no effect together with %s in %s:%u", pt->word, off->word, off->file,
				     off->line));
}

/* Compares both lists of words, joined as grub-mkconfig joins them, with the command line of the running kernel. */
static void judge_pending(struct sc_findings *out, const struct pr_params *all, const struct pr_params *running)
{
	for (size_t i = 0; i < all->n; i++) {
		gt_auto_buf missing = {0};

		if (i && !strcmp(all->p[i].file, all->p[i - 1].file) && all->p[i].line == all->p[i - 1].line)
			continue;
		for (size_t k = i; k < all->n; k++)
			if (!strcmp(all->p[k].file, all->p[i].file) && all->p[k].line == all->p[i].line &&
			    !pr_params_have(running, all->p[k].word))
				gt_buf_printf(&missing, "%s%s", missing.len ? " " : "", all->p[k].word);
		if (missing.len)
			sc_find(out, SC_NOTE, all->p[i].file, all->p[i].line,
				gt_xasprintf("this kernel was started without %.200s: update-grub or the reboot is missing "
					     "since the line was written",
					     missing.s));
	}
}

static void judge(struct gt_fsroot *fs, struct sc_findings *out, const struct pr_params *all)
{
	gt_autofree char *cmdline = NULL;
	struct pr_params running = {0};

	for (size_t i = 0; i < all->n; i++) {
		judge_word(out, &all->p[i]);
		judge_twice(out, all, i);
	}
	judge_iommu(out, all);
	if (!all->n || gt_fs_read_line(fs, "/proc/cmdline", &cmdline) < 0)
		return;
	for (const char *p = cmdline; *p;) {
		size_t n = strcspn(p, " \t\n");

		pr_params_add(&running, p, n, "/proc/cmdline", 1);
		p += n + strspn(p + n, " \t\n");
	}
	if (strstr(cmdline, "BOOT_IMAGE="))
		judge_pending(out, all, &running);
	else
		sc_find(out, SC_NOTE, PR_GRUB_DEFAULT, 0,
			gt_xstrdup("this kernel was not started by GRUB (no BOOT_IMAGE= in /proc/cmdline), so no line here "
				   "applies"));
	pr_params_clear(&running);
}

void tn_lint_grub(struct gt_fsroot *fs, struct sc_findings *ret)
{
	struct pr_params all = { 0 };

	tn_lint_unread(fs, PR_GRUB_DEFAULT ".d", ".cfg", "update-grub", ret);
	pr_grub_read(fs, &all, ret);
	judge(fs, ret, &all);
	pr_params_clear(&all);
}
