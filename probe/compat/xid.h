/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_XID_H
#define PR_XID_H
#include <stdbool.h>

/* NVIDIA's error number of a GPU (Xid) or of an NVSwitch (SXid). */
struct pr_xid {
	int number; /* 0: none */
	bool nvswitch;
};

/* Origin of the error. */
enum pr_xid_fault {
	PR_FAULT_PROGRAM,
	PR_FAULT_DRIVER,
	PR_FAULT_HARDWARE,
	PR_FAULT_GPU, /* the driver or the hardware; NVIDIA does not specify which */
	PR_FAULT_LINK,
	PR_FAULT_POWER,
	PR_FAULT_FABRIC, /* the configuration of the NVLink fabric */
	PR_FAULT_NOTICE, /* not an error */
	PR_FAULT_UNUSED	 /* NVIDIA documents no meaning */
};
enum pr_xid_action {
	PR_ACTION_NONE,
	PR_ACTION_PROGRAM, /* restart the program */
	PR_ACTION_RESET,
	PR_ACTION_READ, /* depends on the text of the line */
	PR_ACTION_FABRIC,
	PR_ACTION_REBOOT,
	PR_ACTION_POWER,
	PR_ACTION_UPDATE,
	PR_ACTION_SUPPORT
};

/* One row of xid.tsv, which lists the sources. */
struct pr_xid_entry {
	struct pr_xid xid;
	const char *name;
	enum pr_xid_fault fault;
	enum pr_xid_action action;
	const char *check;   /* id of the check or story on the same subject */
	const char *meaning; /* one or two sentences */
};

/* Finds the next number in a log line or in user input ("Xid 79", "SXid (PCI:0000:c1:00.0): 12028"). Returns the text
 * after it, or NULL if there is none; ret is then untouched. */
const char *pr_xid_next(const char *text, struct pr_xid *ret);
/* Looks up a number in the catalogue; NULL if it is missing. */
const struct pr_xid_entry *pr_xid_find(const struct pr_xid *x);
const char *pr_xid_kind(const struct pr_xid *x); /* "Xid" or "SXid" */
/* Return the name for JSON ("gpu") and the text for people ("the driver or the GPU"). */
const char *pr_xid_fault_word(enum pr_xid_fault fault), *pr_xid_fault_text(enum pr_xid_fault fault);
const char *pr_xid_action_word(enum pr_xid_action action), *pr_xid_action_text(enum pr_xid_action action);
#endif
