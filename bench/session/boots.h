/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_BOOTS_H
#define BN_BOOTS_H
/*
 * Arms that are boots: for what the kernel takes only when it starts, and for what differs from boot to boot.
 *
 * An arm is entered by kexec with the host's own kernel and command line, the arguments of the arm and a token that says
 * which arm this is. The boot loader and its files are never touched: whatever becomes of such a boot, the next power-on is
 * the host as it was, and a systemd unit that exists as long as the session finds out that the token is missing. A panic
 * returns there by itself (panic=60 in both arms). Which boot was tried and which was reached is on disk before and after.
 */
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/fsroot.h"

#define BN_BOOTS_STATE "/var/lib/gputune/boots.json"
#define BN_BOOTS_UNIT  "/etc/systemd/system/gpubench-boots.service"

struct bn_boots {
	struct gt_fsroot *fs;
	const char *file;   /* the session's document, absolute */
	const char *exe;
	double settle_s;    /* of rest after the boot has ended */
	size_t phase;	    /* of prove; 0 otherwise */
	uint64_t seed;
	bool settled;	    /* this process has waited */
};

/* Can this host do it, and does the document survive a boot, out of others' reach? Exit 64 or 5 with what is missing. */
int bn_boots_check(const struct bn_boots *b, struct gt_err *err);
/* Is this the boot of that arm? 0: it is, rested. -EINPROGRESS: it was written down and the kernel is loaded, now
 * bn_boots_go(). Any other error ends the session: a boot that did not come back, or three without getting further than
 * before. args: of the arm, "" for none. */
int bn_boots_enter(struct bn_boots *b, int64_t block, int nth, const char *args, struct gt_err *err);
/* The unit is put there, the document was saved by the caller: boot. Returns when systemd has begun to. */
int bn_boots_go(const struct bn_boots *b, struct gt_err *err);
/* The session of this document is over, whatever came of it: unit and record are removed, and a host that still runs on an
 * arm's command line is told to reboot to its own. Does nothing where no such session is under way. */
int bn_boots_end(struct gt_fsroot *fs, const char *file, struct gt_err *err);
/* The same for somebody else: stops the unit first. file NULL: whichever is under way; *ret_file, if not NULL: its document,
 * which the caller frees. reboot false: the host goes on as it is, and a boot that is an arm's is said to be one. Exit 64 where
 * there is no such session. */
int bn_boots_abandon(struct gt_fsroot *fs, const char *file, bool reboot, char **ret_file, struct gt_err *err);
/* The document of the session of boots that this host is in the middle of, NULL if there is none. The caller frees it. */
char *bn_boots_under_way(struct gt_fsroot *fs);
/* A new session is not begun in the middle of another: exit 5. */
int bn_boots_alone(struct gt_fsroot *fs, struct gt_err *err);
/* The one name by which the document is known: absolute, the links of its directory resolved. The caller frees it. */
char *bn_boots_path(struct gt_fsroot *fs, const char *file);
/* The host's command line without what arms have added, and whether an arm's token is in it. The caller frees. */
char *bn_boots_base(const char *cmdline, bool *ret_arm);
#endif
