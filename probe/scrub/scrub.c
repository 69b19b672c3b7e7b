/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "lib/text.h"
#include "probe/loader/loader.h"
#include "probe/scrub/scrub.h"

/* Returns how many characters at s match the form, 0 if it does not match. 'x' is a hexadecimal digit; other characters
 * are literal. */
static size_t fits(const char *s, const char *form)
{
	size_t n = strlen(form);

	for (size_t i = 0; i < n; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != form[i])
			return 0;
	return isalnum((unsigned char)s[n]) || s[n] == ':' ? 0 : n;
}

/* Matches a port name derived from its MAC address: "enx78e7d1ea46da", "wlx…". */
static size_t fits_port(const char *s)
{
	bool prefix = (!strncmp(s, "en", 2) || !strncmp(s, "wl", 2) || !strncmp(s, "ww", 2)) && s[2] == 'x';
	size_t n = prefix ? fits(s + 3, "xxxxxxxxxxxx") : 0;

	return n ? n + 3 : 0;
}

/* Names of firmware variables end in the UUID of their vendor, which is the same on every machine. */
static bool is_public(const char *uuid)
{
	static const char *const makers[] = { "8be4df61-93ca-11d2-aa0d-00e098032b8c", /* EFI_GLOBAL_VARIABLE */
					      "d719b2cb-3d3a-4596-a3bc-dad00e67656f", /* EFI_IMAGE_SECURITY_DATABASE_GUID */
					      "605dab50-e046-4300-abb6-3dd810dd8b23" /* shim */ };

	for (size_t i = 0; i < GT_ARRAY_SIZE(makers); i++)
		if (!strncmp(uuid, makers[i], strlen(makers[i])))
			return true;
	return false;
}

/* Returns the length of a UUID at s, 0 if there is none. Also accepts '_' as systemd writes it in slice names. */
static size_t fits_uuid(const char *s)
{
	size_t n = fits(s, "xxxxxxxx_xxxx_xxxx_xxxx_xxxxxxxxxxxx");

	return n ? n : fits(s, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}

static void collect_uuids(const char *text, struct gt_strv *ret)
{
	for (const char *p = text; *p; p++) {
		size_t n = fits_uuid(p);

		if (n && !is_public(p))
			pr_scrub_number(ret, p, n);
	}
}

/*
 * CUDA accepts a prefix of a GPU's UUID. Replaces such a prefix by the replacement of the UUID that it matches. If it matches
 * several, uses the common prefix of their replacements. Returns the length of the prefix at p, 0 if no known UUID matches.
 */
static size_t scrub_short_uuid(struct gt_buf *out, const char *p, const struct gt_strv *uuids)
{
	size_t n = strspn(p, "0123456789abcdefABCDEF-"), hits = 0, first = 0;

	if (!n || isalnum((unsigned char)p[n]))
		return 0;
	for (size_t i = uuids->n; i-- > 0;)
		if (!strncasecmp(uuids->v[i], p, n)) {
			first = i;
			hits++;
		}
	if (hits == 1)
		gt_buf_printf(out, "00000000-0000-0000-0000-%012zu", first + 1);
	else if (hits)
		gt_buf_puts(out, "00000000");
	return hits ? n : 0;
}

static bool after_gpu(const char *text, const char *p)
{
	return p - text >= 4 && !strncmp(p - 4, "GPU-", 4);
}

void pr_scrub_ids(struct gt_buf *b)
{
	gt_auto_strv uuids = { 0 }, macs = { 0 }, ports = { 0 };
	const char *text = b->s ? b->s : "";
	struct gt_buf out = { 0 };
	char before = ' ';

	collect_uuids(text, &uuids);
	for (const char *p = text; *p;) {
		bool at_word = !isalnum((unsigned char)before) && before != ':';
		size_t n = fits_uuid(p); /* may directly follow a word (pod1234…) */

		if (n && is_public(p)) {
			gt_buf_add(&out, p, n);
		} else if (n) {
			unsigned k = pr_scrub_number(&uuids, p, n);

			if (p[8] == '_')
				gt_buf_printf(&out, "00000000_0000_0000_0000_%012u", k);
			else
				gt_buf_printf(&out, "00000000-0000-0000-0000-%012u", k);
		} else if (after_gpu(text, p) && (n = scrub_short_uuid(&out, p, &uuids))) {
			;
		} else if (at_word && (n = fits(p, "xx:xx:xx:xx:xx:xx"))) {
			unsigned k = pr_scrub_number(&macs, p, n);

			gt_buf_printf(&out, "02:00:00:00:%02x:%02x", k >> 8 & 0xff, k & 0xff);
		} else if (at_word && (n = fits_port(p))) {
			gt_buf_printf(&out, "%.3s02%010x", p, pr_scrub_number(&ports, p + 3, n - 3));
		} else {
			n = 1;
			gt_buf_add(&out, p, 1);
		}
		p += n;
		before = p[-1];
	}
	gt_buf_clear(b);
	*b = out;
}

char *pr_scrub_cmdline(const char *line)
{
	gt_auto_strv secrets = { 0 };
	struct gt_buf out = { 0 };

	pr_scrub_secrets(&out, line, true, &secrets);
	pr_scrub_ids(&out);
	return gt_buf_take(&out);
}

static bool contains_any(const char *word, size_t len, const char *const *any)
{
	gt_autofree char *copy = gt_xstrndup(word, len);

	for (; *any; any++)
		if (strcasestr(copy, *any))
			return true;
	return false;
}

/* If root created hwloc's export, it contains the firmware's data about the machine. */
static bool names_machine(const char *xml_line)
{
	static const char *const any[] = { "Serial", "UUID", "AssetTag", "HostName", "ProcessName", NULL };
	const char *name = strstr(xml_line, "<info name=\"");

	return name && contains_any(name + 12, strcspn(name + 12, "\""), any);
}

void pr_scrub_word(struct gt_buf *out, const char *text, const char *word, const char *with)
{
	size_t n = strlen(word);
	char before = ' ';

	while (*text) {
		bool hit = !isalnum((unsigned char)before) && !strncmp(text, word, n) && !isalnum((unsigned char)text[n]);

		if (hit)
			gt_buf_puts(out, with);
		else
			gt_buf_add(out, text, 1);
		text += hit ? n : 1;
		before = text[-1];
	}
}

/* Scrubs a line of /proc/net/route. Addresses become numbers, which preserves equality and the zero address. */
static void scrub_route(struct gt_buf *out, const char *line, struct gt_strv *addresses)
{
	for (size_t field = 0; *line; field++) {
		size_t n = strcspn(line, "\t");
		bool address = (field == 1 || field == 2) && fits(line, "xxxxxxxx") && !gt_starts_with(line, "00000000");

		if (address)
			gt_buf_printf(out, "%08X", pr_scrub_number(addresses, line, 8));
		else
			gt_buf_add(out, line, n);
		line += n;
		if (*line) {
			gt_buf_puts(out, "\t");
			line++;
		}
	}
}

/* Replaces the host name in comments only, because it may equal a word that a check reads ("debian", "nouveau"). */
static void scrub_comment(struct gt_buf *out, const char *line, const char *hostname)
{
	size_t blank = strspn(line, " \t");
	const char *comment = line[blank] == '#' || line[blank] == ';' ? line + blank : strstr(line, " #");

	if (!comment || !hostname || !*hostname || !strcmp(hostname, "gputune")) { /* gputune marks its files in a comment */
		gt_buf_puts(out, line);
		return;
	}
	gt_buf_add(out, line, (size_t)(comment - line));
	pr_scrub_word(out, comment, hostname, "host");
}

/*
 * Scrubs the name of a signing key, which follows three fields (host/secure_boot.c). DKMS may derive it from the host
 * name.
 */
static void scrub_key_name(struct gt_buf *out, const char *line, const char *hostname)
{
	const char *name = line;

	for (int i = 0; i < 3 && name; i++)
		name = strchr(name, ' ') ? strchr(name, ' ') + 1 : NULL;
	if (!name || !hostname || !*hostname) {
		gt_buf_puts(out, line);
		return;
	}
	gt_buf_add(out, line, (size_t)(name - line));
	pr_scrub_word(out, name, hostname, "host");
}

/* Removes "user:password" from "https://user:password@host". */
static void scrub_userinfo(struct gt_buf *out, const char *line)
{
	for (const char *at; (at = strstr(line, "://")); line = at) {
		size_t n;

		at += strlen("://");
		n = strcspn(at, "/ \t\"'@");
		gt_buf_add(out, line, (size_t)(at - line));
		if (n && at[n] == '@') {
			gt_buf_puts(out, "[scrubbed]");
			at += n;
		}
	}
	gt_buf_puts(out, line);
}

/* State of one pass over a capture. */
struct scrub {
	const char *hostname;
	struct gt_strv addresses, secrets, names;
};

/* limits.conf: "DOMAIN TYPE ITEM VALUE", where the domain is a user or @group. */
static void scrub_limit(struct gt_buf *out, const char *line, struct gt_strv *names)
{
	size_t skip = strspn(line, " \t@%"), n = strcspn(line + skip, " \t:#");
	gt_autofree char *name = gt_xstrndup(line + skip, n);
	unsigned k;

	if (!isalpha((unsigned char)*name) || !strcmp(name, "root")) {
		gt_buf_puts(out, line);
		return;
	}
	k = pr_scrub_number(names, name, n);
	gt_buf_add(out, line, skip);
	if (k > 1)
		gt_buf_printf(out, "user%u%s", k, line + skip + n);
	else
		gt_buf_printf(out, "user%s", line + skip + n);
}

static size_t fits_ipv4(const char *s)
{
	size_t n = 0;

	for (int group = 0; group < 4; group++) {
		size_t digits = strspn(s + n, "0123456789");

		if (!digits || digits > 3 || (group < 3 && s[n + digits] != '.'))
			return 0;
		n += digits + (group < 3);
	}
	return isalnum((unsigned char)s[n]) || s[n] == '.' ? 0 : n;
}

/* Returns whether the first word of a log line, its driver, is also the name of the host. The journal has the host name
 * there, before "kernel:". */
static bool is_driver(const char *line, const char *hostname)
{
	const char *at = strchr(line, ';');
	size_t n = strlen(hostname);

	if (!at)
		at = strstr(line, "] ");
	at = !at ? line : at + (*at == ';' ? 1 : 2);
	return gt_starts_with(at, hostname) && strchr(" :", at[n]) && !gt_starts_with(at + n, " kernel:");
}

/* Scrubs a line of the kernel log: the host name, IP addresses and the name of an NFS server. */
static void scrub_log(struct gt_buf *out, const char *line, struct scrub *s)
{
	static const char nfs[] = "nfs: server ";
	const char *server = strstr(line, nfs);
	gt_auto_buf b = { 0 };
	char before = ' ';

	for (const char *p = line; *p;) {
		bool at_word = !isalnum((unsigned char)before) && before != '.';
		size_t n = server && p == server + strlen(nfs) ? strcspn(p, " ") : at_word ? fits_ipv4(p) : 0;

		if (n)
			gt_buf_printf(&b, "address-%u", pr_scrub_number(&s->addresses, p, n));
		else
			gt_buf_add(&b, p, 1);
		p += n ? n : 1;
		before = p[-1];
	}
	line = b.s ? b.s : "";
	if (s->hostname && *s->hostname && !is_driver(line, s->hostname))
		pr_scrub_word(out, line, s->hostname, "host");
	else
		gt_buf_puts(out, line);
}

static bool has_words(const char *path)
{
	return gt_starts_with(path, "/etc/default/grub") || strstr(path, "/modprobe.d/") || strstr(path, "/sysctl") ||
	       gt_starts_with(path, "/etc/nccl.conf");
}

/* Scrubs one line of content, without its TAB. Ids are replaced at the end, so that an id has one replacement in the
 * whole capture. */
static void scrub_content(struct gt_buf *out, const char *path, const char *line, struct scrub *s)
{
	gt_auto_buf plain = { 0 };

	if (gt_starts_with(path, "/.facts/hwloc.xml") && names_machine(line))
		return;
	gt_buf_puts(out, "\t");
	if (!strcmp(path, "/etc/machine-id"))
		gt_buf_puts(&plain, "00000000000000000000000000000000");
	else if (!strcmp(path, "/proc/cmdline"))
		pr_scrub_secrets(&plain, line, true, &s->secrets);
	else if (has_words(path))
		pr_scrub_secrets(&plain, line, gt_starts_with(path, "/etc/default/grub"), &s->secrets);
	else if (gt_starts_with(path, "/etc/security/limits."))
		scrub_limit(&plain, line, &s->names);
	else if (!strcmp(path, "/.facts/kernel_log"))
		scrub_log(&plain, line, s);
	else if (!strcmp(path, "/proc/net/route"))
		scrub_route(&plain, line, &s->addresses);
	else if (gt_starts_with(path, "/.facts/keys") || gt_starts_with(path, "/.facts/signature"))
		scrub_key_name(&plain, line, s->hostname);
	else
		gt_buf_puts(&plain, line);
	if (gt_starts_with(path, "/etc/") && plain.s) {
		gt_autofree char *text = gt_buf_take(&plain);

		plain = (struct gt_buf){ 0 };
		scrub_comment(&plain, text, s->hostname);
	}
	scrub_userinfo(out, plain.s ? plain.s : "");
	gt_buf_puts(out, "\n");
}

/* Replaces the directory names below /home by "user", "user2" and so on, one per person. */
static char *scrub_homes(const char *text)
{
	static const char home[] = "/home/";
	gt_auto_strv names = { 0 };
	struct gt_buf out = { 0 };

	for (const char *p = text; *p;) {
		const char *at = strstr(p, home), *name = at ? at + strlen(home) : NULL;
		size_t n = name ? strcspn(name, "/ :;,\"'\\()\t\n") : 0;
		unsigned k = n ? pr_scrub_number(&names, name, n) : 0;

		if (!at) {
			gt_buf_puts(&out, p);
			break;
		}
		gt_buf_add(&out, p, (size_t)(name - p));
		if (k > 1)
			gt_buf_printf(&out, "user%u", k);
		else
			gt_buf_puts(&out, k ? "user" : "");
		p = name + n;
	}
	return gt_buf_take(&out);
}

/* Renames the facts about libraries. Their names derive from the library's path (pr_elf_fact_name), which scrubbing may
 * change. */
static void rename_elf_cache(struct gt_buf *out, const char *text)
{
	static const char head[] = "file /.facts/elf/";

	while (*text) {
		const char *end = strchr(text, '\n'), *next = end ? end + 1 : text + strlen(text);

		if (gt_starts_with(text, head) && gt_starts_with(next, "\t/")) {
			gt_autofree char *path = gt_xstrndup(next + 1, strcspn(next + 1, "\n")), *name = pr_elf_fact_name(path);

			gt_buf_printf(out, "file /.facts/%s\n", name);
		} else {
			gt_buf_add(out, text, (size_t)(next - text));
		}
		text = next;
	}
}

void pr_scrub_capture(struct gt_buf *capture, const char *hostname)
{
	gt_autofree char *text = gt_buf_take(capture), *path = gt_xstrdup(""), *raw = NULL, *clean = NULL;
	struct scrub s = { .hostname = hostname };

	gt_each_line(line, text) {
		const char *slash;

		if (*line == '\t') {
			scrub_content(capture, path, line + 1, &s);
			continue;
		}
		slash = strchr(line, '/');
		free(path);
		path = gt_xstrdup(slash && *line != '#' && !gt_starts_with(line, "link") ? slash : "");
		gt_buf_puts(capture, line);
		gt_buf_puts(capture, "\n");
	}
	gt_strv_clear(&s.addresses);
	gt_strv_clear(&s.secrets);
	gt_strv_clear(&s.names);
	pr_scrub_ids(capture);
	raw = gt_buf_take(capture);
	clean = scrub_homes(raw);
	rename_elf_cache(capture, clean);
}
