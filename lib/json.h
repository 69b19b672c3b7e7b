/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_JSON_H
#define GT_JSON_H
/*
 * JSON documents: trees of plain values (jansson's json_t). Tools build a document, then render it as text, JSON or
 * HTML. The parser is strict: duplicate keys, trailing text, excessive depth and excessive size are errors with line
 * and column.
 */
#include <jansson.h>
#include <stdio.h>
#include "lib/err.h"

static inline void gt_json_decrefp(json_t **p)
{
	json_decref(*p);
}
#define gt_auto_json	__attribute__((cleanup(gt_json_decrefp))) json_t

/* Returns a real. NaN and infinities, which JSON lacks, become null. */
json_t *gt_json_real(double v);
/* Returns a string. Bytes that are not UTF-8 become U+FFFD; NULL becomes null. */
json_t *gt_json_str(const char *s);
void gt_json_make_plain(json_t *j); /* applies gt_make_plain() to every string value in j, for text that is printed on a terminal */
/* Parses len bytes of text. name: the name for error messages. Refuses more than 64 MiB or 64 levels. */
int gt_json_parse(const char *text, size_t len, const char *name, json_t **ret, struct gt_err *err);
/* Formats the document: indented, keys in order of insertion, reals with 12 significant digits, newline at the end. */
char *gt_json_text(const json_t *doc);
void gt_json_print(FILE *out, const json_t *doc);
bool gt_json_printed(void); /* true if a document was printed on stdout */

/* Typed members. The _req functions fail with a sentence that names the key. The others return the default if the key
 * is absent or of another type. Strings stay owned by the document. */
int gt_json_req_str(const json_t *o, const char *key, const char **ret, struct gt_err *err);
int gt_json_req_int(const json_t *o, const char *key, int64_t *ret, struct gt_err *err);
int gt_json_req_real(const json_t *o, const char *key, double *ret, struct gt_err *err); /* accepts integers too */
int gt_json_req_array(const json_t *o, const char *key, json_t **ret, struct gt_err *err);
int gt_json_req_object(const json_t *o, const char *key, json_t **ret, struct gt_err *err);
const char *gt_json_get_str(const json_t *o, const char *key, const char *dflt);
int64_t gt_json_get_int(const json_t *o, const char *key, int64_t dflt);
double gt_json_get_real(const json_t *o, const char *key, double dflt);
bool gt_json_get_bool(const json_t *o, const char *key, bool dflt);
/* Checks that the document's "schema" is want ("gputune-plan/1"). A newer major version has its own error message. */
int gt_json_check_schema(const json_t *doc, const char *want, const char *name, struct gt_err *err);
#endif
