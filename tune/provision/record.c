/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "tune/model/value.h"
#include "tune/provision/record.h"

#define RECORD_PATH   TN_STATE_DIR "/provision"
#define RECORD_SCHEMA "gputune-provision-record/1"

void tn_record_clear(struct tn_record *r)
{
	while (r->n)
		tn_record_drop(r, r->n - 1);
	free(r->package);
	*r = (struct tn_record){.state = TN_RECORD_DONE};
}

void tn_record_drop(struct tn_record *r, size_t i)
{
	free(r->package[i].name);
	free(r->package[i].version);
	memmove(&r->package[i], &r->package[i + 1], (r->n - i - 1) * sizeof(*r->package));
	r->n--;
}

struct tn_recorded *tn_record_find(const struct tn_record *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->package[i].name, name))
			return &r->package[i];
	return NULL;
}

struct tn_recorded *tn_record_add(struct tn_record *r, const char *name, const char *version)
{
	r->package = gt_xrealloc(r->package, (r->n + 1) * sizeof(*r->package));
	r->package[r->n] = (struct tn_recorded){.name = gt_xstrdup(name), .version = gt_xstrdup(version)};
	return &r->package[r->n++];
}

/* Names are passed to apt-get as root, so only valid package names are accepted. */
static int take_package(struct tn_record *r, const json_t *o)
{
	const char *name = gt_json_get_str(o, "name", ""), *version = gt_json_get_str(o, "version", "");
	struct tn_recorded *p;

	if (!tn_deb_is_name(name) || !tn_deb_is_version(version) || tn_record_find(r, name))
		return -EBADMSG;
	p = tn_record_add(r, name, version);
	p->requested = gt_json_get_bool(o, "requested", false);
	p->held = gt_json_get_bool(o, "held", false);
	p->had_config = gt_json_get_bool(o, "had_config", false);
	return 0;
}

int tn_record_parse(const char *text, size_t len, struct tn_record *ret, struct gt_err *err)
{
	struct tn_record r = {.state = TN_RECORD_DONE};
	gt_auto_json *doc = NULL;
	json_t *packages = NULL;
	const json_t *o;
	const char *state;
	size_t i;
	int bad = gt_json_parse(text, len, RECORD_PATH, &doc, err);

	if (!bad)
		bad = gt_json_check_schema(doc, RECORD_SCHEMA, RECORD_PATH, err);
	if (!bad)
		bad = gt_json_req_array(doc, "packages", &packages, err);
	json_array_foreach(packages, i, o) if (!bad) bad = take_package(&r, o);
	state = gt_json_get_str(doc, "state", "");
	if (!bad && strcmp(state, "open") && strcmp(state, "done"))
		bad = -EBADMSG;
	if (bad) {
		tn_record_clear(&r);
		return gt_fail_exit(err, TN_EXIT_REFUSED, EBADMSG,
				    "the record of installed packages, %s, is damaged: nothing is changed. Remove the packages "
				    "that it lists by hand, then remove the record",
				    RECORD_PATH);
	}
	r.state = strcmp(state, "open") ? TN_RECORD_DONE : TN_RECORD_OPEN;
	*ret = r;
	return 0;
}

int tn_record_load(struct gt_fsroot *fs, struct tn_record *ret, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	size_t len;
	int r = gt_fs_read(fs, RECORD_PATH, &text, &len);

	if (r == -ENOENT || r == -ENOTDIR) {
		*ret = (struct tn_record){.state = TN_RECORD_DONE};
		return 0;
	}
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot read %s: %s", RECORD_PATH, strerror(-r));
	return tn_record_parse(text, len, ret, err);
}

int tn_record_save(struct gt_fsroot *fs, const struct tn_record *rec, struct gt_err *err)
{
	gt_auto_json *doc = json_pack("{s:s, s:s, s:[]}", "schema", RECORD_SCHEMA, "state",
				      rec->state == TN_RECORD_OPEN ? "open" : "done", "packages");
	gt_autofree char *text = NULL;
	int r;

	for (size_t i = 0; i < rec->n; i++) {
		const struct tn_recorded *p = &rec->package[i];

		json_array_append_new(json_object_get(doc, "packages"),
				      json_pack("{s:s, s:s, s:b, s:b, s:b}", "name", p->name, "version", p->version,
						"requested", p->requested, "held", p->held, "had_config",
						p->had_config));
	}
	text = gt_json_text(doc);
	r = rec->n ? gt_fs_write_atomic(fs, RECORD_PATH, text, strlen(text), 0600) : gt_fs_unlink(fs, RECORD_PATH);
	if (r < 0 && r != -ENOENT)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot write %s: %s", RECORD_PATH, strerror(-r));
	return 0;
}
