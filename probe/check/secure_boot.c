/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the kernel accepts the nvidia module: its signer, and the keys that the firmware trusts. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

static const char *release(const struct pr_host *h)
{
	return h->kernel.release.v ? h->kernel.release.v : "(unknown)";
}

/* Returns whether the kernel rejects unsigned modules. If shim is configured not to verify, the kernel does not reject
 * either. */
static bool signed_only(const struct pr_host *h)
{
	const char *lockdown = h->kernel.lockdown.v;

	return (pr_or(h->secure_boot.on, 0) == 1 && pr_or(h->secure_boot.shim_off, 0) != 1) || gt_streq(lockdown, "integrity") ||
	       gt_streq(lockdown, "confidentiality");
}

static bool log_has(const struct pr_host *h, const char *const *words)
{
	for (; *words; words++)
		for (size_t i = 0; i < h->n_log; i++)
			if (strstr(h->log[i].text, *words))
				return true;
	return false;
}

static bool was_rejected(const struct pr_host *h)
{
	static const char *const words[] = {"Key was rejected", "unsigned module", "with unavailable key", NULL};

	return log_has(h, words);
}

static const char *why_signed(const struct pr_host *h)
{
	return pr_or(h->secure_boot.on, 0) ? "Secure Boot is on" : "the kernel is locked down";
}

#define SCREEN "a blue screen (MokManager: Enroll MOK) asks for the password at the next boot"
#define ENROL  "  mokutil --import /var/lib/dkms/mok.pub; reboot"

/* ---- by keys -------------------------------------------------------------------------------------------------- */

/* Returns the first certificate of that key in a list of the firmware, or, if list is NULL, in a file of the host. */
static const struct pr_trusted *find_key(const struct pr_host *h, const struct pr_key *key, const char *list)
{
	for (size_t i = 0; i < h->secure_boot.n_key; i++) {
		const struct pr_trusted *t = &h->secure_boot.key[i];

		if (pr_same_key(&t->key, key) && (list ? !strcmp(t->where, list) : *t->where == '/'))
			return t;
	}
	return NULL;
}

/* Returns the signer: from the module, or for a compressed one built by DKMS, DKMS's own certificate. NULL: unknown. */
static const struct pr_key *signer_of(const struct pr_host *h)
{
	static const char dkms[] = "/var/lib/dkms/mok.pub";

	if (*h->secure_boot.signer.serial || *h->secure_boot.signer.subject)
		return &h->secure_boot.signer;
	for (size_t i = 0; i < h->secure_boot.n_key && strstr(h->driver.module_path, "/updates/dkms/"); i++)
		if (!strcmp(h->secure_boot.key[i].where, dkms))
			return &h->secure_boot.key[i].key;
	return NULL;
}

static void report_trusted(const struct pr_host *h, const char *who, struct pr_finding *f)
{
	if (!was_rejected(h)) {
		pr_set(f, PR_PASS, "%s; the nvidia module is signed by \"%s\", which this firmware trusts", why_signed(h), who);
		return;
	}
	pr_set(f, PR_WARN, "%s and the kernel has rejected a module since boot; but the nvidia module is signed by \"%s\", "
			   "which this firmware trusts", why_signed(h), who);
	pr_remedy(f, "  modprobe nvidia\nIf that is rejected too, this kernel does not take the machine owner's keys: boot "
		     "Debian's own");
}

static void report_untrusted(const struct pr_host *h, const struct pr_key *signer, const char *who, struct pr_finding *f)
{
	const struct pr_trusted *file = find_key(h, signer, NULL);
	const char *source = h->driver.dkms_source.v ? h->driver.dkms_source.v : "nvidia/VERSION";

	if (find_key(h, signer, "MokNew")) {
		pr_set(f, PR_FAIL, "%s; the nvidia module is signed by \"%s\", whose certificate is enrolled at the next boot",
		       why_signed(h), who);
		pr_remedy(f, "  reboot\nand give the blue screen (MokManager: Enroll MOK) the password that mokutil asked for");
		return;
	}
	/* no kernel contains a key of this host; another key may be built into this kernel */
	pr_set(f, file || was_rejected(h) ? PR_FAIL : PR_WARN,
	       "%s; the nvidia module is signed by \"%s\", which this firmware does not trust", why_signed(h), who);
	if (file)
		pr_remedy(f, "Enrol the certificate; " SCREEN ":\n  mokutil --import %s; reboot", file->where);
	else if (h->driver.dkms_source.v)
		pr_remedy(f, "Its certificate is not on this host. Rebuild the module, which signs it with DKMS's key, and enrol "
			     "that key; " SCREEN ":\n  dkms remove %s -k %s && dkms install %s -k %s\n" ENROL,
			  source, release(h), source, release(h));
	else
		pr_remedy(f, "Enrol the certificate of the signer with mokutil --import and reboot, or install Debian's driver");
}

static bool by_keys(const struct pr_host *h, struct pr_finding *f)
{
	const struct pr_key *signer = h->secure_boot.keys == PR_PRESENT ? signer_of(h) : NULL;
	const char *who = signer && *signer->name ? signer->name : NULL;

	if (!signer)
		return false;
	for (size_t i = 0; i < h->secure_boot.n_key && !who; i++) /* the signature may identify its key by a hash only */
		if (pr_same_key(&h->secure_boot.key[i].key, signer) && *h->secure_boot.key[i].key.name)
			who = h->secure_boot.key[i].key.name;
	who = who ? who : "a key without a name";
	if (find_key(h, signer, "MokListRT") || find_key(h, signer, "db"))
		report_trusted(h, who, f);
	else
		report_untrusted(h, signer, who, f);
	return true;
}

/* ---- by the kernel log ---------------------------------------------------------------------------------------- */

/* The module is built but not loaded, and the kernel accepts only signed modules. */
static void not_loaded(const struct pr_host *h, struct pr_finding *f)
{
	static const char *const ran[] = {"NVRM", NULL};
	const char *on = why_signed(h), *source = h->driver.dkms_source.v ? h->driver.dkms_source.v : "nvidia/VERSION";

	if (pr_has(h->secure_boot.signature) && !h->secure_boot.signature.v) {
		pr_set(f, PR_FAIL, "%s and the nvidia module is built but not loaded: it is not signed", on);
		pr_remedy(f, "Rebuild the module, which signs it, then enrol DKMS's key; " SCREEN ":\n"
			     "  dkms remove %s -k %s && dkms install %s -k %s\n" ENROL,
			  source, release(h), source, release(h));
	} else if (by_keys(h, f)) {
		return;
	} else if (was_rejected(h)) {
		pr_set(f, PR_FAIL, "%s and the kernel rejected the nvidia module: its signing key is not enrolled", on);
		pr_remedy(f, "Enrol DKMS's key; " SCREEN ":\n" ENROL);
	} else if (log_has(h, ran)) {
		pr_set(f, PR_PASS, "%s, and the nvidia module has run since boot, so its signature is accepted", on);
	} else {
		pr_set(f, PR_WARN, "%s and the nvidia module is built but not loaded: its signing key may not be enrolled", on);
		pr_remedy(f, "  modprobe nvidia\nIf that says that the key was rejected, enrol DKMS's; " SCREEN ":\n" ENROL);
	}
}

static void secure_boot(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (h->driver.module_version.state == PR_PRESENT)
		pr_set(f, PR_PASS, "the module is loaded, so its signature is accepted");
	else if (signed_only(h) && pr_or(h->driver.module_file, 0) == 1)
		not_loaded(h, f);
	else if (pr_or(h->secure_boot.shim_off, 0))
		pr_set(f, PR_PASS, "Secure Boot is on, but shim is configured not to check (mokutil --disable-validation)");
	else
		pr_set(f, PR_PASS, "Secure Boot is %s",
		       pr_or(h->secure_boot.on, 0) ? "on" :
		       pr_has(h->secure_boot.on)   ? "off" :
							 "not in use as far as can be seen");
}
static const char *const after_built[] = {"driver.module-built", NULL};
const struct pr_check pr_check_secure_boot = {
	.id = "driver.secure-boot",
	.title = "Secure Boot rejects the nvidia module",
	.after = after_built,
	.story = "With Secure Boot the kernel loads only modules signed by a key that the firmware trusts. DKMS signs "
		 "with its own key, which must be enrolled once with mokutil. The signature at the end of the module's file "
		 "names the signer. The firmware's keys are in its variables: MokListRT (machine owner), db (manufacturer) "
		 "and MokNew (enrolled at the next boot).",
	.messages = "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\nRequired key not available",
	.run = secure_boot,
};
