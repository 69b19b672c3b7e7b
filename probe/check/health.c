/* SPDX-License-Identifier: Apache-2.0 */
/* Health of the GPUs, from NVML and the kernel log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/driver_need.h"
#include "probe/check/list.h"

static const char *const after_loaded[] = {"driver.loaded", NULL};
static const char *const after_nvml[] = {"driver.loaded", "nvml.answers", NULL};

/* Returns whether the line reports an error of the check that is not over. */
static bool is_of(const struct pr_log_line *l, const char *check)
{
	return l->kind == PR_LOG_READ && !l->past && !strcmp(l->check, check);
}

/* Returns the newest line of the kernel log that belongs to the check; NULL: none. */
static const struct pr_log_line *last_line(const struct pr_host *h, const char *check)
{
	for (size_t i = h->n_log; i-- > 0;)
		if (is_of(&h->log[i], check))
			return &h->log[i];
	return NULL;
}

/* Returns the first GPU whose number at that offset is known and not zero. */
static const struct pr_gpu *first_with(const struct pr_host *h, size_t offset)
{
	for (size_t i = 0; i < h->n_gpu; i++)
		if (pr_or(*(const struct pr_num *)((const char *)&h->gpu[i] + offset), 0))
			return &h->gpu[i];
	return NULL;
}
#define FIRST_WITH(h, member) first_with(h, offsetof(struct pr_gpu, member))

/* Sets the result if no problem was found: pass if NVML responded, else skip. */
static void report_no_problem(const struct pr_context *c, struct pr_finding *f, const char *what)
{
	const struct pr_host *h = c->host;

	if (h->nvml.answer == PR_NVML_OK)
		pr_set(f, PR_PASS, "%s%s", what,
		       h->kernel_log == PR_PRESENT
			       ? ""
			       : " (the kernel log is not readable; run as root to include it)");
	else
		pr_set(f, PR_SKIP, "NVML did not respond%s",
		       h->kernel_log == PR_PRESENT ? "; the kernel log reports no problem" : "");
}

bool pr_all_respond(const struct pr_host *h)
{
	return h->nvml.answer == PR_NVML_OK && pr_has(h->nvml.count) &&
	       h->nvml.count.v >= (int64_t)pr_usable_gpus(h) && !pr_or(h->nvml.gpus_lost, 0) &&
	       !pr_or(h->nvml.gpus_to_reset, 0);
}

/* Reports a line of the log: critical, or a warning if the error is over. */
static void report_line(const struct pr_context *c, struct pr_finding *f, const char *what, const struct pr_log_line *x,
			const char *remedy)
{
	if (pr_all_respond(c->host)) {
		pr_set(f, PR_WARN, "%s since boot; NVML now responds for every GPU: %.300s", what, x->text);
		pr_remedy(f, "If it recurs, or if the GPU was not reset since:\n%s", remedy);
	} else {
		pr_set(f, PR_FAIL, "%s: %.300s", what, x->text);
		pr_remedy(f, "%s", remedy);
	}
}

static void lost(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_log_line *x = last_line(h, "gpu.lost");
	static const char remedy[] = "Take the host out of service and power it off and on; if it recurs, check power "
				     "cables, riser and temperature, then have the GPU replaced";

	if (pr_without_gpu(c, f))
		return;
	if (!x && !pr_or(h->nvml.gpus_lost, 0)) {
		report_no_problem(c, f, "no GPU has fallen off the bus");
		return;
	}
	if (x) {
		report_line(c, f, "a GPU has fallen off the bus", x, remedy);
		return;
	}
	pr_set(f, PR_FAIL, "a GPU has fallen off the bus (NVML: GPU is lost)");
	pr_remedy(f, "%s", remedy);
}
const struct pr_check pr_check_lost = {
	.id = "gpu.lost",
	.title = "a GPU has fallen off the bus",
	.story = "The GPU does not respond on PCIe (Xid 79). Possible causes are power, heat or a bad contact. Only switching the "
		 "machine off and on makes the GPU work again, and often only for a short time.",
	.messages = "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\nUnable to determine the device "
		    "handle for GPU: "
		    "GPU is lost. Reboot the system to recover this GPU",
	.run = lost,
};

/* Returns the newest line that requests the reset of a GPU; NULL: none. A request "to 0x0 (None)" withdraws it. */
static const struct pr_log_line *needs_reset(const struct pr_host *h)
{
	for (size_t i = h->n_log; i-- > 0;) {
		const struct pr_log_line *x = &h->log[i];
		const char *to = strstr(x->text, " to 0x");

		if (is_of(x, "gpu.reset") && (!to || strtoul(to + strlen(" to 0x"), NULL, 16)))
			return x;
	}
	return NULL;
}

static void reset_required(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_log_line *x = needs_reset(h);
	gt_autofree char *remedy = pr_reset_lines(h, NULL, x ? x->text : NULL);

	if (pr_without_gpu(c, f))
		return;
	if (!x && !pr_or(h->nvml.gpus_to_reset, 0)) {
		report_no_problem(c, f, "no GPU needs a reset");
		return;
	}
	if (x && !pr_or(h->nvml.gpus_to_reset, 0) && pr_all_respond(h)) {
		report_line(c, f, "the driver has requested the reset of a GPU", x, remedy);
		return;
	}
	pr_set(f, PR_FAIL, "a GPU does not work until it is reset%s%.300s", x ? ": " : "", x ? x->text : "");
	pr_remedy(f, "%s", remedy);
}
const struct pr_check pr_check_reset = {
	.id = "gpu.reset",
	.title = "a GPU needs a reset",
	.story = "After a fatal error the driver rejects the GPU until it is reset. NVML returns error 16, and newer "
		 "drivers log Xid 154 with the recovery action.",
	.messages = "GPU requires reset\nNVRM: Xid (PCI:0000:17:00): 154, GPU recovery action changed from 0x0 (None) "
		    "to 0x1 (GPU "
		    "Reset Required)",
	.run = reset_required,
};

/* Returns the line about missing GSP firmware; NULL: none. */
static const char *no_firmware(const struct pr_host *h)
{
	static const char *const words[] = {"firmware load for nvidia/", "failed to load nvidia/", "No firmware image found"};

	for (size_t i = h->n_log; i-- > 0;)
		for (size_t k = 0; k < GT_ARRAY_SIZE(words); k++)
			if (strstr(h->log[i].text, words[k]))
				return h->log[i].text;
	return NULL;
}

static void could_not_start(const struct pr_context *c, struct pr_finding *f, const char *line)
{
	const char *firmware = no_firmware(c->host);

	if (pr_all_respond(c->host)) {
		pr_set(f, PR_WARN, "the driver failed to start a GPU since boot; now all respond: %.300s", line);
		pr_remedy(f, "Watch whether it comes again:  journalctl -k -b | grep NVRM");
	} else if (firmware && pr_or(c->host->gsp.firmware, 0)) {
		pr_set(f, PR_FAIL,
		       "the driver could not start a GPU, because its firmware is installed but was not visible when the "
		       "module started: %.300s",
		       firmware);
		pr_remedy(f, "A module that starts in the initramfs needs it there:\n  @{initramfs}; reboot");
	} else if (firmware) {
		pr_set(f, PR_FAIL, "the driver could not start a GPU, because its firmware is not installed: %.300s", firmware);
		pr_remedy(f, "  @{gsp-firmware}\n(non-free-firmware; of the driver's version), then\n"
			     "  modprobe -r nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia\nor reboot");
	} else {
		pr_set(f, PR_FAIL, "the driver could not start a GPU: %.300s", line);
		pr_remedy(f, "Power the host off and on; then reseat the GPU, and check that /lib/firmware/nvidia/ has the "
			     "GSP firmware of the driver's version (@{gsp-firmware})");
	}
}

static void init_failed(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_log_line *x = last_line(h, "gpu.start");

	if (pr_without_gpu(c, f))
		return;
	if (x)
		could_not_start(c, f, x->text);
	else if (h->kernel_log != PR_PRESENT && !pr_has(h->nvml.count))
		pr_set(f, PR_SKIP, "the kernel log is not readable and NVML reported no count");
	else
		pr_set(f, PR_PASS, "the driver starts every GPU");
}
static const char *const after_kind[] = {"driver.legacy-gpu", "driver.new-gpu", "driver.open-module", "driver.firmware",
					 NULL};
const struct pr_check pr_check_init = {
	.id = "gpu.start",
	.title = "the driver could not start a GPU",
	.after = after_kind,
	.story = "The driver loads, but a GPU does not start. Possible causes are broken hardware, firmware of another "
		"version, or too little power. The GPU is on the bus and missing in nvidia-smi.",
	.messages = "NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x26:0x56:1482)\nNVRM: GPU 0000:17:00.0: "
		    "rm_init_adapter failed, "
		    "device minor number 0",
	.run = init_failed,
};

static void ecc(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_gpu *failed = FIRST_WITH(h, remap_failure), *pending = FIRST_WITH(h, remap_pending);
	const struct pr_log_line *x = last_line(h, "gpu.ecc");
	gt_autofree char *remedy = NULL;

	if (pr_without_gpu(c, f))
		return;
	pending = pending ? pending : FIRST_WITH(h, retired_pending);
	if (failed) {
		pr_set(f, PR_FAIL, "GPU %s could not remap faulty memory: no spare rows are left",
		       failed->pci->address);
		pr_remedy(f, "Have the GPU replaced");
	} else if (pending) {
		pr_set(f, PR_WARN, "GPU %s has faulty memory that is remapped at its next reset",
		       pending->pci->address);
		remedy = pr_reset_lines(h, pending, NULL);
		pr_remedy(f, "%s", remedy);
	} else if (x && x->xid.number == 94) {
		pr_set(f, PR_WARN, "a GPU's memory had errors: %.300s", x->text);
		pr_remedy(f, "The program that was hit has ended; start it again");
	} else if (x) {
		remedy = pr_reset_lines(h, NULL, x->text);
		report_line(c, f, "a GPU's memory had errors", x, remedy);
	} else {
		report_no_problem(c, f, "no memory error is pending");
	}
}
const struct pr_check pr_check_ecc = {
	.id = "gpu.ecc",
	.title = "GPU memory has errors",
	.after = after_nvml,
	.story = "ECC detects memory errors. Xid 63 reports that a memory row was replaced by a spare row, and Xid 94 that "
		 "one program was ended. Xids 48, 64, 95 and 140 need a reset of the GPU. If no spare rows are left, the "
		 "GPU must be replaced.",
	.messages = "NVRM: Xid (PCI:0000:17:00): 48, An uncorrectable double bit error (DBE) has been detected on "
		    "GPU\nNVRM: Xid "
		    "(PCI:0000:17:00): 63, Row Remapper\nXid 64: Row remapper failure\nXid 94: Contained memory "
		    "error\nXid 95: "
		    "Uncontained memory error\nXid 140: Unrecovered ECC error\nCUDA error: uncorrectable ECC error "
		    "encountered",
	.run = ecc,
};

static void gsp(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_log_line *x = last_line(c->host, "gpu.gsp");
	gt_autofree char *reset = NULL, *remedy = NULL;

	if (pr_without_gpu(c, f))
		return;
	if (!x) {
		report_no_problem(c, f, "the GPUs' firmware responds");
		return;
	}
	reset = pr_reset_lines(c->host, NULL, x->text);
	remedy = gt_xasprintf("%s%s", reset, c->host->driver.open_module ? "\nIf it recurs, install a newer driver of the branch." :
					     "\nIf it recurs, install a newer driver of the branch, or run the GPU without this "
					     "firmware (not on Blackwell):\n"
					     "  echo options nvidia NVreg_EnableGpuFirmware=0 > /etc/modprobe.d/nvidia-gsp.conf\n"
					     "  @{initramfs}; reboot");
	report_line(c, f, "the firmware of a GPU hung", x, remedy);
}
const struct pr_check pr_check_gsp = {
	.id = "gpu.gsp",
	.title = "the firmware (GSP) of a GPU hung",
	.after = after_loaded,
	.story = "Since Turing a processor on the GPU (GSP) runs a part of the driver. When it hangs, calls time out "
		 "and processes stay in state D.",
	.messages = "NVRM: Xid (PCI:0000:17:00): 119, Timeout after 6s of waiting for RPC response from GPU0 "
		    "GSP!\nNVRM: Xid "
		    "(PCI:0000:17:00): 120, GSP Error",
	.run = gsp,
};

static void nvlink(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	gt_autofree char *remedy = gt_xasprintf("End all programs that use a GPU. Then reset the GPUs, or reboot:\n"
						"  nvidia-smi --gpu-reset\n%s"
						"If it recurs, check the connectors of the link and the GPU.",
						h->fabric.n_switch ? "  systemctl restart nvidia-fabricmanager\n" : "");
	const struct pr_gpu *g = FIRST_WITH(h, nvlinks_down);
	const struct pr_log_line *x = last_line(h, "gpu.nvlink");

	if (pr_without_gpu(c, f))
		return;
	if (x && (g || !pr_all_respond(h))) {
		pr_set(f, PR_FAIL, "NVLink had an error: %.300s", x->text);
		pr_remedy(f, "%s", remedy);
	} else if (x) {
		report_line(c, f, "NVLink had an error", x, remedy);
	} else if (g && pr_or(g->nvlinks_down, 0) < pr_or(g->nvlinks, 0)) {
		pr_set(f, PR_WARN, "%d of %d NVLinks of GPU %s are down", (int)g->nvlinks_down.v, (int)g->nvlinks.v,
		       g->pci->address);
		pr_remedy(f, "Check the bridge or the connector. The state of each link:\n  nvidia-smi nvlink --status -i %s",
			  g->pci->address);
	} else {
		report_no_problem(c, f, "no NVLink reports an error");
	}
}
const struct pr_check pr_check_nvlink = {
	.id = "gpu.nvlink",
	.title = "an NVLink is down or reports errors",
	.after = after_nvml,
	.story = "An NVLink that is down or has errors halves the bandwidth between two GPUs or ends the job. Xid 74 "
		 "and 144 to 150 report this, and NVML reports the state of each link.",
	.messages = "NVRM: Xid (PCI:0000:17:00): 74, NVLink: fatal error detected on link\nXid 137: NVLink FLA "
		    "privilege error\n"
		    "Xid 145: NVLINK RLW error",
	.run = nvlink,
};

/* ---- Xid and SXid numbers ---------------------------------------------------------------------------------------- */

static bool needs_action(const struct pr_xid_entry *e)
{
	return e && (e->action == PR_ACTION_RESET || e->action == PR_ACTION_REBOOT || e->action == PR_ACTION_POWER);
}

enum weight { OVER, ACTION_DONE, UNRESOLVED };

/*
 * Returns the severity of a line. A fatal error of an NVSwitch lasts until the switch is reset, and the log has no line
 * about that reset.
 */
static enum weight weight(const struct pr_host *h, size_t at)
{
	const struct pr_log_line *x = &h->log[at];
	bool action = needs_action(pr_xid_find(&x->xid));

	if (x->xid.nvswitch)
		return pr_log_is_fatal(x->text) || (action && !strstr(x->text, ", Non-fatal")) ? UNRESOLVED : OVER;
	if (!action)
		return OVER;
	return pr_all_respond(h) ? ACTION_DONE : UNRESOLVED;
}

/*
 * Returns the newest of the most severe lines for the check; h->n_log: none. lines: number of lines with the same error
 * number. others: with other numbers.
 */
static size_t find_most_severe(const struct pr_host *h, const char *check, size_t *lines, size_t *others)
{
	size_t worst = h->n_log;

	*lines = *others = 0;
	for (size_t i = h->n_log; i-- > 0;)
		if (is_of(&h->log[i], check) &&
		    (worst == h->n_log || weight(h, i) > weight(h, worst)))
			worst = i;
	for (size_t i = 0; worst < h->n_log && i < h->n_log; i++)
		if (is_of(&h->log[i], check))
			++*(h->log[i].xid.number == h->log[worst].xid.number ? lines : others);
	return worst;
}

static void judge_numbers(const struct pr_context *c, struct pr_finding *f, const char *check, const char *well)
{
	const struct pr_host *h = c->host;
	size_t lines, others, at = find_most_severe(h, check, &lines, &others);
	const struct pr_log_line *x = &h->log[at];
	const struct pr_xid_entry *e;
	enum pr_xid_action action;
	const char *meaning;
	char more[64] = "";
	bool unresolved;

	if (at == h->n_log && h->kernel_log == PR_PRESENT)
		pr_set(f, PR_PASS, "%s", well);
	else if (at == h->n_log)
		pr_log_not_examined(h, f);
	if (at == h->n_log)
		return;
	e = pr_xid_find(&x->xid);
	unresolved = weight(h, at) == UNRESOLVED;
	action = e ? e->action : PR_ACTION_SUPPORT;
	if (unresolved && !needs_action(e))
		action = PR_ACTION_RESET;
	if (lines + others > 1)
		snprintf(more, sizeof(more), ", %zu line%s, %zu with other numbers", lines, lines == 1 ? "" : "s", others);
	meaning = e ? e->meaning : "NVIDIA documents no meaning of this number.";
	pr_set(f, unresolved ? PR_FAIL : PR_WARN, "%s %d in the kernel log (%.*s)%s: newest line: %.300s", pr_xid_kind(&x->xid),
	       x->xid.number, (int)strcspn(meaning, "."), meaning, more, x->text);
	pr_remedy(f, "%s\n(fault of %s)", pr_xid_action_text(action), e ? pr_xid_fault_text(e->fault) : "an unknown part");
}

static void xid(const struct pr_context *c, struct pr_finding *f)
{
	if (!pr_without_gpu(c, f))
		judge_numbers(c, f, "gpu.xid", "no GPU reports an error");
}
const struct pr_check pr_check_xid = {
	.id = "gpu.xid",
	.title = "a GPU reports an error that needs action",
	.after = after_loaded,
	.story = "The driver logs each error of a GPU as a numbered Xid. gpuprobe contains NVIDIA's catalogue of meanings, "
		 "faults and actions. Errors of programs do not count here. An error that needs a reset is critical until "
		 "NVML responds for every GPU, or the driver withdraws its reset request (Xid 154). "
		 "gpuprobe explain 'Xid N' explains one number.",
	.messages = "NVRM: Xid (PCI:0000:17:00): 62, pid='<unknown>', name=<unknown>\nNVRM: Xid (PCI:0000:17:00): 109, errorString "
		    "CTX SWITCH TIMEOUT\nNVRM: Xid (PCI:0000:17:00): 143, GPU Initialization Error",
	.run = xid,
};

static void nvswitch(const struct pr_context *c, struct pr_finding *f)
{
	if (!pr_without_gpu(c, f))
		judge_numbers(c, f, "gpu.nvswitch", "no NVSwitch reports an error");
}
const struct pr_check pr_check_nvswitch = {
	.id = "gpu.nvswitch",
	.title = "an NVSwitch reports an error",
	.after = after_loaded,
	.story = "The driver logs each error of an NVSwitch as a numbered SXid and whether it is fatal. A fatal error "
		 "stops the GPUs on its link until the switch is reset. The kernel log does not report that reset, so the "
		 "finding stays until the next boot. Corrected errors do not count. gpuprobe explain 'SXid N' explains one "
		 "number.",
	.messages = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Fatal, Link 46 egress non-posted PRIV error (First)\n"
		    "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
	.run = nvswitch,
};

/* ---- the NVLink fabric -------------------------------------------------------------------------------------------- */

/* Returns NVML's state: 3 if all GPUs are connected, 1 or 2 if a GPU is waiting, 0 if unknown (Ampere does not report it). */
static int fabric_state(const struct pr_host *h)
{
	size_t done = 0;

	for (size_t i = 0; i < h->n_gpu; i++) {
		int64_t state = pr_or(h->gpu[i].fabric_state, 0);

		if (state == 1 || state == 2)
			return (int)state;
		done += state == 3;
	}
	return done && done == pr_usable_gpus(h) ? 3 : 0;
}

static const struct pr_package *manager_package(const struct pr_host *h)
{
	for (size_t i = 0; i < h->n_package; i++)
		if (gt_starts_with(h->package[i].name, "nvidia-fabricmanager"))
			return &h->package[i];
	return NULL;
}

static void fabric(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_package *fm = manager_package(h);
	const char *module = h->driver.module_version.v;
	bool container = h->container.state == PR_PRESENT;
	gt_autofree char *install = NULL;
	int state = fabric_state(h);

	if (pr_without_driver(c, f))
		return;
	if (!h->fabric.n_switch && (!state || state == 3)) {
		pr_set(f, PR_SKIP, "no NVSwitch on this host");
	} else if (!container && fm && strncmp(fm->version, module, strlen(module))) {
		pr_set(f, PR_FAIL, "%s is %s, but the driver is %s: the versions must be identical", fm->name,
		       fm->version, module);
		pr_remedy(f, "The restart ends all programs that use the GPUs.\n  @{package-version %s %s}\n"
			     "  systemctl restart nvidia-fabricmanager",
			  fm->name, module);
	} else if (state == 3) {
		pr_set(f, PR_PASS, "NVML reports that all GPUs are connected to the switches");
	} else if (container && state) {
		pr_set(f, PR_FAIL, "the GPUs are connected by NVSwitch and wait for nvidia-fabricmanager");
		pr_remedy(f, "On the machine that runs this container:  systemctl enable --now nvidia-fabricmanager");
	} else if (container || h->fabric.manager.state == PR_UNREADABLE) {
		pr_set(f, PR_NOT_KNOWN, "the state of nvidia-fabricmanager is unknown: its process is not visible here, and "
					"NVML does not report it");
	} else if (state || !pr_has(h->fabric.manager)) {
		pr_set(f, PR_FAIL, "the GPUs are connected by NVSwitch, but nvidia-fabricmanager does not run%s",
		       fm ? "" : ": it is not installed");
		install = fm ? gt_xstrdup("") : gt_xasprintf("  @{fabricmanager %s}\n", module);
		pr_remedy(f, "%s  systemctl enable --now nvidia-fabricmanager", install);
	} else {
		pr_set(f, PR_PASS, "nvidia-fabricmanager runs");
	}
}
const struct pr_check pr_check_fabric = {
	.id = "gpu.fabric",
	.title = "nvidia-fabricmanager is missing or has another version",
	.after = after_loaded,
	.story = "On hosts with NVSwitch, CUDA starts only after nvidia-fabricmanager has set up the switches. Its "
		 "version must be exactly that of the driver. Debian does not package it.",
	.messages = "CUDA error 802: system not yet initialized\ncudaErrorSystemNotReady\nfabric manager NVIDIA GPU "
		    "driver interface "
		    "version 535.183.01 don't match with driver version",
	.run = fabric,
};

static void throttle(const struct pr_context *c, struct pr_finding *f)
{
	static const struct {
		int64_t bit;
		const char *what;
	} reasons[] = {{0x8, "hardware slowdown"}, {0x40, "too hot"}, {0x80, "power brake: the supply cannot deliver"}};
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	for (size_t k = GT_ARRAY_SIZE(reasons); k-- > 0;)
		for (size_t i = 0; i < h->n_gpu; i++)
			if (pr_or(h->gpu[i].clock_reasons, 0) & reasons[k].bit) {
				pr_set(f, PR_WARN, "the hardware limits the clocks of GPU %s: %s",
				       h->gpu[i].pci->address, reasons[k].what);
				pr_remedy(f, "Check fans, inlet temperature and power cables:\n"
					     "  nvidia-smi -i %s -q -d TEMPERATURE,POWER,PERFORMANCE",
					  h->gpu[i].pci->address);
				return;
			}
	report_no_problem(c, f, "no hardware slowdown");
}
const struct pr_check pr_check_throttle = {
	.id = "gpu.throttle",
	.title = "the hardware limits the clocks of a GPU",
	.after = after_nvml,
	.story = "A GPU that is too hot or has too little power reduces its clocks to a half or less. Software power "
		 "caps are normal and do not count.",
	.messages = "HW Slowdown : Active\nHW Thermal Slowdown : Active\nHW Power Brake Slowdown : Active",
	.run = throttle,
};
