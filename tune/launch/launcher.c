/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/text.h"
#include "tune/launch/launcher.h"
#include "tune/launch/program.h"
#include "tune/launch/rank.h"
#include "tune/launch/wrapper.h"

/* Returns whether accelerate config has written its file. */
static bool accelerate_is_configured(const struct tn_launch *c)
{
	const char *home = tn_run_value(c, "HOME"), *hf = tn_run_value(c, "HF_HOME");
	gt_autofree char *path = hf   ? gt_xasprintf("%s/accelerate/default_config.yaml", hf) :
				 home ? gt_xasprintf("%s/.cache/huggingface/accelerate/default_config.yaml", home) :
					NULL;

	return path && *path == '/' && gt_fs_exists(c->fs, path);
}

/* Returns whether the default file of hosts of deepspeed exists. */
static bool deepspeed_is_configured(const struct tn_launch *c)
{
	return gt_fs_exists(c->fs, "/job/hostfile");
}

enum by_default {	 /* number of ranks without an option */
	ONE,	 /* one on each host */
	GPUS,	 /* one for each visible GPU, at least one */
	NOT_KNOWN /* depends on facts that gputune cannot read */
};

/* Launchers and their options. Names are separated by blanks, without dashes and with '-' for '_'. An option takes one
 * word after it, unless it is among the flags. Sources: torch/distributed/run.py, accelerate/commands/launch.py,
 * deepspeed/launcher/runner.py, mpirun(1) of Open MPI, MPICH's and Intel's Hydra, srun(1), horovod/runner/launch.py. */
static const struct launcher {
	const char *names;   /* program names; "a-b" is command b of a */
	const char *modules; /* modules for python -m; NULL: none */
	const char *on_each; /* options for the ranks on each host */
	const char *in_all;  /* options for the ranks of the whole job */
	const char *hosts;   /* options for the number of hosts */
	const char *named;   /* options that name hosts or GPUs */
	const char *between; /* separators of hosts in such an option */
	const char *files;   /* options that name files of hosts */
	const char *flags, *two; /* options without a word, and with two words */
	const char *variable, *hosts_variable; /* variables used instead of on_each and hosts; NULL: none */
	enum by_default by_default;
	bool (*configured)(const struct tn_launch *); /* whether a file that is not read here configures it; NULL: it has none */
	bool slurm; /* "-n8" means -n 8; options of the allocation apply; of two numbers the smaller one applies */
} launchers[] = {
	{"torchrun", "torch.distributed.run torch.distributed.launch", "nproc-per-node", "", "nnodes", "", "", "",
	 "standalone no-python m module run-path use-env virtual-local-rank h help", "", "PET_NPROC_PER_NODE", "PET_NNODES", ONE},
	{"accelerate-launch", "accelerate.commands.launch", "", "num-processes", "num-machines", "config-file", "", "",
	 "multi-gpu cpu tpu ipex xpu use-xpu use-deepspeed use-fsdp use-parallelism-config use-megatron-lm m module no-python "
	 "debug q quiet same-network enable-cpu-affinity h help",
	 "", NULL, NULL, GPUS, .configured = accelerate_is_configured},
	{"deepspeed", "deepspeed.launcher.runner", "num-gpus num-accelerators", "", "num-nodes", "i include e exclude", "@",
	 "H hostfile",
	 "module no-python no-local-rank no-ssh no-ssh-check save-pid force-multi bind-cores-to-rank elastic-training h help", "",
	 NULL, NULL, GPUS, .configured = deepspeed_is_configured},
	{"mpirun mpiexec orterun prterun mpiexec.hydra mpirun.openmpi mpiexec.openmpi mpirun.mpich mpiexec.mpich", NULL,
	 "ppn perhost npernode N", "np n c", "", "H host hosts", ",", "hostfile machinefile machine f default-hostfile",
	 "pernode allow-run-as-root oversubscribe nooversubscribe nolocal use-hwthread-cpus use-hwthreads-as-cpus report-bindings "
	 "display-map display-allocation display-topo tag-output timestamp-output bind-to-core bind-to-socket bind-to-none "
	 "bynode byslot bycore bysocket noprefix do-not-launch merge-stderr-to-stdout enable-recovery disable-recovery continuous "
	 "v verbose q quiet d genvall genvnone envall envnone l prepend-rank V version h help",
	 "mca gmca prtemca pmixmca genv env", NULL, NULL, NOT_KNOWN},
	{"srun", NULL, "ntasks-per-node", "n ntasks", "N nodes", "ntasks-per-gpu ntasks-per-socket ntasks-per-core", "", "",
	 "l label u unbuffered v verbose Q quiet E preserve-env k no-kill O overcommit s oversubscribe X disable-status "
	 "exclusive overlap exact pty contiguous multi-prog no-allocate Z spread-job use-min-nodes test-only propagate nice "
	 "kill-on-bad-exit K resv-ports h help usage V version",
	 "", NULL, NULL, ONE, .slurm = true},
	{"horovodrun", "horovod.runner.launch", "", "np num-proc", "", "H hosts", ",", "hostfile host-discovery-script",
	 "v version disable-cache verbose gloo mpi js check-build cb autotune h help", "", NULL, NULL, NOT_KNOWN},
};

/* Finds the launcher that argv calls, and the first word after its name. NULL: argv calls no launcher. */
static const struct launcher *find(char *const *argv, char *const **ret_rest)
{
	const char *base = gt_basename(argv[0]), *module = NULL;
	gt_autofree char *command = argv[1] ? gt_xasprintf("%s-%s", base, argv[1]) : NULL;

	*ret_rest = argv + 1;
	for (size_t i = 1; gt_starts_with(base, "python") && argv[i] && *argv[i] == '-'; i++)
		if (!strcmp(argv[i], "-m") && argv[i + 1]) {
			module = argv[i + 1];
			*ret_rest = argv + i + 2;
			break;
		} else if ((!strcmp(argv[i], "-W") || !strcmp(argv[i], "-X")) && argv[i + 1]) {
			i++;
		}
	for (size_t i = 0; i < GT_ARRAY_SIZE(launchers); i++) {
		if (module ? gt_span_in(launchers[i].modules, " ", module, strlen(module)) :
			     gt_span_in(launchers[i].names, " ", base, strlen(base)))
			return &launchers[i];
		if (command && gt_span_in(launchers[i].names, " ", command, strlen(command))) {
			*ret_rest = argv + 2;
			return &launchers[i];
		}
	}
	return NULL;
}

/* ---- options ----------------------------------------------------------------------------------------------------------- */

struct options {
	const char *on_each, *in_all, *hosts; /* words after the options; NULL: option not given */
	bool places, several, parts; /* several hosts, or a file of hosts; several programs */
};

/* Returns the option without dashes and with '-' for '_'. len: length before '='. The caller frees it. */
static char *plain(const char *option, size_t *ret_len)
{
	char *name = gt_xstrdup(option + strspn(option, "-"));

	*ret_len = strcspn(name, "=");
	for (char *p = name; p < name + *ret_len; p++)
		*p = *p == '_' ? '-' : *p;
	return name;
}

static const char **place_of(const struct launcher *l, struct options *s, const char *name, size_t len)
{
	return gt_span_in(l->on_each, " ", name, len) ? &s->on_each :
	       gt_span_in(l->in_all, " ", name, len)  ? &s->in_all :
	       gt_span_in(l->hosts, " ", name, len)   ? &s->hosts :
					      NULL;
}

/* Splits "-n8", "-c8" and "-lu" like getopt(): the letter is the option, the rest is its word or more letters. */
static bool attached(const struct launcher *l, const char *option, struct options *s)
{
	bool whole = l->slurm && option[1] != '-' && option[1] && option[2];
	const char **place = whole ? place_of(l, s, option + 1, 1) : NULL;

	if (place)
		*place = option + 2;
	return whole;
}

/* Parses the launcher's options. Returns the program to start; all later words belong to that program. */
static char *const *read_options(const struct launcher *l, char *const *words, struct options *s)
{
	char *const *w = words, *const *program;

	for (; *w && **w == '-' && strcmp(*w, "--") != 0; w++) {
		size_t len, takes;
		gt_autofree char *name = plain(*w, &len);
		const char *value = name[len] ? *w + (strlen(*w) - strlen(name)) + len + 1 : w[1];
		const char **place = place_of(l, s, name, len);

		if (!place && attached(l, *w, s))
			continue;
		if (place && value)
			*place = value;
		if (gt_span_in(l->named, " ", name, len) || gt_span_in(l->files, " ", name, len)) {
			s->places = true;
			s->several |= !gt_span_in(l->named, " ", name, len) || (value && *l->between && strstr(value, l->between));
		}
		takes = name[len] || gt_span_in(l->flags, " ", name, len) ? 0 : gt_span_in(l->two, " ", name, len) ? 2 : 1;
		/* an unknown option, assumed to take no word */
		for (; takes && w[1] && (place || *w[1] != '-'); takes--)
			w++;
	}
	program = *w && !strcmp(*w, "--") ? w + 1 : w;
	for (; *w; w++)
		s->parts |= l->by_default == NOT_KNOWN && !strcmp(*w, ":");
	return program;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------ */

/* Parses "8", or "gpu", "cpu" and "auto" of torchrun. */
static int number(const struct tn_launch *c, const char *word)
{
	int gpus, cpus = c->host->cpu.unknown ? 0 : (int)gt_set_count(&c->host->cpu.online);
	uint64_t v;

	if (!gt_parse_u64(word, &v))
		return v && v <= TN_RANKS_MAX ? (int)v : TN_PROCESSES_UNKNOWN;
	gpus = (int)tn_rank_visible(c);
	if (!strcmp(word, "cpu") || (!strcmp(word, "auto") && !gpus))
		return cpus ? cpus : TN_PROCESSES_UNKNOWN;
	return (!strcmp(word, "gpu") || !strcmp(word, "auto")) && gpus ? gpus : TN_PROCESSES_UNKNOWN;
}

/* Returns the number of hosts of the job, from the option or else from Slurm's allocation. 0: unknown. */
static int hosts_of(const struct tn_launch *c, const struct options *s)
{
	const char *slurm = tn_run_value(c, "SLURM_NNODES");
	int n = s->hosts ? number(c, s->hosts) : slurm ? number(c, slurm) : 1;

	return n > 0 && !s->places ? n : 0;
}

static int on_each_of(int ranks, int hosts)
{
	return (ranks + hosts - 1) / hosts;
}

static int without_option(const struct tn_launch *c, const struct launcher *l, const struct options *s)
{
	const char *tasks = tn_run_value(c, "SLURM_NTASKS"), *variable = l->variable ? tn_run_value(c, l->variable) : NULL;
	int hosts = hosts_of(c, s), n;

	if (variable)
		return number(c, variable);
	if (s->places && l->by_default != ONE)
		return TN_PROCESSES_UNKNOWN;
	if (l->slurm && (tasks || s->places)) { /* srun inherits the options of salloc or sbatch */
		n = tasks ? number(c, tasks) : 0;
		return hosts && n > 0 ? on_each_of(n, hosts) : TN_PROCESSES_UNKNOWN;
	}
	if (l->by_default == NOT_KNOWN || (l->configured && l->configured(c)))
		return TN_PROCESSES_UNKNOWN;
	return l->by_default == ONE ? 1 : GT_MAX((int)tn_rank_visible(c), 1);
}

/* Returns the ranks by the options. With --ntasks, srun treats --ntasks-per-node as the maximum. */
static int by_options(const struct tn_launch *c, const struct launcher *l, const struct options *s)
{
	int hosts = hosts_of(c, s), on_each = s->on_each ? number(c, s->on_each) : 0, n;

	if (s->parts)
		return TN_PROCESSES_UNKNOWN;
	if (on_each && (!s->in_all || !l->slurm))
		return on_each;
	if (!s->in_all)
		return without_option(c, l, s);
	n = number(c, s->in_all);
	if (!hosts || n < 0 || on_each < 0 || (hosts > 1 && l->by_default == NOT_KNOWN))
		return TN_PROCESSES_UNKNOWN;
	return on_each ? GT_MIN(on_each, on_each_of(n, hosts)) : on_each_of(n, hosts);
}

/* Parses "2", or the maximum of torchrun's "1:4" and srun's "2-4". */
static bool is_several(const char *hosts)
{
	bool several = false;

	for (const char *p = hosts; p && *p; p += strspn(p, ":-")) {
		gt_autofree char *word = gt_xstrndup(p, strcspn(p, ":-"));
		uint64_t n;

		several |= !gt_parse_u64(word, &n) && n > 1;
		p += strcspn(p, ":-");
	}
	return several;
}

/*
 * Returns whether the command names other hosts for the job. Returns false if it is no launcher, or if its options do
 * not name hosts.
 */
static bool command_names_hosts(const struct tn_launch *c)
{
	struct tn_launch inner = *c;
	struct options s = {0};
	char *const *rest = NULL;
	const struct launcher *l = c->argv && c->argv[0] ? find(c->argv, &rest) : NULL;

	if (!l)
		return false;
	inner.argv = read_options(l, rest, &s);
	if (!s.hosts && l->hosts_variable)
		s.hosts = tn_run_value(c, l->hosts_variable);
	return s.several || is_several(s.hosts) || command_names_hosts(&inner);
}

bool tn_job_has_many_hosts(const struct tn_launch *c)
{
	return command_names_hosts(c) || tn_rank_many_hosts(c);
}

/* ---- processes ---------------------------------------------------------------------------------------------------------- */

/*
 * Returns whether the program may start ranks or a pool of workers. Examples are a shell, make, uv and an entry point of a
 * Python package. A Python script counts as one process. A program whose file names an OpenMP runtime counts as one process
 * too.
 */
static bool may_start_more(const struct tn_launch *c)
{
	if (!c->argv || !c->argv[0] || c->program == TN_PROGRAM_OPENMP || c->rank || tn_rank_of(c).count > 1)
		return false;
	return !gt_starts_with(gt_basename(c->argv[0]), "python") && !gt_ends_with(c->argv[0], ".py") &&
	       !tn_program_names_openmp(c);
}

/* Counts the ranks on this host by the launcher that argv calls. Returns false if it calls none. */
static bool launched(const struct tn_launch *c, struct tn_processes *ret)
{
	struct tn_launch inner = *c;
	struct options s = {0};
	char *const *rest = NULL;
	const struct launcher *l = c->argv && c->argv[0] ? find(c->argv, &rest) : NULL;
	struct tn_processes more = {0};

	if (!l)
		return false;
	*ret = (struct tn_processes){.kind = TN_LAUNCHER, .launcher = gt_basename(c->argv[0])};
	inner.argv = read_options(l, rest, &s);
	ret->n = by_options(c, l, &s);
	if (ret->n > 0 && launched(&inner, &more)) { /* a launcher that starts another launcher: srun … torchrun … */
		ret->n = more.n < 0 ? more.n : (int)GT_MIN((int64_t)ret->n * more.n, TN_RANKS_MAX);
	} else if (ret->n == 1 && (l->slurm || l->by_default == NOT_KNOWN)) {
		/* one task of srun or mpirun is seldom a rank; usually it is a script, or a process that uses all GPUs */
		ret->n = (int)tn_rank_gpus(c);
		ret->one_task = ret->n > 1;
		ret->may_start_more = may_start_more(&inner);
	}
	return true;
}

/* Like launched(), for a launcher after an unknown command, as in "uv run torchrun …". Words after a Python script
 * belong to the script. */
static bool launched_behind(const struct tn_launch *c, struct tn_processes *ret)
{
	struct tn_launch inner = *c;

	if (!c->argv || !c->argv[0] || gt_starts_with(gt_basename(c->argv[0]), "python"))
		return false;
	for (inner.argv = c->argv + 1; *inner.argv; inner.argv++)
		if (launched(&inner, ret)) {
			ret->n = ret->n < 0 ? ret->n : GT_MAX(ret->n, (int)tn_rank_gpus(c));
			return true;
		}
	return false;
}

struct tn_processes tn_processes_of(const struct tn_launch *c)
{
	int gpus = (int)tn_rank_gpus(c);
	struct tn_processes p;

	if (launched(c, &p) || launched_behind(c, &p))
		return p;
	return (struct tn_processes){.kind = gpus > 1 ? TN_UNKNOWN_COMMAND : TN_ONE_PROCESS, .n = gpus,
				     .may_start_more = may_start_more(c)};
}

unsigned tn_processes_here(const struct tn_launch *c)
{
	return tn_rank_of(c).count * (unsigned)GT_MAX(1, tn_processes_of(c).n);
}

unsigned tn_processes_sharing_cpus(const struct tn_launch *c, const struct tn_run *r)
{
	return r->cpus_ranks ? r->cpus_ranks * (unsigned)GT_MAX(1, tn_processes_of(c).n) : tn_processes_here(c);
}

char *tn_processes_why(const struct tn_launch *c, const struct tn_processes *p)
{
	struct tn_rank rank = tn_rank_of(c);

	if (p->n == TN_PROCESSES_UNKNOWN)
		return gt_xasprintf("%.60s: " TN_PROCESSES_WHY, p->launcher);
	if (p->one_task)
		return gt_xasprintf("%.60s starts one process, which may start one for each of the %d visible GPUs", p->launcher,
				    p->n);
	if (p->kind == TN_LAUNCHER)
		return gt_xasprintf("%.60s starts %d on this host", p->launcher, p->n);
	if (p->kind == TN_UNKNOWN_COMMAND)
		return gt_xasprintf("%d GPUs are visible, and %.60s may start a process for each. For a single process use "
				    "--ranks 1, or --gpu for one GPU", p->n,
				    c->argv && c->argv[0] ? gt_basename(c->argv[0]) : "the command");
	if (rank.count > 1)
		return gt_xasprintf("rank %u of %u%s%s", rank.index, rank.count, rank.variable ? " by " : "",
				    rank.variable ? rank.variable : "");
	if (c->program == TN_PROGRAM_OPENMP)
		return gt_xstrdup("one process with OpenMP threads, because of --openmp");
	if (c->rank)
		return gt_xstrdup("one rank, because of --ranks");
	return gt_xstrdup(tn_rank_visible(c) ? "one GPU is visible" : "no GPU that CUDA can use");
}
