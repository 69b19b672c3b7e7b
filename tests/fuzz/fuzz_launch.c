/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch with an untrusted environment on an untrusted host. Input: lines NAME=VALUE, lines "$ WORD …" (the command),
 * an empty line, and the host as a capture. The rank is less than the number of ranks. CPUs and nodes belong to the
 * host. Each form of the environment gives the same values, or is rejected with a message. The forms are parsed as a shell,
 * systemd, Slurm and a splitting shell do.
 */
#include <string.h>
#include "lib/buf.h"
#include "lib/log.h"
#include "probe/host/host.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_root.h"
#include "tune/run/env.h"
#include "tune/launch/launcher.h"
#include "tune/launch/rank.h"
#include "tune/run/run.h"
#include "tune/launch/settings.h"
#include "tune/model/tunable.h"

const unsigned fuzz_rounds = 300;

#define WORDS_MAX 64

/* Default host: two nodes of two cores with two threads each and one GPU per node. The input may override it. */
static const char base[] = "gpuprobe-capture/1\n"
			   "file /sys/devices/system/cpu/online\n\t0-7\n"
			   "file /sys/devices/system/cpu/cpu0/topology/thread_siblings_list\n\t0,4\n"
			   "file /sys/devices/system/cpu/cpu1/topology/thread_siblings_list\n\t1,5\n"
			   "file /sys/devices/system/cpu/cpu2/topology/thread_siblings_list\n\t2,6\n"
			   "file /sys/devices/system/cpu/cpu3/topology/thread_siblings_list\n\t3,7\n"
			   "file /sys/devices/system/node/online\n\t0-1\n"
			   "file /sys/devices/system/node/node0/cpulist\n\t0-1,4-5\n"
			   "file /sys/devices/system/node/node1/cpulist\n\t2-3,6-7\n"
			   "file /usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3\n"
			   "file /proc/sys/kernel/arch\n\tx86_64\n"
			   "link /etc/alternatives/libblas.so.3-x86_64-linux-gnu "
			   "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3\n"
			   "file /proc/meminfo\n\tMemTotal: 67108864 kB\n";

struct input {
	char *text, *env[WORDS_MAX + 1], *argv[WORDS_MAX + 1];
	size_t n_env, n_argv;
	const char *host;
};

static void take_words(struct input *in, char *words)
{
	for (char *w = strtok(words, " "); w && in->n_argv < WORDS_MAX; w = strtok(NULL, " "))
		in->argv[in->n_argv++] = w;
}

static void read_input(const uint8_t *data, size_t size, struct input *ret)
{
	char *rest, *line;

	*ret = (struct input){.text = gt_xstrndup((const char *)data, size)};
	rest = ret->text;
	while ((line = strsep(&rest, "\n")) && *line) {
		if (gt_starts_with(line, "$ "))
			take_words(ret, line + 2);
		else if (strchr(line, '=') && ret->n_env < WORDS_MAX)
			ret->env[ret->n_env++] = line;
	}
	ret->host = rest ? rest : "";
}

/* ---- parse the forms ---------------------------------------------------------------------------------------------- */

/* Removes single quotes and backslashes; *p stops at the newline. */
static void sh_word(const char **p, struct gt_buf *ret)
{
	bool quoted = false;

	for (; **p && (quoted || **p != '\n'); ++*p)
		if (**p == '\'')
			quoted = !quoted;
		else
			gt_buf_add(ret, **p == '\\' && !quoted ? ++*p : *p, 1);
	FUZZ_ASSERT(!quoted && **p == '\n');
}

/* Removes C escapes and doubled percent signs, up to the closing quote. */
static void systemd_word(const char **p, struct gt_buf *ret)
{
	gt_auto_json *text = NULL;

	for (; **p != '"'; ++*p) {
		FUZZ_ASSERT(**p && **p != '\n' && **p != '\r'); /* line ends of systemd */
		if (**p == '\\') {
			++*p;
			FUZZ_ASSERT(**p == '\\' || **p == '"');
		}
		if (**p == '%')
			FUZZ_ASSERT(*++*p == '%');
		gt_buf_add(ret, *p, 1);
	}
	text = json_string(ret->s ? ret->s : "");
	FUZZ_ASSERT(text && gt_starts_with(*p, "\"\n")); /* valid UTF-8 */
	++*p;
}

static void plain_word(const char **p, struct gt_buf *ret)
{
	for (; **p != '\n'; ++*p) {
		FUZZ_ASSERT(**p);
		gt_buf_add(ret, *p, 1);
	}
}

/* Parses docker's form as a shell that splits words and expands file names. */
static void docker_word(const char **p, struct gt_buf *ret)
{
	plain_word(p, ret);
	FUZZ_ASSERT(!ret->s || !strpbrk(ret->s, " \t*?["));
}

/* A service and a container also get variables that the user set, except leftovers of debugging. */
static bool is_told(const struct tn_var *v, bool elsewhere)
{
	return v->status == TN_VAR_SET || (elsewhere && v->status == TN_VAR_KEPT && strcmp(v->setting->id, "run.leftovers") != 0);
}

static bool is_of_this_host(const char *name)
{
	return gt_starts_with(name, "LD_") || !strcmp(name, "OPENBLAS_CORETYPE");
}

static void check_form(const struct tn_run *run, const char *form, const char *before,
		       void (*word)(const char **, struct gt_buf *))
{
	gt_autofree char *text = NULL;
	struct gt_err err = {0};
	const char *p;

	if (tn_env_format(run, form, &text, &err) < 0) {
		FUZZ_ASSERT(!text && err.msg[0] && err.exit_status == GT_EXIT_USAGE);
		return;
	}
	p = gt_starts_with(text, "[Service]\n") ? text + strlen("[Service]\n") : text;
	for (size_t i = 0; i < run->n_var; i++) {
		gt_auto_buf value = {0};

		if (!is_told(&run->var[i], word == docker_word || word == systemd_word) ||
		    (word == docker_word && is_of_this_host(run->var[i].name)))
			continue;
		FUZZ_ASSERT(gt_starts_with(p, before));
		p += strlen(before);
		FUZZ_ASSERT(gt_starts_with(p, run->var[i].name) && p[strlen(run->var[i].name)] == '=');
		p += strlen(run->var[i].name) + 1;
		word(&p, &value);
		FUZZ_ASSERT(!strcmp(value.s ? value.s : "", run->var[i].value));
		p++;
	}
	FUZZ_ASSERT(!gt_starts_with(p, before)); /* no other variable is set */
}

/* ---- the launch ---------------------------------------------------------------------------------------------------- */

static void check_run(const struct pr_host *h, const struct tn_run *run, unsigned ranks)
{
	gt_auto_json *doc = tn_run_to_json(run);

	FUZZ_ASSERT(doc);
	gt_set_for_each(cpu, &run->cpus)
		FUZZ_ASSERT(gt_set_has(&h->cpu.allowed, (unsigned)cpu));
	gt_set_for_each(id, &run->mem_nodes) {
		bool there = false;

		for (size_t i = 0; i < h->n_node; i++)
			there |= h->node[i].id == id;
		FUZZ_ASSERT(there);
	}
	FUZZ_ASSERT(run->cpus_ranks <= ranks && (gt_set_count(&run->cpus) || !run->cpus_ranks));
	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];
		uint64_t threads;

		FUZZ_ASSERT(v->setting && *v->name && v->reason && *v->reason && (v->status == TN_VAR_SKIPPED || v->value));
		if (v->status == TN_VAR_SET && !strcmp(v->name, "OMP_NUM_THREADS"))
			FUZZ_ASSERT(!gt_parse_u64(v->value, &threads) && threads > 0 && threads <= gt_set_count(&h->cpu.allowed));
	}
	check_form(run, "shell", "export ", sh_word);
	check_form(run, "systemd", "Environment=\"", systemd_word);
	check_form(run, "slurm", "export ", plain_word);
	check_form(run, "docker", "--env\n", docker_word);
}

static void launch(struct gt_fsroot *fs, const struct input *in)
{
	struct tn_run_opts o = {.argv = in->n_argv ? in->argv : NULL, .envp = in->env, .allocator = "auto"};
	struct tn_launch c = {.fs = fs, .argv = o.argv, .envp = o.envp};
	gt_auto(pr_host) *host = NULL;
	gt_auto(tn_run) *run = NULL;
	struct tn_facts facts;
	struct gt_err err = {0};
	struct tn_rank rank;

	if (pr_host_discover(fs, &(struct pr_discover_opts){.launch = true}, &host, &err) < 0) {
		FUZZ_ASSERT(err.msg[0]);
		return;
	}
	tn_facts_read(fs, &facts);
	FUZZ_ASSERT(facts.n_idle <= GT_ARRAY_SIZE(facts.idle_us) && facts.dropped >= 0 && facts.squeezed >= 0);
	tn_facts_clear(&facts);
	c.host = host;
	rank = tn_rank_of(&c);
	FUZZ_ASSERT(rank.index < rank.count && rank.count <= 4096 && rank.from_launcher == (rank.variable != NULL));
	FUZZ_ASSERT(tn_processes_here(&c) >= rank.count);
	tn_job_has_many_hosts(&c);
	FUZZ_ASSERT(tn_run_make(fs, host, &o, &run, &err) >= 0 || (err.msg[0] && err.exit_status));
	if (run)
		check_run(host, run, rank.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool quiet;
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto_buf b = {0};
	struct input in;

	if (!quiet)
		gt_log_init("fuzz_launch", GT_LOG_ERROR); /* A value that a form cannot express is reported on stderr. */
	quiet = true;
	read_input(data, size, &in);
	gt_buf_puts(&b, base);
	gt_buf_puts(&b, in.host);
	fs = fuzz_root(b.s, b.len);
	if (fs)
		launch(fs, &in);
	free(in.text);
	return 0;
}
