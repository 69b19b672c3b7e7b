/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that a launch preloads. */
#include <string.h>
#include <sys/stat.h>
#include "lib/file_trust.h"
#include "tests/unit/tune_launch.h"
#include "tune/launch/library_report.h"

START_TEST(only_an_allocator_counts_as_one)
{
	static const struct {
		const char *preload, *with; /* result of --allocator auto; NULL: unchanged */
		bool tunables;
	} preloads[] = {
		{ "", "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", true },
		{ "libm.so.6", "libm.so.6:/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", true },
		{ "libm.so.6 /opt/lib/libjemalloc.so.2", NULL, false },
		{ "/opt/malloc/libm.so.6", "/opt/malloc/libm.so.6:/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", true },
		{ "/usr/lib/libasan.so.8", NULL, false },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(preloads); i++) {
		gt_autofree char *preload = gt_xasprintf("LD_PRELOAD=%s", preloads[i].preload);
		char *env[] = { preload, "LD_LIBRARY_PATH=", NULL };
		gt_auto(tn_run) *plain = make("cpu-server", python, env, NULL);
		gt_auto(tn_run) *asked = make("cpu-server", python, env, "auto");
		const struct tn_var *v = var(asked, "LD_PRELOAD");

		ck_assert_int_eq(var(plain, "GLIBC_TUNABLES")->status, preloads[i].tunables ? TN_VAR_SET : TN_VAR_SKIPPED);
		ck_assert_int_eq(var(plain, "LD_LIBRARY_PATH")->status, TN_VAR_SET);
		ck_assert_int_eq(v->status, preloads[i].with ? TN_VAR_SET : TN_VAR_KEPT);
		ck_assert_str_eq(v->value, preloads[i].with ? preloads[i].with : preloads[i].preload);
	}
}
END_TEST

/* A library that the loader cannot load is not preloaded: each started program would print an error. */
START_TEST(a_library_that_does_not_load_is_found_out_first)
{
	char file[] = "/tmp/check-load.XXXXXX";
	int fd = mkstemp(file);

	ck_assert(fd >= 0 && write(fd, "\177ELF but no library", 19) == 19);
	close(fd);
	ck_assert(!tn_loader_can_preload(file));
	unlink(file);
	ck_assert(!tn_loader_can_preload(file));
	ck_assert(tn_loader_can_preload("libm.so.6"));
}
END_TEST

/* If the better BLAS is missing, at least OpenMP's threads do not compete with it for the cores. */
START_TEST(the_blas_that_the_loader_would_take_counts)
{
	char *own[] = { "LD_LIBRARY_PATH=$PLATFORM/x:/opt/$LIB/none:/opt/blas", NULL };
	struct tn_run_opts o = { .argv = python, .envp = no_env };
	gt_auto(tn_run) *without = NULL, *alien = NULL, *openmp = NULL;
	struct box b;

	box_open(&b, "cpu-server");
	box_put(&b, "/opt/blas/libblas.so.3", "");
	o.envp = own;
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &alien, NULL), 0);
	ck_assert_int_eq(var(alien, "LD_LIBRARY_PATH")->status, TN_VAR_SKIPPED);
	o.envp = no_env;
	box_remove(&b, "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &without, NULL), 0);
	ck_assert_int_eq(var(without, "LD_LIBRARY_PATH")->status, TN_VAR_SKIPPED);
	ck_assert(without->two_pools);
	ck_assert_ptr_nonnull(strstr(var(without, "LD_LIBRARY_PATH")->reason, "whose threads compete with those of OpenMP"));
	ck_assert_ptr_nonnull(strstr(var(without, "GOMP_SPINCOUNT")->reason, "BLAS"));
	/* the alternative and the loader's directory differ: the loader's choice counts */
	box_put(&b, "/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3", "");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &openmp, NULL), 0);
	ck_assert_str_eq(var(openmp, "LD_LIBRARY_PATH")->value, "/usr/lib/x86_64-linux-gnu/blis-openmp");
	ck_assert(!openmp->two_pools);
	box_close(&b);
}
END_TEST

/* A user without root unpacks the package below ~/.local/share. A BLAS of the host has priority. */
START_TEST(an_unpacked_package_serves_as_blas)
{
#define BELOW "/usr/lib/x86_64-linux-gnu/openblas-openmp"
	static const char *const places[][2] = {{"HOME=/srv/u", "/srv/u/.local/share/gputune/openblas" BELOW},
						{"XDG_DATA_HOME=/data", "/data/gputune/openblas" BELOW}};

	for (size_t i = 0; i < GT_ARRAY_SIZE(places); i++) {
		char *envp[] = {(char *)places[i][0], NULL};
		gt_autofree char *lib = gt_xasprintf("%s/libblas.so.3", places[i][1]);
		struct tn_run_opts o = {.argv = python, .envp = envp};
		gt_auto(tn_run) *host = NULL, *user = NULL;
		struct box b;

		box_open(&b, "cpu-server");
		box_put(&b, lib, "");
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &host, NULL), 0);
		ck_assert_str_eq(var(host, "LD_LIBRARY_PATH")->value, BELOW);
		box_remove(&b, BELOW "/libblas.so.3");
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &user, NULL), 0);
		ck_assert_str_eq(var(user, "LD_LIBRARY_PATH")->value, places[i][1]);
		box_close(&b);
	}
}
END_TEST

START_TEST(a_runtime_is_preloaded_with_an_allocator)
{
	struct tn_run_opts o = { .argv = python, .envp = no_env, .allocator = "jemalloc", .runtime = "libomp" };
	gt_auto(tn_run) *both = NULL, *none = NULL;
	struct box b;

	box_open(&b, "cpu-server");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &none, NULL), 0);
	ck_assert_ptr_null(var(none, "KMP_BLOCKTIME")); /* not installed */
	box_put(&b, "/usr/lib/llvm-14/lib/libomp.so.5", "");
	ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &both, NULL), 0);
	ck_assert_str_eq(var(both, "LD_PRELOAD")->value,
			 "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2:/usr/lib/llvm-14/lib/libomp.so.5");
	ck_assert_str_eq(var(both, "KMP_BLOCKTIME")->value, "1");
	box_close(&b);
}
END_TEST

/*
 * With huge pages "always", jemalloc used half as much memory again for the same blocks; with "madvise" it requests
 * none.
 */
START_TEST(an_allocator_where_huge_pages_are_always_on_does_not_bloat)
{
	static const struct {
		const char *thp, *allocator, *env, *conf, *said; /* conf NULL: not set by gputune */
	} rows[] = {
		{ "[always] madvise never\n", "jemalloc", "X=1", "thp:never", "huge pages are always on here" },
		{ "[always] madvise never\n", "jemalloc", "MALLOC_CONF=narenas:2", NULL, "huge pages are always on here" },
		{ "[always] madvise never\n", "tcmalloc", "X=1", NULL, "huge pages are always on here" },
		{ "always [madvise] never\n", "jemalloc", "X=1", "metadata_thp:auto", NULL },
		{ "always [madvise] never\n", "tcmalloc", "X=1", NULL, NULL },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(rows); i++) {
		char *env[] = { (char *)rows[i].env, NULL };
		struct tn_run_opts o = { .argv = python, .envp = env, .allocator = rows[i].allocator };
		gt_auto(tn_run) *r = NULL;
		const struct tn_var *conf;
		struct box b;

		box_open(&b, "cpu-server");
		box_put(&b, "/sys/kernel/mm/transparent_hugepage/enabled", rows[i].thp);
		ck_assert_int_eq(tn_run_make(b.fs, NULL, &o, &r, NULL), 0);
		conf = var(r, "MALLOC_CONF");
		ck_assert(rows[i].conf ? conf->status == TN_VAR_SET : !conf || conf->status == TN_VAR_KEPT);
		if (rows[i].conf)
			ck_assert_msg(gt_ends_with(conf->value, rows[i].conf), "%s", conf->value);
		ck_assert_msg(!strstr(var(r, "LD_PRELOAD")->reason, "always on") == !rows[i].said, "row %zu: %s", i,
			      var(r, "LD_PRELOAD")->reason);
		box_close(&b);
	}
}
END_TEST

START_TEST(libraries_are_taken_by_choice_and_by_soname)
{
	gt_auto(tn_run) *plain = make("cpu-server", python, no_env, NULL);
	gt_auto(tn_run) *any = make("cpu-server", python, no_env, "auto");
	gt_auto(tn_run) *jemalloc = make("cpu-server", python, no_env, "jemalloc");
	gt_auto(tn_run) *none = make("laptop-no-gpu", python, no_env, "auto");

	ck_assert_int_eq(var(plain, "LD_PRELOAD")->status, TN_VAR_SKIPPED);
	ck_assert_int_eq(var(plain, "GLIBC_TUNABLES")->status, TN_VAR_SET);
	ck_assert_str_eq(var(plain, "LD_LIBRARY_PATH")->value, "/usr/lib/x86_64-linux-gnu/openblas-openmp");
	ck_assert_str_eq(var(any, "LD_PRELOAD")->value, "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
	ck_assert_int_eq(var(any, "GLIBC_TUNABLES")->status, TN_VAR_SKIPPED);
	ck_assert_str_eq(var(jemalloc, "LD_PRELOAD")->value, "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
	ck_assert_ptr_nonnull(var(jemalloc, "MALLOC_CONF"));
	ck_assert_int_eq(var(none, "LD_PRELOAD")->status, TN_VAR_SKIPPED);
	ck_assert_int_eq(var(none, "LD_LIBRARY_PATH")->status, TN_VAR_SKIPPED); /* openblas-openmp is missing */
}
END_TEST

/* Opens the file as the loader will: by its path, after gputune has ended. */
START_TEST(preloaded_files_are_writable_only_by_root)
{
	char dir[] = "/tmp/gputune-way-XXXXXX";
	gt_autofree char *open = NULL, *lib = NULL, *link = NULL;
	gt_auto(gt_fsroot) *live = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	open = gt_xasprintf("%s/open", dir);
	lib = gt_xasprintf("%s/open/lib.so", dir);
	link = gt_xasprintf("%s/lib.so", dir);
	ck_assert_int_eq(mkdir(open, 0755), 0);
	ck_assert_int_eq(mknod(lib, S_IFREG | 0644, 0), 0);
	ck_assert_int_eq(symlink("open/lib.so", link), 0);
	ck_assert_int_eq(gt_fs_open(NULL, &live, NULL), 0);
	if (geteuid() == 0)
		ck_assert_ptr_null(gt_check_dirs_trust(live, lib));
	else
		ck_assert_ptr_nonnull(strstr(gt_check_dirs_trust(live, lib), "does not belong to root"));
	ck_assert_int_eq(chmod(open, 0775), 0);
	ck_assert_ptr_nonnull(gt_check_dirs_trust(live, lib));
	ck_assert_ptr_nonnull(gt_check_dirs_trust(live, link)); /* the directory of its link */
	ck_assert_ptr_null(gt_check_dirs_trust(live, "/bin/true"));
	ck_assert_ptr_nonnull(gt_check_dirs_trust(live, "lib.so"));
	unlink(link);
	unlink(lib);
	rmdir(open);
	rmdir(dir);
}
END_TEST

TCase *tune_run_libs_case(void)
{
	TCase *tc = tcase_create("run libs");

	tcase_add_test(tc, only_an_allocator_counts_as_one);
	tcase_add_test(tc, a_library_that_does_not_load_is_found_out_first);
	tcase_add_test(tc, the_blas_that_the_loader_would_take_counts);
	tcase_add_test(tc, an_unpacked_package_serves_as_blas);
	tcase_add_test(tc, a_runtime_is_preloaded_with_an_allocator);
	tcase_add_test(tc, an_allocator_where_huge_pages_are_always_on_does_not_bloat);
	tcase_add_test(tc, libraries_are_taken_by_choice_and_by_soname);
	tcase_add_test(tc, preloaded_files_are_writable_only_by_root);
	tcase_set_timeout(tc, 120);
	return tc;
}
