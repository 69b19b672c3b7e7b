/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/json.h"
#include "lib/log.h"
#include "tune/env.h"

const char *const tn_env_forms[] = {"shell", "systemd", "slurm", "docker", NULL};

/* Single quotes: nothing in them means anything to a shell but their end. */
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

/* eval "$(gputune run --env shell)" */
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

/* A drop-in: NAME.service.d/gputune.conf. % begins a specifier there, and $ is nothing special. */
static void systemd(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	gt_buf_puts(b, "[Service]\n");
	for (size_t i = 0; i < run->n_var; i++) {
		if (run->var[i].status != TN_VAR_SET)
			continue;
		gt_buf_printf(b, "Environment=\"%s=", run->var[i].name);
		for (const char *p = run->var[i].value; *p; p++) {
			if (*p == '%' || *p == '"' || *p == '\\')
				gt_buf_puts(b, *p == '%' ? "%" : "\\");
			gt_buf_add(b, p, 1);
		}
		gt_buf_puts(b, "\"\n");
	}
	if (run->files)
		gt_buf_printf(b, "LimitNOFILE=%ld\n", (long)run->files);
	if (*cpus)
		gt_buf_printf(b, "CPUAffinity=%s\n", cpus);
	if (*nodes)
		gt_buf_printf(b, "NUMAPolicy=preferred\nNUMAMask=%s\n", nodes);
}

/* What a TaskProlog prints: Slurm takes the lines "export NAME=VALUE" as they are. */
static void slurm(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	for (size_t i = 0; i < run->n_var; i++)
		if (run->var[i].status == TN_VAR_SET)
			gt_buf_printf(b, "export %s=%s\n", run->var[i].name, run->var[i].value);
	if (*cpus || *nodes)
		gt_warn("a TaskProlog cannot bind: let srun start gputune run, or say --cpu-bind and --mem-bind");
}

/* docker run $(gputune run --env docker) IMAGE …: words, without a shell that would take quotes away. */
static void docker(struct gt_buf *b, const struct tn_run *run, const char *cpus, const char *nodes)
{
	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];

		if (v->status != TN_VAR_SET)
			continue;
		if (gt_starts_with(v->name, "LD_")) {
			gt_warn("%s is left out: it names files of this host, which the image may not have", v->name);
			continue;
		}
		if (!strcmp(v->name, "OPENBLAS_CORETYPE")) {
			gt_warn("%s is left out: it suits the OpenBLAS of this host, and the image has one of its own", v->name);
			continue;
		}
		gt_buf_printf(b, "--env\n%s=%s\n", v->name, v->value);
	}
	if (*cpus)
		gt_buf_printf(b, "--cpuset-cpus\n%s\n", cpus);
	if (*nodes)
		gt_warn("--cpuset-mems would be strict, and a full node would end the job: memory is left where it is "
			"first "
			"touched, which is node %s for these CPUs",
			nodes);
}

/* systemd ignores an assignment that is not UTF-8, with a line in its log, and ends a line at a carriage return too. */
static bool systemd_takes(const char *value)
{
	gt_auto_json *text = json_string(value); /* NULL if it is not UTF-8 */

	return text && !strchr(value, '\r');
}

/* A value that the form cannot carry. */
static int check(const struct tn_run *run, const char *form, struct gt_err *err)
{
	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];

		if (v->status != TN_VAR_SET)
			continue;
		if (strchr(v->value, '\n') || (!strcmp(form, "docker") && strpbrk(v->value, " \t*?[")))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s holds blanks or the like, which the form %s cannot carry", v->name,
					    form);
		if (!strcmp(form, "systemd") && !systemd_takes(v->value))
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s holds a carriage return or bytes that are not UTF-8, which systemd does not take",
					    v->name);
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
