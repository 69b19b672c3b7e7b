/* SPDX-License-Identifier: Apache-2.0 */
/* gpuprobe watch: samples the host until ^C, then prints a summary. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include "lib/file.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/cmd/gpuprobe.h"
#include "probe/watch/watch.h"

#define RECORDING_MAX (64u << 20)

static double interval_s = 1;
static uint64_t count;
static const char *format, *output, *replay;
static const char *const formats[] = {"text", "jsonl", "openmetrics", NULL};

struct watch {
	struct gt_cli *cli;
	const char *form;
	bool draws; /* redraws the terminal at each sample */
	struct pr_watch_view view;
	struct pr_session *session;
	struct gt_helper helper;
	void *state;         /* state of the NVML helper process */
	const struct pr_host *host;
	bool cards;          /* NVML is queried */
	const char *trouble; /* "timeout" or "error", until NVML answers again; NULL: none */
	double pause_s, retry_at_s;
	char why[256];
};

/* ---- the cards ---- */

/* Stops the helper process. The pause before the next query doubles each time, so that a hung driver gets few queries. */
static void give_up(struct watch *w, const char *state, const char *why)
{
	w->trouble = state;
	snprintf(w->why, sizeof(w->why), "%.255s", why);
	gt_helper_stop(&w->helper);
	w->pause_s = GT_MIN(w->pause_s > 0 ? 2 * w->pause_s : 10, 300);
	w->retry_at_s = gt_now_s() + w->pause_s;
}

/* Sends the query before the CPUs are sampled, so that both samples cover the same time. */
static void ask_cards(struct watch *w)
{
	if (!w->cards || w->helper.asked || (w->trouble && gt_now_s() < w->retry_at_s))
		return;
	/* a child that hangs in the kernel cannot be killed: do not start a second one */
	if (w->helper.ask < 0 && !gt_helper_stop(&w->helper))
		return;
	if (!w->helper.pid && gt_helper_start(&w->helper, pr_watch_serve, w->state, &w->cli->err) < 0) {
		give_up(w, "error", w->cli->err.msg);
		gt_err_clear(&w->cli->err);
		return;
	}
	if (gt_helper_request(&w->helper) < 0)
		give_up(w, "error", "the child process that queries NVML died");
}

static void take_cards(struct watch *w, const char *line, json_t *sample)
{
	gt_auto_json *doc = NULL;
	struct gt_err err = {0};

	if (gt_json_parse(line, strlen(line), "NVML's answer", &doc, &err) < 0 || gt_json_get_int(doc, "code", 0)) {
		json_object_set_new(sample, "gpu_state", json_string("error"));
		json_object_set_new(sample, "gpu_text",
				    gt_json_str(doc ? gt_json_get_str(doc, "error", "?") : err.msg));
		return;
	}
	if (gt_json_get_bool(doc, "no_library", false)) {
		w->cards = false; /* NVML is not queried again */
		gt_helper_stop(&w->helper);
		json_object_set_new(sample, "gpu_text", gt_json_str(gt_json_get_str(doc, "error", NULL)));
		return;
	}
	w->trouble = NULL;
	w->pause_s = 0;
	json_object_set_new(sample, "gpu_state", json_string("ok"));
	pr_watch_describe_holders(w->cli->fs, pr_gpu_memory_is_node(w->host), json_object_get(doc, "gpus"));
	json_object_set(sample, "gpus", json_object_get(doc, "gpus"));
}

/* Waits for the reply at most wait_s, and continues to wait in the next sample. A reply later than limit_s is a timeout. */
static void look_at_cards(struct watch *w, double wait_s, double limit_s, json_t *sample)
{
	gt_autofree char *line = NULL;
	char why[64];
	int r;

	if (!w->cards)
		return;
	if (w->helper.asked) {
		double left = w->helper.since_s + limit_s - gt_now_s();

		r = gt_helper_answer(&w->helper, GT_MIN(wait_s, GT_MAX(left, 0)), &gt_interrupted, &line);
		if (!r) {
			take_cards(w, line, sample);
			return;
		}
		if (r == -EPIPE)
			give_up(w, "error", "the child process that queries NVML died");
		if (r == -EAGAIN && gt_now_s() - w->helper.since_s >= limit_s) {
			snprintf(why, sizeof(why), "NVML gave no answer within %g s", limit_s);
			give_up(w, "timeout", why);
		}
	}
	json_object_set_new(sample, "gpu_state", json_string(w->trouble ? w->trouble : "late"));
	if (w->trouble)
		json_object_set_new(sample, "gpu_text", gt_json_str(w->why));
}

/* ---- a sample ---- */

static json_t *new_sample(double seconds)
{
	char now[21];

	gt_time_iso8601(now, (int64_t)time(NULL));
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:n, s:[]}", "schema", PR_WATCH_SCHEMA, "kind", "sample", "time",
			 now, "seconds", gt_json_real((double)(long)(seconds * 1000) / 1000), "gpu_state", "none",
			 "gpu_text", "gpus");
}

static int show(struct watch *w, json_t *sample)
{
	gt_auto_buf out = {0};
	int r;

	if (!strcmp(w->form, "openmetrics")) {
		pr_watch_metrics(sample, &out);
		if (output)
			return gt_file_write(output, out.s, out.len, 0644, &w->cli->err);
		fwrite(out.s, 1, out.len, stdout);
		return 0;
	}
	if (!strcmp(w->form, "jsonl"))
		pr_watch_jsonl(&w->view, sample);
	else if (w->draws)
		pr_watch_draw(&w->view, sample);
	else
		pr_watch_line(&w->view, sample);
	r = gt_stdout_flush();
	return r < 0 ? gt_fail_errno(&w->cli->err, -r, "cannot write to standard output") : 0;
}

/* Sleeps until the given time or a signal. Checks five times a second whether a signal arrived just before the sleep. */
static void sleep_until(double then)
{
	double left;

	while (!gt_interrupted && (left = then - gt_now_s()) > 0) {
		struct timespec nap = {.tv_nsec = (long)(GT_MIN(left, 0.2) * 1e9)};

		nanosleep(&nap, NULL);
	}
}

/* Takes a sample that is not shown: a rate needs two samples, and the first query starts NVML, which is slow. */
static void first_look(struct watch *w, struct pr_node_watch *nodes, double limit_s)
{
	gt_auto_json *nobody = new_sample(0);

	ask_cards(w);
	pr_node_watch_look(nodes, w->cli->fs, gt_now_s(), nobody);
	look_at_cards(w, limit_s, limit_s, nobody);
	sleep_until(gt_now_s() + GT_MIN(interval_s, 0.5));
}

static int watch_live(struct watch *w)
{
	static const struct pr_discover_opts launch = {.launch = true};
	double limit = pr_nvml_timeout_s > 0 ? pr_nvml_timeout_s : 10, start = gt_now_s(), next = start;
	gt_auto(pr_node_watch) *nodes = NULL;
	gt_auto(pr_host) *h = NULL;
	int r = pr_host_discover(w->cli->fs, &launch, &h, &w->cli->err);

	if (r < 0)
		return r;
	nodes = pr_node_watch_new(h);
	w->host = h;
	w->cards = gt_fs_is_live(w->cli->fs);
	first_look(w, nodes, limit);
	next = gt_now_s();
	for (uint64_t i = 0; r >= 0 && !gt_interrupted && (!count || i < count); i++) {
		gt_auto_json *sample = new_sample(gt_now_s() - start);

		ask_cards(w);
		pr_node_watch_look(nodes, w->cli->fs, gt_now_s(), sample);
		look_at_cards(w, interval_s, limit, sample);
		if (gt_interrupted)
			break;
		pr_session_add(w->session, sample);
		r = show(w, sample);
		next = GT_MAX(next + interval_s, gt_now_s()); /* missed samples are not repeated */
		if (!count || i + 1 < count)
			sleep_until(next);
	}
	return r;
}

/* ---- a recording ---- */

static int watch_again(struct watch *w)
{
	gt_autofree char *text = NULL;
	unsigned number = 0;
	size_t len;
	int r = gt_file_read(replay, RECORDING_MAX, &text, &len, &w->cli->err);

	if (r < 0)
		return r;
	if (strlen(text) != len)
		return gt_fail_exit(&w->cli->err, GT_EXIT_USAGE, EINVAL, "%s is not a recording: it contains NUL bytes",
				    replay);
	gt_each_line(line, text) {
		gt_auto_json *doc = NULL;
		gt_autofree char *name = NULL;

		if (gt_interrupted)
			break;
		name = gt_xasprintf("%s:%u", replay, ++number);
		r = gt_json_parse(line, strlen(line), name, &doc, &w->cli->err);
		if (r >= 0)
			r = gt_json_check_schema(doc, PR_WATCH_SCHEMA, name, &w->cli->err);
		if (r < 0) {
			w->cli->err.exit_status = GT_EXIT_USAGE;
			return r;
		}
		if (strcmp(gt_json_get_str(doc, "kind", ""), "sample"))
			continue; /* the summary is computed again for the display */
		pr_session_add(w->session, doc);
		r = show(w, doc);
		if (r < 0)
			return r;
	}
	return number ? 0
		      : gt_fail_exit(&w->cli->err, GT_EXIT_USAGE, EINVAL,
				     "%s is empty: record with gpuprobe watch --format jsonl",
				     replay);
}

/* ---- the command ---- */

static int check_options(struct gt_cli *cli, const char *form)
{
	if (!(interval_s >= 0.1 && interval_s <= 86400))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "--interval needs a time from 0.1 to 86400 s, not %g", interval_s);
	if (output && strcmp(form, "openmetrics"))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "--output is for --format openmetrics; send other forms to a file "
				    "with >");
	if (!output && !strcmp(form, "openmetrics") && count != 1)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL,
				    "--format openmetrics needs --output FILE, or --count 1");
	return 0;
}

static int run_watch(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto(pr_session) *session = pr_session_new();
	gt_auto_json *summary = NULL;
	struct watch w = {.cli = cli,
			  .form = format      ? format
				  : cli->json ? "jsonl"
					      : "text",
			  .view = {.out = stdout, .color = cli->color, .quiet = cli->quiet},
			  .session = session,
			  .helper = GT_HELPER_INIT};
	int r;

	r = check_options(cli, w.form);
	if (r >= 0)
		r = gt_file_try(output, &cli->err);
	if (r < 0)
		return r;
	w.draws = !replay && !cli->quiet && isatty(STDOUT_FILENO) &&
		  strcmp(getenv("TERM") ? getenv("TERM") : "dumb", "dumb");
	w.state = pr_watch_serve_state();
	r = replay ? watch_again(&w) : watch_live(&w);
	if (r == -EPIPE) /* the reader, such as head, has exited */
		r = 0;
	gt_helper_stop(&w.helper);
	free(w.state);
	summary = r < 0 ? NULL : pr_session_summary(session);
	if (summary && !strcmp(w.form, "jsonl"))
		pr_watch_jsonl(&w.view, summary);
	else if (summary && !strcmp(w.form, "text"))
		pr_watch_summary(&w.view, summary);
	json_decref(w.view.announced);
	if (r < 0)
		return r;
	if (!strcmp(gt_json_get_str(summary, "gpu_state", ""), "timeout") ||
	    !strcmp(gt_json_get_str(summary, "gpu_state", ""), "error"))
		return 3;
	return json_array_size(json_object_get(summary, "patterns")) ? 1 : 0;
}

static const struct gt_opt watch_opts[] = {
	{'i', "interval", "SECONDS", "sample every SECONDS (default: 1)", GT_OPT_REAL, &interval_s},
	{'n', "count", "N", "stop after N samples (default: at ^C)", GT_OPT_COUNT, &count},
	{'f', "format", "FORMAT", "print text, jsonl (one document per line) or openmetrics (default: text)", GT_OPT_CHOICE,
	 &format, formats},
	{'o', "output", "FILE", "write openmetrics to FILE, replaced at each sample", GT_OPT_STR, &output},
	{0, "replay", "FILE", "replay a recording of --format jsonl (-: standard input)", GT_OPT_STR, &replay},
	PR_OPT_NVML_TIMEOUT,
	{0},
};
const struct gt_cmd pr_cmd_watch = {
	.name = "watch",
	.args = "",
	.group = "Diagnose",
	.summary = "Monitor GPUs and NUMA nodes and report bottlenecks",
	.help = "Samples GPUs (compute, memory, PCIe, clocks, power) and NUMA nodes (CPUs, memory, waiting tasks) until ^C "
		"or --count, then prints a summary. Reports patterns such as an idle GPU, uneven memory, a saturated PCIe "
		"link or a slow data loader; gpuprobe(1) lists them. A hung GPU does not stop the monitor. Exit status 1 "
		"means that a pattern was found, 3 that NVML did not answer at the end.",
	.opts = watch_opts,
	.run = run_watch,
};
