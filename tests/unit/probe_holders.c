/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owners of cgroups, from lines of /proc/PID/cgroup that public repositories and issues show, and a host with very many
 * processes and GPUs.
 */
#include <string.h>
#include "lib/buf.h"
#include "probe/holder/holder.h"
#include "tests/unit/check_probe.h"

#define HEX "0bc5eac79e3ae7a0c2651f14722aa10fa333eb2325c2ca97da33aa284cda81b0"
#define POD "0b7632a2_a56e_4278_987a_22de18008dbe"

START_TEST(the_owner_of_a_cgroup_is_found)
{
	static const struct {
		const char *text, *kind, *group;
	} t[] = {
		/* Slurm with cgroup version 2 and 1, with several slurmd on a host, and its own daemon */
		{"0::/system.slice/slurmstepd.scope/job_1392969/step_0/user/task_0\n", "Slurm job", "1392969"},
		{"10:devices:/slurm/uid_2101171/job_280678/step_interactive/task_0\n1:name=systemd:/system.slice/slurmd.service",
		 "Slurm job", "280678"},
		{"0::/system.slice/node7_slurmstepd.scope/job_42/step_extern/user\n", "Slurm job", "42"},
		{"0::/system.slice/slurmstepd.scope/system", "unit", "slurmstepd.scope"},
		{"0::/user.slice/job_77/x.service", "unit", "x.service"},
		{"0::/system.slice/slurmstepd.scope/job_bad/x", "unit", "slurmstepd.scope"},
		/* Kubernetes with the drivers systemd and cgroupfs, and a static pod */
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD ".slice/cri-containerd-" HEX ".scope",
		 "pod", "0b7632a2-a56e-4278-987a-22de18008dbe"},
		{"0::/kubepods.slice/kubepods-pod" POD ".slice/crio-" HEX ".scope", "pod", "0b7632a2-a56e-4278-987a-22de18008dbe"},
		{"11:memory:/kubepods/burstable/pod1c178021-5860-4495-a1ab-f9ac17877672/" HEX, "pod",
		 "1c178021-5860-4495-a1ab-f9ac17877672"},
		{"0::/kubepods.slice/kubepods-burstable-podc34de0f6b19c8f1c2a3b4d5e6f708192.slice/cri-containerd-" HEX ".scope",
		 "pod", "c34de0f6b19c8f1c2a3b4d5e6f708192"},
		{"0::/kubepods.slice/kubepods-burstable-pod12.slice/cri-containerd-" HEX ".scope", "container", "0bc5eac79e3a"},
		/* containers without Kubernetes */
		{"0::/system.slice/docker-" HEX ".scope", "container", "0bc5eac79e3a"},
		{"4:devices:/docker/" HEX, "container", "0bc5eac79e3a"},
		{"0::/machine.slice/libpod-" HEX ".scope/container", "container", "0bc5eac79e3a"},
		{"0::/lxc.payload.train7/init.scope", "container", "train7"},
		/* services and sessions */
		{"0::/user.slice/user-1000.slice/session-3.scope", "unit", "session-3.scope"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-code.scope", "unit", "app-gnome-code.scope"},
		{"0::/system.slice/jupyter-alice.service", "unit", "jupyter-alice.service"},
		{"0::/init.scope", "unit", "init.scope"},
		/* none */
		{"0::/", NULL, NULL},
		{"0::/user.slice", NULL, NULL},
		{"nonsense", NULL, NULL},
		{"", NULL, NULL},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		const char *kind = "";
		gt_autofree char *group = NULL;

		pr_find_group(t[i].text, &kind, &group);
		ck_assert_msg(gt_streq(kind, t[i].kind) && gt_streq(group, t[i].group), "%s: %s %s", t[i].text,
			      kind ? kind : "none", group ? group : "none");
	}
}
END_TEST

#define GPUS	  256
#define PROCESSES 10000

static void add_gpu(struct gt_buf *b, unsigned i)
{
	char pci[16];

	snprintf(pci, sizeof(pci), "%04x:17:00.0", i);
	gt_buf_printf(b, "link /sys/bus/pci/devices/%s ../../../devices/pci%04x:00/%s\n", pci, i, pci);
	gt_buf_printf(b, "file /sys/devices/pci%04x:00/%s/vendor\n\t0x10de\nfile /sys/devices/pci%04x:00/%s/device\n\t0x2330\n", i,
		      pci, i, pci);
	gt_buf_printf(b, "file /sys/devices/pci%04x:00/%s/class\n\t0x030200\n", i, pci);
	gt_buf_printf(b, "file /proc/driver/nvidia/gpus/%s/information\n\tDevice Minor: \t %u\n", pci, i);
}

/* Each process has a cgroup of its own; every 40th has two GPUs open. */
START_TEST(ten_thousand_cgroups_and_hundreds_of_gpus_are_read)
{
	gt_auto_buf b = {0};
	size_t holders = 0;

	gt_buf_puts(&b, "link /proc/self/ns/pid pid:[4026531836]\nfile /proc/1/stat\n\t1 (init) S\n");
	for (unsigned i = 0; i < GPUS; i++)
		add_gpu(&b, i);
	for (unsigned i = 0; i < PROCESSES; i++) {
		gt_buf_printf(&b, "file /proc/%u/status\n\tName:\tpython3\n\tState:\tS (sleeping)\n", 100 + i);
		gt_buf_printf(&b, "file /proc/%u/cgroup\n\t0::/system.slice/slurmstepd.scope/job_%u/step_0\n", 100 + i, i);
		gt_buf_printf(&b, "link /proc/%u/fd/3 /dev/nvidia%u\n", 100 + i, i % 40 ? 9999 : i / 40 % GPUS);
		gt_buf_printf(&b, "link /proc/%u/fd/4 /dev/nvidia%u\n", 100 + i, i % 40 ? 9999 : (i / 40 + 1) % GPUS);
	}
	gt_auto(gt_fsroot) *fs = open_text(b.s);
	gt_auto(pr_host) *h = discover(fs);

	ck_assert_uint_eq(h->holders.n, GPUS);
	for (size_t i = 0; i < h->holders.n; i++) {
		const struct pr_held_gpu *g = &h->holders.gpu[i];

		ck_assert_msg(g->complete && g->source, "GPU %zu", i);
		for (size_t k = 0; k < g->n; k++) {
			ck_assert_str_eq(g->holder[k].kind, "Slurm job");
			ck_assert_str_eq(g->holder[k].name, "python3");
			ck_assert_int_eq(g->holder[k].state, PR_HOLDER_RUNS);
		}
		holders += g->n;
	}
	ck_assert_uint_eq(holders, 2 * PROCESSES / 40);
}
END_TEST

TCase *case_holders(void)
{
	TCase *tc = tcase_create("holders");

	tcase_add_test(tc, the_owner_of_a_cgroup_is_found);
	tcase_add_test(tc, ten_thousand_cgroups_and_hundreds_of_gpus_are_read);
	tcase_set_timeout(tc, 120);
	return tc;
}
