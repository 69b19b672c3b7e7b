/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of the plan to and from a document. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "sysctl/sysctl.h"
#include "tune/boot/predict.h"
#include "tune/knob/list.h"
#include "tune/plan/plan_json.h"
#include "tune/model/value.h"

/* ---- plan to document ------------------------------------------------------------------------------------------- */

/* Lists the preconditions with their results. null: not evaluated, because an earlier one fails or the item was left
 * out. */
static json_t *preconditions_json(const struct tn_item *i)
{
	const char *path = i->instance || !i->knob->instances ? i->path : NULL;
	json_t *list = json_array();
	char *what;

	for (size_t n = 0; (what = tn_precondition_text(i->knob, path, n)); n++) {
		bool fails = n == i->preconditions_met && i->precondition_fails;

		json_array_append_new(list, json_pack("{s:o, s:o}", "what", gt_json_str(what), "holds",
						      n < i->preconditions_met ? json_true() : fails ? json_false() : json_null()));
		free(what);
	}
	return list;
}

/* Reads the results for display; apply evaluates the preconditions again. */
static void read_preconditions(const json_t *o, struct tn_item *i)
{
	const json_t *list = json_object_get(o, "precondition");

	while (i->preconditions_met < json_array_size(list) &&
	       json_is_true(json_object_get(json_array_get(list, i->preconditions_met), "holds")))
		i->preconditions_met++;
	i->precondition_fails = json_is_false(json_object_get(json_array_get(list, i->preconditions_met), "holds"));
}

/* Splits the remedy into lines, because a document with newlines in its strings is refused. */
static json_t *remedy_json(const struct tn_item *i)
{
	json_t *lines = i->remedy ? json_array() : json_null();

	for (const char *p = i->remedy; p && *p; p = gt_next_line(p))
		json_array_append_new(lines, json_stringn(p, strcspn(p, "\n")));
	return lines;
}

static bool read_remedy(const json_t *o, struct tn_item *i)
{
	const json_t *list = json_object_get(o, "remedy"), *line;
	gt_auto_buf b = { 0 };
	size_t n;

	json_array_foreach(list, n, line) {
		if (!json_is_string(line))
			return false;
		gt_buf_printf(&b, "%s%s", n ? "\n" : "", json_string_value(line));
	}
	i->remedy = b.len ? gt_buf_take(&b) : NULL;
	return true;
}

static json_t *item_json(const struct tn_item *i)
{
	const struct tn_tunable *k = i->knob;
	const char tag[2] = { k->tag };
	json_t *o = json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:s}", "knob", k->id, "instance",
			      gt_json_str(i->instance), "status", tn_status_name(i->status), "path", gt_json_str(i->path),
			      "current",
			      gt_json_str(i->current), "wanted", gt_json_str(i->wanted), "operation", tn_op_name(k->op), "unit",
			      k->unit, "reason", gt_json_str(i->reason), "hazard", k->hazard, "tag", tag);

	json_object_set_new(o, "remedy", remedy_json(i));
	json_object_set_new(o, "precondition", preconditions_json(i));
	json_object_set_new(o, "takes_effect", json_string(tn_effect_name(k->takes_effect)));
	json_object_set_new(o, "counterpart", i->pair_path && i->pair_current ?
						      json_pack("{s:s, s:o}", "path", i->pair_path, "current",
								gt_json_str(i->pair_current)) :
						      json_null());
	json_object_set_new(o, "conflict", gt_json_str(i->conflict));
	json_object_set_new(o, "persisted_in", gt_json_str(tn_persist_file(tn_tunable_form(k))));
	json_object_set_new(o, "keeps", json_boolean(tn_item_persists(i)));
	json_object_set_new(o, "at_boot", tn_boot_knows(k) ? tn_boot_json(i->at_boot, i->at_boot_by, i->at_boot_may) :
							     json_null());
	json_object_set_new(o, "evidence", json_null()); /* filled by gpubench prove; null: not measured on this host */
	return o;
}

json_t *tn_plan_to_json(const struct tn_plan *p)
{
	json_t *items = json_array(), *doc;

	for (size_t i = 0; i < p->n_item; i++)
		json_array_append_new(items, item_json(&p->item[i]));
	doc = json_pack("{s:s, s:s, s:s, s:o, s:s, s:b, s:i, s:o}", "schema", TN_PLAN_SCHEMA, "host", p->host, "boot_id",
			 p->boot_id, "kernel", gt_json_str(p->kernel), "profile", p->profile, "optional", p->optional, "changes",
			 (int)tn_plan_changes(p), "items", items);
	if (p->outside)
		json_object_set(doc, "outside", p->outside);
	return doc;
}

/* ---- document to plan ------------------------------------------------------------------------------------------- */

bool tn_instance_ok(const char *s)
{
	return *s && *s != '.' && strlen(s) < 64 &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-!.:") == strlen(s);
}

static int status_of(const char *s, enum tn_status *ret)
{
	for (enum tn_status i = TN_CHANGE; i <= TN_ADVICE; i++)
		if (!strcmp(tn_status_name(i), s)) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

static bool optional_text(const json_t *o, const char *key, char **ret)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return true;
	if (!json_is_string(v))
		return false;
	*ret = gt_xstrdup(json_string_value(v));
	return true;
}

/* Checks that desired() could have asked for the change: its type, range and direction. */
static int check_change(const struct tn_item *i, struct gt_err *err)
{
	if (i->knob->tag == 'C')
		return gt_fail(err, EINVAL, "%s is never written", i->knob->id);
	if (!i->current || !i->wanted)
		return gt_fail(err, EINVAL, "%s has no current or no desired value", i->knob->id);
	if (strlen(i->current) > 127 || tn_tunable_check_value(i->knob, NULL, i->wanted, err) < 0)
		return err->msg[0] ? -EINVAL : gt_fail(err, EINVAL, "%s: the current value is too long", i->knob->id);
	if (tn_item_good(i, i->current))
		return gt_fail(err, EINVAL, "%s would not %s from %s to %s", i->knob->id, tn_op_name(i->knob->op), i->current,
			       i->wanted);
	return 0;
}

static int read_item(struct tn_plan *p, const json_t *o, struct gt_err *err)
{
	const char *id = NULL, *status_name = NULL, *instance = json_string_value(json_object_get(o, "instance"));
	const struct tn_tunable *k;
	enum tn_status status;
	struct tn_item *i;
	int r = gt_json_req_str(o, "knob", &id, err);

	if (!r)
		r = gt_json_req_str(o, "status", &status_name, err);
	if (r < 0)
		return r;
	k = tn_tunable_find(id);
	if (!k)
		return gt_fail(err, EINVAL, "there is no knob '%.60s'", id);
	if (instance && (!k->instances || !tn_instance_ok(instance)))
		return gt_fail(err, EINVAL, "%s: '%.60s' is not a valid device", id, instance);
	if (status_of(status_name, &status) < 0)
		return gt_fail(err, EINVAL, "%s: unknown status '%.60s'", id, status_name);
	for (size_t n = 0; n < p->n_item; n++)
		if (p->item[n].knob == k && gt_streq(p->item[n].instance, instance))
			return gt_fail(err, EINVAL, "%s occurs twice", id);
	i = tn_plan_add(p, k, instance);
	i->status = status;
	i->chosen = status == TN_CHANGE || gt_json_get_bool(o, "keeps", false);
	read_preconditions(o, i);
	if (!read_remedy(o, i) || !optional_text(o, "current", &i->current) || !optional_text(o, "wanted", &i->wanted) ||
	    !optional_text(o, "reason", &i->reason) || !optional_text(o, "conflict", &i->conflict) ||
	    !optional_text(json_object_get(o, "counterpart"), "current", &i->pair_current) ||
	    !optional_text(json_object_get(o, "at_boot"), "value", &i->at_boot) ||
	    !optional_text(json_object_get(o, "at_boot"), "decided_by", &i->at_boot_by) ||
	    !optional_text(json_object_get(o, "at_boot"), "may", &i->at_boot_may))
		return gt_fail(err, EINVAL, "%s: a value is not a string", id);
	if (i->pair_path && !i->pair_current && status == TN_CHANGE)
		return gt_fail(err, EINVAL, "%s has no value of its counterpart", id);
	return status == TN_CHANGE ? check_change(i, err) : 0;
}

static bool plain_text(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p; p++)
		if ((*p < ' ' && *p != '\t') || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0)) /* C0, DEL, C1 */
			return false;
	return true;
}

/* These strings reach root's terminal and the journal. Tabs are allowed, because kernel values contain them. */
bool tn_json_is_plain(const json_t *doc)
{
	json_t *v = (json_t *)doc, *o;
	const char *key;
	size_t i;

	if (json_is_string(doc))
		return plain_text(json_string_value(doc));
	json_array_foreach(doc, i, o)
		if (!tn_json_is_plain(o))
			return false;
	json_object_foreach(v, key, o)
		if (!tn_json_is_plain(o))
			return false;
	return true;
}

static int read_plan(const json_t *doc, struct tn_plan *p, struct gt_err *err)
{
	const char *host = NULL, *profile = NULL;
	json_t *items = NULL;
	const json_t *o;
	size_t n;
	int r = gt_json_check_schema(doc, TN_PLAN_SCHEMA, "the plan", err);

	if (!r && !tn_json_is_plain(doc))
		r = gt_fail(err, EINVAL, "it contains control characters");
	if (!r)
		r = gt_json_req_str(doc, "host", &host, err);
	if (!r)
		r = gt_json_req_str(doc, "profile", &profile, err);
	if (!r)
		r = gt_json_req_array(doc, "items", &items, err);
	if (r < 0)
		return r;
	p->host = gt_xstrdup(host);
	p->profile = gt_xstrdup(profile);
	p->boot_id = gt_xstrdup(gt_json_get_str(doc, "boot_id", ""));
	p->kernel = gt_xstrdup(gt_json_get_str(doc, "kernel", ""));
	p->optional = gt_json_get_bool(doc, "optional", false);
	json_array_foreach(items, n, o) {
		r = read_item(p, o, err);
		if (r < 0)
			return gt_fail_prefix(err, "item %zu", n + 1);
	}
	return 0;
}

int tn_plan_from_json(const json_t *doc, struct tn_plan **ret, struct gt_err *err)
{
	gt_auto(tn_plan) *p = gt_xcalloc(1, sizeof(*p));
	struct gt_err e = { 0 };
	int r = read_plan(doc, p, &e);

	if (r < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, -r, "the plan is refused: %s", e.msg);
	*ret = gt_take(p);
	return 0;
}
