/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_BOOTS_H
#define BN_BOOTS_H
/*
 * Arms that are separate boots: for settings that the kernel accepts only at boot, and for differences between boots.
 * An arm is entered by kexec with the host's own kernel and command line. The arguments of the arm and a token that identifies
 * the arm are appended. The boot loader and its files are never changed, so the next power-on always starts the host as before.
 * During the session a systemd unit exists. After such a power-on it finds that the token is missing. After a panic the host
 * reboots by itself (panic=60 in both arms). Each boot is recorded on disk before it is tried and after it succeeded.
 */
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/fsroot.h"

#define BN_BOOTS_STATE "/var/lib/gputune/boots.json"
#define BN_BOOTS_UNIT  "/etc/systemd/system/gpubench-boots.service"

struct bn_boots {
	struct gt_fsroot *fs;
	const char *file;   /* absolute path of the session's document */
	const char *exe;
	double settle_s;    /* seconds to wait after the boot has finished */
	size_t phase;	    /* phase of prove, otherwise 0 */
	uint64_t seed;
	bool settled;	    /* this process has already waited */
};

/* Checks that this host can boot into arms, and that the document survives a boot and only root can change it. Fails
 * with exit status 64 or 5. */
int bn_boots_check(const struct bn_boots *b, struct gt_err *err);
/*
 * Checks whether the running boot is that of the arm. If so, waits rest_s and returns 0. Returns -EINPROGRESS if the
 * boot was recorded and the kernel is loaded; call bn_boots_reboot() next. Any other error ends the session: a boot that
 * failed, or three boots without progress. args: kernel arguments of the arm, "" for none.
 */
int bn_boots_enter(struct bn_boots *b, int64_t block, int nth, const char *args, struct gt_err *err);
/* Installs the unit and boots. The caller has saved the document. Returns when systemd has started the reboot. */
int bn_boots_reboot(const struct bn_boots *b, struct gt_err *err);
/* Ends the session of this document, whatever its result. Removes unit and record, and reboots a host that runs with
 * the command line of an arm. Does nothing if no such session is active. */
int bn_boots_end(struct gt_fsroot *fs, const char *file, struct gt_err *err);
/* Ends a session from outside; stops the unit first. file NULL: whichever session is active. *ret_file, if not NULL:
 * its document, which the caller frees. reboot false: the host keeps running, and a message is printed if its boot is
 * an arm's. Fails with exit status 64 if there is no such session. */
int bn_boots_abandon(struct gt_fsroot *fs, const char *file, bool reboot, char **ret_file, struct gt_err *err);
/* Returns the document of the active session of boots, or NULL. The caller frees it. */
char *bn_boots_active(struct gt_fsroot *fs);
/* Fails with exit status 5 if a session of boots is active. */
int bn_boots_check_idle(struct gt_fsroot *fs, struct gt_err *err);
/* Returns the canonical name of the document: absolute, with the links of its directory resolved. The caller frees it. */
char *bn_boots_path(struct gt_fsroot *fs, const char *file);
/* Returns the host's command line without the arguments of an arm, and whether it has an arm's token. The caller frees
 * it. */
char *bn_boots_base(const char *cmdline, bool *ret_arm);
#endif
