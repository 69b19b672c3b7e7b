/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_FLEET_H
#define PR_FLEET_H
/*
 * Compares the reports of many hosts. Hosts with the same processors, GPUs and network cards are a class. Within a class,
 * values that differ are counted. The memory depends on the number of classes and values, not on the number of reports.
 */
#include "lib/json.h"

struct pr_fleet;
struct pr_fleet *pr_fleet_new(void);
void pr_fleet_free(struct pr_fleet *f);
/* Adds a report (gpuprobe/1). name: of the host, for the result. */
void pr_fleet_add(struct pr_fleet *f, const char *name, const json_t *report);
/* Counts a file that is no report. why: one sentence. */
void pr_fleet_skip(struct pr_fleet *f, const char *why);
/* Returns the document gpuprobe-fleet/1. */
json_t *pr_fleet_judge(struct pr_fleet *f);
#endif
