/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SETTINGS_H
#define BN_SETTINGS_H
#include <stdbool.h>
#include "lib/json.h"

/*
 * Compares the settings `now` of an arm with its settings at its previous entry in the session. At its first entry, compares
 * them with those of the other arm. Adds differences to doc.confounders. settings: last settings of the unchanged and the
 * changed arm. Takes ownership of now. Returns true, with doc.run.invalid set, if another program changed a setting of the
 * treatment.
 */
bool bn_settings_check(json_t *doc, json_t *settings[2], bool changed, json_t *now, int64_t block);
#endif
