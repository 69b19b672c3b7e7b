/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other observations during gpubench prove: undeclared differences of settings, remarks of the phases, outlier
 * launches. Pairs are interleaved. A setting that another program changes during the session therefore affects one pair
 * and is then the same in both arms. This voids the session only if the setting is one of the changes. The receipt
 * lists such a setting. A difference between the arms cannot be separated from the change.
 */
#include <math.h>
#include <string.h>
#include "bench/prove/observations.h"
#include "bench/result/text.h"

#define OUTLIERS_MOST 20

static const char *phase_name(const json_t *doc)
{
	return gt_json_get_str(json_object_get(doc, "phase"), "name", "?");
}

/* Returns for example "leave-one-out of vm.swappiness". */
static json_t *phase_label(const json_t *doc)
{
	const char *change = gt_json_get_str(json_object_get(doc, "phase"), "change", NULL);

	return json_sprintf("%s%s%s", phase_name(doc), change ? " of " : "", change ? change : "");
}

/* Finds the member of list that equals entry in all keys, or adds one. Adds the phase to its phases. */
static void add(json_t *list, const json_t *entry, const char *const *keys, const json_t *doc)
{
	gt_auto_json *label = phase_label(doc);
	json_t *known, *found = NULL, *v;
	size_t i, k;

	json_array_foreach(list, i, known)
	{
		bool same = !found;

		for (k = 0; same && keys[k]; k++)
			same = json_equal(json_object_get(known, keys[k]), json_object_get(entry, keys[k]));
		found = same ? known : found;
	}
	if (!found) {
		found = json_copy((json_t *)entry);
		json_object_set_new(found, "phases", json_array());
		json_array_append_new(list, found);
	}
	json_array_foreach(json_object_get(found, "phases"), i, v) if (json_equal(v, label)) return;
	json_array_append(json_object_get(found, "phases"), label);
}

static bool is_change(const struct bn_prove *p, const char *key)
{
	for (size_t i = 0; i < p->stage->arms.n_factor; i++)
		if (gt_streq(p->stage->arms.factor[i].id, key))
			return true;
	return false;
}

/* Returns whether arm A of the phase is the unchanged host. Such phases can be compared with each other. */
static bool starts_from_host(const json_t *doc)
{
	static const char *const names[] = {"race", "total", "add-one", "confirm"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (gt_streq(phase_name(doc), names[i]))
			return true;
	return false;
}

static const char *const of_difference[] = {"key", "from", "to", "when", NULL};

/* Adds differences between two phases. Differences already reported as changed during a phase are skipped. */
static void add_phase_differences(const struct bn_prove *p, const json_t *was, const json_t *now, json_t *list)
{
	json_t *a = json_object_get(json_object_get(was, "settings"), "a"),
	       *b = json_object_get(json_object_get(now, "settings"), "a");
	const char *key;
	json_t *v, *known;
	size_t i;

	json_object_foreach(b, key, v)
	{
		json_t *old = json_object_get(a, key);
		gt_auto_json *entry = NULL;
		bool reported = false;

		if (!old || json_equal(old, v) || is_change(p, key))
			continue;
		json_array_foreach(list, i, known) reported |= gt_streq(gt_json_get_str(known, "key", NULL), key) &&
							   json_equal(json_object_get(known, "to"), v);
		if (reported)
			continue;
		entry = json_pack("{s:s, s:O, s:O, s:s}", "key", key, "from", old, "to", v, "when", "between phases");
		add(list, entry, of_difference, now);
	}
}

json_t *bn_prove_confounders(const struct bn_prove *p)
{
	json_t *list = json_array(), *phases = json_object_get(p->doc, "phases"), *doc, *c;
	const json_t *last = NULL;
	size_t i, k;

	json_array_foreach(phases, i, doc)
	{
		if (last && starts_from_host(doc))
			add_phase_differences(p, last, doc, list);
		json_array_foreach(json_object_get(doc, "confounders"), k, c)
		{
			gt_auto_json *entry = json_pack("{s:O, s:O, s:O, s:O}", "key", json_object_get(c, "key"),
							"from", json_object_get(c, "from"), "to",
							json_object_get(c, "to"), "when", json_object_get(c, "when"));

			if (entry)
				add(list, entry, of_difference, doc);
		}
		last = starts_from_host(doc) ? doc : last;
	}
	return list;
}

/* Returns whether a control alarm may be chance. The alarm of one phase is raised at 1 %, so one of many phases raises
 * it by chance. */
static bool may_be_chance(const json_t *doc, size_t phases)
{
	json_t *list = json_object_get(doc, "comparisons"), *c;
	double p = 1;
	size_t i;

	json_array_foreach(list, i, c) if (gt_streq(gt_json_get_str(c, "role", NULL), "control")) p =
		fmin(p, gt_json_get_real(c, "p", 1));
	return p * (double)phases > BN_PROVE_ALPHA;
}

json_t *bn_prove_warnings(const struct bn_prove *p)
{
	static const char *const keys[] = {"code", "text", "hint", NULL};
	json_t *list = json_array(), *phases = json_object_get(p->doc, "phases"), *doc, *w;
	size_t i, k;

	json_array_foreach(phases, i, doc) json_array_foreach(json_object_get(doc, "warnings"), k, w)
	{
		const char *code = gt_json_get_str(w, "code", NULL);

		if (gt_streq(code, "time-limit") || /* doc.not_reached already lists it */
		    (gt_streq(code, "control") && may_be_chance(doc, json_array_size(phases))))
			continue;
		add(list, w, keys, doc);
	}
	json_array_foreach(list, i, w)
		if (json_array_size(json_object_get(w, "phases")) == json_array_size(phases))
			json_array_clear(json_object_get(w, "phases"));
	return list;
}

static double distance(const json_t *outlier)
{
	return fabs(gt_json_get_real(outlier, "deviation_pct", 0));
}

json_t *bn_prove_outliers(const struct bn_prove *p)
{
	json_t *list = json_array(), *phases = json_object_get(p->doc, "phases"), *doc, *o;
	size_t i, k, n = 0;

	json_array_foreach(phases, i, doc) json_array_foreach(json_object_get(doc, "outliers"), k, o)
	{
		json_t *entry = json_copy(o);
		size_t at = json_array_size(list);

		n++;
		json_object_set_new(entry, "phase", phase_label(doc));
		while (at > 0 && distance(json_array_get(list, at - 1)) < distance(entry))
			at--;
		json_array_insert_new(list, at, entry);
		json_array_remove(list, OUTLIERS_MOST);
	}
	return json_pack("{s:I, s:o}", "n", (json_int_t)n, "farthest", list);
}
