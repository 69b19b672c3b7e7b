/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_DEB_H
#define TN_DEB_H
/*
 * What apt and dpkg have on disk, read through the door and never by running them: what is installed, where packages come
 * from, and what is on offer. Text of a stranger: names and versions that Debian's policy would not allow are left out.
 */
#include "probe/host/reading.h" /* pr_deb_version_cmp */

/* ---- control files ---- */
/* For each paragraph of a file of any length; the text is NUL-terminated and may be changed. A negative answer ends it. */
typedef int tn_paragraph_fn(void *arg, char *paragraph);
int tn_deb_paragraphs(struct gt_fsroot *fs, const char *path, tn_paragraph_fn *fn, void *arg);
int tn_deb_paragraphs_text(char *text, tn_paragraph_fn *fn, void *arg);
/* The value of "Key: value", continuation lines joined by blanks; NULL if there is none. The caller frees it. */
char *tn_deb_field(const char *paragraph, const char *key);
bool tn_deb_is_name(const char *s);
bool tn_deb_is_version(const char *s);

/* ---- what is installed ---- */
struct tn_deb {
	char *name, *arch, *version;
	char *depends;	/* Pre-Depends and Depends, NULL: none */
	char *provides; /* NULL: none */
	bool installed; /* else: only its configuration files are left */
	bool held, automatic;
	uint64_t installed_bytes;
};
struct tn_dpkg {
	enum pr_state state; /* of dpkg's status file */
	struct tn_deb *deb;
	size_t n;
	char *arch;	   /* "amd64": that of the package dpkg itself; "" if not known */
	char *broken;	   /* one sentence of what is half done, NULL if nothing is */
	char digest[17];   /* of all that is installed, at which version and held or not, in any order */
};
/* Never fails: what cannot be read is in state. A captured host has the packages that matter to gpuprobe and no more. */
void tn_dpkg_load(struct gt_fsroot *fs, const struct pr_host *host, struct tn_dpkg *ret);
void tn_dpkg_clear(struct tn_dpkg *d);
const struct tn_deb *tn_dpkg_find(const struct tn_dpkg *d, const char *name); /* installed or with configuration left */
bool tn_dpkg_has(const struct tn_dpkg *d, const char *name);		      /* installed */

/* ---- where packages come from ---- */
enum tn_origin { TN_DEBIAN, TN_SECURITY, TN_BACKPORTS, TN_NVIDIA, TN_OTHER };
struct tn_source {
	char *file;
	unsigned line; /* of the line, or of the paragraph's Components or URIs */
	char *text; /* the line, or "Components: …": what a remedy appends to */
	char *uri, *suite, *components; /* components: blanks between them */
	enum tn_origin origin;
};
struct tn_sources {
	struct tn_source *source;
	size_t n;
};
void tn_sources_load(struct gt_fsroot *fs, struct tn_sources *ret);
void tn_sources_parse(const char *file, bool deb822, char *text, struct tn_sources *ret); /* adds */
void tn_sources_clear(struct tn_sources *s);
bool tn_release_origin(const char *text, enum tn_origin *ret); /* of a Release file's head; false: it does not say */
bool tn_source_has(const struct tn_source *s, const char *component);

/* ---- what is on offer ---- */
struct tn_offer {
	char *name, *version, *arch, *suite, *component;
	enum tn_origin origin;
	uint64_t download_bytes, installed_bytes;
};
struct tn_offers {
	struct tn_offer *offer;
	size_t n;
	size_t lists;	   /* lists that were read */
	char *unreadable;  /* a list that cannot be read, with the reason; NULL: none */
	int64_t newest;	   /* time of the newest list */
};
/* Packages of these names in apt's lists, for the host's own architecture. */
void tn_offers_load(struct gt_fsroot *fs, const char *arch, const struct gt_strv *names, struct tn_offers *ret);
void tn_offers_clear(struct tn_offers *o);
/* The newest that is not from backports or of another origin than allowed; NULL: none. */
const struct tn_offer *tn_offer_best(const struct tn_offers *o, const char *name, enum tn_origin at_most);
const struct tn_offer *tn_offer_exact(const struct tn_offers *o, const char *name, const char *version);
#endif
