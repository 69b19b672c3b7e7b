/* SPDX-License-Identifier: Apache-2.0 */
/* What matters on every training host, with or without a GPU. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

static void blas(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_str b = c->host->blas;

	if (!b.v) {
		pr_say(f, PR_SKIP, "no system-wide BLAS alternative is installed");
	} else if (!strcmp(b.v, "openblas-pthread")) {
		pr_say(f, PR_WARN, "libblas.so.3 is openblas-pthread: beside a program's OpenMP threads its own pool fights for "
				   "the same cores (PyTorch on two cores: 1.7 to 2.7 times slower)");
		pr_remedy(f, "  apt install libopenblas0-openmp\n  update-alternatives --set libblas.so.3-x86_64-linux-gnu "
			     "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3");
	} else {
		pr_say(f, PR_PASS, "libblas.so.3 is %s", b.v);
	}
}
const struct pr_check pr_check_blas = {
	.id = "host.blas",
	.title = "the BLAS shares its threads with OpenMP",
	.story = "Debian's PyTorch and NumPy call libblas.so.3, an alternative. openblas-pthread keeps a spinning pool of its "
		 "own; a program that uses OpenMP as well then has two pools on the same cores. openblas-openmp shares one.",
	.run = blas,
};

static void shm(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_num size = c->host->mem.shm_bytes;
	char text[32];

	if (!pr_has(size)) {
		pr_say(f, size.state == PR_ABSENT ? PR_WARN : PR_NOT_KNOWN, "/dev/shm is %s", pr_state_name(size.state));
		return;
	}
	gt_format_bytes(text, sizeof(text), (uint64_t)size.v);
	if (size.v >= 1 << 30) {
		pr_say(f, PR_PASS, "/dev/shm has %s", text);
		return;
	}
	pr_say(f, PR_WARN, "/dev/shm has only %s: data-loader workers and NCCL share memory through it", text);
	pr_remedy(f, c->host->container.state == PR_PRESENT ? "Start the container with more:  docker run --shm-size=16g …" :
							      "  mount -o remount,size=50%% /dev/shm");
}
const struct pr_check pr_check_shm = {
	.id = "host.shm",
	.title = "/dev/shm has room for workers",
	.story = "Data-loader workers hand their batches over in /dev/shm, and NCCL uses it between processes of one host. "
		 "Docker's default is 64 MiB.",
	.messages = "DataLoader worker is killed by signal: Bus error. It is possible that dataloader's workers are out of "
		    "shared memory.\nError while creating shared memory segment /dev/shm/nccl-",
	.run = shm,
};

static void balancing(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (h->n_node < 2)
		pr_say(f, PR_SKIP, "one NUMA node");
	else if (!pr_has(h->numa_balancing))
		pr_say(f, PR_SKIP, "this kernel has no NUMA balancing");
	else
		pr_say(f, PR_PASS, "automatic NUMA balancing is %s; for jobs that are bound to nodes gputune can measure it off",
		       h->numa_balancing.v ? "on" : "off");
}
const struct pr_check pr_check_balancing = {
	.id = "host.numa-balancing",
	.title = "NUMA balancing is a choice",
	.story = "The kernel moves pages towards the threads that use them, which costs faults. For processes bound to their "
		 "node that is cost without gain; for others it may be 20 % of speed. So it is measured, never assumed.",
	.run = balancing,
};

static void governor(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	for (size_t i = 0; i < h->n_cpufreq; i++)
		if (gt_streq(h->cpufreq[i].governor.v, "powersave") && h->cpufreq[i].available.v &&
		    strstr(h->cpufreq[i].available.v, "performance")) {
			pr_say(f, PR_WARN, "the CPU frequency governor is powersave (%s)", h->cpufreq[i].policy);
			pr_remedy(f, "Measure what performance brings here:  gputune plan --only cpu.governor");
			return;
		}
	pr_say(f, h->n_cpufreq ? PR_PASS : PR_SKIP,
	       h->n_cpufreq ? "no CPU is held at low frequency" : "the CPU frequency is not ours to set (usual in a VM)");
}
const struct pr_check pr_check_governor = {
	.id = "host.governor",
	.title = "CPUs may run at full frequency",
	.story = "With acpi-cpufreq the powersave governor holds the lowest frequency. With intel_pstate and amd_pstate it is "
		 "only a hint, so the effect has to be measured.",
	.run = governor,
};

static void quota(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	unsigned allowed = gt_set_count(&h->cpu.allowed);

	if (pr_has(h->cpu.quota_millicpu) && h->cpu.quota_millicpu.v < 1000 * (int64_t)allowed) {
		pr_say(f, PR_WARN, "the cgroup allows %.1f CPUs of time on %u CPUs: as many threads as CPUs are throttled every "
				   "period", (double)h->cpu.quota_millicpu.v / 1000, allowed);
		pr_remedy(f, "Give the job a cpuset instead of a quota, or start it with gputune run, which counts the quota");
	} else {
		pr_say(f, PR_PASS, "%u of %zu CPUs may be used, without a quota", allowed, h->cpu.n_cpu);
	}
}
const struct pr_check pr_check_quota = {
	.id = "host.cpu-quota",
	.title = "no CPU quota below the CPUs that are seen",
	.story = "A cgroup quota (docker --cpus, Kubernetes limits) does not hide CPUs: a runtime starts a thread on each and the "
		 "kernel stops them all for the rest of every 100 ms period once the quota is used.",
	.run = quota,
};
