/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/json.h"
#include "lib/log.h"
#include "tune/run/env.h"
#include "tune/launch/settings.h"

#define SERVICE_FILES INT64_C(524288)

const char *const tn_env_forms[] = {"shell", "systemd", "slurm", "docker", NULL};

/* Puts the value in single quotes. A shell interprets nothing within them except the closing quote. */
static void quoted(struct gt_buf *b, const char *value)
{
	gt_buf_puts(b, "'");
	for (const char *p = value; *p; p++)
		if (*p == '\'')
			gt_buf_puts(b, "'\\''");
		else
			gt_buf_add(b, p, 1);
	gt_buf_puts(b, "'");
}

/* eval "$(gputune run --print-env shell)" */
static void shell(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status == TN_VAR_SET) {
			gt_buf_printf(b, "export %s=", run->var[i].name);
			quoted(b, run->var[i].value);
			gt_buf_puts(b, "\n");
		}
	if (run->files)
		gt_buf_printf(b, "ulimit -Sn %ld\n", (long)run->files);
	if (*cpus)
		gt_buf_printf(b, "taskset -cp %s $$ >/dev/null\n", cpus);
	if (*nodes)
		gt_warn("a shell cannot set the memory policy (preferred from node %s): start the command with gputune "
			"run",
			nodes);
}

/* Services and containers lack the caller's environment, so variables that the user set are included. */
static bool is_included(const struct tn_var *v)
{
	return v->status == TN_VAR_SET || (v->status == TN_VAR_KEPT && v->setting != &tn_launch_leftovers);
}

static void warn_leftovers(const struct tn_run *run)
{
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status == TN_VAR_KEPT && run->var[i].setting == &tn_launch_leftovers)
			gt_warn("%s=%s is left out: %s", run->var[i].name, run->var[i].value, run->var[i].reason);
}

/* Returns the limit of open files for a service or container: systemd's own hard limit, which Docker also uses. The
 * limit of the caller's session does not apply there. 0: run.files is not selected. */
static long files_elsewhere(const struct tn_run *run)
{
	return run->files_reason ? (long)GT_MAX(run->files, SERVICE_FILES) : 0;
}

/* Writes a drop-in, NAME.service.d/gputune.conf. % begins a specifier there, and $ has no special meaning. */
static void systemd(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	gt_buf_puts(b, "[Service]\n");
	for (size_t i = 0; i < run->n_var; i++) {
		if (!is_included(&run->var[i]))
			continue;
		gt_buf_printf(b, "Environment=\"%s=", run->var[i].name);
		for (const char *p = run->var[i].value; *p; p++) {
			if (*p == '%' || *p == '"' || *p == '\\')
				gt_buf_puts(b, *p == '%' ? "%" : "\\");
			gt_buf_add(b, p, 1);
		}
		gt_buf_puts(b, "\"\n");
	}
	warn_leftovers(run);
	if (files_elsewhere(run))
		gt_buf_printf(b, "LimitNOFILE=%ld\n", files_elsewhere(run));
	if (*cpus) /* the unit keeps its own list unless an empty assignment clears it first */
		gt_buf_printf(b, "CPUAffinity=\nCPUAffinity=%s\n", cpus);
	if (*nodes)
		gt_buf_printf(b, "NUMAPolicy=preferred\nNUMAMask=\nNUMAMask=%s\n", nodes);
}

/* Writes lines for a TaskProlog. Slurm takes lines "export NAME=VALUE" unchanged. */
static void slurm(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status == TN_VAR_SET)
			gt_buf_printf(b, "export %s=%s\n", run->var[i].name, run->var[i].value);
	if (run->files)
		gt_warn("a TaskProlog cannot raise the limit of open files: srun copies that of its shell, ulimit -Sn %ld",
			(long)run->files);
	if (*cpus || *nodes)
		gt_warn("a TaskProlog cannot bind: let srun start gputune run, or use --cpu-bind and --mem-bind");
}

/* Returns why a variable is useless in a container; NULL: it is useful. */
static const char *of_this_host(const struct tn_var *v)
{
	return gt_starts_with(v->name, "LD_") ? "names files of this host, which the image may lack" :
	       !strcmp(v->name, "OPENBLAS_CORETYPE") ?
						"is for the OpenBLAS of this host, but the image has its own" :
						NULL;
}

/* Writes words for docker run $(gputune run --print-env docker) IMAGE …. No shell removes quotes from them. */
static void docker(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];
		const char *why = of_this_host(v);

		if (!is_included(v))
			continue;
		if (why)
			gt_warn("%s is left out: it %s", v->name, why);
		else
			gt_buf_printf(b, "--env\n%s=%s\n", v->name, v->value);
	}
	warn_leftovers(run);
	if (files_elsewhere(run))
		gt_buf_printf(b, "--ulimit\nnofile=%ld\n", files_elsewhere(run));
	if (*cpus)
		gt_buf_printf(b, "--cpuset-cpus\n%s\n", cpus);
	if (*nodes)
		gt_warn("--cpuset-mems is strict, so that a full node would end the job: memory stays where it is first "
			"touched, which is node %s for these CPUs",
			nodes);
}

/* systemd ignores an assignment that is not UTF-8, with a line in its log. It also ends a line at a carriage return. */
static bool systemd_takes(const char *value)
{
	gt_auto_json *text = json_string(value); /* NULL if it is not UTF-8 */

	return text && !strchr(value, '\r');
}

/* Refuses values that the form cannot represent. */
static int check(const struct tn_run *run, const char *form, struct gt_err *err)
{
	bool is_docker = !strcmp(form, "docker"), is_systemd = !strcmp(form, "systemd");

	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];

		if (!(is_docker || is_systemd ? is_included(v) : v->status == TN_VAR_SET) || (is_docker && of_this_host(v)))
			continue;
		if (strchr(v->value, '\n') && strcmp(form, "shell") != 0)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s contains a line break, which the form %s cannot represent: unset it first", v->name,
					    form);
		if (is_docker && strpbrk(v->value, " \t*?["))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s contains blanks or one of *?[, which the shell would split in docker run $(…): "
					    "call this with env -u %s, and docker run with --env %s", v->name, v->name, v->name);
		if (is_systemd && !systemd_takes(v->value))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s contains a carriage return or bytes that are not UTF-8, which systemd refuses: "
					    "unset it first", v->name);
	}
	return 0;
}

int tn_env_format(const struct tn_run *run, const char *form, char **ret, struct gt_err *err)
{
	static void (*const write[])(struct gt_buf *, const struct tn_run *, const char *,
				     const char *) = {shell, systemd, slurm, docker};
	gt_autofree char *cpus = gt_set_format(&run->cpus), *nodes = gt_set_format(&run->mem_nodes);
	gt_auto_buf b = {0};
	int r = check(run, form, err);

	if (r < 0)
		return r;
	for (size_t i = 0; tn_env_forms[i]; i++)
		if (!strcmp(form, tn_env_forms[i]))
			write[i](&b, run, cpus, nodes);
	*ret = gt_buf_take(&b);
	return 0;
}
