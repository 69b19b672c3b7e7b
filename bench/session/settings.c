/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/session/settings.h"
#include "lib/util.h"

static bool declared(const json_t *doc, const char *key)
{
	json_t *list = json_object_get(json_object_get(doc, "treatment"), "declared"), *k;
	size_t i;

	json_array_foreach(list, i, k)
		if (gt_streq(gt_json_get_str(k, "id", NULL), key))
			return true;
	return false;
}

static void add_confounder(json_t *doc, const char *key, const json_t *from, const json_t *to, const char *when, int64_t block)
{
	json_array_append_new(json_object_get(doc, "confounders"),
			      json_pack("{s:s, s:O, s:O, s:s, s:I}", "key", key, "from", from, "to", to, "when", when, "block",
					(json_int_t)block));
}

/* Records the keys whose values differ. midway: the same arm at two times, otherwise the two arms. */
static bool differences(json_t *doc, json_t *old, json_t *new, bool midway, int64_t block)
{
	json_t *v, *null = json_null();
	bool invalid = false;
	const char *key;

	json_object_foreach(new, key, v) {
		json_t *old_value = json_object_get(old, key);

		if (!old_value)
			old_value = null;
		if (json_equal(old_value, v))
			continue;
		if (midway && declared(doc, key)) {
			json_object_set_new(json_object_get(doc, "run"), "invalid",
					    json_sprintf("%s was changed during the session by another program", key));
			invalid = true;
		}
		if (midway || !declared(doc, key))
			add_confounder(doc, key, old_value, v, midway ? "midway" : "between arms", block);
	}
	return invalid;
}

bool bn_settings_check(json_t *doc, json_t *settings[2], bool changed, json_t *now, int64_t block)
{
	bool invalid;

	if (!settings[changed]) {
		settings[changed] = now;
		json_object_set(json_object_get(doc, "settings"), changed ? "b" : "a", now);
		return settings[0] && settings[1] && differences(doc, settings[0], settings[1], false, block);
	}
	invalid = differences(doc, settings[changed], now, true, block);
	json_decref(settings[changed]); /* later entries are compared with these settings, so a change is reported once */
	settings[changed] = now;
	return invalid;
}
