/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TEXT_H
#define BN_TEXT_H
#include "lib/buf.h"
#include "lib/json.h"

/* Numbers and sentences that messages and reports share. */
struct bn_text {
	char s[192];
};
struct bn_text bn_text_value(double v, const char *unit);	 /* "182.4 ms" */
/* Returns the factor that makes a value easy to read, and its new unit: 1000 and "ms" for .18 s. */
double bn_text_scale(double v, const char *unit, const char **ret_shown);
struct bn_text bn_text_level(const json_t *doc, const json_t *level, const char *key); /* key: "median", "low" or "high" */
struct bn_text bn_text_number(double v, int digits);		 /* significant digits, never 1.4e+02 */
struct bn_text bn_text_samples(const json_t *metric);		 /* "1.2 %" of scale_pct, "-" if there is none */
struct bn_text bn_text_percent(double v);			 /* "+5.1 %" */
struct bn_text bn_text_change(const json_t *comparison);	 /* "-2.4 %", with the decimals that the interval supports */
struct bn_text bn_text_interval(const json_t *comparison);	 /* "[-2.9, -1.8]" */
/* The reason of an inconclusive verdict, for use within a sentence: "needs 9 more pairs (14 min)". */
struct bn_text bn_text_reason(const char *reason);
struct bn_text bn_text_verdict(const json_t *comparison);	 /* "inconclusive: 9 more pairs (14 min)" */
struct bn_text bn_text_design(const json_t *doc);		 /* "9 random pairs + 6 A/A, seed 7" */
struct bn_text bn_text_aa(const json_t *doc);			 /* "ok: identical arms differ by 0.3 %" */
struct bn_text bn_text_json(const json_t *value);		 /* value of a setting */
struct bn_text bn_text_outlier(const json_t *outlier);		 /* "launch 7 (A): sim +12 %, other tasks ran" */
struct bn_text bn_text_metric(const json_t *comparison);	 /* "train.gpt [P]" */
/* Prints the result in one line: "BETTER: train.gpt -2.4 % [-2.9, -1.8], lower is better". */
void bn_text_headline(const json_t *doc, struct gt_buf *out);
/* Prints "; may be worse: w.p99 +1 % [-3, +9], allowed 2.0 %" for each member of guards_open. */
void bn_text_guards(const json_t *guards, struct gt_buf *out);
const char *bn_arm_name(const json_t *doc, bool b); /* "baseline", "tuned", or the files' names */
#endif
