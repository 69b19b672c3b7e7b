/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RECORD_H
#define TN_RECORD_H
/* Packages installed by gputune, /var/lib/gputune/provision. The record is written before apt runs, so that every
 * installation can be undone. */
#include "tune/provision/provision.h"

enum tn_record_state { TN_RECORD_OPEN, TN_RECORD_DONE };
struct tn_recorded {
	char *name, *version;
	bool requested;	   /* false: installed as a dependency */
	bool held;	   /* put on hold by gputune */
	bool had_config;   /* its configuration files existed before, so they stay */
};
struct tn_record {
	enum tn_record_state state;
	struct tn_recorded *package;
	size_t n;
};
/* Loads the record; without a file it is empty and done. Exit 3 if it is damaged. */
int tn_record_load(struct gt_fsroot *fs, struct tn_record *ret, struct gt_err *err);
int tn_record_parse(const char *text, size_t len, struct tn_record *ret, struct gt_err *err);
/* Saves the record durably; removes one without packages. Exit 3 if it cannot be written. */
int tn_record_save(struct gt_fsroot *fs, const struct tn_record *r, struct gt_err *err);
struct tn_recorded *tn_record_find(const struct tn_record *r, const char *name);
struct tn_recorded *tn_record_add(struct tn_record *r, const char *name, const char *version);
void tn_record_drop(struct tn_record *r, size_t i);
void tn_record_clear(struct tn_record *r);
#endif
