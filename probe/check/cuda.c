/* SPDX-License-Identifier: Apache-2.0 */
/* Checks from the driver to the program: libcuda, toolkits, wheels. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/distro.h"
#include "probe/check/list.h"
#include "probe/compat/compat.h"
#include "probe/loader/loader.h"
#include "probe/check/driver_need.h"

static const char *const after_loaded[] = { "driver.loaded", NULL };
static const char *const after_mismatch[] = { "driver.loaded", "driver.device-nodes", "driver.lib-mismatch", NULL };

/* ---- libcuda -------------------------------------------------------------------------------------------------- */

/* Forward compatibility works on data-centre GPUs only. The driver refuses it on others (error 804). */
static bool is_consumer(const struct pr_host *h)
{
	for (size_t i = 0; i < h->n_gpu; i++)
		if (h->gpu[i].name.v && (strstr(h->gpu[i].name.v, "GeForce") || strstr(h->gpu[i].name.v, "TITAN")))
			return true;
	return false;
}

static void drop_compat(struct pr_finding *f, const struct pr_lib *l)
{
	gt_autofree char *dir = gt_dirname(l->path);

	if (gt_streq(l->rule, "LD_LIBRARY_PATH"))
		pr_remedy(f, "Remove %s from LD_LIBRARY_PATH", dir);
	else
		pr_remedy(f, "Remove %s from the loader's cache:\n"
			     "  grep -rl %s /etc/ld.so.conf.d | xargs -r sed -i '\\|^%s/*$|d'\n  ldconfig",
			  dir, dir, dir);
}

/* Returns true for a libcuda of a cuda-compat package (…/compat/, conda's …/cuda-compat/) that is newer than the module. */
static bool is_forward_compat(const struct pr_lib *l, const char *module)
{
	return l->version && strstr(l->path, "compat/") && gt_version_cmp(l->version, module) > 0;
}

static void libcuda(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_lib *l = pr_loaded_lib(h, "libcuda.so.1");
	const char *module = h->driver.module_version.v;

	if (pr_without_driver(c, f))
		return;
	if (!l && h->platform.driver_root) {
		pr_set(f, PR_SKIP,
		       "the driver runs in a container: CUDA programs run in other containers, not on this host itself");
	} else if (!l) {
		char branch[PR_BRANCH_SUFFIX];

		pr_branch_suffix(h, branch);
		pr_set(f, PR_WARN, "the loader finds no libcuda.so.1, so no CUDA program can start");
		if (h->container.state == PR_PRESENT)
			pr_remedy(f, "Start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility");
		else
			pr_remedy(f, "  @{libcuda%s}", branch);
	} else if (!l->version) {
		pr_set(f, PR_NOT_KNOWN, "the file name of %s contains no version", l->path);
	} else if (!strcmp(l->version, module)) {
		pr_set(f, PR_PASS, "libcuda has the version of the module, %s", module);
	} else if (is_forward_compat(l, module)) {
		pr_set(f, PR_PASS, "%s is newer than the module, as expected for a cuda-compat library", l->path);
	} else if (strstr(l->path, "compat/")) {
		pr_set(f, PR_FAIL, "%s has version %s, older than the driver %s: a compat library is only for older drivers",
		       l->path, l->version, module);
		drop_compat(f, l);
	} else {
		pr_set(f, PR_FAIL, "a program loads %s, which is %s, but the loaded module is %s", l->path, l->version, module);
		pr_remedy(f, "Stop what uses the GPU and reload the module, or reboot; if the file is a stray copy:\n"
			     "  @{package-of %s}\n  ldconfig -p | grep libcuda.so.1", l->path);
	}
}
const struct pr_check pr_check_libcuda = {
	.id = "cuda.libcuda",
	.title = "programs load a libcuda that does not match the module",
	.after = after_mismatch,
	.story = "libcuda must have the version of the module. The first copy on the loader's path counts: LD_LIBRARY_PATH, "
		 "then the cache, then the default directories. Only the libcuda of a cuda-compat package may be newer. "
		 "With an older libcuda, CUDA does not start.",
	.messages = "CUDA error 803: system has unsupported display driver / cuda driver combination\nlibcuda.so.1: cannot open "
		    "shared object file",
	.run = libcuda,
};

/* ---- forward compatibility ------------------------------------------------------------------------------------ */

/* Returns the driver branches in the library's note, "535,550"; NULL if there is none. The caller frees it. */
static char *noted_branches(const struct pr_host *h, const struct pr_lib *l)
{
	const struct pr_elf *elf = NULL;
	gt_auto_json *doc = NULL;
	struct gt_buf b = { 0 };
	const json_t *list, *v;
	size_t i;

	if (!h->elf_cache || pr_elf_cache_get(h->elf_cache, l->path, &elf, NULL) < 0 || !elf->fwd_compat ||
	    gt_json_parse(elf->fwd_compat, strlen(elf->fwd_compat), "note", &doc, NULL) < 0)
		return NULL;
	list = json_object_get(doc, "Driver");
	json_array_foreach(list, i, v)
		if (json_is_integer(v))
			gt_buf_printf(&b, "%s%d", b.len ? "," : "", (int)json_integer_value(v));
	return b.len ? gt_buf_take(&b) : NULL;
}

/* Returns whether this libcuda supports the module. PR_NOT_KNOWN: its branch is not in the table, or the table is
 * malformed (then with err). */
static enum pr_result judge_forward_compat(const struct pr_context *c, const struct pr_lib *l, const char *module, char **ret_bases,
					   struct gt_err *err)
{
	gt_autofree char *branch = gt_xstrndup(l->version, strcspn(l->version, ".")),
			 *base = gt_xstrndup(module, strcspn(module, ".")), *bases = noted_branches(c->host, l);
	/* the note in the file has priority over the table */
	int r = bases ? 1 : pr_compat_get(c->fs, &pr_forward_compat, branch, &bases, err);
	bool holds = r > 0 && gt_word_in(bases, ",", base);

	if (is_consumer(c->host))
		return PR_FAIL;
	if (r <= 0)
		return PR_NOT_KNOWN;
	*ret_bases = gt_take(bases);
	return holds ? PR_PASS : PR_FAIL;
}

const char *pr_effective_driver(const struct pr_context *c)
{
	const struct pr_host *h = c->host;
	const struct pr_lib *l = pr_loaded_lib(h, "libcuda.so.1");
	const char *module = h->driver.module_version.v;
	gt_autofree char *bases = NULL;

	if (pr_windows_gpus(h))
		return h->nvml.driver.v;
	if (!module || !l || !is_forward_compat(l, module))
		return module;
	return judge_forward_compat(c, l, module, &bases, NULL) == PR_FAIL ? module : l->version;
}

static void forward_compat(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_lib *l = pr_loaded_lib(h, "libcuda.so.1");
	const char *module = h->driver.module_version.v;
	gt_autofree char *bases = NULL;
	struct gt_err err = { 0 };
	enum pr_result r;

	if (pr_without_driver(c, f))
		return;
	if (!l || !is_forward_compat(l, module)) {
		pr_set(f, PR_SKIP, "there is no cuda-compat libcuda newer than the driver");
		return;
	}
	r = judge_forward_compat(c, l, module, &bases, &err);
	if (r == PR_FAIL && !bases)
		pr_set(f, r, "forward compatibility of %s (%s) with driver %s is not supported by consumer GPUs", l->path,
		       l->version, module);
	else if (r == PR_FAIL)
		pr_set(f, r, "%s has version %s, whose forward compatibility supports driver branches %s, not %s",
		       l->path, l->version, bases, module);
	else if (r == PR_PASS)
		pr_set(f, r, "%s (%s) supports driver %s by forward compatibility", l->path, l->version, module);
	else if (err.code)
		pr_set(f, r, "%s", err.msg);
	else
		pr_set(f, r, "support of %s (%s) for driver %s is unknown: its branch is not in this program's table", l->path,
		       l->version, module);
	if (r == PR_FAIL)
		drop_compat(f, l);
}
const struct pr_check pr_check_forward = {
	.id = "cuda.forward-compat",
	.title = "cuda-compat does not work with this GPU or driver",
	.after = after_mismatch,
	.story = "The cuda-compat packages contain a libcuda newer than the kernel module. This works only on data-centre "
		 "GPUs and with some driver branches. gpuprobe reads these branches from a note in the library, or from its "
		 "own table.",
	.messages = "CUDA error 804: forward compatibility was attempted on non supported HW",
	.run = forward_compat,
};

/* ---- toolkits ------------------------------------------------------------------------------------------------- */

/* Returns the newest CUDA release that the driver supports, from NVML, else from the table; "" if unknown. */
static void max_cuda(const struct pr_context *c, char to[16])
{
	gt_autofree char *cuda = NULL;
	struct pr_num v = c->host->nvml.cuda_version;

	*to = '\0';
	if (pr_or(v, 0) > 0)
		snprintf(to, 16, "%d.%d", (int)(v.v / 1000), (int)(v.v % 1000 / 10));
	else if (pr_compat_max_cuda(c->fs, pr_effective_driver(c), &cuda, NULL) > 0)
		snprintf(to, 16, "%s", cuda);
}

/* If the toolkit supports none of the GPUs because all are too old, returns the GPU with the newest last release. Else NULL. */
static const struct pr_gpu *find_unsupported_gpu(const struct pr_context *c, const char *version, struct pr_span *ret)
{
	const struct pr_gpu *found = NULL;

	for (size_t i = 0; i < c->host->n_gpu; i++) {
		const struct pr_gpu *g = &c->host->gpu[i];
		struct pr_span span;

		if (!pr_on_bus(g))
			continue;
		if (pr_compare_cuda_range(c, g, version, &span) <= 0)
			return NULL;
		if (!found || gt_version_cmp(span.last, ret->last) > 0) {
			found = g;
			*ret = span;
		}
	}
	return found;
}

static bool supports_a_gpu(const struct pr_context *c, const char *cuda)
{
	struct pr_span span;

	for (size_t i = 0; i < c->host->n_gpu; i++)
		if (pr_on_bus(&c->host->gpu[i]) && !pr_compare_cuda_range(c, &c->host->gpu[i], cuda, &span))
			return true;
	return !pr_bus_gpus(c->host);
}

char *pr_own_toolkit(const struct pr_context *c)
{
	const struct pr_host *h = c->host;
	gt_autofree char *own = NULL;
	char max[16] = "";

	if (!pr_is_debian(h) || !h->distro.version_id.v ||
	    pr_compat_get(c->fs, &pr_debian_toolkit, h->distro.version_id.v, &own, NULL) <= 0)
		return NULL;
	if (h->driver.module_version.v) {
		max_cuda(c, max);
		if (!*max)
			return NULL;
	}
	return supports_a_gpu(c, own) && (!*max || gt_version_cmp(own, max) <= 0) ? gt_take(own) : NULL;
}

/* Recommends another toolkit. last NULL: the driver is too old for this one. Otherwise the GPU is too old for it, and
 * `last` is the last CUDA release that supports the GPU. */
static void remedy_toolkit(const struct pr_context *c, struct pr_finding *f, const char *version, const char *last,
			   const char *least)
{
	gt_autofree char *own = pr_own_toolkit(c), *why = NULL, *up = NULL;
	gt_auto_json *step = NULL;
	struct pr_driver_need n;
	char most[16], take[160];

	max_cuda(c, most);
	if (last && (!*most || gt_version_cmp(last, most) < 0))
		snprintf(most, sizeof(most), "%s", last);
	if (own)
		snprintf(take, sizeof(take),
			 "Take Debian %s's own, CUDA %s%s%s, which driver and GPU support:\n  @{debian-toolkit}\n",
			 c->host->distro.version_id.v, own, *most && strcmp(own, most) ? ", or another up to " : "",
			 *most && strcmp(own, most) ? most : "");
	else
		snprintf(take, sizeof(take), "Take a toolkit%s%s that driver and GPU support,\n", *most ? " up to CUDA " : "",
			 most);
	if (!last) {
		why = gt_xasprintf("Only if CUDA %s is needed: driver %s or newer", version, least);
		pr_driver_need(c, NULL, 0, &n);
		step = pr_driver_upgrade_step(c, &n, least, why);
		pr_driver_need_clear(&n);
	}
	up = pr_step_text(step);
	pr_remedy(f, "%sand take /usr/local/cuda-%s/bin out of PATH.%s%s", take, version, *up ? "\n" : "", up);
}

/* Evaluates one toolkit. Returns false if no further toolkit need be evaluated. */
static bool judge_toolkit(const struct pr_context *c, struct pr_finding *f, const char *version)
{
	const char *driver = pr_effective_driver(c);
	gt_autofree char *least = NULL;
	struct gt_err err = { 0 };
	int r = pr_compat_min_driver(c->fs, version, &least, &err);
	struct pr_span span;
	const struct pr_gpu *g = find_unsupported_gpu(c, version, &span);

	if (r < 0)
		pr_set(f, PR_NOT_KNOWN, "%s", err.msg);
	else if (g)
		pr_set(f, PR_WARN, "CUDA %s does not support capability %d.%d of GPU %s; %s is the last release that does", version,
		       pr_arch_of(c, g) / 10, pr_arch_of(c, g) % 10, g->pci->address, span.last);
	else if (!r)
		pr_set(f, PR_NOT_KNOWN, "CUDA %s is not in this program's table; it is unknown whether driver %s supports it",
		       version, driver);
	else if (gt_version_cmp(driver, least) < 0)
		pr_set(f, PR_WARN, "toolkit %s needs driver %s or newer; this host has %s", version, least, driver);
	else
		return true;
	if (f->result == PR_WARN)
		remedy_toolkit(c, f, version, g ? span.last : NULL, least);
	return false;
}

static void toolkit(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *newer = NULL;
	char max[16];

	if (pr_without_driver(c, f))
		return;
	if (!h->driver.toolkits.n) {
		pr_set(f, PR_SKIP, "no CUDA toolkit under /usr/local");
		return;
	}
	max_cuda(c, max);
	for (size_t i = 0; i < h->driver.toolkits.n; i++) {
		const char *version = strrchr(h->driver.toolkits.v[i], '-') + 1;

		if (!judge_toolkit(c, f, version))
			return;
		if (*max && gt_version_cmp(version, max) > 0)
			newer = version;
	}
	if (newer)
		pr_set(f, PR_PASS, "driver %s supports CUDA %s; toolkit %s runs by minor-version compatibility, without its PTX",
		       pr_effective_driver(c), max, newer);
	else
		pr_set(f, PR_PASS, "driver %s supports every installed toolkit", pr_effective_driver(c));
}
const struct pr_check pr_check_toolkit = {
	.id = "cuda.toolkit",
	.title = "a CUDA toolkit does not suit driver or GPU",
	.after = after_loaded,
	.story = "A program built with CUDA 12 runs on every driver from 525 on, one built with CUDA 13 from 580 on. The "
		 "\"CUDA Version\" that nvidia-smi prints is the driver's limit, not the toolkit that is installed. "
		 "Programs of a newer toolkit with the same major number run too, if they contain machine code for the GPU, "
		 "not only PTX. Each release also drops old GPUs: CUDA 13 does not support GPUs before Turing, and CUDA 12 "
		 "does not support Kepler.",
	.messages = "CUDA error 35: CUDA driver version is insufficient for CUDA runtime version\nThe NVIDIA driver on your "
		    "system is too old\nCUDA error 222: the provided PTX was compiled with an unsupported toolchain\n"
		    "nvcc fatal   : Unsupported gpu architecture 'compute_70'",
	.run = toolkit,
};

/* ---- wheels --------------------------------------------------------------------------------------------------- */

static void wheels(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	gt_autofree char *least = NULL;
	struct gt_err err = { 0 };
	struct pr_wheel w;
	int r;

	if (pr_without_driver(c, f))
		return;
	r = pr_compat_wheel(c->fs, &(const struct pr_wheel_query){.machine = h->kernel.arch.v,
			    .driver = h->driver.module_version.v, .python = h->python, .arch = pr_first_arch(c)}, &w, &err);
	if (r < 0) {
		pr_set(f, PR_NOT_KNOWN, "%s", err.msg);
	} else if (!r && h->kernel.arch.v && strcmp(h->kernel.arch.v, "x86_64")) {
		pr_set(f, PR_SKIP, "this program's table has no PyTorch wheel for %s, driver %s and this GPU", h->kernel.arch.v,
		       h->driver.module_version.v);
	} else if (r && w.other_python) {
		pr_set(f, PR_SKIP, "PyTorch has no wheels for Python %s, this host's default; driver %s supports %s with "
				   "CUDA %s for another", h->python, h->driver.module_version.v, w.torch, w.cuda);
	} else if (!r) {
		pr_set(f, PR_WARN, "no PyTorch wheel in this program's table runs on driver %s with this GPU",
		       h->driver.module_version.v);
		pr_remedy_wheel_upgrade(c, f, &w);
	} else if (!strcmp(w.torch, w.newest) && !strcmp(w.cuda, w.newest_cuda)) {
		pr_set(f, PR_PASS, "pip's default PyTorch (%s, CUDA %s) runs on driver %s", w.newest, w.newest_cuda,
		       h->driver.module_version.v);
	} else {
		gt_autofree char *tag = pr_cuda_tag(w.cuda);

		pr_set(f, PR_PASS, "driver %s supports PyTorch %s with CUDA %s, but not pip's default with CUDA %s: pip "
				   "install torch --index-url https://download.pytorch.org/whl/%s",
		       h->driver.module_version.v, w.torch, w.cuda, w.newest_cuda, tag);
	}
}
const struct pr_check pr_check_wheels = {
	.id = "cuda.wheels",
	.title = "no PyTorch wheel runs on this driver",
	.after = after_loaded,
	.story = "A wheel contains its own CUDA, and the driver must support it. pip's current default needs CUDA 13 and "
		 "driver 580, but Debian 12 has 535 and Debian 13 has 550. On these releases, install a wheel for an older "
		 "CUDA; the driver is not broken. GPUs before Turing need CUDA 12.6, Blackwell needs 12.8.",
	.messages = "The NVIDIA driver on your system is too old (found version 12040)\nCUDA error 209: no kernel image "
		    "is available for execution on the device",
	.run = wheels,
};

/* ---- CUDA itself ---------------------------------------------------------------------------------------------- */

static void cuda_init(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	struct pr_num r = h->cuda.init;
	const char *text = h->cuda.text ? h->cuda.text : "no text";

	if (r.state == PR_UNKNOWN)
		pr_set(f, PR_SKIP, "not checked; gpuprobe --cuda initialises CUDA");
	else if (!pr_usable_gpus(h) && r.state != PR_PRESENT)
		pr_set(f, PR_SKIP, "no NVIDIA GPU on this host");
	else if (r.state == PR_ABSENT)
		pr_set(f, PR_FAIL, "libcuda.so.1 cannot be loaded: %s", text);
	else if (r.state != PR_PRESENT)
		pr_set(f, PR_FAIL, "%s", text);
	else if (r.v)
		pr_set(f, PR_FAIL, "CUDA does not initialise: error %d, %s", (int)r.v, text);
	else
		pr_set(f, PR_PASS, "CUDA initialises");
	if (f->result == PR_FAIL)
		pr_remedy(f, "Correct the other problems of this report first. The kernel log may have the reason:\n"
			     "  journalctl -k -b | grep -iE "
			     "'nvrm|xid|nvidia'");
}
static const char *const after_all[] = { "driver.loaded", "driver.device-nodes", "driver.node-numbers", "driver.uvm",
					 "driver.lib-mismatch",
					 "nvml.answers",  "gpu.count",		 "cuda.libcuda", "cuda.forward-compat",
					 "gpu.fabric",	 "cuda.hmm",		 NULL };
const struct pr_check pr_check_cuda_init = {
	.id = "cuda.init",
	.title = "CUDA does not start",
	.after = after_all,
	.story = "With --cuda, gpuprobe calls cuInit in a child process with a time limit. This can take seconds and "
		 "creates device nodes. Other checks find the cause of an error.",
	.messages = "CUDA initialization: Unexpected error from cudaGetDeviceCount()\nRuntimeError: CUDA unknown error",
	.run = cuda_init,
};
