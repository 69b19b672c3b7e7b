/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU of a rank: its number in the environment, its node. */
#include <string.h>
#include <unistd.h>
#include "tests/unit/tune_launch.h"

/* The environment of the launcher shows whether a list of one GPU is for this rank only. */
static const struct {
	const char *launcher, *env[4], *cpus;
} own_cases[] = {
	{ "X=1", { "CUDA_VISIBLE_DEVICES=0", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=8" }, "0-3,32-35" },
	{ "X=1", { "CUDA_VISIBLE_DEVICES=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8" }, "4-7,36-39" },
	{ "CUDA_VISIBLE_DEVICES=0,1,2", { "CUDA_VISIBLE_DEVICES=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "8-15,40-47" },
	{ "X=1", { "CUDA_VISIBLE_DEVICES=5", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=8" }, "20-23,52-55" }, /* not round robin */
	{ "CUDA_VISIBLE_DEVICES=1", { "CUDA_VISIBLE_DEVICES=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8" }, "2-3,34-35" },
	{ "X=1", { "CUDA_VISIBLE_DEVICES=0,1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2" }, "8-15,40-47" },
};

START_TEST(a_gpu_is_a_ranks_own_where_its_launcher_did_not_have_it)
{
	gt_autofree char *environment = gt_xasprintf("/proc/%d/environ", (int)getppid()), *cpus = NULL;
	struct gt_strv only = { 0 };
	struct tn_run_opts o = { .argv = python, .envp = (char *const *)own_cases[_i].env, .only = &only };
	gt_auto(pr_host) *h = NULL;
	gt_auto(tn_run) *r = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	box_put(&b, environment, own_cases[_i].launcher);
	ck_assert_int_eq(pr_host_discover(b.fs, &(struct pr_discover_opts){ .no_nvml = true }, &h, NULL), 0);
	h->live = true; /* its processes are examined */
	gt_strv_add(&only, "run.affinity");
	ck_assert_int_eq(tn_run_make(b.fs, h, &o, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	ck_assert_msg(!strcmp(cpus, own_cases[_i].cpus), "%s: %s (%s)", own_cases[_i].launcher, cpus, r->cpus_reason);
	gt_strv_clear(&only);
	box_close(&b);
}
END_TEST

START_TEST(a_gpu_is_found_by_uuid)
{
	static const struct {
		const char *visible, *cpus;
	} uuids[] = { { "GPU-aaaa-2222", "16-31,48-63" }, { "GPU-aaaa-1", "0-15,32-47" }, { "GPU-aaaa", "" }, { "GPU-", "" },
		      { "GPU-bbbb", "" } };
	struct box b;

	box_open(&b, "server-8gpu");
	box_put(&b, "/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: x\nGPU UUID: \t GPU-aaaa-1111\n");
	box_put(&b, "/proc/driver/nvidia/gpus/0000:3f:00.0/information", "Model: x\nGPU UUID: \t GPU-aaaa-2222\n");
	for (size_t i = 0; i < GT_ARRAY_SIZE(uuids); i++) {
		gt_autofree char *visible = gt_xasprintf("CUDA_VISIBLE_DEVICES=%s", uuids[i].visible), *cpus = NULL;
		char *env[] = { visible, NULL };
		gt_auto(tn_run) *r = NULL;

		ck_assert_int_eq(tn_run_make(b.fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
		cpus = gt_set_format(&r->cpus);
		ck_assert_msg(!strcmp(cpus, uuids[i].cpus), "%s: %s", uuids[i].visible, cpus);
	}
	box_close(&b);
}
END_TEST

/*
 * Two GPU models on two nodes, where CUDA's order differs from the bus order. A GPU number is used only if its order is
 * known.
 */
static const struct {
	const char *gpus, *env[3];
	const char *cpus, *order; /* cpus "": not bound; order NULL: not set by gputune, "kept": set by the user */
	const char *why;
} order_cases[] = {
	{ "6", { NULL }, "16-31,48-63", "PCI_BUS_ID", NULL },
	{ "6", { "CUDA_VISIBLE_DEVICES=0" }, "16-31,48-63", "PCI_BUS_ID", NULL }, /* the option uses nvidia-smi's numbers */
	{ "6", { "CUDA_DEVICE_ORDER=PCI_BUS_ID" }, "16-31,48-63", "kept", NULL },
	{ "6", { "CUDA_DEVICE_ORDER=FASTEST_FIRST" }, "16-31,48-63", "PCI_BUS_ID", NULL }, /* order as documented for the option */
	{ NULL, { "CUDA_VISIBLE_DEVICES=6", "CUDA_DEVICE_ORDER=FASTEST_FIRST" }, "", "kept", "CUDA_DEVICE_ORDER is FASTEST_FIRST" },
	{ "GPU-aaaa", { "CUDA_DEVICE_ORDER=FASTEST_FIRST" }, "16-31,48-63", "kept", NULL }, /* a UUID is unambiguous */
	{ NULL, { "CUDA_VISIBLE_DEVICES=6" }, "", NULL, "in CUDA's own order" },
	{ NULL, { "CUDA_VISIBLE_DEVICES=6", "CUDA_DEVICE_ORDER=PCI_BUS_ID" }, "16-31,48-63", "kept", NULL },
	{ NULL, { "CUDA_VISIBLE_DEVICES=6", "CUDA_DEVICE_ORDER=" }, "", NULL, "in CUDA's own order" },
	{ NULL, { "CUDA_VISIBLE_DEVICES=GPU-aaaa" }, "16-31,48-63", "PCI_BUS_ID", NULL },
	{ NULL, { "LOCAL_RANK=6", "LOCAL_WORLD_SIZE=7" }, "26-31,58-63", "PCI_BUS_ID", NULL }, /* numbered as after the change */
};

START_TEST(gpu_numbers_need_a_known_order)
{
	struct tn_run_opts o = { .argv = python, .envp = (char *const *)order_cases[_i].env, .gpus = order_cases[_i].gpus };
	const char *order = order_cases[_i].order;
	gt_auto(tn_run) *r = NULL;
	gt_autofree char *cpus = NULL;
	const struct tn_var *v;
	struct box b;

	box_open(&b, "server-8gpu");
	box_put(&b, "/sys/devices/pci0000:47/0000:46:01.0/0000:47:00.0/device", "0x20b5\n");
	box_put(&b, "/proc/driver/nvidia/gpus/0000:47:00.0/information", "Model: x\nGPU UUID: \t GPU-aaaa-2222\n");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	ck_assert_msg(!strcmp(cpus, order_cases[_i].cpus), "%s (%s)", cpus, r->cpus_reason);
	if (order_cases[_i].why)
		ck_assert_msg(strstr(r->cpus_reason, order_cases[_i].why) != NULL, "%s", r->cpus_reason);
	v = var(r, "CUDA_DEVICE_ORDER");
	ck_assert_int_eq(v->status, !order ? TN_VAR_SKIPPED : !strcmp(order, "kept") ? TN_VAR_KEPT : TN_VAR_SET);
	if (order && strcmp(order, "kept"))
		ck_assert_str_eq(v->value, order);
	box_close(&b);
}
END_TEST

#define MINOR(ADDRESS, N) "file /proc/driver/nvidia/gpus/0000:" ADDRESS "/information\n\tDevice Minor: \t " N "\n"
#define ALL_MINORS                                                                                                                \
	MINOR("17:00.0", "0") MINOR("1f:00.0", "1") MINOR("27:00.0", "2") MINOR("2f:00.0", "3") MINOR("37:00.0", "4")            \
	MINOR("3f:00.0", "5") MINOR("47:00.0", "6") MINOR("4f:00.0", "7")
#define DENY(N) "deny /dev/nvidia" N " EPERM\n"

static const struct {
	const char *name, *more, *env, *cpus; /* cpus "": not bound */
} kept_cases[] = {
	{ "all are given", "file /dev/nvidia0\nfile /dev/nvidia1\nfile /dev/nvidia2\nfile /dev/nvidia3\nfile /dev/nvidia4\n"
			   "file /dev/nvidia5\nfile /dev/nvidia6\nfile /dev/nvidia7\n" ALL_MINORS,
	  "CUDA_VISIBLE_DEVICES=6", "16-31,48-63" },
	{ "no node yet: the first program makes them", "", "CUDA_VISIBLE_DEVICES=6", "16-31,48-63" },
	{ "docker --gpus device=6", "file /dev/nvidia6\n" MINOR("47:00.0", "6"), "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "the same, one GPU and nobody says which", "file /dev/nvidia6\n" MINOR("47:00.0", "6"), "X=1", "16-31,48-63" },
	{ "the same, a number it does not have", "file /dev/nvidia6\n" MINOR("47:00.0", "6"), "CUDA_VISIBLE_DEVICES=6", "" },
	{ "a container in which /proc is the host's", "file /dev/nvidia6\n" ALL_MINORS, "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "Slurm's ConstrainDevices",
	  DENY("0") DENY("1") DENY("2") DENY("3") DENY("4") DENY("5") "file /dev/nvidia6\n" DENY("7") ALL_MINORS,
	  "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "minor numbers in another order than the bus", "file /dev/nvidia0\n" MINOR("17:00.0", "7") MINOR("4f:00.0", "0"),
	  "CUDA_VISIBLE_DEVICES=0", "16-31,48-63" },
	{ "which one is not said", "file /dev/nvidia6\n", "CUDA_VISIBLE_DEVICES=0", "" },
	{ "which one is said of nobody", "file /dev/nvidia6\n" MINOR("17:00.0", "?") MINOR("47:00.0", "?"),
	  "CUDA_VISIBLE_DEVICES=0", "" },
	{ "none may be opened: as the bus has it", DENY("0") DENY("1") ALL_MINORS, "CUDA_VISIBLE_DEVICES=6", "16-31,48-63" },
};

START_TEST(inaccessible_gpus_have_no_number)
{
	struct gt_fsroot *fs = open_with("server-8gpu", kept_cases[_i].more);
	char *env[] = { (char *)kept_cases[_i].env, NULL };
	gt_auto(tn_run) *r = NULL;
	gt_autofree char *cpus = NULL;

	ck_assert_int_eq(tn_run_make(fs, NULL, &(struct tn_run_opts){ .argv = python, .envp = env }, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	ck_assert_msg(!strcmp(cpus, kept_cases[_i].cpus), "%s: %s (%s)", kept_cases[_i].name, cpus, r->cpus_reason);
	gt_fs_close(fs);
}
END_TEST

START_TEST(the_gpu_option_overrides_the_environment)
{
	char *env[] = { "CUDA_VISIBLE_DEVICES=0", NULL };
	struct tn_run_opts o = { .argv = python, .envp = env, .gpus = "7" };
	gt_auto(tn_run) *r = NULL;
	gt_autofree char *cpus = NULL;
	struct box b;

	box_open(&b, "server-8gpu");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
	cpus = gt_set_format(&r->cpus);
	ck_assert_str_eq(cpus, "16-31,48-63");
	ck_assert_int_eq(var(r, "CUDA_VISIBLE_DEVICES")->status, TN_VAR_SET);
	ck_assert_str_eq(var(r, "CUDA_VISIBLE_DEVICES")->value, "7");
	box_close(&b);
}
END_TEST

START_TEST(the_caller_may_give_rank_and_gpu)
{
	struct tn_run_opts o = { .argv = python, .envp = no_env, .gpus = "7,2", .ranks = 2 };
	static const char *const cpus[] = { "16-31,48-63", "0-15,32-47" };
	struct box b;

	box_open(&b, "server-8gpu");
	for (o.rank = 0; o.rank < 2; o.rank++) {
		gt_auto(tn_run) *r = NULL;
		gt_autofree char *have = NULL;

		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
		have = gt_set_format(&r->cpus);
		ck_assert_str_eq(have, cpus[o.rank]);
		ck_assert_str_eq(var(r, "CUDA_VISIBLE_DEVICES")->value, "7,2");
	}
	box_close(&b);
}
END_TEST

TCase *tune_rank_gpu_case(void)
{
	TCase *tc = tcase_create("rank gpu");

	tcase_add_loop_test(tc, a_gpu_is_a_ranks_own_where_its_launcher_did_not_have_it, 0, GT_ARRAY_SIZE(own_cases));
	tcase_add_test(tc, a_gpu_is_found_by_uuid);
	tcase_add_loop_test(tc, gpu_numbers_need_a_known_order, 0, GT_ARRAY_SIZE(order_cases));
	tcase_add_loop_test(tc, inaccessible_gpus_have_no_number, 0, GT_ARRAY_SIZE(kept_cases));
	tcase_add_test(tc, the_gpu_option_overrides_the_environment);
	tcase_add_test(tc, the_caller_may_give_rank_and_gpu);
	tcase_set_timeout(tc, 120);
	return tc;
}
