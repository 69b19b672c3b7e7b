/* SPDX-License-Identifier: Apache-2.0 */
/* Remedy lines that several checks use. */
#include <string.h>
#include "probe/check/check.h"

char *pr_setting_lines(const struct pr_setting *s, const char *value)
{
	if (s->boot.state == PR_ABSENT)
		return gt_xasprintf("  sysctl -w %s=%s\nNo file sets it at boot.", s->name, value);
	if (s->boot.state != PR_PRESENT)
		return gt_xasprintf("  sysctl -w %s=%s\nWhich file sets it at boot is not known.", s->name, value);
	if (!gt_streq(s->boot.v, s->now.v))
		return gt_xasprintf("  sysctl -w %s=%s\nAt boot %s sets it to %s.", s->name, value, s->boot_by, s->boot.v);
	if (gt_starts_with(s->boot_by, "/etc/"))
		return gt_xasprintf("  sysctl -w %s=%s\nRemove the line that sets it at boot: %s", s->name, value, s->boot_by);
	/* package upgrades replace shipped files; this file name sorts last */
	return gt_xasprintf("  sysctl -w %s=%s\n  echo '%s = %s' >> /etc/sysctl.d/zz-local.conf\nThe new line comes after %s, "
			    "which sets it at boot.", s->name, value, s->name, value, s->boot_by);
}

/* Returns the PCI address in "NVRM: Xid (PCI:0000:17:00): 79, ..." as nvidia-smi -i takes it; NULL: none. The caller frees it. */
static char *gpu_of_line(const char *line)
{
	const char *at = line ? strstr(line, "(PCI:") : NULL;
	size_t n = at ? strspn(at + 5, "0123456789abcdefABCDEF:") : 0;

	return n && at[5 + n] == ')' ? gt_xasprintf("%.*s.0", (int)n, at + 5) : NULL;
}

char *pr_reset_lines(const struct pr_host *h, const struct pr_gpu *g, const char *log_line)
{
	gt_autofree char *logged = g ? NULL : gpu_of_line(log_line);
	const char *address = g ? g->pci->address : logged ? logged : h->n_gpu == 1 ? h->gpu[0].pci->address : NULL;

	if (!address)
		return gt_xstrdup("End all programs that use a GPU, which are listed first. Then reset the GPUs, or reboot:\n"
				  "  nvidia-smi --query-compute-apps=gpu_bus_id,pid,name --format=csv\n"
				  "  nvidia-smi --gpu-reset");
	return gt_xasprintf("End all programs that use the GPU, which are listed first. Then reset it, or reboot:\n"
			    "  nvidia-smi -i %s --query-compute-apps=pid,name --format=csv\n"
			    "  nvidia-smi --gpu-reset -i %s",
			    address, address);
}

char *pr_remove_word_lines(const struct pr_host *h, const char *begin)
{
	for (size_t i = h->grub.n; i-- > 0;)
		if (gt_starts_with(h->grub.p[i].word, begin))
			return gt_xasprintf("  @{kernel-remove %s %s:%u}; reboot", begin, h->grub.p[i].file, h->grub.p[i].line);
	return gt_xasprintf("  @{kernel-remove %s /etc/default/grub or from the file in /etc/default/grub.d that has it}; reboot",
			    begin);
}
