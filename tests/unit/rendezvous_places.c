/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs of each rank of a host. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/fsroot.h"
#include "runtime/transport/transport.h"
#include "tests/unit/check_rendezvous.h"

#define CPUS	   8
#define MOST_RANKS 5

/* Returns the CPUs of each rank in turn, such as "0145 2367 ". */
static void want(const struct rt_place_cpu *list, int ranks, const int *home, const char *cpus, bool shared)
{
	struct rt_place got[MOST_RANKS];
	bool is_shared = !shared;
	char text[64];
	int n = 0;

	rt_place_share(list, CPUS, ranks, home, got, &is_shared);
	for (int r = 0; r < ranks; r++) {
		for (int c = 0; c < CPUS; c++)
			if (CPU_ISSET(c, &got[r].cpus))
				text[n++] = (char)('0' + c);
		ck_assert_int_eq(got[r].n_cpus, CPU_COUNT(&got[r].cpus));
		text[n++] = ' ';
	}
	text[n] = '\0';
	ck_assert_str_eq(text, cpus);
	ck_assert(is_shared == shared);
}

/* Two nodes of four CPUs each. */
START_TEST(ranks_run_near_their_devices)
{
	static const struct {
		int ranks, home[MOST_RANKS];
		const char *cpus;
		bool shared;
	} t[] = {
		{ 2, { 0, 1 }, "0123 4567 ", false },
		{ 2, { 1, 0 }, "4567 0123 ", false },
		{ 2, { 1, 1 }, "45 67 ", false },
		{ 4, { 1, 0, 1, 0 }, "45 01 67 23 ", false },
		{ 3, { 0, 0, 1 }, "01 23 4567 ", false },
		{ 5, { 1, 1, 1, 1, 1 }, "4 4 5 6 7 ", true },
		{ 2, { 0, 2 }, "0123 4567 ", false }, /* a node without allowed CPUs: as if no rank preferred it */
		{ 2, { 1, -1 }, "0123 4567 ", false },
	};
	struct rt_place_cpu list[CPUS];

	for (int i = 0; i < CPUS; i++)
		list[i] = (struct rt_place_cpu){ .id = i, .node = i / 4 };
	rt_place_order(NULL, list, CPUS);
	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++)
		want(list, t[i].ranks, t[i].home, t[i].cpus, t[i].shared);
}
END_TEST

/* The first threads of all cores have the low numbers, the second threads the high ones, as on most servers. */
START_TEST(the_threads_of_a_core_stay_with_one_rank)
{
	static const char *const cpus[MOST_RANKS] = { "01234567 ", "0145 2367 ", "04 15 2367 ", "04 15 26 37 ", "0 14 5 26 37 " };
	char path[] = "/tmp/check_rendezvous.XXXXXX";
	int fd = mkstemp(path);
	gt_auto(gt_fsroot) *fs = NULL;
	struct gt_err err = { 0 };
	struct rt_place_cpu list[CPUS];

	ck_assert_int_ge(fd, 0);
	dprintf(fd, "gpuprobe-capture/1\n");
	for (int i = 0; i < CPUS; i++) {
		list[i] = (struct rt_place_cpu){ .id = i };
		dprintf(fd, "file /sys/devices/system/cpu/cpu%d/topology/thread_siblings_list\n\t%d,%d\n", i, i % 4, i % 4 + 4);
	}
	close(fd);
	ck_assert_msg(!gt_fs_open(path, &fs, &err), "%s", err.msg);
	unlink(path);
	rt_place_order(fs, list, CPUS);
	for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
		want(list, ranks, NULL, cpus[ranks - 1], false);
}
END_TEST

TCase *case_places(void)
{
	TCase *t = tcase_create("places");

	tcase_add_test(t, ranks_run_near_their_devices);
	tcase_add_test(t, the_threads_of_a_core_stay_with_one_rank);
	return t;
}
