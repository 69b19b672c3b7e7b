/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/text.h"
#include "tune/model/exit.h"
#include "tune/txn/history.h"
#include "tune/model/value.h"

#define PATH     TN_STATE_DIR "/history"
#define KEEP_MAX (1u << 20) /* maximum size in bytes; a longer file loses its older half */
#define USER_MAX 64

/* Selects the fields that describe the change. */
static json_t *values_of(const json_t *report)
{
	static const char *const keys[] = {"knob", "instance", "old", "new", "result"};
	json_t *list = json_array();
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "values"), i, o)
	{
		json_t *value = json_object();

		for (size_t k = 0; k < GT_ARRAY_SIZE(keys); k++)
			if (json_object_get(o, keys[k]))
				json_object_set(value, keys[k], json_object_get(o, keys[k]));
		json_array_append_new(list, value);
	}
	return list;
}

static json_t *files_of(const json_t *report)
{
	json_t *list = json_array();
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "files"), i, o)
		json_array_append_new(list, gt_json_str(gt_json_get_str(o, "path", "")));
	return list;
}

/* Takes the name from the environment. It is cut to USER_MAX, and control characters are removed, because the name
 * reaches terminals. */
static json_t *user(void)
{
	const char *name = getenv("SUDO_USER") ? getenv("SUDO_USER") : getenv("USER");
	gt_autofree char *plain = name ? gt_xstrndup(name, USER_MAX) : NULL;

	if (plain)
		gt_make_plain(plain);
	return gt_json_str(plain);
}

/* Keeps only the newer half of a file that has grown too long. */
static int shorten(struct gt_fsroot *fs)
{
	gt_autofree char *text = NULL;
	const char *half;
	size_t len;
	int r = gt_fs_read(fs, PATH, &text, &len);

	if (r < 0 || len <= KEEP_MAX)
		return r == -ENOENT ? 0 : r;
	half = memchr(text + len / 2, '\n', len - len / 2);
	return half ? gt_fs_write_atomic(fs, PATH, half + 1, strlen(half + 1), 0600) : 0;
}

void tn_history_add(struct gt_fsroot *fs, const json_t *report, const char *profile)
{
	gt_auto_json *rec = NULL;
	gt_auto_buf line = {0};
	char when[21], *text;
	int r;

	if (!json_array_size(json_object_get(report, "values")) && !json_array_size(json_object_get(report, "files")))
		return;
	gt_time_iso8601(when, time(NULL));
	rec = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "time", when, "command",
			gt_json_get_str(report, "command", ""), "result", gt_json_get_str(report, "result", ""),
			"profile", gt_json_str(profile), "user", user(), "values", values_of(report), "files",
			files_of(report));
	text = json_dumps(rec, JSON_COMPACT);
	gt_buf_printf(&line, "%s\n", text);
	free(text);
	r = shorten(fs);
	if (r >= 0)
		r = gt_fs_append_sync(fs, PATH, line.s, line.len);
	if (r < 0)
		gt_warn("cannot record this in %s: %s", PATH, strerror(-r));
}

static bool is_record(const json_t *rec)
{
	return json_is_object(rec) && json_is_string(json_object_get(rec, "time")) &&
	       json_is_string(json_object_get(rec, "command")) && json_is_string(json_object_get(rec, "result")) &&
	       json_is_array(json_object_get(rec, "values"));
}

int tn_history_load(struct gt_fsroot *fs, json_t **ret, struct gt_err *err)
{
	json_t *records = json_array();
	gt_autofree char *text = NULL;
	int damaged = 0, r = gt_fs_read(fs, PATH, &text, NULL);

	if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
		json_decref(records);
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot read %s: %s%s", PATH, strerror(-r),
				    r == -EACCES ? "; only root may read it: sudo gputune history" : "");
	}
	gt_each_line(line, text) {
		json_t *rec = NULL;

		if (gt_json_parse(line, strlen(line), "history", &rec, NULL) >= 0 && is_record(rec)) {
			gt_json_make_plain(rec);
			json_array_append_new(records, rec);
			continue;
		}
		json_decref(rec);
		damaged++;
	}
	*ret = json_pack("{s:s, s:o, s:i}", "schema", TN_HISTORY_SCHEMA, "records", records, "damaged", damaged);
	return 0;
}
