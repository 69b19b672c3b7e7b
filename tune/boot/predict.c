/* SPDX-License-Identifier: Apache-2.0 */
/* At boot systemd-sysctl and systemd-tmpfiles write once, early. udev writes when a device appears, for most devices
 * before that. */
#include <string.h>
#include "tune/boot/predict.h"
#include "tune/model/value.h"

int tn_boot_load(struct gt_fsroot *fs, struct tn_boot *b, struct gt_err *err)
{
	static const struct sc_overlay without_gputune = {.path = TN_SYSCTL_D_PATH};
	int r;

	*b = (struct tn_boot){0};
	r = sc_conf_load(fs, SC_NEXT_BOOT, NULL, &b->sysctl, err);
	if (r >= 0)
		r = sc_conf_load(fs, SC_NEXT_BOOT, &without_gputune, &b->others, err);
	if (r < 0)
		return r;
	tn_tmpfiles_load(fs, &b->tmpfiles);
	tn_udev_load(fs, SC_NEXT_BOOT, &b->udev);
	return 0;
}

void tn_boot_clear(struct tn_boot *b)
{
	sc_conf_free(b->sysctl);
	sc_conf_free(b->others);
	tn_tmpfiles_clear(&b->tmpfiles);
	tn_udev_clear(&b->udev);
	*b = (struct tn_boot){0};
}

bool tn_boot_knows(const struct tn_tunable *k)
{
	return tn_tunable_key(k) || (k->path && gt_starts_with(k->path, "/sys/"));
}

/* A value that is certainly set later overrides the value of a udev rule. */
static void put(struct tn_udev_answer *a, const char *value, char *by)
{
	if (a->value && !tn_value_equal(a->value, value)) {
		char *what = gt_xasprintf("%s sets it to %s when its device appears%s%s", a->by, a->value,
					  a->may ? "; " : "", a->may ? a->may : "");

		free(a->may);
		a->may = what;
	}
	free(a->value);
	free(a->by);
	a->value = gt_xstrdup(value);
	a->by = by;
}

const struct sc_assign *tn_boot_pair(const struct sc_conf *boot, const struct tn_tunable *k)
{
	const struct sc_key *key = tn_tunable_key(k) ? sc_key_find(tn_tunable_key(k)) : NULL;
	const struct sc_assign *pair = key && key->counterpart ? sc_boot_value(boot, key->counterpart) : NULL, *own;

	if (!pair || !sc_takes_nonzero(key->counterpart, pair->value))
		return NULL;
	own = sc_boot_value(boot, key->name);
	return !own || pair > own || !sc_takes_nonzero(key->name, own->value) ? pair : NULL;
}

/* Returns the value that would be in force without gputune's file. NULL: no file sets one. */
static char *value_of_others(struct tn_boot *b, const struct tn_tunable *k, const char *path, char **ret_by)
{
	const struct sc_assign *a = tn_tunable_key(k) ? sc_boot_value(b->others, tn_tunable_key(k)) : NULL;
	struct tn_udev_answer u = {0};
	char *taken = NULL;

	if (tn_tunable_form(k) == TN_UDEV_RULE) {
		b->udev.without_gputune = true;
		tn_udev_ask(&b->udev, path, NULL, &u);
		b->udev.without_gputune = false;
		taken = gt_take(u.value);
		*ret_by = gt_take(u.by);
		tn_udev_answer_clear(&u);
	} else if (a && !tn_boot_pair(b->others, k) && sc_read_value(tn_tunable_key(k), a->value, &taken, NULL, NULL) >= 0) {
		*ret_by = gt_xasprintf("%s:%u", a->file, a->line);
	}
	return taken;
}

char *tn_boot_further(struct tn_boot *b, const struct tn_tunable *k, const char *path, const char *than, char **ret_by)
{
	const struct sc_key *key = tn_tunable_key(k) ? sc_key_find(tn_tunable_key(k)) : NULL;
	gt_autofree char *by = NULL, *other = k->op == TN_SET ? NULL : value_of_others(b, k, path, &by);
	gt_autofree char *both = other ? tn_value_further(k->op, than, other) : NULL;

	if (!both || tn_value_equal(both, than))
		return NULL;
	if (tn_value_equal(other, "0") && key && key->counterpart) /* a 0 means only that the other form is in force */
		return NULL;
	*ret_by = gt_take(by);
	return gt_take(other);
}

/*
 * Applies a line of sysctl.d. If the kernel refuses its value, the previous value stays; it is then not the value of any
 * file.
 */
static void put_line(struct tn_udev_answer *a, const char *key, const struct sc_assign *line)
{
	gt_autofree char *taken = NULL;
	char *may = a->may;

	if (sc_read_value(key, line->value, &taken, NULL, NULL) >= 0) {
		put(a, taken, gt_xasprintf("%s:%u", line->file, line->line));
		return;
	}
	a->may = gt_xasprintf("%s%s%s:%u contains %.40s, which the kernel refuses", may ? may : "", may ? "; " : "", line->file,
			      line->line, line->value);
	free(may);
}

void tn_boot_ask(struct tn_boot *b, const struct tn_tunable *k, const char *path, struct tn_udev_answer *ret)
{
	const char *key = tn_tunable_key(k);
	const struct sc_assign *a = key ? sc_boot_value(b->sysctl, key) : NULL, *pair = tn_boot_pair(b->sysctl, k);
	const struct tn_tmpfile *t = tn_tmpfiles_find(&b->tmpfiles, path);

	*ret = (struct tn_udev_answer){0};
	if (!tn_boot_knows(k))
		return;
	tn_udev_ask(&b->udev, path, NULL, ret);
	if (t)
		put(ret, t->value, gt_xstrdup(t->by));
	if (pair)
		put(ret, "0", gt_xasprintf("%s:%u", pair->file, pair->line));
	else if (a)
		put_line(ret, key, a);
}

json_t *tn_boot_json(const char *value, const char *by, const char *may)
{
	return json_pack("{s:o, s:o, s:o}", "value", gt_json_str(value), "decided_by", gt_json_str(by), "may",
			 gt_json_str(may));
}

/*
 * gputune's file is a udev rule. A later rule overrides it. tmpfiles.d overrides it too, because systemd-tmpfiles runs after
 * the devices of the boot appeared.
 */
static char *rule_beaten(struct tn_boot *b, const char *path, const char *value, char **ret_may)
{
	const struct tn_tmpfile *t = tn_tmpfiles_find(&b->tmpfiles, path);
	struct tn_udev_answer a;
	char *override = NULL;

	tn_udev_ask(&b->udev, path, value, &a);
	if (t && !tn_value_equal(t->value, value))
		override = gt_xasprintf("%s sets it to %s at boot and has priority over %s", t->by, t->value,
					TN_UDEV_RULE_PATH);
	else if (!t && a.value && !tn_value_equal(a.value, value))
		override = gt_xasprintf("%s sets it to %s at boot and is read after %s", a.by, a.value, TN_UDEV_RULE_PATH);
	*ret_may = gt_take(a.may);
	tn_udev_answer_clear(&a);
	return override;
}

char *tn_boot_overridden(struct tn_boot *b, const struct tn_tunable *k, const char *path, const char *value, char **ret_may)
{
	const struct tn_tmpfile *t;

	*ret_may = NULL;
	if (tn_tunable_key(k))
		return tn_persist_overridden_by(b->sysctl, k, value);
	if (tn_tunable_form(k) == TN_UDEV_RULE)
		return rule_beaten(b, path, value, ret_may);
	t = tn_tunable_form(k) == TN_TMPFILES_D ? tn_tmpfiles_overriding(&b->tmpfiles, path) : NULL;
	if (!t || tn_value_equal(t->value, value))
		return NULL;
	return gt_xasprintf("%s sets it to %s at boot and has priority over %s", t->by, t->value, TN_TMPFILES_D_PATH);
}
