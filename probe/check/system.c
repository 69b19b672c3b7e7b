/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for every training host, with or without a GPU. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/host/python.h"
#include "probe/host/openblas.h"

/*
 * Returns the Python whose NumPy or PyTorch is a distribution package and loads the system's BLAS. NULL: none. Wheels
 * contain their own BLAS.
 */
static const struct pr_pyenv *system_python(const struct pr_host *h)
{
	static const char *const users[] = {"numpy", "torch"};

	for (size_t i = 0; i < h->n_pyenv; i++)
		for (size_t u = 0; u < GT_ARRAY_SIZE(users); u++) {
			const struct pr_dist *d = pr_pyenv_dist(&h->pyenv[i], users[u]);

			if (d && !strcmp(d->site, "/usr/lib/python3/dist-packages"))
				return &h->pyenv[i];
		}
	return NULL;
}

/* Reports the reference implementation, which Debian's package libblas3 has in its directory "blas". */
static void reference_blas(const struct pr_host *h, struct pr_finding *f)
{
	const struct pr_pyenv *e = system_python(h);

	pr_set(f, PR_WARN, "libblas.so.3 is the reference BLAS, which uses one core and no vector unit (PyTorch trains an MLP at "
			   "400 samples/s with it and at 12,400 with OpenBLAS)%s%s%s",
	       e ? "; it is loaded by " : "", !e ? "" : e->python ? e->python : e->prefix, e ? ", which has NumPy or PyTorch" : "");
	pr_remedy(f, "This also selects OpenBLAS, unless the alternative was set by hand:\n"
		     "  @{openblas}");
}

static void blas(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_str b = c->host->blas;

	if (!b.v) {
		pr_set(f, PR_SKIP, "no system-wide BLAS alternative is installed");
	} else if (!strcmp(b.v, "blas")) {
		reference_blas(c->host, f);
	} else if (!strcmp(b.v, "openblas-pthread")) {
		pr_set(f, PR_WARN, "the threads of OpenBLAS compete with OpenMP for the same cores: libblas.so.3 is "
				   "openblas-pthread (PyTorch on two cores: 1.7 to 2.7 times slower)");
		pr_remedy(f, "  @{openblas}\n  @{select-openblas}");
	} else {
		pr_set(f, PR_PASS, "libblas.so.3 is %s", b.v);
	}
}
const struct pr_check pr_check_blas = {
	.id = "host.blas",
	.title = "the BLAS is slow, or its threads compete with OpenMP",
	.story = "Debian's PyTorch and NumPy call libblas.so.3, an alternative. openblas-pthread has its own pool of "
		 "spinning threads. A program that also uses OpenMP then has two pools on the same cores. openblas-openmp "
		 "shares one pool. The reference BLAS (libblas3) has no threads and no vector code: the same MLP trains 30 "
		 "times slower.",
	.run = blas,
};

/* Returns the first copy of OpenBLAS that uses kernels for a much older processor. */
static const struct pr_openblas *old_openblas(const struct pr_host *h)
{
	for (size_t i = 0; i < h->n_openblas; i++)
		if (h->openblas[i].core && !h->openblas[i].one_target &&
		    pr_openblas_is_old(h->openblas[i].core, h->cpu.flags, h->cpu.vendor.v))
			return &h->openblas[i];
	return NULL;
}

/* Returns a copy of OpenBLAS that would select other, possibly slower kernels if OPENBLAS_CORETYPE were set. */
static const struct pr_openblas *other_openblas(const struct pr_host *h, const struct pr_openblas *old)
{
	for (size_t i = 0; i < h->n_openblas; i++) {
		const struct pr_openblas *b = &h->openblas[i];

		if (b->core && !b->one_target && strcasecmp(b->core, old->better_core) &&
		    !pr_openblas_is_old(b->core, h->cpu.flags, h->cpu.vendor.v))
			return b;
	}
	return NULL;
}

static void remedy_openblas(const struct pr_host *h, struct pr_finding *f, const struct pr_openblas *old)
{
	const struct pr_openblas *other = old->better_core ? other_openblas(h, old) : NULL;

	if (!old->better_core)
		pr_remedy(f, "OPENBLAS_CORETYPE selects no better kernels in this version. Install 0.3.25 or newer (Debian 13 has "
			     "0.3.29).");
	else if (other)
		pr_remedy(f, "For programs that load this copy:\n  export OPENBLAS_CORETYPE=%s\nDo not set it for all programs: %s "
			     "selects the kernels of a %s without it", old->better_core, other->path, other->core);
	else
		pr_remedy(f, "For one program: start it with gputune run, or\n  export OPENBLAS_CORETYPE=%s\n"
			     "For all, until OpenBLAS is newer (0.3.25 fixed this; Debian 13 has 0.3.29):\n"
			     "  echo OPENBLAS_CORETYPE=%s >>/etc/environment", old->better_core, old->better_core);
}

static void blas_kernels(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_openblas *old = old_openblas(h), *first = h->n_openblas ? &h->openblas[0] : NULL;
	const char *set = pr_getenv(h, "OPENBLAS_CORETYPE");

	if (!gt_streq(h->kernel.arch.v, "x86_64"))
		pr_set(f, PR_SKIP, "the age of OpenBLAS kernels is known for x86-64 only");
	else if (h->openblas_state == PR_UNKNOWN)
		pr_set(f, PR_SKIP, "OpenBLAS was not queried for its kernels");
	else if (h->openblas_state == PR_BROKEN)
		pr_set(f, PR_NOT_KNOWN, "the OpenBLAS fact of this capture is malformed");
	else if (!first)
		pr_set(f, PR_SKIP, "no OpenBLAS is installed that a program would load");
	else if (old && set && !pr_openblas_is_old(set, h->cpu.flags, h->cpu.vendor.v))
		pr_set(f, PR_PASS, "the environment selects the kernels of OpenBLAS: OPENBLAS_CORETYPE=%.40s", set);
	else if (old) {
		pr_set(f, PR_WARN, "OpenBLAS %s does not know this processor: %s uses the kernels of a %s (%s), although %s "
				   "is available", old->version ? old->version : "(unknown version)", old->path, old->core,
		       pr_isa_name(pr_openblas_isa(old->core)),
		       pr_isa_name(pr_openblas_isa(pr_openblas_fit(h->cpu.flags, h->cpu.vendor.v, 0))));
		remedy_openblas(h, f, old);
	} else if (!first->core)
		pr_set(f, PR_SKIP, "%s", first->why ? first->why : "OpenBLAS does not report its kernels");
	else
		pr_set(f, PR_PASS, "%s uses the kernels of a %s", first->path, first->core);
}
const struct pr_check pr_check_blas_kernels = {
	.id = "host.blas-kernels",
	.title = "OpenBLAS does not use the processor's vector units",
	.story = "OpenBLAS contains kernels for many processors and selects them by a table when it is loaded. "
		 "Versions up to 0.3.24 (Debian 12 has 0.3.21) select Prescott or Barcelona kernels for a processor newer "
		 "than the table. These use SSE3 and no AVX: PyTorch trained GPT-2 on an Emerald Rapids 2.2 times slower than "
		 "with OPENBLAS_CORETYPE=SkylakeX. gpuprobe asks the library in a child process, and also copies in NumPy's "
		 "wheels.",
	.run = blas_kernels,
};

static void more_shm(const struct pr_context *c, struct pr_finding *f, const char *first)
{
	if (c->host->container.state == PR_PRESENT)
		pr_remedy(f, "%s%s the container with more: add --shm-size=%ldg to docker run", first ? first : "",
			  first ? "\nand start" : "Start", pr_shm_gib(c->host));
	else
		pr_remedy(f, "%s", first ? first : "Files in /dev/shm that exceed memory and swap end in the out-of-memory "
						   "killer.\n"
						   "  mount -o remount,size=50% /dev/shm\nAt every boot:\n"
						   "  echo 'tmpfs /dev/shm tmpfs defaults,size=50% 0 0' >> /etc/fstab");
}

/* 1 GiB holds the batches of a few workers. A host with less than 4 GiB of memory gets a quarter of it. */
static int64_t shm_enough(const struct pr_host *h)
{
	int64_t memory = pr_memory_bytes(h);

	return memory ? GT_MIN(memory / 4, INT64_C(1) << 30) : INT64_C(1) << 30;
}

static void shm(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_num size = c->host->mem.shm_bytes;
	char text[32];

	if (!pr_has(size)) {
		pr_set(f, size.state == PR_ABSENT ? PR_WARN : PR_NOT_KNOWN, "/dev/shm is %s", pr_state_name(size.state));
		return;
	}
	gt_format_bytes(text, sizeof(text), (uint64_t)size.v);
	if (c->host->stale_shm && pr_or(c->host->mem.shm_free_bytes, INT64_MAX) < 1 << 20) {
		pr_set(f, PR_WARN, "/dev/shm (%s) is full and contains %zu files that NCCL left there", text, c->host->stale_shm);
		more_shm(c, f, "When no job runs:  rm /dev/shm/nccl-*");
		return;
	}
	if (size.v >= shm_enough(c->host)) {
		pr_set(f, PR_PASS, "/dev/shm has %s", text);
		return;
	}
	pr_set(f, PR_WARN, "/dev/shm has only %s: data-loader workers and NCCL share memory through it", text);
	more_shm(c, f, NULL);
}
const struct pr_check pr_check_shm = {
	.id = "host.shm",
	.title = "/dev/shm is too small",
	.story = "Loader workers pass batches through /dev/shm, and NCCL uses it between processes of one host. "
		 "Docker's default size is 64 MiB.",
	.messages = "DataLoader worker is killed by signal: Bus error. It is possible that dataloader's workers are out of "
		    "shared memory.\nError while creating shared memory segment /dev/shm/nccl-",
	.run = shm,
};

/* AMD's guides for MI200 and MI300 switch it off, and RCCL warns about it at its start. */
static void advise_off(struct pr_finding *f)
{
	pr_set(f, PR_ADVICE, "automatic NUMA balancing is on: it unmaps pages that Instinct GPUs use, and RCCL's speed varies");
	pr_remedy(f, "  sysctl -w kernel.numa_balancing=0\nAt every boot:\n"
		     "  echo kernel.numa_balancing=0 > /etc/sysctl.d/90-numa-balancing.conf");
}

static void balancing(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (h->n_node < 2)
		pr_set(f, PR_SKIP, "one NUMA node");
	else if (!pr_has(h->numa_balancing))
		pr_set(f, h->numa_balancing.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN,
		       h->numa_balancing.state == PR_ABSENT ? "this kernel has no NUMA balancing" :
							      "/proc/sys/kernel/numa_balancing cannot be read");
	else if (h->numa_balancing.v && pr_has_instinct(h))
		advise_off(f);
	else
		pr_set(f, PR_PASS, "automatic NUMA balancing is %s; for jobs bound to nodes gputune can measure it off",
		       h->numa_balancing.v ? "on" : "off");
}
const struct pr_check pr_check_balancing = {
	.id = "host.numa-balancing",
	.title = "NUMA balancing is on",
	.story = "The kernel moves pages to the node of the threads that use them, which costs page faults. This cost has "
		 "no benefit for processes bound to their node. Other processes can be 20 % faster with balancing. "
		 "Therefore measure both settings. AMD's guides for Instinct GPUs switch it off.",
	.messages = "NUMA auto balancing enabled which can lead to variability in the RCCL performance!",
	.run = balancing,
};

/*
 * With these drivers powersave is the default and allows full speed. This check does not judge the preference hint,
 * because gputune measures its cost.
 */
static bool only_hints(const struct pr_cpufreq *p)
{
	return gt_streq(p->driver.v, "intel_pstate") || gt_streq(p->driver.v, "amd-pstate-epp") ||
	       gt_streq(p->driver.v, "amd_pstate_epp");
}

static void governor(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	for (size_t i = 0; i < h->n_cpufreq; i++)
		if (gt_streq(h->cpufreq[i].governor.v, "powersave") && !only_hints(&h->cpufreq[i]) && h->cpufreq[i].available.v &&
		    strstr(h->cpufreq[i].available.v, "performance")) {
			pr_set(f, PR_WARN, "the CPU frequency governor is powersave (%s)", h->cpufreq[i].policy);
			pr_remedy(f, "Measure what performance brings here:  gputune plan --only cpu.governor");
			return;
		}
	pr_set(f, h->n_cpufreq ? PR_PASS : PR_SKIP,
	       h->n_cpufreq ? "no CPU is limited to a low frequency" : "the CPU frequency cannot be set here (usual in a VM)");
}
const struct pr_check pr_check_governor = {
	.id = "host.governor",
	.title = "the governor limits the CPU frequency",
	.story = "With acpi-cpufreq the powersave governor keeps the lowest frequency. With intel_pstate and amd_pstate in "
		 "active mode, it is the default and only a hint.",
	.run = governor,
};

static void quota(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	unsigned allowed = gt_set_count(&h->cpu.allowed);

	if (h->cpu.unknown) {
		pr_set(f, PR_NOT_KNOWN, "the number of CPUs cannot be read");
	} else if (pr_has(h->cpu.quota_millicpu) && h->cpu.quota_millicpu.v < 1000 * (int64_t)allowed) {
		pr_set(f, PR_WARN, "the cgroup allows %.1f CPUs of time on %u CPUs: with as many threads as CPUs they are "
				   "throttled every period", (double)h->cpu.quota_millicpu.v / 1000, allowed);
		pr_remedy(f, "Give the job a cpuset instead of a quota, or start it with gputune run, which counts the quota");
	} else {
		pr_set(f, PR_PASS, "%u of %zu CPUs may be used, without a quota", allowed, h->cpu.n_cpu);
	}
}
const struct pr_check pr_check_quota = {
	.id = "host.cpu-quota",
	.title = "a CPU quota is lower than the number of CPUs",
	.story = "A cgroup quota (docker --cpus, Kubernetes limits) does not hide CPUs. A runtime starts a thread on "
		 "each CPU. Once the quota is used, the kernel stops all threads for the rest of the 100 ms period.",
	.run = quota,
};

static void memory(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	char total[32], gpus[32];
	int64_t sum = 0;

	if (!pr_has(h->mem.total_bytes)) {
		pr_set(f, PR_NOT_KNOWN, "the amount of memory cannot be read (%s)", pr_state_name(h->mem.total_bytes.state));
		return;
	}
	for (size_t i = 0; i < h->n_gpu; i++)
		sum += pr_or(h->gpu[i].memory_bytes, 0);
	gt_format_bytes(total, sizeof(total), (uint64_t)h->mem.total_bytes.v);
	gt_format_bytes(gpus, sizeof(gpus), (uint64_t)sum);
	if (sum / 2 > h->mem.total_bytes.v) {
		pr_set(f, PR_WARN, "the host has %s of memory, but its GPUs have %s", total, gpus);
		pr_remedy(f, "Load checkpoints with memory mapping (torch.load with mmap=True) and keep pinned buffers and "
			     "workers few, or add memory");
	} else if (sum) {
		pr_set(f, PR_PASS, "%s of memory for %s on the GPUs", total, gpus);
	} else {
		pr_set(f, PR_PASS, "%s of memory, %s", total, pr_or(h->mem.swap_total_bytes, 0) ? "with swap" : "no swap");
	}
}
const struct pr_check pr_check_memory = {
	.id = "host.memory",
	.title = "the host has less than half as much memory as its GPUs",
	.story = "Checkpoints pass through host memory on their way to the GPUs. Pinned buffers, loader workers and "
		 "the page cache need memory too. A host with much less memory than its GPUs must load and save large models "
		 "in parts.",
	.messages = "DataLoader worker is killed by signal: Killed.\nOut of memory: Killed process",
	.run = memory,
};

static void memlock(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	char text[32];

	if (!h->rdma.n) {
		pr_set(f, PR_SKIP, "no InfiniBand or RoCE device");
	} else if (!pr_has(h->mem.memlock_bytes)) {
		pr_set(f, PR_NOT_KNOWN, "the limit of locked memory cannot be read (%s)",
					pr_state_name(h->mem.memlock_bytes.state));
	} else if (h->mem.memlock_bytes.v == INT64_MAX) {
		pr_set(f, PR_PASS, "any amount of memory may be locked for %s", h->rdma.v[0]);
	} else {
		gt_format_bytes(text, sizeof(text), (uint64_t)h->mem.memlock_bytes.v);
		pr_set(f, PR_WARN, "only %s may be locked, but %s registers its buffers as locked memory", text, h->rdma.v[0]);
		pr_remedy(f, h->container.state == PR_PRESENT ?
				     "Start the container without the limit: add --ulimit memlock=-1 to docker run" :
				     "Members of the group rdma may then lock all memory, at their next login:\n"
				     "  echo '@rdma - memlock unlimited' | sudo tee /etc/security/limits.d/90-rdma.conf\n"
				     "  sudo groupadd -f rdma && sudo usermod -aG rdma \"$USER\"\n"
				     "A service needs LimitMEMLOCK=infinity.");
	}
}
const struct pr_check pr_check_memlock = {
	.id = "host.memlock",
	.title = "the limit of locked memory is too low for RDMA",
	.story = "An InfiniBand or RoCE adapter accesses memory directly, so the memory is locked. It counts against "
		 "RLIMIT_MEMLOCK, 8 MiB by default. NCCL then fails on the first large buffer.",
	.messages = "NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\nNCCL WARN Call to ibv_create_qp failed "
		    "with error Cannot allocate memory errno 12",
	.run = memlock,
};

static void cpu_features(const struct pr_context *c, struct pr_finding *f)
{
	static const struct {
		const char *flag, *name;
	} features[] = { { "avx2", "AVX2" },	     { "avx512f", "AVX-512" },	      { "avx512_vnni", "VNNI" },
		      { "avx_vnni", "AVX-VNNI" },    { "avx512_bf16", "BF16" },	      { "amx_bf16", "AMX" },
		      { "asimd", "NEON" },	     { "sve", "SVE" },		      { "bf16", "BF16" } };
	const struct pr_host *h = c->host;
	char list[128] = "";

	for (size_t i = 0; i < GT_ARRAY_SIZE(features); i++)
		if (pr_cpu_flag(h, features[i].flag)) {
			size_t n = strlen(list);

			snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", features[i].name);
		}
	if (!*h->cpu.flags && h->kernel.arch.v && strcmp(h->kernel.arch.v, "x86_64") && strcmp(h->kernel.arch.v, "aarch64")) {
		pr_set(f, PR_SKIP, "%s does not list its features", h->kernel.arch.v);
	} else if (!*h->cpu.flags) {
		pr_set(f, PR_NOT_KNOWN, "the features of the CPU cannot be read");
	} else if (pr_cpu_flag(h, "sse2") && !pr_cpu_flag(h, "avx2")) {
		pr_set(f, PR_WARN, "the CPU %s AVX2: matrix products run several times slower, and some wheels do not start",
		       h->virt.state == PR_PRESENT ? "of this virtual machine does not show" : "has no");
		pr_remedy(f, h->virt.state == PR_PRESENT ? "Give the VM the host's CPU (libvirt: <cpu mode='host-passthrough'/>)" :
							   "Train on another host; this one can still run small models");
	} else {
		pr_set(f, PR_PASS, "%s%s", *list ? list : "no relevant vector unit",
		       pr_cpu_flag(h, "amx_bf16") || pr_cpu_flag(h, "avx512_bf16") ? ": bfloat16 is fast on the CPU" : "");
	}
}
const struct pr_check pr_check_cpu_features = {
	.id = "host.cpu-features",
	.title = "the CPU lacks vector instructions that frameworks use",
	.story = "Frameworks choose CPU kernels by the features of the processor: AVX2, AVX-512 and AMX on x86, NEON "
		 "and SVE on ARM. A virtual machine with a generic CPU model hides them. With AMX or AVX-512 BF16, bfloat16 "
		 "is faster than float32; without them it is slower.",
	.messages = "Illegal instruction (core dumped)\nThis TensorFlow binary is optimized to use available CPU instructions",
	.run = cpu_features,
};
