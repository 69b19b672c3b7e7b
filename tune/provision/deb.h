/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_DEB_H
#define TN_DEB_H
/*
 * Reads the files of apt and dpkg through the filesystem access layer, without running either: installed packages,
 * sources and available packages. Their content is untrusted. Names and versions that Debian's policy forbids are
 * omitted.
 */
#include "probe/host/reading.h" /* pr_deb_version_cmp */

/* ---- control files ---- */
/* Called for each paragraph of a file of any length. The text is NUL-terminated and may be changed. A negative result
 * ends the loop. */
typedef int tn_paragraph_fn(void *arg, char *paragraph);
int tn_deb_paragraphs(struct gt_fsroot *fs, const char *path, tn_paragraph_fn *fn, void *arg);
int tn_deb_paragraphs_text(char *text, tn_paragraph_fn *fn, void *arg);
/* Returns the value of "Key: value", with continuation lines joined by blanks. NULL: none. The caller frees it. */
char *tn_deb_field(const char *paragraph, const char *key);
bool tn_deb_is_name(const char *s);
bool tn_deb_is_version(const char *s);

/* ---- installed packages ---- */
struct tn_deb {
	char *name, *arch, *version;
	char *depends;	/* Pre-Depends and Depends; NULL: none */
	char *provides; /* NULL: none */
	bool installed; /* false: only its configuration files are left */
	bool held, automatic;
	uint64_t installed_bytes;
};
struct tn_dpkg {
	enum pr_state state; /* state of dpkg's status file */
	struct tn_deb *deb;
	size_t n;
	char *arch;	   /* such as "amd64": the architecture of the package dpkg; "": unknown */
	char *broken;	   /* a sentence about a half-installed package; NULL: none */
	char digest[17];   /* digest of all installed packages with version and hold, in any order */
};
/* Reads the installed packages. Never fails: errors are in state. A captured host has only the packages that gpuprobe
 * needs. */
void tn_dpkg_load(struct gt_fsroot *fs, const struct pr_host *host, struct tn_dpkg *ret);
void tn_dpkg_clear(struct tn_dpkg *d);
const struct tn_deb *tn_dpkg_find(const struct tn_dpkg *d, const char *name); /* installed, or with configuration files left */
bool tn_dpkg_has(const struct tn_dpkg *d, const char *name);		      /* installed */

/* ---- package sources ---- */
enum tn_origin { TN_DEBIAN, TN_SECURITY, TN_BACKPORTS, TN_NVIDIA, TN_OTHER };
struct tn_source {
	char *file;
	unsigned line; /* number of the line, or of the paragraph's Components or URIs line */
	char *text; /* the line, or "Components: …", which a remedy extends */
	char *uri, *suite, *components; /* components: separated by blanks */
	enum tn_origin origin;
};
struct tn_sources {
	struct tn_source *source;
	size_t n;
};
void tn_sources_load(struct gt_fsroot *fs, struct tn_sources *ret);
void tn_sources_parse(const char *file, bool deb822, char *text, struct tn_sources *ret); /* appends to *ret */
void tn_sources_clear(struct tn_sources *s);
bool tn_release_origin(const char *text, enum tn_origin *ret); /* reads the head of a Release file; false: no known origin */
bool tn_source_has(const struct tn_source *s, const char *component);

/* ---- available packages ---- */
struct tn_offer {
	char *name, *version, *arch, *suite, *component;
	enum tn_origin origin;
	uint64_t download_bytes, installed_bytes;
};
struct tn_offers {
	struct tn_offer *offer;
	size_t n;
	size_t lists;	   /* number of lists that were read */
	char *unreadable;  /* an unreadable list, with the reason; NULL: none */
	int64_t newest;	   /* time of the newest list */
};
/* Reads the packages of these names from apt's lists, for the host's own architecture. */
void tn_offers_load(struct gt_fsroot *fs, const char *arch, const struct gt_strv *names, struct tn_offers *ret);
void tn_offers_clear(struct tn_offers *o);
/* Returns the newest package that is neither from backports nor from an origin beyond at_most. NULL: none. */
const struct tn_offer *tn_offer_best(const struct tn_offers *o, const char *name, enum tn_origin at_most);
const struct tn_offer *tn_offer_exact(const struct tn_offers *o, const char *name, const char *version);
#endif
