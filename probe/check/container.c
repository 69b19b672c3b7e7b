/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs in containers: the container runtime, requirements of the image, and systemd. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/compat/compat.h"
#include "probe/compat/require.h"

static bool inside(const struct pr_host *h)
{
	return h->container.state == PR_PRESENT;
}

const char *pr_give_devices(const struct pr_host *h)
{
	if (gt_streq(h->container.v, "kubernetes") || gt_streq(h->container.v, "kubepods"))
		return "Ask for it in the pod:  resources: { limits: { nvidia.com/gpu: 1 } }";
	if (gt_streq(h->container.v, "apptainer"))
		return "Start it with the GPU: add --nv to apptainer exec or run";
	return "Start it with the GPU: add --gpus all to docker run";
}

static void runtime(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (inside(h)) {
		pr_set(f, PR_SKIP, "gpuprobe runs inside a container");
	} else if (!pr_has(h->container_runtime.docker)) {
		pr_set(f, PR_SKIP, "docker is not installed");
	} else if (!pr_has(h->container_runtime.toolkit)) {
		pr_set(f, PR_WARN,
		       "docker is installed without nvidia-container-toolkit: containers have no access to GPUs");
		pr_remedy(f, "The restart of docker stops running containers.\n  @{container-toolkit}\n"
			     "  nvidia-ctk runtime configure --runtime=docker\n  systemctl restart docker");
	} else if (!pr_or(h->container_runtime.configured, 0)) {
		pr_set(f, PR_WARN,
		       "nvidia-container-toolkit is installed, but docker is not configured for it and there is no CDI file");
		pr_remedy(f, "  nvidia-ctk runtime configure --runtime=docker\n  systemctl restart docker");
	} else {
		pr_set(f, PR_PASS, "docker can give containers access to GPUs");
	}
}
const struct pr_check pr_check_runtime = {
	.id = "container.runtime",
	.title = "docker cannot give GPUs to containers",
	.story = "docker run --gpus needs nvidia-container-toolkit and its entry in the configuration of docker.",
	.messages =
		"docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
	.run = runtime,
};

static void devices(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (!inside(h)) {
		pr_set(f, PR_SKIP, "not a container");
	} else if (h->driver.module_version.state != PR_PRESENT) {
		pr_set(f, PR_SKIP, "no NVIDIA driver is loaded on the machine that runs this container");
	} else if (h->driver.device_node.state == PR_ABSENT) {
		pr_set(f, PR_FAIL, "this container (%s) has no access to the GPU: /dev/nvidiactl is absent",
		       h->container.v);
		pr_remedy(f, "%s", pr_give_devices(h));
	} else {
		pr_set(f, PR_PASS, "this container has the device nodes");
	}
}
static const char *const after_loaded[] = {"driver.loaded", NULL};
const struct pr_check pr_check_container_devices = {
	.id = "container.devices",
	.title = "the container was started without the GPU",
	.after = after_loaded,
	.story = "A container sees the GPU on the PCI bus and the module in /sys. It can use the GPU only if it was "
		"started with the device nodes.",
	.messages = "RuntimeError: Found no NVIDIA driver on your system",
	.run = devices,
};

static void lost_gpu(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	bool docker = pr_has(h->container_runtime.docker) && pr_or(h->container_runtime.configured, 0);

	if (pr_without_driver(c, f))
		return;
	if (inside(h) && h->driver.device_node.state == PR_UNREADABLE && h->nvml.answer == PR_NVML_ERROR) {
		pr_set(f, PR_FAIL,
		       "this container has the device nodes but may no longer open them: systemd revoked the access when it "
		       "reloaded its units");
		pr_remedy(f, "On the machine that runs the container (not needed with CDI):\n"
			     "  nvidia-ctk system create-dev-char-symlinks --create-all\nThen restart the container.");
	} else if (!inside(h) && docker && !pr_has(h->fabric.char_links)) {
		pr_set(f, PR_WARN,
		       "/dev/char has no links to the NVIDIA devices: after the next systemctl daemon-reload running "
		       "containers lose their GPUs");
		pr_remedy(f, "  nvidia-ctk system create-dev-char-symlinks --create-all");
	} else {
		pr_set(f, inside(h) || docker ? PR_PASS : PR_SKIP,
		       inside(h) || docker ? "access to the devices is persistent"
					   : "no container runtime with GPU support");
	}
}
static const char *const after_devices[] = {"driver.loaded", "container.devices", NULL};
const struct pr_check pr_check_container_lost = {
	.id = "container.lost-gpu",
	.title = "the container lost access to its GPU",
	.after = after_devices,
	.story = "With the systemd cgroup driver, a daemon-reload rewrites the device rules of running containers. Devices without "
		 "a link in /dev/char are missing from the new rules. A container that worked for days then loses its GPUs.",
	.messages = "Failed to initialize NVML: Unknown Error",
	.run = lost_gpu,
};

/* Returns the brand of the GPUs: most names contain one, as "Tesla T4"; "NVIDIA H100" has the brand nvidia. */
static const char *brand_of(const struct pr_host *h)
{
	const char *name = h->n_gpu ? h->gpu[0].name.v : NULL;

	if (!name)
		return NULL;
	return strstr(name, "GeForce")  ? "geforce"
	       : strstr(name, "Quadro") ? "quadro"
	       : strstr(name, "TITAN")  ? "titan"
	       : strstr(name, "Tesla")  ? "tesla"
	       : strstr(name, "RTX")    ? "nvidiartx"
					: "nvidia";
}

static void require(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *requirements = pr_getenv(h, "NVIDIA_REQUIRE_CUDA"), *off = pr_getenv(h, "NVIDIA_DISABLE_REQUIRE");
	gt_autofree char *cuda = NULL, *why = NULL, *arch = NULL;
	struct pr_require_facts facts = {0};
	struct gt_err err = {0};
	bool unknown = false;
	int r;

	if (!requirements || !*requirements) {
		pr_set(f, PR_SKIP, "no NVIDIA_REQUIRE_CUDA in the environment");
		return;
	}
	if (off && (!strcmp(off, "1") || !strcmp(off, "true"))) {
		pr_set(f, PR_SKIP, "NVIDIA_DISABLE_REQUIRE is set, so the image's requirements are ignored");
		return;
	}
	if (pr_without_driver(c, f))
		return;
	facts.driver = h->driver.module_version.v;
	if (pr_compat_max_cuda(c->fs, facts.driver, &cuda, NULL) > 0)
		facts.cuda = cuda;
	if (h->n_gpu && pr_arch_of(c, &h->gpu[0])) {
		arch = gt_xasprintf("%d.%d", pr_arch_of(c, &h->gpu[0]) / 10, pr_arch_of(c, &h->gpu[0]) % 10);
		facts.arch = arch;
	}
	facts.brand = brand_of(h);
	r = pr_require(requirements, &facts, &why, &unknown, &err);
	if (r < 0) {
		pr_set(f, PR_NOT_KNOWN, "%s", err.msg);
	} else if (unknown) {
		pr_set(f, PR_NOT_KNOWN, "it is unknown whether driver %s satisfies the image's NVIDIA_REQUIRE_CUDA",
		       facts.driver);
	} else if (r) {
		pr_set(f, PR_PASS, "driver %s satisfies the image's NVIDIA_REQUIRE_CUDA", facts.driver);
	} else {
		pr_set(f, PR_FAIL, "the image requires %s, but driver %s supports CUDA %s", why ? why : requirements,
		       facts.driver, cuda ? cuda : "of an unknown release");
		pr_remedy(f, "Use an image of an older CUDA, or upgrade the host's driver. If the image brings a "
			     "cuda-compat that lifts "
			     "this driver, start it with  NVIDIA_DISABLE_REQUIRE=1");
	}
}
const struct pr_check pr_check_require = {
	.id = "container.require",
	.title = "the image requires a newer driver",
	.after = after_loaded,
	.story = "The variable NVIDIA_REQUIRE_CUDA of a CUDA image lists the required CUDA and driver versions. Blanks "
		 "separate alternatives, and commas separate the conditions of one alternative. If the host meets no alternative, "
		 "the container runtime does not start the image.",
	.messages = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.1, please update your "
		    "driver to a newer "
		    "version, or use an earlier cuda container: unknown",
	.run = require,
};
