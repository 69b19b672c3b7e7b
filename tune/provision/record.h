/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RECORD_H
#define TN_RECORD_H
/* What was installed by us, /var/lib/gputune/provision: written before apt is asked, so that it can always be taken back. */
#include "tune/provision/provision.h"

enum tn_record_state { TN_RECORD_OPEN, TN_RECORD_DONE };
struct tn_recorded {
	char *name, *version;
	bool requested;	   /* not as a dependency */
	bool held;	   /* put on hold by us */
	bool had_config;   /* its configuration files were there before: they stay */
};
struct tn_record {
	enum tn_record_state state;
	struct tn_recorded *package;
	size_t n;
};
/* Empty and done if there is none. Exit 3 if it is damaged. */
int tn_record_load(struct gt_fsroot *fs, struct tn_record *ret, struct gt_err *err);
int tn_record_parse(const char *text, size_t len, struct tn_record *ret, struct gt_err *err);
/* Durable when this returns; a record without packages is removed. Exit 3 if it cannot be written. */
int tn_record_save(struct gt_fsroot *fs, const struct tn_record *r, struct gt_err *err);
struct tn_recorded *tn_record_find(const struct tn_record *r, const char *name);
struct tn_recorded *tn_record_add(struct tn_record *r, const char *name, const char *version);
void tn_record_drop(struct tn_record *r, size_t i);
void tn_record_clear(struct tn_record *r);
#endif
