/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of gpuprobe watch: each pattern is found, and not in samples that are only similar. Counters become shares, and
 * a decreasing counter gives no value. Hostile recordings do no harm.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "probe/watch/watch.h"

/*
 * A sample of two GPUs and two nodes without a problem; `key=value` pairs change it: "gpu1.compute_percent=3
 * node0.cpu_percent=99".
 */
static json_t *sample(const char *changes)
{
	static const char
		well[] =
			"{'schema': 'gpuprobe-watch/1', 'kind': 'sample', 'seconds': 0, 'gpu_state': 'ok', "
			"'allowed_cpu_percent': 40,"
			"'gpus': [%s, %s], 'nodes': [%s, %s], 'pressure': {'cpu_some_percent': 1, 'io_some_percent': 1,"
			"'memory_full_percent': 0}}",
		card[] =
			"{'index': %d, 'pci': '0000:%d7:00.0', 'compute_percent': 95, 'memory_used_bytes': 60000000000,"
			"'memory_total_bytes': 80000000000, 'pcie_gen': 4, 'pcie_width': 16, 'pcie_max_gen': 4,"
			"'pcie_max_width': 16, 'pcie_rx_bytes_per_s': 5000000000, 'pcie_tx_bytes_per_s': 1000000000,"
			"'sm_mhz': 1900, 'sm_max_mhz': 1980, 'power_limit_w': 700, 'clock_reasons': []}",
		node[] =
			"{'id': %d, 'cpu_percent': 40, 'busiest_cpu': 3, 'busiest_cpu_percent': 70,"
			"'memory_total_bytes': 100000000000, 'memory_free_bytes': 50000000000, 'memory_cache_bytes': 0,"
			"'pages_per_s': 5000, 'remote_pages_percent': 1}";
	gt_autofree char *a = gt_xasprintf(card, 0, 1), *b = gt_xasprintf(card, 1, 2), *c = gt_xasprintf(node, 0),
			 *d = gt_xasprintf(node, 1), *text = gt_xasprintf(well, a, b, c, d),
			 *copy = gt_xstrdup(changes);
	struct gt_err err = {0};
	json_t *s = NULL;
	char *save = NULL;

	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	ck_assert_msg(!gt_json_parse(text, strlen(text), "sample", &s, &err), "%s", err.msg);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(w, '='), *dot = strchr(w, '.'), *key = dot && dot < eq ? dot + 1 : w;
		json_t *at = s, *value;

		*eq = '\0';
		if (key != w)
			*dot = '\0';
		if (key != w && strlen(w) == 4 && !strncmp(w, "gpu", 3))
			at = json_array_get(json_object_get(s, "gpus"), (size_t)(w[3] - '0'));
		else if (key != w && strlen(w) == 5)
			at = json_array_get(json_object_get(s, "nodes"), (size_t)(w[4] - '0'));
		else if (key != w)
			at = json_object_get(s, w);
		for (char *p = eq + 1; *p; p++)
			*p = *p == '_' ? ' ' : *p;
		value = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
		ck_assert(at && value);
		json_object_set_new(at, key, value);
	}
	return s;
}

/* Returns the pattern ids for five samples of this kind, separated by spaces. */
static char *seen(const char *changes, size_t n)
{
	gt_auto(pr_session) *s = pr_session_new();
	struct gt_buf b = {0};
	json_t *last = NULL, *p;
	size_t i;

	for (size_t k = 0; k < n; k++) {
		json_decref(last);
		last = sample(changes);
		pr_session_add(s, last);
	}
	json_array_foreach(json_object_get(last, "patterns"), i, p)
		gt_buf_printf(&b, "%s%s", b.len ? " " : "", gt_json_get_str(p, "id", "?"));
	json_decref(last);
	return gt_buf_take(&b);
}

START_TEST(each_pattern_is_found_only_in_its_samples)
{
	static const struct {
		const char *changes, *ids;
	} t[] = {
		{"", ""},
		{"gpu_state=\"timeout\" gpu_text=\"no\"", "nvml.silent"},
		{"gpu1.error=\"lost\"", "gpu.lost"},
		{"gpu0.compute_percent=9 gpu1.compute_percent=45", "gpu.idle"},
		{"gpu0.compute_percent=11 gpu1.compute_percent=45", ""},
		{"gpu0.compute_percent=0 gpu0.memory_used_bytes=500000000", ""}, /* no process uses it */
		{"gpu1.processes=[] gpu1.complete=true", "gpu.zombie-context"},
		{"gpu1.processes=[] gpu1.complete=false", ""},
		{"gpu1.processes=[{\"pid\":7,\"state\":\"exiting\"}]", "gpu.zombie-context"},
		{"gpu1.processes=[{\"pid\":7,\"state\":\"runs\"}] gpu1.complete=true", ""},
		{"gpu1.memory_used_bytes=39000000000", "gpu.uneven-memory"},
		{"gpu1.memory_used_bytes=41000000000", ""},
		{"gpu1.compute_percent=54", "gpu.uneven-compute"},
		{"gpu1.compute_percent=56", ""},
		{"gpu0.clock_reasons=[\"hardware_thermal\"]", "gpu.throttled"},
		{"gpu0.clock_reasons=[\"idle\",\"application_clocks\"]", ""},
		{"gpu0.clock_reasons=[\"software_power_cap\"] gpu0.sm_mhz=1400", "gpu.power-cap"},
		{"gpu0.clock_reasons=[\"software_power_cap\"] gpu0.sm_mhz=1500", ""},
		{"gpu0.pcie_rx_bytes_per_s=23700000000", "pcie.saturated"}, /* 75 % of 31.5 GB/s */
		{"gpu0.pcie_tx_bytes_per_s=23500000000", ""},
		{"gpu0.pcie_width=4", "pcie.narrow"},
		{"gpu0.pcie_gen=3", "pcie.narrow"},
		{"gpu0.pcie_gen=3 gpu0.compute_percent=20 gpu1.compute_percent=20",
		 ""}, /* an idle GPU reduces its link speed */
		{"gpu0.compute_percent=70 gpu1.compute_percent=70 allowed_cpu_percent=95", "loader.cpu"},
		{"gpu0.compute_percent=70 gpu1.compute_percent=70 pressure.cpu_some_percent=40", "loader.cpu"},
		{"allowed_cpu_percent=95 pressure.cpu_some_percent=40 pressure.io_some_percent=50",
		 ""}, /* the GPUs are busy */
		{"gpu0.compute_percent=50 gpu1.compute_percent=50 node1.busiest_cpu_percent=99", "loader.thread"},
		{"gpu0.compute_percent=50 gpu1.compute_percent=50 node1.busiest_cpu_percent=90", ""},
		{"gpu0.compute_percent=70 gpu1.compute_percent=70 pressure.io_some_percent=25", "loader.disk"},
		{"gpu0.compute_percent=70 gpu1.compute_percent=70 pressure.io_some_percent=15", ""},
		{"node0.memory_free_bytes=4000000000", "node.uneven"},
		{"node0.memory_free_bytes=4000000000 node0.memory_cache_bytes=9000000000", ""},
		{"node0.memory_free_bytes=4000000000 node1.memory_free_bytes=4000000000", ""},
		{"node1.remote_pages_percent=45", "node.remote"},
		{"node1.remote_pages_percent=45 node1.pages_per_s=500", ""},
		{"pressure.memory_full_percent=6", "host.memory"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		gt_autofree char *ids = seen(t[i].changes, 5), *early = seen(t[i].changes, 2);

		ck_assert_msg(!strcmp(ids, t[i].ids), "%s: %s", t[i].changes, ids);
		/* two samples are too few for a mean; the driver's own reports count at once */
		ck_assert_msg(!*early || !strcmp(early, "nvml.silent") || !strcmp(early, "gpu.lost") ||
				      !strcmp(early, "pcie.narrow"),
			      "%s: %s at once", t[i].changes, early);
	}
	for (size_t i = 0; pr_patterns[i]; i++) {
		size_t k = 0;

		while (k < GT_ARRAY_SIZE(t) && strcmp(t[k].ids, pr_patterns[i]->id))
			k++;
		ck_assert_msg(k < GT_ARRAY_SIZE(t), "%s is not tried", pr_patterns[i]->id);
	}
}
END_TEST

START_TEST(one_quiet_second_is_no_pattern)
{
	gt_auto(pr_session) *s = pr_session_new();
	gt_auto_json *summary = NULL;

	for (int i = 0; i < 40; i++) {
		gt_auto_json *one = sample(i % 5 ? "" : "gpu0.compute_percent=0 gpu1.compute_percent=0");

		json_object_set_new(one, "seconds", json_integer(i));
		pr_session_add(s, one);
		ck_assert_uint_eq(json_array_size(json_object_get(one, "patterns")), 0);
	}
	summary = pr_session_summary(s);
	ck_assert_int_eq(gt_json_get_int(summary, "samples", 0), 40);
	ck_assert(gt_json_get_real(summary, "seconds", 0) == 39);
	ck_assert(gt_json_get_real(
			  json_object_get(json_array_get(json_object_get(summary, "gpus"), 0), "compute_percent"),
			  "mean", 0) == 76);
}
END_TEST

START_TEST(an_intermittent_pattern_does_not_fill_the_log)
{
	gt_auto(pr_session) *s = pr_session_new();
	gt_autofree char *text = NULL;
	size_t size, begins = 0, ends = 0;
	struct pr_watch_view v = {.out = open_memstream(&text, &size), .quiet = true};

	for (int i = 0; i < 60; i++) { /* in 40 readings the GPU is lost in every other one, then never */
		gt_auto_json *one = sample(i < 40 && i % 2 ? "gpu1.error=\"lost\"" : "");

		pr_session_add(s, one);
		pr_watch_line(&v, one);
	}
	json_decref(v.announced);
	fclose(v.out);
	for (const char *p = text; (p = strstr(p, "begins gpu.lost")); p++)
		begins++;
	for (const char *p = text; (p = strstr(p, "ends gpu.lost")); p++)
		ends++;
	ck_assert_msg(begins == 1 && ends == 1, "%s", text);
}
END_TEST

static void write_file(const char *dir, const char *path, const char *text)
{
	gt_autofree char *whole = gt_xasprintf("%s%s", dir, path);
	FILE *f;

	for (char *p = whole + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(whole, 0700);
		*p = '/';
	}
	f = fopen(whole, "w");
	ck_assert(f && fputs(text, f) >= 0);
	fclose(f);
}

START_TEST(counters_become_shares_of_the_time_between)
{
	char dir[] = "/tmp/probe-watch.XXXXXX";
	static const struct pr_discover_opts launch = {.launch = true};
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(pr_host) *h = NULL;
	gt_auto(pr_node_watch) *w = NULL;
	gt_auto_json *first = json_object(), *second = json_object(), *third = json_object();
	gt_autofree char *clean = NULL;
	struct gt_err err = {0};
	json_t *node;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	write_file(dir, "/sys/devices/system/cpu/online", "0-1\n");
	write_file(dir, "/sys/devices/system/node/online", "0\n");
	write_file(dir, "/sys/devices/system/node/node0/cpulist", "0-1\n");
	write_file(dir, "/sys/devices/system/node/node0/meminfo",
		   "Node 0 MemTotal:  1000 kB\nNode 0 MemFree: 400 kB\nNode 0 FilePages: 50 kB\n");
	write_file(dir, "/sys/devices/system/node/node0/numastat", "numa_hit 1\nlocal_node 1000\nother_node 0\n");
	write_file(dir, "/proc/self/status", "Cpus_allowed_list:\t1\n");
	write_file(dir, "/proc/stat",
		   "cpu  0 0 0 0\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0 0 0\nintr 5\n");
	write_file(dir, "/proc/pressure/io",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	ck_assert(!gt_fs_open(dir, &fs, &err) && !pr_host_discover(fs, &launch, &h, &err));
	w = pr_node_watch_new(h);
	pr_node_watch_look(w, fs, 10, first);
	node = json_array_get(json_object_get(first, "nodes"), 0);
	ck_assert_ptr_null(json_object_get(node, "cpu_percent")); /* no earlier value: not 0 */
	ck_assert_int_eq(gt_json_get_int(node, "memory_free_bytes", 0), 400 * 1024);

	write_file(dir, "/proc/stat", "cpu0 110 0 0 190 0 0 0 0 0 0\ncpu1 180 0 0 110 10 0 0 0 0 0\n");
	write_file(dir, "/sys/devices/system/node/node0/numastat", "local_node 1600\nother_node 400\n");
	write_file(dir, "/proc/pressure/io", "some avg10=0.00 total=500000\nfull avg10=0.00 total=200000\n");
	pr_node_watch_look(w, fs, 12, second);
	node = json_array_get(json_object_get(second, "nodes"), 0);
	ck_assert(gt_json_get_real(node, "cpu_percent", -1) == 45); /* 90 of 200 ticks */
	ck_assert(gt_json_get_real(node, "iowait_percent", -1) == 5);
	ck_assert_int_eq(gt_json_get_int(node, "busiest_cpu", -1), 1);
	ck_assert(gt_json_get_real(node, "busiest_cpu_percent", -1) == 80);
	ck_assert(gt_json_get_real(second, "allowed_cpu_percent", -1) == 80); /* CPU 1 only */
	ck_assert(gt_json_get_real(node, "remote_pages_percent", -1) == 40);
	ck_assert(gt_json_get_real(node, "pages_per_s", -1) == 500);
	ck_assert(gt_json_get_real(json_object_get(second, "pressure"), "io_some_percent", -1) == 25);
	ck_assert(gt_json_get_real(json_object_get(second, "pressure"), "io_full_percent", -1) == 10);

	write_file(dir, "/proc/stat", "cpu0 1 0 0 1\ncpu1 none\ncpu99999 1 1 1 1 1\n");
	pr_node_watch_look(w, fs, 13, third);
	node = json_array_get(json_object_get(third, "nodes"), 0);
	ck_assert_ptr_null(json_object_get(node, "cpu_percent")); /* one decreased, one is no number of ticks */
	clean = gt_xasprintf("rm -r %s", dir);
	ck_assert_int_eq(system(clean), 0);
}
END_TEST

START_TEST(a_strangers_recording_does_no_harm)
{
	static const char *const odd[] = {
		"{}",
		"{\"gpus\": 7, \"nodes\": {}, \"pressure\": []}",
		"{\"gpus\": [1, null, [], {\"index\": -9, \"clock_reasons\": [3, null]}]}",
		"{\"gpus\": [{\"index\": 0, \"pci\": 5, \"memory_used_bytes\": 1e308, \"memory_total_bytes\": -1}]}",
		"{\"nodes\": [{\"id\": 9223372036854775807, \"memory_total_bytes\": 0, \"memory_free_bytes\": "
		"-1e300}]}",
		"{\"time\": \"x\", \"gpu_state\": 3, \"seconds\": -1e308, \"gpus\": [{\"pcie_gen\": 99999999999, "
		"\"pcie_width\": -4}]}",
	};
	gt_auto(pr_session) *s = pr_session_new();
	gt_auto_json *summary = NULL;
	gt_auto_buf metrics = {0};
	struct pr_watch_view v = {.out = fopen("/dev/null", "w")};

	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < GT_ARRAY_SIZE(odd); i++) {
			gt_auto_json *one = NULL;

			ck_assert(!gt_json_parse(odd[i], strlen(odd[i]), "odd", &one, NULL));
			pr_session_add(s, one);
			pr_watch_line(&v, one);
			pr_watch_draw(&v, one);
			pr_watch_metrics(one, &metrics);
		}
	summary = pr_session_summary(s);
	ck_assert_ptr_nonnull(summary);
	pr_watch_summary(&v, summary);
	json_decref(v.announced);
	fclose(v.out);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("watch");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, each_pattern_is_found_only_in_its_samples);
	tcase_add_test(tc, one_quiet_second_is_no_pattern);
	tcase_add_test(tc, an_intermittent_pattern_does_not_fill_the_log);
	tcase_add_test(tc, counters_become_shares_of_the_time_between);
	tcase_add_test(tc, a_strangers_recording_does_no_harm);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
