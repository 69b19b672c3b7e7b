/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LADDER_OUTCOME_H
#define BN_LADDER_OUTCOME_H
/* The results that a ladder keeps of the documents that the commands of a launch print. */
#include "lib/json.h"

void bn_ladder_outcome(const json_t *doc, json_t *launch);
/* Adds the held-out loss and accuracy of a document of gpubench infer --evaluate. */
void bn_ladder_evaluation(const json_t *doc, json_t *launch);
#endif
