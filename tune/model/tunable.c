/* SPDX-License-Identifier: Apache-2.0 */
/* Names and paths of tunables, and the setters for results of desired(). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "sysctl/sysctl.h"
#include "tune/model/tunable.h"

const char *tn_tunable_summary(const struct tn_tunable *k)
{
	return k->summary ? k->summary : k->check->title;
}

const char *tn_tunable_why(const struct tn_tunable *k)
{
	return k->why ? k->why : k->check->story;
}

const char *tn_status_name(enum tn_status s)
{
	static const char *const name[] = {
		[TN_CHANGE] = "change",   [TN_ALREADY] = "already", [TN_NOT_APPLICABLE] = "n/a",
		[TN_SKIPPED] = "skipped", [TN_BLOCKED] = "blocked", [TN_ADVICE] = "advice"};

	return name[s];
}

const char *tn_effect_name(enum tn_effect e)
{
	static const char *const name[] = { [TN_NOW] = "now",
					    [TN_NEW_PROCESS] = "new processes",
					    [TN_NEW_DEVICE] = "new devices",
					    [TN_REBOOT] = "after reboot" };

	return name[e];
}

const char *tn_op_name(enum tn_op op)
{
	static const char *const name[] = { [TN_SET] = "set", [TN_RAISE] = "raise", [TN_LOWER] = "lower" };

	return name[op];
}

/* Returns NULL for path NULL. */
static char *with_instance(const char *path, const char *instance)
{
	const char *mark = path ? strstr(path, "%s") : NULL;

	if (!mark)
		return path ? gt_xstrdup(path) : NULL;
	return gt_xasprintf("%.*s%s%s", (int)(mark - path), path, instance ? instance : "", mark + 2);
}

const char *tn_tunable_key(const struct tn_tunable *k)
{
	if (k->path || k->check)
		return NULL;
	return k->key ? k->key : k->id;
}

/* If the name of a device may change, its setting can be persisted only by a udev rule for that device. */
enum tn_form tn_tunable_form(const struct tn_tunable *k)
{
	if (tn_tunable_key(k))
		return TN_SYSCTL_D;
	if (k->boot_line)
		return TN_UDEV_RULE;
	return k->path && !k->names_change ? TN_TMPFILES_D : TN_NO_FORM;
}

char *tn_tunable_path(const struct tn_tunable *k, const char *instance)
{
	const char *key = tn_tunable_key(k);

	return key ? sc_path(key) : with_instance(k->path, instance);
}

char *tn_tunable_side_path(const struct tn_tunable *k, const char *instance)
{
	return with_instance(k->resets, instance);
}

char *tn_tunable_offers_path(const struct tn_tunable *k, const char *instance)
{
	return with_instance(k->offers, instance);
}

char *tn_tunable_pair_path(const struct tn_tunable *k)
{
	const char *name = tn_tunable_key(k);
	const struct sc_key *key = name ? sc_key_find(name) : NULL;

	return key && key->counterpart ? sc_path(key->counterpart) : NULL;
}

char *tn_tunable_label(const struct tn_tunable *k, const char *instance)
{
	return instance ? gt_xasprintf("%s:%s", k->id, instance) : gt_xstrdup(k->id);
}

/* ---- results of desired() ---------------------------------------------------------------------------------------- */

static void GT_PRINTF(4, 0) set_result(struct tn_desired *w, enum tn_status status, const char *value, const char *fmt, va_list ap)
{
	w->status = status;
	if (value)
		snprintf(w->value, sizeof(w->value), "%s", value);
	vsnprintf(w->reason, sizeof(w->reason), fmt, ap);
}

void tn_set(struct tn_desired *w, const char *value, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_result(w, TN_CHANGE, value, fmt, ap);
	va_end(ap);
}

void tn_set_num(struct tn_desired *w, int64_t value, const char *fmt, ...)
{
	char text[24];
	va_list ap;

	snprintf(text, sizeof(text), "%ld", value);
	va_start(ap, fmt);
	set_result(w, TN_CHANGE, text, fmt, ap);
	va_end(ap);
}

void tn_not_applicable(struct tn_desired *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_result(w, TN_NOT_APPLICABLE, NULL, fmt, ap);
	va_end(ap);
}

void tn_leave(struct tn_desired *w, enum tn_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_result(w, status, NULL, fmt, ap);
	va_end(ap);
}

/* ---- values in reports -------------------------------------------------------------------------------------------- */

static bool is_number_list(const char *value)
{
	gt_autofree char *copy = gt_xstrdup(value);
	uint64_t n;
	bool any = false;

	gt_each_word(w, copy, " \t") {
		if (gt_parse_u64(w, &n))
			return false;
		any = true;
	}
	return any;
}

/* Returns the unit to print after a number of this tunable, or "": sizes have their own, ranges and choices have none. */
static const char *unit_text(const struct tn_tunable *k, bool counts)
{
	static const struct {
		const char *unit, *text;
		bool count;
	} units[] = { { "KiB", "KiB" }, { "percent", "%" }, { "us", "us" }, { "W", "W" }, { "MHz", "MHz" },
		      { "files", "files", true }, { "ids", "ids", true }, { "instances", "instances", true },
		      { "mappings", "mappings", true }, { "packets", "packets", true }, { "requests", "requests", true },
		      { "threads", "threads", true }, { "watches", "watches", true } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(units); i++)
		if (!strcmp(k->unit, units[i].unit) && (counts || !units[i].count))
			return units[i].text;
	return "";
}

/* Adds bytes in the largest unit that gives a whole number, so that no digit is lost. */
static void add_bytes(struct gt_buf *b, uint64_t bytes)
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t i = 0;

	for (; bytes && bytes % 1024 == 0 && i + 1 < GT_ARRAY_SIZE(unit); i++)
		bytes /= 1024;
	gt_buf_printf(b, bytes ? "%llu %s" : "%llu", (unsigned long long)bytes, unit[i]);
}

static char *value_text(const struct tn_tunable *k, const char *value, const char *unit)
{
	gt_autofree char *copy = gt_xstrdup(value);
	struct gt_buf b = { 0 };
	uint64_t n;

	if (!k || !k->unit || !is_number_list(value))
		return gt_take(copy);
	if (strcmp(k->unit, "bytes"))
		return *unit ? gt_xasprintf("%s %s", value, unit) : gt_take(copy);
	gt_each_word(w, copy, " \t") {
		if (b.len)
			gt_buf_puts(&b, ", ");
		if (!gt_parse_u64(w, &n))
			add_bytes(&b, n);
	}
	return gt_buf_take(&b);
}

char *tn_tunable_value_text(const struct tn_tunable *k, const char *value)
{
	return value_text(k, value, k && k->unit ? unit_text(k, false) : "");
}

char *tn_tunable_change_text(const struct tn_tunable *k, const char *from, const char *to)
{
	const char *unit = k && k->unit ? unit_text(k, true) : "";
	gt_autofree char *old = value_text(k, from, is_number_list(to) ? "" : unit), *new = value_text(k, to, unit);

	return gt_xasprintf("%s → %s", old, new);
}
