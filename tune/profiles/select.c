/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of tunables and launch settings, and the families that they form. */
#include <errno.h>
#include <string.h>
#include "lib/cli.h"
#include "tune/knob/list.h"
#include "tune/launch/settings.h"
#include "tune/profiles/select.h"

const char *tn_knob_word(size_t i)
{
	size_t n = 0;

	while (n < i && tn_tunables[n])
		n++;
	if (tn_tunables[n])
		return tn_tunables[n]->id;
	return tn_launch_settings[i - n] ? tn_launch_settings[i - n]->id : NULL;
}

/* Returns whether word is the id or a family of it: "vm" and "vm." both match vm.swappiness. */
static bool names(const char *word, const char *id)
{
	size_t n = strlen(word);

	return gt_starts_with(id, word) && (!id[n] || id[n] == '.' || gt_ends_with(word, "."));
}

bool tn_knob_selected(const char *id, const struct gt_strv *list)
{
	if (!list || !list->n)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (names(list->v[i], id))
			return true;
	return false;
}

bool tn_knob_named(const char *id, const struct gt_strv *list)
{
	return list && gt_strv_has(list, id);
}

int tn_knob_check_list(const struct gt_strv *list, const char *option, struct gt_err *err)
{
	for (size_t i = 0; list && i < list->n; i++) {
		const char *id;
		size_t n = 0;

		while ((id = tn_knob_word(n)) && !names(list->v[i], id))
			n++;
		if (!id) {
			bool several = strchr(list->v[i], ',');
			gt_autofree char *hint = gt_hint(list->v[i], tn_knob_word,
							 several ? "each id needs its own option" : "gputune list shows them");

			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s: unknown knob or family '%.60s'; %s", option,
					    list->v[i], hint);
		}
	}
	return 0;
}
