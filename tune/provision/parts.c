/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that a host needs for training, one struct each. */
#include <ctype.h>
#include <string.h>
#include "lib/text.h"
#include "tune/provision/provision.h"

static const char *running(const struct tn_prov *p)
{
	return p->host->kernel.release.v ? p->host->kernel.release.v : "";
}

void tn_add_words(struct gt_strv *to, const char *words)
{
	gt_each_word(w, words, " ")
		gt_strv_add(to, w);
}

/* ---- driver ----------------------------------------------------------------------------------------------------------- */

/* Returns the package of NVIDIA's repository: the open module for all GPUs that it supports, else the branch for older GPUs. */
static char *nvidia_package(const struct tn_prov *p)
{
	const struct pr_driver_need *n = &p->driver;

	return n->known && n->kind.arch < 75 ? gt_xasprintf("cuda-drivers-%d", n->kind.last_branch) : gt_xstrdup("nvidia-open");
}

static bool drives(const struct pr_driver_need *n, const struct tn_offer *o)
{
	int branch = pr_branch_of(o->version);

	return !n->known || (branch >= n->kind.first_branch && branch <= n->kind.last_branch);
}

static void by_nvidia(struct tn_prov *p, const struct tn_offer *o, char **reason)
{
	free(*reason);
	*reason = gt_xasprintf("NVIDIA's repository, one of apt's sources, has %s %s", o->name, o->version);
	free(p->driver.version);
	free(p->driver.cuda_driver);
	p->driver.version = gt_xstrndup(o->version, strspn(o->version, "0123456789."));
	p->driver.cuda_driver = gt_xstrdup(p->driver.version);
}

static enum tn_part_status look_driver(struct tn_prov *p, struct gt_strv *packages, char **reason)
{
	const struct pr_driver_need *n = &p->driver;
	gt_autofree char *package = nvidia_package(p);
	const struct tn_offer *best = tn_offer_best(&p->offers, package, TN_NVIDIA);
	const struct tn_offer *nvidia = best && drives(n, best) ? best : NULL;
	gt_auto_strv wanted = {0};

	*reason = gt_xstrdup(n->why);
	if (n->state == PR_DRIVER_NO_GPU)
		return TN_PART_NOT_HERE;
	if (n->state == PR_DRIVER_OK || n->state == PR_DRIVER_FLAVOUR)
		return TN_PART_PRESENT;
	if (p->host->container.state == PR_PRESENT && !p->opts.gpu) {
		free(*reason);
		*reason = gt_xstrdup("a container uses the driver of its host");
		return TN_PART_NOT_HERE;
	}
	if (n->state == PR_DRIVER_NONE)
		return TN_PART_ABSENT;
	if (n->state == PR_DRIVER_UNLOADED && !n->packages)
		return TN_PART_PRESENT;
	if (n->state == PR_DRIVER_NVIDIA && best && !nvidia) {
		free(*reason);
		*reason = gt_xasprintf("%s %s of apt's sources does not support this GPU", best->name, best->version);
		return TN_PART_ABSENT;
	}
	if (nvidia)
		by_nvidia(p, nvidia, reason);
	tn_add_words(&wanted, nvidia || n->state == PR_DRIVER_NVIDIA ? package : n->packages);
	for (size_t i = 0; i < wanted.n; i++)
		if (!tn_dpkg_has(&p->dpkg, wanted.v[i]))
			gt_strv_add(packages, wanted.v[i]);
	if (!packages->n) {
		free(*reason);
		*reason = gt_xstrdup("its packages are installed, but it is not loaded: run gpuprobe for the reason");
		return TN_PART_PRESENT;
	}
	return TN_PART_LACKING;
}

/* Finds installed kernel metapackages and adds their headers packages: linux-image-amd64 needs linux-headers-amd64. */
static void follow_images(const struct tn_prov *p, struct gt_strv *packages)
{
	for (size_t i = 0; i < p->dpkg.n; i++) {
		const char *name = p->dpkg.deb[i].name;
		gt_autofree char *headers = NULL;

		if (!p->dpkg.deb[i].installed || !gt_starts_with(name, "linux-image-") || isdigit((unsigned char)name[12]) ||
		    strstr(name, "-dbg"))
			continue;
		headers = gt_xasprintf("linux-headers-%s", name + 12);
		if (!tn_dpkg_has(&p->dpkg, headers) && !gt_strv_has(packages, headers))
			gt_strv_add(packages, headers);
	}
}

/* DKMS builds the module on this host, once for each kernel with headers. */
static enum tn_part_status select_headers(struct tn_prov *p, struct gt_strv *packages, char **reason)
{
	gt_autofree char *own = gt_xasprintf("linux-headers-%s", running(p));
	bool image = p->opts.gpu != 0, built = pr_or(p->host->driver.headers, 0) == 1;

	if (!p->opts.gpu && (p->driver.state == PR_DRIVER_NO_GPU || p->host->container.state == PR_PRESENT)) {
		*reason = gt_xstrdup("no kernel module has to be built");
		return TN_PART_NOT_HERE;
	}
	follow_images(p, packages);
	if (image) {
		gt_autofree char *any = gt_xasprintf("linux-headers-%s", *p->dpkg.arch ? p->dpkg.arch : "amd64");

		if (!packages->n && !tn_dpkg_has(&p->dpkg, any))
			gt_strv_add(packages, any);
		*reason = gt_xstrdup("for an image: the headers of the kernel that it will boot");
	} else if (!built && !tn_dpkg_has(&p->dpkg, own)) {
		gt_strv_add(packages, own);
	}
	return packages->n ? TN_PART_LACKING : TN_PART_PRESENT;
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

#define ANY(...) (const char *const[]){__VA_ARGS__, NULL}
const struct tn_part tn_parts[] = {
	{
		.id = "driver",
		.summary = "NVIDIA driver",
		.why = "CUDA programs need it to use the GPU; installed without packages for displays",
		.gpu = true,
		.component = "non-free",
		.select = look_driver,
	},
	{
		.id = "headers",
		.summary = "kernel headers",
		.why = "DKMS builds the driver's module with them, now and for each later kernel",
		.gpu = true,
		.select = select_headers,
	},
	{
		.id = "dkms",
		.summary = "DKMS",
		.why = "rebuilds the module when the kernel changes",
		.gpu = true,
		.beside_driver = true,
		.any = ANY("dkms"),
	},
	{
		.id = "persistenced",
		.summary = "persistence daemon",
		.why = "keeps the GPU initialised: without it each first call waits a second or more",
		.gpu = true,
		.beside_driver = true,
		.component = "contrib",
		.any = ANY("nvidia-persistenced"),
	},
	{
		.id = "tcmalloc",
		.summary = "TCMalloc",
		.why = "a malloc that keeps the memory of large tensors; gputune run preloads it",
		.any = ANY("libtcmalloc-minimal4t64", "libtcmalloc-minimal4"),
	},
	{
		.id = "openmp",
		.summary = "OpenMP runtime",
		.why = "threads for PyTorch on CPUs, BLAS and gpubench",
		.any = ANY("libgomp1"),
	},
	{
		.id = "blas",
		.summary = "BLAS on OpenMP",
		.why = "one pool of threads: OpenBLAS with its own threads is up to 2.7 times slower together with libgomp",
		.any = ANY("libopenblas0-openmp"),
	},
	{
		.id = "numactl",
		.summary = "numactl",
		.why = "shows and sets the placement of memory and CPUs",
		.any = ANY("numactl"),
	},
	{
		.id = "hwloc",
		.summary = "hwloc's tools",
		.why = "lstopo shows the CPUs next to each GPU, network card and disk",
		.any = ANY("hwloc-nox", "hwloc"),
	},
	{
		.id = "venv",
		.summary = "Python environments",
		.why = "wheels are installed into a user's environment, not into the system",
		.any = ANY("python3-venv"),
	},
	{
		.id = "compiler",
		.summary = "compiler for torch.compile",
		.why = "torch.compile builds C++ on this host, and Triton a small C module",
		.optional = true,
		.any = ANY("g++"),
	},
	{
		.id = "toolkit",
		.summary = "CUDA toolkit",
		.why = "only needed to compile CUDA programs; wheels contain their libraries",
		.optional = true,
		.gpu = true,
		.select = tn_prov_toolkit,
	},
	{
		.id = "cudnn",
		.summary = "cuDNN",
		.why = "only for programs that are not wheels",
		.optional = true,
		.gpu = true,
		.select = tn_prov_cudnn,
	},
	{
		.id = "nccl",
		.summary = "NCCL",
		.why = "only for programs that are not wheels",
		.optional = true,
		.gpu = true,
		.select = tn_prov_nccl,
	},
	{
		.id = "jemalloc",
		.summary = "jemalloc",
		.why = "another allocator for gputune run --allocator",
		.optional = true,
		.any = ANY("libjemalloc2"),
	},
	{
		.id = "libomp",
		.summary = "LLVM's OpenMP",
		.why = "another runtime for gputune run --openmp-runtime",
		.optional = true,
		.any = ANY("libomp5"),
	},
	{0},
};

const struct tn_part *tn_part_find(const char *id)
{
	for (const struct tn_part *t = tn_parts; t->id; t++)
		if (!strcmp(t->id, id))
			return t;
	return NULL;
}

const char *tn_part_why(const struct tn_part *t, const struct pr_host *h)
{
	if (!strcmp(t->id, "blas") && gt_streq(h->blas.v, "blas"))
		return "libblas.so.3 is the reference BLAS, which uses one core and no vector unit: PyTorch trains an MLP 30 times "
		       "slower with it";
	return t->why;
}

/* ---- status ------------------------------------------------------------------------------------------------------ */

static enum tn_part_status select_any(struct tn_prov *p, const struct tn_part *t, struct gt_strv *packages, char **reason)
{
	for (size_t i = 0; t->any[i]; i++) {
		const struct tn_deb *deb = tn_dpkg_find(&p->dpkg, t->any[i]);

		if (deb && deb->installed) {
			*reason = gt_xasprintf("%s %s", deb->name, deb->version);
			return TN_PART_PRESENT;
		}
	}
	for (size_t i = 0; t->any[i]; i++)
		if (tn_offer_best(&p->offers, t->any[i], TN_NVIDIA)) {
			gt_strv_add(packages, t->any[i]);
			return TN_PART_LACKING;
		}
	if (!p->offers.lists && !gt_fs_is_live(p->fs)) {
		/* a captured host lists packages with these names only */
		if (t->beside_driver) {
			gt_strv_add(packages, t->any[0]);
			return TN_PART_LACKING;
		}
		*reason = gt_xstrdup("the capture does not contain this");
		return TN_PART_UNKNOWN;
	}
	*reason = t->component ? gt_xasprintf("no source of apt has %s; Debian's component %s may", t->any[0], t->component) :
				 gt_xasprintf("no source of apt has %s", t->any[0]);
	return TN_PART_ABSENT;
}

static enum tn_part_status judge(struct tn_prov *p, const struct tn_part *t, struct gt_strv *packages, char **reason)
{
	bool asked = p->opts.with && gt_strv_has(p->opts.with, t->id);

	if (p->opts.skip && gt_strv_has(p->opts.skip, t->id))
		return TN_PART_SKIPPED;
	if (t->gpu && !p->opts.gpu && p->driver.state == PR_DRIVER_NO_GPU && !(t->optional && asked)) {
		*reason = gt_xstrdup(p->driver.why);
		return TN_PART_NOT_HERE;
	}
	if (t->gpu && !t->optional && p->host->container.state == PR_PRESENT && !p->opts.gpu) {
		*reason = gt_xstrdup("a container uses the driver of its host");
		return TN_PART_NOT_HERE;
	}
	if (t->optional && !asked)
		return TN_PART_BY_CHOICE;
	if (t->beside_driver && (p->driver.state == PR_DRIVER_OK || p->driver.state == PR_DRIVER_FLAVOUR) &&
	    !tn_dpkg_has(&p->dpkg, "libcuda1")) {
		*reason = gt_xstrdup("the host's driver is not from Debian's packages");
		return TN_PART_NOT_HERE;
	}
	return t->select ? t->select(p, packages, reason) : select_any(p, t, packages, reason);
}

void tn_prov_parts(struct tn_prov *p)
{
	size_t n = 0;

	while (tn_parts[n].id)
		n++;
	p->status = gt_xcalloc(n, sizeof(*p->status));
	p->reason = gt_xcalloc(n, sizeof(*p->reason));
	p->packages = gt_xcalloc(n, sizeof(*p->packages));
	for (size_t i = 0; i < n; i++) {
		p->status[i] = judge(p, &tn_parts[i], &p->packages[i], &p->reason[i]);
		if (p->status[i] != TN_PART_LACKING)
			gt_strv_clear(&p->packages[i]);
		for (size_t k = 0; k < p->packages[i].n; k++)
			if (!gt_strv_has(&p->requested, p->packages[i].v[k]))
				gt_strv_add(&p->requested, p->packages[i].v[k]);
	}
}

bool tn_prov_wants_driver(const struct tn_prov *p)
{
	/* the driver is the first part */
	return p->status[0] == TN_PART_LACKING || p->status[0] == TN_PART_ABSENT;
}
