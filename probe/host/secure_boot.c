/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads whether Secure Boot is on, the signer of the nvidia module, and the keys that the firmware trusts. Reading
 * firmware variables is slow, so the key lists are read only if a module is installed but not loaded.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/text.h"
#include "probe/host/reading.h"

#define EFIVARS	 "/sys/firmware/efi/efivars"
#define MOK	 "/sys/firmware/efi/mok-variables"
#define SHIM	 "605dab50-e046-4300-abb6-3dd810dd8b23"
#define LIST_MAX (1u << 20)

/* Reads a list of keys or a certificate, which a capture does not hold. The caller frees *ret. */
static int read_part(struct gt_fsroot *fs, const char *path, char **ret, size_t *ret_len)
{
	gt_autoclose int fd = gt_fs_open_part(fs, path);

	return fd < 0 ? fd : gt_read_up_to(fd, LIST_MAX, ret, ret_len);
}

/* Reads a variable whose last byte is the value. The value is unknown without efivarfs. */
static struct pr_num read_switch(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *data = NULL;
	size_t len;
	int r = gt_fs_read(fs, path, &data, &len);

	if (r < 0)
		return (struct pr_num){pr_state_of(r), 0};
	return len ? pr_value(data[len - 1] == 1) : (struct pr_num){PR_BROKEN, 0};
}

/* ---- text form for captures ----------------------------------------------------------------------------------- */

static void put_key(struct gt_buf *b, const char *where, const struct pr_key *k)
{
	gt_buf_printf(b, "%s %s %s %s\n", where, *k->serial ? k->serial : "-", *k->subject ? k->subject : "-", k->name);
}

static bool parse_key(const char *line, char where[256], struct pr_key *ret)
{
	*ret = (struct pr_key){.name = ""};
	if (sscanf(line, "%255s %127s %127s %63[ -~]", where, ret->serial, ret->subject, ret->name) < 3)
		return false;
	if (!strcmp(ret->serial, "-"))
		*ret->serial = '\0';
	if (!strcmp(ret->subject, "-"))
		*ret->subject = '\0';
	return true;
}

static char *signature_name(const char *module)
{
	char *name = gt_xasprintf("signature%s", module);

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '!';
	return name;
}

char *pr_signature_fact(const struct pr_host *h, char **ret_name)
{
	struct gt_buf b = {0};

	if (!h->driver.module_path || !pr_has(h->secure_boot.signature))
		return NULL;
	gt_buf_printf(&b, "%d\n", (int)h->secure_boot.signature.v);
	if (*h->secure_boot.signer.serial || *h->secure_boot.signer.subject)
		put_key(&b, "signer", &h->secure_boot.signer);
	*ret_name = signature_name(h->driver.module_path);
	return gt_buf_take(&b);
}

char *pr_keys_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	if (h->secure_boot.keys != PR_PRESENT)
		return NULL;
	for (size_t i = 0; i < h->secure_boot.n_key; i++)
		put_key(&b, h->secure_boot.key[i].where, &h->secure_boot.key[i].key);
	return gt_buf_take(&b);
}

/* ---- the module ----------------------------------------------------------------------------------------------- */

static struct pr_num find_signer(int fd, struct pr_key *ret)
{
	unsigned char tail[PR_SIGNATURE_TAIL];
	gt_autofree unsigned char *text = NULL;
	size_t from_end, len;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(tail) ||
	    pread(fd, tail, sizeof(tail), st.st_size - (off_t)sizeof(tail)) != (ssize_t)sizeof(tail))
		return (struct pr_num){PR_UNKNOWN, 0};
	r = pr_signature_at(tail, sizeof(tail), &from_end, &len);
	if (r <= 0)
		return r < 0 ? (struct pr_num){PR_BROKEN, 0} : pr_value(0);
	text = gt_xcalloc(len, 1);
	if ((off_t)from_end > st.st_size || pread(fd, text, len, st.st_size - (off_t)from_end) != (ssize_t)len)
		return (struct pr_num){PR_BROKEN, 0};
	pr_key_of_signature(text, len, ret); /* a module whose signature cannot be parsed is still signed */
	return pr_value(1);
}

/* Reads the signature from the end of the module's file. For a compressed file it is unknown. */
static struct pr_num read_signature(struct gt_fsroot *fs, const char *module, struct pr_key *ret)
{
	gt_autofree char *name = signature_name(module), *text = NULL;
	gt_autoclose int fd = -1;
	char word[256];

	if (gt_fs_fact(fs, name, &text, NULL) >= 0) {
		if (gt_next_line(text))
			parse_key(gt_next_line(text), word, ret);
		return pr_value(*text == '1');
	}
	if (!gt_ends_with(module, ".ko"))
		return (struct pr_num){PR_UNKNOWN, 0};
	fd = gt_fs_open_part(fs, module);
	return fd < 0 ? (struct pr_num){pr_state_of(fd), 0} : find_signer(fd, ret);
}

/* ---- the firmware's keys -------------------------------------------------------------------------------------- */

struct adding {
	struct pr_host *h;
	const char *where;
};

static void add_key(void *arg, const struct pr_key *key)
{
	struct adding *a = arg;
	struct pr_host *h = a->h;

	h->secure_boot.key = gt_xrealloc(h->secure_boot.key, (h->secure_boot.n_key + 1) * sizeof(*h->secure_boot.key));
	h->secure_boot.key[h->secure_boot.n_key++] = (struct pr_trusted){.where = pr_keep(h, a->where), .key = *key};
}

/* Adds the certificates of a variable. efivarfs prefixes it with four bytes of attributes. */
static enum pr_state add_list(struct gt_fsroot *fs, struct pr_host *h, const char *where, const char *path, size_t skip)
{
	struct adding a = {h, where};
	gt_autofree char *data = NULL;
	size_t len;
	int r = read_part(fs, path, &data, &len);

	if (r >= 0 && len >= skip)
		pr_each_key((const unsigned char *)data + skip, len - skip, add_key, &a);
	return pr_state_of(r);
}

/* Adds the machine owner's keys (MOK), which shim exports: complete for root; for other users in pieces if one variable
 * is too small. */
static enum pr_state add_owners(struct gt_fsroot *fs, struct pr_host *h)
{
	enum pr_state s = add_list(fs, h, "MokListRT", MOK "/MokListRT", 0);

	if (s == PR_PRESENT)
		return s;
	s = add_list(fs, h, "MokListRT", EFIVARS "/MokListRT-" SHIM, 4);
	for (unsigned i = 1; s == PR_PRESENT && i < 10; i++) {
		gt_autofree char *more = gt_xasprintf(EFIVARS "/MokListRT%u-" SHIM, i);

		if (add_list(fs, h, "MokListRT", more, 4) != PR_PRESENT)
			break;
	}
	return s;
}

static void add_certificate(struct gt_fsroot *fs, struct pr_host *h, const char *path)
{
	struct adding a = {h, path};
	gt_autofree char *der = NULL;
	struct pr_key key;
	size_t len;

	if (read_part(fs, path, &der, &len) >= 0 && !pr_key_of_certificate((const unsigned char *)der, len, &key))
		add_key(&a, &key);
}

/* Certificates that can be enrolled: DKMS's, Ubuntu's, and those of NVIDIA's installer. */
static void add_certificates(struct gt_fsroot *fs, struct pr_host *h)
{
	static const char *const files[] = {"/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der"};
	gt_auto_strv names = {0};

	for (size_t i = 0; i < GT_ARRAY_SIZE(files); i++)
		add_certificate(fs, h, files[i]);
	gt_fs_list(fs, "/usr/share/nvidia", &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("/usr/share/nvidia/%s", names.v[i]);

		if (gt_starts_with(names.v[i], "nvidia-modsign-crt-") && gt_ends_with(names.v[i], ".der"))
			add_certificate(fs, h, path);
	}
}

static bool add_fact(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;
	char where[256];
	struct pr_key key;

	if (gt_fs_fact(fs, "keys", &text, NULL) < 0)
		return false;
	gt_each_line(line, text)
		if (parse_key(line, where, &key))
			add_key(&(struct adding){h, where}, &key);
	h->secure_boot.keys = PR_PRESENT;
	return true;
}

/* The trusted keys are known only if all lists could be read. */
static void find_keys(struct gt_fsroot *fs, struct pr_host *h)
{
	enum pr_state owners, firmware;

	if (add_fact(fs, h))
		return;
	owners = add_owners(fs, h);
	firmware = add_list(fs, h, "db", EFIVARS "/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f", 4);
	if (owners == PR_PRESENT || owners == PR_ABSENT)
		h->secure_boot.keys = firmware == PR_ABSENT ? owners : firmware;
	else
		h->secure_boot.keys = owners;
	add_list(fs, h, "MokNew", EFIVARS "/MokNew-" SHIM, 4);
	add_certificates(fs, h);
}

void pr_discover_secure_boot(struct gt_fsroot *fs, struct pr_host *h)
{
	const char *lockdown = h->kernel.lockdown.v;

	h->secure_boot.on = read_switch(fs, EFIVARS "/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
	if (h->driver.module_path)
		h->secure_boot.signature = read_signature(fs, h->driver.module_path, &h->secure_boot.signer);
	if (pr_or(h->secure_boot.on, 0))
		h->secure_boot.shim_off = read_switch(fs, EFIVARS "/MokSBStateRT-" SHIM);
	if (h->driver.module_path && h->driver.module_version.state != PR_PRESENT &&
	    (pr_or(h->secure_boot.on, 0) || gt_streq(lockdown, "integrity") || gt_streq(lockdown, "confidentiality")))
		find_keys(fs, h);
}

void pr_secure_boot_clear(struct pr_secure_boot *s)
{
	free(s->key);
}
