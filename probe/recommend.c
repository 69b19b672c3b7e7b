/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe recommend: the exact lines for this host, Debian's own packages first. */
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/table.h"
#include "probe/check/check.h"
#include "probe/compat/compat.h"
#include "probe/gpuprobe.h"

static void step(json_t *steps, const char *why, char *lines)
{
	json_array_append_new(steps, json_pack("{s:o, s:o}", "why", gt_json_str(why), "lines", gt_json_str(lines)));
	free(lines);
}

/* "12.6" -> "cu126". */
static char *wheel_line(const char *torch, const char *cuda)
{
	gt_autofree char *digits = gt_xstrdup(cuda);
	char *dot = strchr(digits, '.');

	if (dot)
		memmove(dot, dot + 1, strlen(dot));
	return gt_xasprintf("python3 -m venv venv && . venv/bin/activate\npip install 'torch==%s.*' --index-url "
			    "https://download.pytorch.org/whl/cu%s",
			    torch, digits);
}

/* The first GPU that this host may use, by its PCI id. */
static bool first_kind(const struct pr_context *c, struct pr_gpu_kind *ret)
{
	for (size_t i = 0; i < c->host->n_gpu; i++)
		if (!gt_streq(c->host->gpu[i].pci->driver.v, "vfio-pci"))
			return pr_compat_gpu(c->fs, c->host->gpu[i].pci->device, ret, NULL) > 0;
	return false;
}

/* Is it loaded, and does it drive the card? */
static bool suits(const struct pr_context *c, const char *driver)
{
	struct pr_gpu_kind k;

	if (!driver || !first_kind(c, &k))
		return driver;
	return pr_branch_of(driver) >= k.first_branch && pr_branch_of(driver) <= k.last_branch;
}

/* Which driver to install where none is loaded that drives the card: Debian's, if it knows the card. Returns its
 * version, NULL if it is not Debian's. */
static char *recommend_driver(const struct pr_context *c, json_t *steps)
{
	const struct pr_host *h = c->host;
	const char *release = h->kernel.release.v ? h->kernel.release.v : "amd64";
	gt_autofree char *debian = NULL;
	struct pr_gpu_kind k = {.last_branch = 999};
	bool known = first_kind(c, &k);

	if (gt_streq(h->distro.id.v, "debian") && h->distro.version_id.v)
		pr_compat_get(c->fs, &pr_debian_driver, h->distro.version_id.v, &debian, NULL);
	if (debian && known && pr_branch_of(debian) >= k.first_branch && pr_branch_of(debian) <= k.last_branch &&
	    !k.open_only) {
		gt_autofree char *why = gt_xasprintf("Debian %s packages driver %s, which drives this card",
						     h->distro.version_id.v, debian);

		step(steps, why,
		     gt_xasprintf("# contrib non-free non-free-firmware in apt's sources\napt install linux-headers-%s "
				  "nvidia-driver "
				  "firmware-misc-nonfree\nreboot",
				  release));
		return gt_take(debian);
	}
	if (debian && known && pr_branch_of(debian) > k.last_branch) {
		step(steps, "this card is supported up to an older branch than Debian's default driver",
		     gt_xasprintf("# branch %d: nvidia-tesla-%d-driver where Debian has it, else NVIDIA's repository",
				  k.last_branch, k.last_branch));
	} else {
		step(steps,
		     known ? "Debian's driver is older than this card"
			   : "this card is not in this program's table: it may be newer",
		     gt_xasprintf("# NVIDIA's repository: package cuda-keyring of this release\napt install "
				  "nvidia-open\nreboot"));
	}
	return NULL;
}

static int recommend_wheel(const struct pr_context *c, json_t *steps, const char *driver, struct gt_err *err)
{
	struct pr_wheel w;
	gt_autofree char *least = NULL, *why = NULL;
	int arch = c->host->n_gpu ? pr_arch_of(c, &c->host->gpu[0]) : 0,
	    r = pr_compat_wheel(c->fs, driver, arch, &w, err);

	if (r < 0)
		return r;
	if (r) {
		why = gt_xasprintf("PyTorch %s with CUDA %s is the newest that driver %s and this card carry", w.torch,
				   w.cuda, driver);
		step(steps, why, wheel_line(w.torch, w.cuda));
	}
	if (r && !strcmp(w.torch, w.newest) && !strcmp(w.cuda, w.newest_cuda))
		return 0;
	if (pr_compat_min_driver(c->fs, w.newest_cuda, &least, NULL) > 0 && gt_version_cmp(driver, least) < 0) {
		gt_autofree char *lift = gt_xasprintf("only if PyTorch %s with CUDA %s is needed: driver %s or newer",
						      w.newest, w.newest_cuda, least);

		step(steps, lift,
		     gt_xasprintf("# NVIDIA's repository (package cuda-keyring); replaces Debian's driver whole\napt "
				  "install "
				  "nvidia-open\nreboot"));
	}
	return 0;
}

static void print_steps(const json_t *steps)
{
	const json_t *s;
	size_t i;

	json_array_foreach(steps, i, s)
	{
		gt_autofree char *lines = gt_xstrdup(gt_json_get_str(s, "lines", "")), *why = NULL;
		char *save = NULL;

		why = gt_xasprintf("%zu. %s:", i + 1, gt_json_get_str(s, "why", ""));
		gt_print_wrapped(stdout, why, 0, gt_term_width(stdout));
		for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			printf("     %s\n", line);
	}
}

static int run_recommend(struct gt_cli *cli, int argc, char **argv)
{
	struct pr_context c = {.fs = cli->fs};
	gt_auto(pr_host) *h = NULL;
	gt_autofree char *driver = NULL;
	json_t *steps = json_array();
	gt_auto_json *doc = json_pack("{s:s, s:o}", "schema", "gpuprobe-recommend/1", "steps", steps);
	int r = pr_discover_as_asked(cli, &h);

	if (r < 0)
		return r;
	c.host = h;
	if (!pr_usable_gpus(h)) {
		step(steps, "no NVIDIA GPU here: the wheel for CPUs, without a gigabyte of CUDA",
		     gt_xstrdup("python3 -m venv venv && . venv/bin/activate\npip install torch --index-url "
				"https://download.pytorch.org/whl/cpu\n# or Debian's own: apt install python3-torch"));
	} else {
		driver = suits(&c, h->nvidia.module_version.v) ? gt_xstrdup(h->nvidia.module_version.v)
							       : recommend_driver(&c, steps);
		if (driver)
			r = recommend_wheel(&c, steps, driver, &cli->err);
	}
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print_steps(steps);
	return 0;
}

static const struct gt_opt recommend_opts[] = {PR_OPT_NVML_TIMEOUT, {0}};
const struct gt_cmd pr_cmd_recommend = {
	.name = "recommend",
	.args = "",
	.summary = "give the exact lines for a driver and a framework that work on this host",
	.help = "The newest PyTorch wheel that the installed driver and the card carry, as lines to copy; where no "
		"driver is loaded, "
		"Debian's own if it knows the card; and the smallest change of driver that lifts the limit. Changes "
		"nothing.",
	.opts = recommend_opts,
	.run = run_recommend,
};
