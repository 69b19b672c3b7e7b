/* SPDX-License-Identifier: Apache-2.0 */
/* Lists errors of the kernel log that no other check judges. The host is then unknown. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

#define MOST_SHOWN 3
#define OF_LINE	   180 /* bytes of a line that are shown */

/* A line that another check would judge counts here where no GPU is left for that check. */
static bool is_unread(const struct pr_host *h, const struct pr_log_line *l, const char *id)
{
	if (l->kind == PR_LOG_UNREAD)
		return !strcmp(l->check, id);
	return l->kind == PR_LOG_READ && !strcmp(id, "log.gpu") && !pr_usable_gpus(h);
}

void pr_log_not_examined(const struct pr_host *h, struct pr_finding *f)
{
	if (h->kernel_log == PR_UNREADABLE)
		pr_say(f, PR_SKIP, "the kernel log was not examined: only root may read it");
	else
		pr_say(f, PR_NOT_KNOWN, "the kernel log was not examined: it is %s", pr_state_name(h->kernel_log));
}

static void judge_lines(const struct pr_context *c, struct pr_finding *f, const char *id)
{
	const struct pr_host *h = c->host;
	char lines[MOST_SHOWN * (OF_LINE + 3) + 1] = "", more[48] = "";
	size_t n = 0, of_programs = 0, len = 0;

	for (size_t i = 0; i < h->n_log; i++) {
		of_programs += h->log[i].kind == PR_LOG_PROGRAM;
		if (!is_unread(h, &h->log[i], id))
			continue;
		if (n++ < MOST_SHOWN)
			len += (size_t)snprintf(lines + len, sizeof(lines) - len, "%s%.*s", len ? " / " : "", OF_LINE,
						h->log[i].text);
	}
	if (h->kernel_log != PR_PRESENT) {
		pr_log_not_examined(h, f);
	} else if (n) {
		if (n > MOST_SHOWN)
			snprintf(more, sizeof(more), " / and %zu more", n - MOST_SHOWN);
		pr_say(f, PR_NOT_KNOWN, "%s%zu unrecognised error line%s in the kernel log: %s%s",
		       n > MOST_SHOWN && h->n_log == PR_LOG_MOST ? "at least " : "", n, n == 1 ? "" : "s", lines, more);
		pr_remedy(f, "Read the lines around %s:\n  journalctl -k -b", n == 1 ? "it" : "them");
	} else if (of_programs && !strcmp(id, "log.gpu")) {
		pr_say(f, PR_PASS, "the kernel log has only errors of programs");
	} else {
		pr_say(f, PR_PASS, "no unrecognised error lines");
	}
}

#define STORY(who, rest)                                                                                            \
	"An error that " who " logged and that no other check judges. gpuprobe does not know whether it is over or what " \
	"it means, so that the host cannot be called healthy. " rest " Lines that are known to be harmless do not count."

static void gpu(const struct pr_context *c, struct pr_finding *f)
{
	judge_lines(c, f, "log.gpu");
}
const struct pr_check pr_check_log_gpu = {
	.id = "log.gpu",
	.title = "the kernel log has no unrecognised GPU error",
	.story = STORY("the NVIDIA driver", "An Xid or SXid number is listed here only if NVIDIA publishes no meaning of it for "
		       "GPUs from Ampere on, or where gpuprobe's catalogue is older than the number: see "
		       "https://docs.nvidia.com/deploy/xid-errors (Xid) and the Fabric Manager User Guide (SXid)."),
	.run = gpu,
};

static void network(const struct pr_context *c, struct pr_finding *f)
{
	judge_lines(c, f, "log.network");
}
const struct pr_check pr_check_log_network = {
	.id = "log.network",
	.title = "the kernel log has no unrecognised InfiniBand or RoCE error",
	.story = STORY("a driver of an InfiniBand or RoCE adapter", "A job over several hosts can hang or fail by it."),
	.run = network,
};

static void disk(const struct pr_context *c, struct pr_finding *f)
{
	judge_lines(c, f, "log.disk");
}
const struct pr_check pr_check_log_disk = {
	.id = "log.disk",
	.title = "the kernel log has no unrecognised NVMe error",
	.story = STORY("the NVMe driver", "Data sets and checkpoints can be lost by it."),
	.run = disk,
};

static void pcie(const struct pr_context *c, struct pr_finding *f)
{
	judge_lines(c, f, "log.pcie");
}
const struct pr_check pr_check_log_pcie = {
	.id = "log.pcie",
	.title = "the kernel log has no uncorrected PCIe error",
	.story = STORY("a PCIe port", "Corrected errors (AER) are no loss of data and do not count."),
	.run = pcie,
};

static void hardware(const struct pr_context *c, struct pr_finding *f)
{
	judge_lines(c, f, "log.hardware");
}
const struct pr_check pr_check_log_hardware = {
	.id = "log.hardware",
	.title = "the kernel log has no uncorrected memory or processor error",
	.story = STORY("the memory controller's or machine-check code (EDAC, MCE) or the firmware (APEI)",
		       "Corrected memory errors do not count. rasdaemon and the BMC's event log name the module."),
	.run = hardware,
};
