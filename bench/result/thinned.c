/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/result/thinned.h"
#include "bench/result/data.h"
#include "lib/file.h"

#define SAMPLES_MIN 256 /* samples of a launch that are enough for its median and its tail */

typedef void series_fn(json_t *series, void *arg);

/* Calls fn for each series of one session with more than ENOUGH samples. */
static void each_series(const json_t *session, series_fn *fn, void *arg)
{
	json_t *launch, *series;
	const char *id;
	size_t i;

	json_array_foreach(json_object_get(session, "launches"), i, launch)
		json_object_foreach(json_object_get(launch, "metrics"), id, series)
			if (json_array_size(json_object_get(series, "samples")) > SAMPLES_MIN)
				fn(series, arg);
}

static void find_densest(json_t *series, void *arg)
{
	int64_t *every = arg;

	*every = GT_MIN(*every, gt_json_get_int(series, "every", 1));
}

struct halving {
	int64_t every;
	size_t n;
};

static void halve(json_t *series, void *arg)
{
	struct halving *h = arg;
	json_t *old = json_object_get(series, "samples"), *remaining, *v;
	size_t i;

	if (gt_json_get_int(series, "every", 1) != h->every)
		return;
	remaining = json_array();
	json_array_foreach(old, i, v)
		if (i % 2 == 0)
			json_array_append(remaining, v);
	json_object_set_new(series, "warmup", json_integer((json_int_t)(gt_json_get_int(series, "warmup", 0) + 1) / 2));
	json_object_set_new(series, "every", json_integer((json_int_t)(2 * h->every)));
	json_object_set_new(series, "samples", remaining);
	h->n++;
}

static void add_note(json_t *session)
{
	json_t *notes = json_object_get(json_object_get(session, "run"), "notes"), *note;
	size_t i;

	json_array_foreach(notes, i, note)
		if (gt_streq(gt_json_get_str(note, "code", NULL), "thinned"))
			return;
	if (notes)
		bn_warning(notes, "thinned", "member \"every\" of a launch's samples gives their distance",
			   "the launches have more samples than a file can store: some were left out at regular distances");
}

/* Drops half of the samples of the densest series of all sessions. Returns false if no series has more than ENOUGH
 * samples. */
static bool thin(json_t *doc)
{
	json_t *phases = json_object_get(doc, "phases");
	struct halving h = { INT64_MAX / 2, 0 };
	size_t n = GT_MAX(json_array_size(phases), (size_t)1);

	for (size_t i = 0; i < n; i++)
		each_series(phases ? json_array_get(phases, i) : doc, find_densest, &h.every);
	for (size_t i = 0; i < n; i++) {
		json_t *session = phases ? json_array_get(phases, i) : doc;
		size_t before = h.n;

		each_series(session, halve, &h);
		if (h.n > before)
			add_note(session);
	}
	return h.n > 0;
}

char *bn_thinned_text(json_t *doc, size_t max, struct gt_err *err)
{
	char *text = gt_json_text(doc);

	while (strlen(text) > max) {
		free(text);
		if (!thin(doc)) {
			gt_fail_exit(err, BN_EXIT_INVALID, E2BIG,
				     "the session has more launches than a file of %zu MiB can store; the file saved "
				     "before is complete",
				     max >> 20);
			return NULL;
		}
		text = gt_json_text(doc);
	}
	return text;
}

int bn_thinned_write(const char *path, json_t *doc, struct gt_err *err)
{
	gt_autofree char *text = bn_thinned_text(doc, BN_FILE_MAX / 4 * 3, err);

	return text ? gt_file_write(path, text, strlen(text), 0644, err) : -E2BIG;
}
