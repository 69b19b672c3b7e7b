/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_WATCH_H
#define PR_WATCH_H
/*
 * gpuprobe watch: one document for each look at the host (kind "sample" of gpuprobe-watch/1), judged by patterns, shown
 * in the form that was asked for. A recording of these documents is watched again in the same way.
 *
 * What a card or the kernel does not tell is left out of the document: absent is never zero.
 */
#include <stdio.h>
#include "lib/buf.h"
#include "lib/helper.h"
#include "lib/json.h"
#include "probe/host/host.h"

#define PR_WATCH_SCHEMA "gpuprobe-watch/1"

/* ---- the cards: NVML, in a child ---- */
/* Answers one line: {"code": NVML's code, "error": …, "gpus": […]}. Keeps counters from call to call. */
int pr_watch_serve(void *state);
void *pr_watch_serve_state(void);

/* ---- processors and memory of each node ---- */
struct pr_node_watch;
struct pr_node_watch *pr_node_watch_new(const struct pr_host *h);
void pr_node_watch_free(struct pr_node_watch *w);
GT_DEFINE_AUTO(pr_node_watch, pr_node_watch_free);
/* Look, and add to the sample what happened since the last look: "nodes", "pressure", "allowed_cpu_percent". The first
 * look only has memory. now_s: seconds on a clock that only goes on. */
void pr_node_watch_look(struct pr_node_watch *w, struct gt_fsroot *fs, double now_s, json_t *sample);

/* ---- patterns ---- */
#define PR_WATCH_WINDOW 5 /* samples that a pattern looks back on */
#define PR_WATCH_LEAST  3 /* fewer name no pattern */
struct pr_pattern {
	const char *id;
	const char *title;
	/* Add to found what the window shows (oldest first): pr_pattern_add for each card, node or host it is true of.
	 */
	void (*find)(const struct pr_pattern *p, json_t *const *window, size_t n, json_t *found);
};
extern const struct pr_pattern *const pr_patterns[]; /* NULL-terminated */
/* What the window shows: [{"id", "subject", "what"}] in the order of the list; a new reference. */
json_t *pr_find_patterns(json_t *const *window, size_t n);

/* Median of a number over the window; false unless most samples have it. get: the number of one sample. */
typedef bool (*pr_number_fn)(const json_t *sample, const void *arg, double *ret);
bool pr_over(json_t *const *window, size_t n, pr_number_fn get, const void *arg, double *ret);

/* ---- the session: window, patterns and summary ---- */
struct pr_session;
struct pr_session *pr_session_new(void);
void pr_session_free(struct pr_session *s);
GT_DEFINE_AUTO(pr_session, pr_session_free);
/* Takes the sample in: finds its patterns (member "patterns") and counts for the summary. */
void pr_session_add(struct pr_session *s, json_t *sample);
/* The document of kind "summary"; a new reference. */
json_t *pr_session_summary(const struct pr_session *s);

/* ---- forms ---- */
struct pr_watch_view {
	FILE *out;
	bool color, quiet;
	unsigned drawn; /* lines of the last drawing, for drawing over it */
	json_t *said; /* patterns that were said to begin: [{id, subject, absent}], absent: for how many samples now */
};
void pr_watch_draw(struct pr_watch_view *v, const json_t *sample); /* on a terminal, over the last one */
void pr_watch_line(struct pr_watch_view *v, const json_t *sample); /* one line, and what begins or ends */
void pr_watch_jsonl(struct pr_watch_view *v, const json_t *doc);
void pr_watch_metrics(const json_t *sample, struct gt_buf *out);
void pr_watch_summary(struct pr_watch_view *v, const json_t *summary);
#endif
