/* SPDX-License-Identifier: Apache-2.0 */
/* Parses NVIDIA's error numbers in text, and holds their catalogue. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "probe/compat/xid.h"

static const struct pr_xid_entry entries[] = {
#include "probe/compat/xid_rows.h"
};

const struct pr_xid_entry *pr_xid_find(const struct pr_xid *x)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(entries); i++)
		if (entries[i].xid.number == x->number && entries[i].xid.nvswitch == x->nvswitch)
			return &entries[i];
	return NULL;
}

const char *pr_xid_kind(const struct pr_xid *x)
{
	return x->nvswitch ? "SXid" : "Xid";
}

static const char *const fault_names[][2] = {
	[PR_FAULT_PROGRAM] = {"program", "the program that ran on the GPU"},
	[PR_FAULT_DRIVER] = {"driver", "the driver or the GPU's firmware"},
	[PR_FAULT_HARDWARE] = {"hardware", "the hardware"},
	[PR_FAULT_GPU] = {"gpu", "the driver or the GPU; NVIDIA does not specify which"},
	[PR_FAULT_LINK] = {"link", "an NVLink"},
	[PR_FAULT_POWER] = {"power", "power or cooling"},
	[PR_FAULT_FABRIC] = {"fabric", "the configuration of the NVLink fabric"},
	[PR_FAULT_NOTICE] = {"notice", "none: not an error"},
	[PR_FAULT_UNUSED] = {"unused", "unknown"},
};

const char *pr_xid_fault_word(enum pr_xid_fault fault)
{
	return fault_names[fault][0];
}

const char *pr_xid_fault_text(enum pr_xid_fault fault)
{
	return fault_names[fault][1];
}

static const char *const action_names[][2] = {
	[PR_ACTION_NONE] = {"none", "nothing"},
	[PR_ACTION_PROGRAM] = {"program", "restart the program; if the error recurs, look for its cause in the program first"},
	[PR_ACTION_RESET] = {"reset", "end all programs on the GPU, then reset it or reboot"},
	[PR_ACTION_READ] = {"read", "read the line, which states whether a reset is needed"},
	[PR_ACTION_FABRIC] = {"fabric", "correct the partitions of the Fabric Manager, then restart it"},
	[PR_ACTION_REBOOT] = {"reboot", "take the host out of service and reboot it; if the error recurs, have the host repaired"},
	[PR_ACTION_POWER] = {"power", "check the power cable and the cooling"},
	[PR_ACTION_UPDATE] = {"update", "update driver and firmware"},
	[PR_ACTION_SUPPORT] = {"support", "watch for more; if the error recurs, ask the vendor"},
};

const char *pr_xid_action_word(enum pr_xid_action action)
{
	return action_names[action][0];
}

const char *pr_xid_action_text(enum pr_xid_action action)
{
	return action_names[action][1];
}

/* Skips text between the word and its number: "(PCI:0000:17:00): ", " error ", " = ". */
static const char *skip_to_number(const char *p)
{
	static const char *const words[] = {"errors", "error", "code", "number", "no."};
	bool again = true;

	while (again) {
		const char *group;

		p += strspn(p, " \t:=#-");
		again = false;
		group = *p == '(' ? memchr(p, ')', strnlen(p, 64)) : NULL;
		if (group) {
			p = group + 1;
			again = true;
		}
		for (size_t i = 0; i < GT_ARRAY_SIZE(words) && !again; i++)
			if (!strncasecmp(p, words[i], strlen(words[i]))) {
				p += strlen(words[i]);
				again = true;
			}
	}
	return p;
}

const char *pr_xid_next(const char *text, struct pr_xid *ret)
{
	for (const char *at = text; (at = strcasestr(at, "xid")); at += strlen("xid")) {
		bool nvswitch = at > text && tolower((unsigned char)at[-1]) == 's';
		const char *start = at - nvswitch, *number = skip_to_number(at + strlen("xid"));
		char *end;
		long v;

		if ((start > text && isalnum((unsigned char)start[-1])) || !isdigit((unsigned char)*number))
			continue;
		v = strtol(number, &end, 10);
		if (v <= 0 || v >= 1000000 || isalnum((unsigned char)*end))
			continue;
		*ret = (struct pr_xid){(int)v, nvswitch};
		return end;
	}
	return NULL;
}
