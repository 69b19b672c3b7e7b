/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_WATCH_H
#define PR_WATCH_H
/*
 * gpuprobe watch: one document per sample of the host (kind "sample" of gpuprobe-watch/1), checked for patterns and
 * printed in the requested format. A recording of these documents can be replayed in the same way.
 *
 * Values that a GPU or the kernel does not report are omitted from the document, never zero.
 */
#include <stdio.h>
#include "lib/buf.h"
#include "lib/helper.h"
#include "lib/json.h"
#include "probe/host/host.h"

#define PR_WATCH_SCHEMA "gpuprobe-watch/1"

/* ---- GPUs: NVML, in a child ---- */
/* Prints one line: {"code": NVML's code, "error": …, "gpus": […]}. Keeps counters from call to call. */
int pr_watch_serve(void *state);
void *pr_watch_serve_state(void);
/* Replaces the process numbers in the GPUs of a sample by names, users and groups, and adds "complete". shared: programs
 * may use the memory of a GPU without being listed. */
void pr_watch_describe_holders(struct gt_fsroot *fs, bool shared, json_t *gpus);

/* ---- CPUs and memory of each node ---- */
struct pr_node_watch;
struct pr_node_watch *pr_node_watch_new(const struct pr_host *h);
void pr_node_watch_free(struct pr_node_watch *w);
GT_DEFINE_AUTO(pr_node_watch, pr_node_watch_free);
/* Takes a reading and adds the changes since the last one to the sample: "nodes", "pressure", "allowed_cpu_percent".
 * The first reading has memory only. now_s: seconds on a monotonic clock. */
void pr_node_watch_look(struct pr_node_watch *w, struct gt_fsroot *fs, double now_s, json_t *sample);

/* ---- patterns ---- */
#define PR_WATCH_WINDOW 5 /* number of samples that a pattern evaluates */
#define PR_WATCH_LEAST  3 /* minimum number of samples for a pattern */
struct pr_pattern {
	const char *id;
	const char *title;
	/* Adds the pattern to found if the window (oldest first) matches: one element for each GPU, node or host. */
	void (*find)(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found);
};
extern const struct pr_pattern *const pr_patterns[]; /* NULL-terminated */
/* Returns the patterns of the window, [{"id", "subject", "what"}] in the order of the list, as a new reference. */
json_t *pr_find_patterns(json_t *const *window, size_t n);

/* Returns the median of a number over the window; false unless most samples have the number. get: reads it from one sample. */
typedef bool (*pr_number_fn)(const json_t *sample, const void *arg, double *ret);
bool pr_over(json_t *const *window, size_t n, pr_number_fn get, const void *arg, double *ret);

/* ---- the session: window, patterns and summary ---- */
struct pr_session;
struct pr_session *pr_session_new(void);
void pr_session_free(struct pr_session *s);
GT_DEFINE_AUTO(pr_session, pr_session_free);
/* Takes ownership of the sample, finds its patterns (member "patterns") and counts them for the summary. */
void pr_session_add(struct pr_session *s, json_t *sample);
/* Returns the document of kind "summary" as a new reference. */
json_t *pr_session_summary(const struct pr_session *s);

/* ---- output formats ---- */
struct pr_watch_view {
	FILE *out;
	bool color, quiet;
	unsigned drawn; /* number of lines of the last drawing, which the next one overwrites */
	json_t *announced; /* patterns whose begin was printed: [{id, subject, absent}], absent: number of samples without it */
};
void pr_watch_draw(struct pr_watch_view *v, const json_t *sample); /* draws on a terminal, over the last drawing */
void pr_watch_line(struct pr_watch_view *v, const json_t *sample); /* one line, and the patterns that begin or end */
void pr_watch_jsonl(struct pr_watch_view *v, const json_t *doc);
void pr_watch_metrics(const json_t *sample, struct gt_buf *out);
void pr_watch_summary(struct pr_watch_view *v, const json_t *summary);
#endif
