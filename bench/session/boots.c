/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <linux/magic.h>
#include "bench/bench.h"
#include "bench/session/boots.h"
#include "bench/session/launch_env.h"
#include "lib/cli.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "lib/text.h"
#include "lib/file_trust.h"
#include "tune/model/value.h"

extern char **environ;

#define TOKEN	 "gpubench.boot="
#define SEPARATOR	 "gpubench.arm" /* separates the host's command line from the arguments of the arm */
#define TRIES	 3		/* boots without progress before the session is ended */
#define LINE_LEN 2047		/* maximum length of a kernel command line: COMMAND_LINE_SIZE of x86 without the final NUL */
#define BOOT_ID	 "/proc/sys/kernel/random/boot_id"
#define UNIT	 "gpubench-boots.service"
#define WANTED	 "/etc/systemd/system/multi-user.target.wants/" UNIT
#define PANIC	 "panic=60"

static int systemctl(char *const *argv, double timeout_s, struct gt_err *err)
{
	gt_auto_spawn sp = { .argv = argv, .timeout_s = timeout_s };
	int r = gt_spawn(&sp, err);

	if (r < 0)
		return r;
	return !sp.status ? 0 : gt_fail(err, EIO, "systemctl %s: %.200s", argv[1],
					sp.errout && sp.errout[0] ? gt_strip(sp.errout) : "it failed");
}

/* ---- the command line ---- */

char *bn_boots_base(const char *cmdline, bool *ret_arm)
{
	const char *separator = strstr(cmdline, " " SEPARATOR " ");
	gt_autofree char *base = separator ? gt_xstrndup(cmdline, (size_t)(separator - cmdline)) : gt_xstrdup(cmdline);

	if (ret_arm)
		*ret_arm = separator != NULL;
	return gt_xstrdup(gt_strip(base));
}

static char *arm_line(const char *base, const char *token, const char *args)
{
	bool panics = gt_starts_with(base, "panic=") || strstr(base, " panic=");

	return gt_xasprintf("%s " SEPARATOR " " TOKEN "%s%s%s%s", base, token, panics ? "" : " " PANIC, args[0] ? " " : "", args);
}

/* ---- record of the boot, written before the boot ---- */

static int record_write(struct gt_fsroot *fs, const json_t *rec, struct gt_err *err)
{
	gt_autofree char *text = gt_json_text(rec);
	int r = gt_fs_mkdirs(fs, TN_STATE_DIR, 0700);

	r = r < 0 ? r : gt_fs_write_atomic(fs, BN_BOOTS_STATE, text, strlen(text), 0600);
	return r < 0 ? gt_fail(err, -r, "cannot write %s: %s", BN_BOOTS_STATE, strerror(-r)) : 0;
}

static json_t *record_read(struct gt_fsroot *fs)
{
	gt_autofree char *text = NULL;
	json_t *rec = NULL;
	size_t len;

	if (gt_fs_read(fs, BN_BOOTS_STATE, &text, &len) < 0 || gt_json_parse(text, len, BN_BOOTS_STATE, &rec, NULL) < 0)
		return NULL;
	return rec;
}

char *bn_boots_active(struct gt_fsroot *fs)
{
	gt_auto_json *rec = record_read(fs);

	return rec ? gt_xstrdup(gt_json_get_str(rec, "file", "an unknown file")) : NULL;
}

int bn_boots_check_idle(struct gt_fsroot *fs, struct gt_err *err)
{
	gt_autofree char *file = bn_boots_active(fs);

	return !file ? 0 : gt_fail_exit(err, BN_EXIT_INVALID, EBUSY,
					"a session with --reboot is in progress on this host: gpubench run --resume %s, or "
					"gpubench run --abandon --resume %s", file, file);
}

char *bn_boots_path(struct gt_fsroot *fs, const char *file)
{
	const char *slash = strrchr(file, '/');
	gt_autofree char *cwd = getcwd(NULL, 0), *real = NULL;
	gt_autofree char *dir = !slash ? gt_xstrdup(cwd ? cwd : "/") :
				file[0] == '/' ? gt_xstrndup(file, (size_t)(slash - file) + 1) :
				gt_xasprintf("%s/%.*s", cwd ? cwd : "", (int)(slash - file), file);
	const char *name = slash ? slash + 1 : file;

	if (gt_fs_realpath(fs, dir, &real) < 0)
		real = gt_take(dir);
	return gt_xasprintf("%s/%s", gt_streq(real, "/") ? "" : real, name);
}

/* ---- preconditions ---- */

static char *kernel_file(const char *stem)
{
	struct utsname u;

	uname(&u);
	return gt_xasprintf("/boot/%s-%s", stem, u.release);
}

/* Returns whether a variable is copied to the unit, because it determines how a launch runs. */
static bool is_passed_on(const char *pair)
{
	static const char *const names[] = { "PATH=", "HOME=", "LANG=", "LC_ALL=", "VIRTUAL_ENV=", "CONDA_PREFIX=", "PYTHONPATH=",
					    "GPUBENCH_" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (gt_starts_with(pair, names[i]))
			return true;
	return bn_changes_launch(pair);
}

/* Checks each path in a variable. Relative paths are resolved in the working directory, as in the unit. Text that is
 * not a path is checked as a file that does not exist. */
static int check_variable(const struct bn_boots *b, const char *cwd, const char *pair, struct gt_err *err)
{
	const char *value = strchr(pair, '=');

	gt_each_word(e, value ? value + 1 : "", ": ") {
		gt_autofree char *path = *e == '/' ? gt_xstrdup(e) : gt_xasprintf("%s/%s", cwd, e);
		const char *why = gt_check_path_trust(b->fs, path);

		if (why)
			return gt_fail_exit(err, BN_EXIT_INVALID, EPERM,
					    "%.*s: %s %s, and root would use it after each boot: unset the variable "
					    "or choose directories that only root can "
					    "write", (int)(value - pair), pair, path, why);
	}
	return 0;
}

/* Checks the working directory and the environment of the unit, which determine the programs and libraries that are
 * found. */
static int check_surroundings(const struct bn_boots *b, struct gt_err *err)
{
	gt_autofree char *cwd = getcwd(NULL, 0);
	const char *why = cwd ? gt_check_path_trust(b->fs, cwd) : "cannot be found";

	if (why)
		return gt_fail_exit(err, BN_EXIT_INVALID, EPERM,
				    "the working directory %s %s, and root would work in it after each boot: use one "
				    "that only root can write", cwd ? cwd : "", why);
	for (char **e = environ; *e; e++) {
		int r = is_passed_on(*e) ? check_variable(b, cwd, *e, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Checks that only root can change the session file and the program, because root runs the session from them after each
 * boot. */
static int check_trust(const struct bn_boots *b, struct gt_err *err)
{
	gt_autofree char *dir = gt_xasprintf("%.*s/.", (int)(strrchr(b->file, '/') - b->file), b->file); /* the file may not
													  * exist yet */
	const char *why = gt_check_dirs_trust(b->fs, dir);
	struct stat st;

	if (!why && gt_fs_stat(b->fs, b->file, &st) == 0)
		why = gt_check_file_trust(b->fs, &st);
	if (why)
		return gt_fail_exit(err, BN_EXIT_INVALID, EPERM,
				    "%s %s, and root would read it after each boot: choose a directory that only "
				    "root can write",
				    b->file, why);
	why = gt_check_dirs_trust(b->fs, b->exe);
	if (why)
		return gt_fail_exit(err, BN_EXIT_INVALID, EPERM, "%s %s, and root would start it after each boot", b->exe, why);
	return check_surroundings(b, err);
}

static int check_file(const struct bn_boots *b, struct gt_err *err)
{
	gt_autofree char *dir = b->file ? gt_xstrdup(b->file) : NULL;
	struct statfs st;

	if (!b->file)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--reboot needs -o FILE, because the measurements must survive the boots");
	for (const char *c = b->file; *c; c++)
		if ((unsigned char)*c < ' ')
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "a file name with control characters cannot be stored for the next boot");
	*strrchr(dir, '/') = '\0';
	if (statfs(dir[0] ? dir : "/", &st) == 0 && (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "%s is in memory and does not survive a boot: choose another directory", b->file);
	return 0;
}

int bn_boots_check(const struct bn_boots *b, struct gt_err *err)
{
	gt_autofree char *kernel = kernel_file("vmlinuz");
	gt_autofree char *line = NULL;
	int64_t disabled = 0;
	int r = check_file(b, err);

	if (r < 0)
		return r;
	if (geteuid() != 0)
		return gt_fail_exit(err, BN_EXIT_INVALID, EPERM, "--reboot needs root, because it reboots the host");
	r = check_trust(b, err);
	if (r < 0)
		return r;
	if (!gt_fs_exists(b->fs, "/run/systemd/system"))
		return gt_fail_exit(err, BN_EXIT_INVALID, ENOTSUP, "--reboot needs a host with systemd as init");
	if (!gt_fs_exists(b->fs, "/sys/kernel/kexec_loaded") ||
	    (gt_fs_read_i64(b->fs, "/proc/sys/kernel/kexec_load_disabled", &disabled) == 0 && disabled))
		return gt_fail_exit(err, BN_EXIT_INVALID, ENOTSUP,
				    "--reboot needs kexec, which this kernel does not have or does not allow");
	if (gt_fs_read_line(b->fs, "/proc/cmdline", &line) == 0 && strstr(line, " -- "))
		return gt_fail_exit(err, BN_EXIT_INVALID, ENOTSUP,
				    "this kernel's command line ends with arguments of init; no kernel argument can "
				    "follow them");
	if (!gt_fs_exists(b->fs, kernel))
		return gt_fail_exit(err, BN_EXIT_INVALID, ENOENT, "the running kernel is not in %s: it cannot be booted again",
				    kernel);
	return 0;
}

/* ---- entering an arm ---- */

static int load(struct gt_fsroot *fs, const char *line, struct gt_err *err)
{
	gt_autofree char *kernel = kernel_file("vmlinuz"), *initrd = kernel_file("initrd.img");
	gt_autoclose int k = gt_fs_open_part(fs, kernel);
	gt_autoclose int i = gt_fs_open_part(fs, initrd);

	if (k < 0)
		return gt_fail(err, -k, "cannot open %s: %s", kernel, strerror(-k));
	if (syscall(SYS_kexec_file_load, k, i, strlen(line) + 1, line, i < 0 ? 4ul /* no initrd */ : 0ul) < 0)
		return gt_fail_errno(err, errno, "cannot load %s for the next boot", kernel);
	return 0;
}

static void wait_for_rest(struct bn_boots *b)
{
	char *const wait[] = { "/usr/bin/systemctl", "is-system-running", "--wait", NULL };
	double end;

	if (b->settled)
		return;
	b->settled = true;
	systemctl(wait, 600, NULL); /* "degraded" is accepted: it is the same in both arms */
	for (end = gt_now_s() + b->settle_s; gt_now_s() < end && !gt_interrupted;)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

/* Checks whether this boot is the one in the record. Returns 0 if so and 1 if the host must be booted (again). */
static int check_arrival(struct bn_boots *b, json_t *rec, const char *boot, const char *line, const char *token, struct gt_err *err)
{
	const char *reached = gt_json_get_str(rec, "reached", NULL);
	gt_autofree char *here = gt_xasprintf(" " TOKEN "%s ", token), *padded = gt_xasprintf(" %s ", line);

	if (gt_streq(reached, boot))
		return 0;
	if (!reached && strstr(padded, here)) {
		json_object_set_new(rec, "reached", json_string(boot));
		return record_write(b->fs, rec, err);
	}
	if (reached || gt_streq(gt_json_get_str(rec, "from", NULL), boot)) /* a boot that was interrupted or never started */
		return 1;
	return gt_fail_exit(err, BN_EXIT_INVALID, ENXIO,
			    "the boot with \"%s\" failed: the host is back on its own command line; to try again: gpubench run "
			    "--resume %s", gt_json_get_str(rec, "args", ""), b->file);
}

/* Returns whether this position of the session, (phase, block, arm), is beyond the furthest one that was booted. */
static bool is_progress(const json_t *rec, const int64_t at[3])
{
	const json_t *was = json_object_get(rec, "furthest");

	for (size_t i = 0; i < 3; i++) {
		int64_t then = json_integer_value(json_array_get(was, i));

		if (json_array_size(was) != 3 || at[i] != then)
			return json_array_size(was) != 3 || at[i] > then;
	}
	return false;
}

/* Writes the next boot to disk before it is tried. The session boots at most TRIES times without progress and then
 * ends. */
static int record_attempt(struct bn_boots *b, const json_t *old, const int64_t at[3], json_t *rec, struct gt_err *err)
{
	bool on = is_progress(old, at);
	int64_t tries = on ? 1 : gt_json_get_int(old, "tries", 0) + 1;
	json_t *furthest = on ? json_pack("[III]", (json_int_t)at[0], (json_int_t)at[1], (json_int_t)at[2]) :
				json_incref(json_object_get(old, "furthest"));

	json_object_set_new(rec, "furthest", furthest);
	json_object_set_new(rec, "tries", json_integer(tries));
	if (tries > TRIES)
		return gt_fail_exit(err, BN_EXIT_INVALID, ELOOP, "%d boots without a new measurement, the last with \"%s\"",
				    TRIES, gt_json_get_str(rec, "args", ""));
	return record_write(b->fs, rec, err);
}

int bn_boots_enter(struct bn_boots *b, int64_t block, int nth, const char *args, struct gt_err *err)
{
	const int64_t at[3] = { (int64_t)b->phase, block, nth };
	gt_autofree char *token = gt_xasprintf("%llu.%zu.%lld.%d", (unsigned long long)b->seed, b->phase, (long long)block, nth);
	gt_autofree char *boot = NULL, *line = NULL, *base = NULL, *next = NULL;
	gt_auto_json *old = record_read(b->fs), *rec = NULL;
	int r = 1;

	if (gt_fs_read_line(b->fs, BOOT_ID, &boot) < 0 || gt_fs_read_line(b->fs, "/proc/cmdline", &line) < 0)
		return gt_fail(err, ENODATA, "cannot read the boot id or the kernel's command line");
	if (old && !gt_streq(gt_json_get_str(old, "file", NULL), b->file))
		return bn_boots_check_idle(b->fs, err);
	if (gt_streq(gt_json_get_str(old, "token", NULL), token))
		r = check_arrival(b, old, boot, line, token, err);
	if (r < 0)
		return r;
	if (r == 0) {
		wait_for_rest(b);
		return 0;
	}
	base = bn_boots_base(line, NULL);
	next = arm_line(base, token, args);
	if (strlen(next) > LINE_LEN)
		return gt_fail_exit(err, GT_EXIT_USAGE, E2BIG,
				    "the kernel's command line would have %zu characters, at most %d are "
				    "possible", strlen(next), LINE_LEN);
	rec = json_pack("{s:s, s:o, s:s, s:o, s:s}", "schema", "gpubench-boots/1", "file", gt_json_str(b->file), "token", token,
			"args", gt_json_str(args), "from", boot);
	r = record_attempt(b, old, at, rec, err);
	if (r < 0)
		return r;
	r = load(b->fs, next, err);
	return r < 0 ? r : gt_fail(err, EINPROGRESS, "the host boots into the next arm");
}

/* ---- the systemd unit ---- */

/* Escapes text for a unit file: specifiers, and characters that are special in quotes. In ExecStart `$` is special too. */
static void unit_text(struct gt_buf *out, const char *s, const char *doubled, const char *escaped)
{
	for (; *s; s++) {
		if (*s == '%' || strchr(doubled, *s))
			gt_buf_add(out, s, 1);
		else if (strchr(escaped, *s))
			gt_buf_puts(out, "\\");
		gt_buf_add(out, s, 1);
	}
}

/* Writes one Environment= line. A value with a line break is left out. */
static void add_variable(struct gt_buf *out, const char *pair)
{
	if (strpbrk(pair, "\n\r"))
		return;
	gt_buf_puts(out, "Environment=\"");
	unit_text(out, pair, "", "\"\\");
	gt_buf_puts(out, "\"\n");
}

static void add_environment(struct gt_buf *out)
{
	for (char **e = environ; *e; e++)
		if (is_passed_on(*e))
			add_variable(out, *e);
}

static int install(const struct bn_boots *b, struct gt_err *err)
{
	char *const reload[] = { "/usr/bin/systemctl", "daemon-reload", NULL };
	char *const enable[] = { "/usr/bin/systemctl", "enable", "--quiet", UNIT, NULL };
	gt_autofree char *cwd = getcwd(NULL, 0);
	gt_auto_buf unit = { 0 };
	int r;

	if (gt_fs_exists(b->fs, BN_BOOTS_UNIT))
		return 0;
	gt_buf_puts(&unit,
		    "# Created by gpubench for one session, and removed at its end or by gpubench run --abandon.\n"
		    "[Unit]\nDescription=gpubench: continue a session with --reboot\n"
		    "ConditionPathExists=" BN_BOOTS_STATE "\nAfter=multi-user.target\n\n"
		    "[Service]\nType=exec\nExecStart=\"");
	unit_text(&unit, b->exe, "$", "\"\\");
	gt_buf_puts(&unit, "\" resume \"");
	unit_text(&unit, b->file, "$", "\"\\");
	gt_buf_puts(&unit, "\" --quiet\nWorkingDirectory=");
	unit_text(&unit, cwd ? cwd : "/", "", "");
	gt_buf_puts(&unit, "\n");
	add_environment(&unit);
	gt_buf_puts(&unit, "\n[Install]\nWantedBy=multi-user.target\n");
	r = gt_fs_write_atomic(b->fs, BN_BOOTS_UNIT, unit.s, unit.len, 0644);
	if (r < 0)
		return gt_fail(err, -r, "cannot write %s: %s", BN_BOOTS_UNIT, strerror(-r));
	r = systemctl(reload, 60, err);
	return r < 0 ? r : systemctl(enable, 60, err);
}

int bn_boots_reboot(const struct bn_boots *b, struct gt_err *err)
{
	char *const kexec[] = { "/usr/bin/systemctl", "kexec", "--no-block", NULL };
	if (install(b, err) < 0 || systemctl(kexec, 60, err) < 0)
		return gt_fail_prefix(err, "cannot boot into the next arm");
	return 0;
}

static int end_session(struct gt_fsroot *fs, const char *file, bool reboots, struct gt_err *err)
{
	char *const reload[] = { "/usr/bin/systemctl", "daemon-reload", NULL };
	char *const reboot[] = { "/usr/bin/systemctl", "reboot", "--no-block", NULL };
	gt_autofree char *line = NULL, *base = NULL, *active = bn_boots_active(fs);
	bool arm = false;

	if (!file || !gt_streq(active, file))
		return 0;
	/* The record is removed last, because --abandon needs it to repeat these steps. */
	if (gt_fs_unlink(fs, WANTED) == 0 || gt_fs_exists(fs, BN_BOOTS_UNIT)) {
		gt_fs_unlink(fs, BN_BOOTS_UNIT);
		systemctl(reload, 60, NULL);
	}
	gt_fs_unlink(fs, BN_BOOTS_STATE);
	syscall(SYS_kexec_file_load, -1, -1, 0ul, NULL, 2ul /* KEXEC_FILE_UNLOAD */);
	if (gt_fs_read_line(fs, "/proc/cmdline", &line) == 0)
		base = bn_boots_base(line, &arm);
	if (!arm)
		return 0;
	if (!reboots) {
		fputs("gpubench: the session has ended; this boot still has the kernel arguments of an arm, the next "
		      "boot has the host's own\n", stderr);
		return 0;
	}
	fputs("gpubench: the session has ended; the host reboots with its own command line\n", stderr);
	return systemctl(reboot, 60, err);
}

int bn_boots_end(struct gt_fsroot *fs, const char *file, struct gt_err *err)
{
	return end_session(fs, file, true, err);
}

int bn_boots_abandon(struct gt_fsroot *fs, const char *file, bool reboot, char **ret_file, struct gt_err *err)
{
	char *const stop[] = { "/usr/bin/systemctl", "stop", UNIT, NULL };
	gt_autofree char *active = bn_boots_active(fs);

	if (geteuid() != 0 && gt_fs_exists(fs, BN_BOOTS_UNIT))
		return gt_fail_exit(err, GT_EXIT_USAGE, EPERM, "--abandon needs root, as the session did");
	if (!active)
		return gt_fail_exit(err, GT_EXIT_USAGE, ENOENT,
				    "--abandon: no session with --reboot is in progress on this host");
	if (file && !gt_streq(active, file))
		return gt_fail_exit(err, GT_EXIT_USAGE, ENOENT, "the active session on this host is that of %s",
				    active);
	if (gt_fs_exists(fs, BN_BOOTS_UNIT))
		systemctl(stop, 120, NULL);
	if (ret_file)
		*ret_file = gt_xstrdup(active);
	return end_session(fs, active, reboot, err);
}
