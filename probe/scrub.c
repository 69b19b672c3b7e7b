/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "probe/scrub.h"

/* How many characters at s have the form: 'x' is a hexadecimal digit, others stand for themselves. 0: it does not fit. */
static size_t fits(const char *s, const char *form)
{
	size_t n = strlen(form);

	for (size_t i = 0; i < n; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != form[i])
			return 0;
	return isalnum((unsigned char)s[n]) || s[n] == ':' ? 0 : n;
}

/* The number of the word in the list, which grows by it; from 1. */
static unsigned number_of(struct gt_strv *seen, const char *word, size_t len)
{
	for (size_t i = 0; i < seen->n; i++)
		if (strlen(seen->v[i]) == len && !strncasecmp(seen->v[i], word, len))
			return (unsigned)i + 1;
	gt_strv_take(seen, gt_xstrndup(word, len));
	return (unsigned)seen->n;
}

/* A port that is named after its MAC address: "enx78e7d1ea46da", "wlx…". */
static size_t fits_port(const char *s)
{
	bool prefix = (!strncmp(s, "en", 2) || !strncmp(s, "wl", 2) || !strncmp(s, "ww", 2)) && s[2] == 'x';
	size_t n = prefix ? fits(s + 3, "xxxxxxxxxxxx") : 0;

	return n ? n + 3 : 0;
}

/* The names of the firmware's variables end in who defined them, which is the same on every machine. */
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

void pr_scrub_ids(struct gt_buf *b)
{
	gt_auto_strv uuids = { 0 }, macs = { 0 }, ports = { 0 };
	struct gt_buf out = { 0 };
	char before = ' ';

	for (const char *p = b->s ? b->s : ""; *p;) {
		bool at_word = !isalnum((unsigned char)before) && before != ':';
		size_t n;

		/* a UUID may stick to a word (pod1234…), and systemd writes it with '_' in the name of a slice */
		if ((n = fits(p, "xxxxxxxx_xxxx_xxxx_xxxx_xxxxxxxxxxxx"))) {
			gt_buf_printf(&out, "00000000_0000_0000_0000_%012u", number_of(&uuids, p, n));
		} else if ((n = fits(p, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")) && is_public(p)) {
			gt_buf_add(&out, p, n);
		} else if (n) {
			gt_buf_printf(&out, "00000000-0000-0000-0000-%012u", number_of(&uuids, p, n));
		} else if (at_word && (n = fits(p, "xx:xx:xx:xx:xx:xx"))) {
			unsigned k = number_of(&macs, p, n);

			gt_buf_printf(&out, "02:00:00:00:%02x:%02x", k >> 8 & 0xff, k & 0xff);
		} else if (at_word && (n = fits_port(p))) {
			gt_buf_printf(&out, "%.3s02%010x", p, number_of(&ports, p + 3, n - 3));
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

static bool contains_any(const char *word, size_t len, const char *const *any)
{
	gt_autofree char *copy = gt_xstrndup(word, len);

	for (; *any; any++)
		if (strcasestr(copy, *any))
			return true;
	return false;
}

static void scrub_word(struct gt_buf *out, const char *word, size_t len)
{
	static const char *const secret[] = { "pass", "secret", "token", "key", "cred", "auth",	  "user",    "login",
					      "host", "name",	"server", "url", "http", "nfsroot", "iscsi", NULL };
	const char *eq = memchr(word, '=', len);
	size_t key = eq ? (size_t)(eq - word) : len;

	if (eq && (contains_any(word, key, secret) || (key == 2 && !strncmp(word, "ip", 2))))
		gt_buf_printf(out, "%.*s=[scrubbed]", (int)key, word);
	else if (eq && fits(eq + 1, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"))
		gt_buf_printf(out, "%.*s=00000000000000000000000000000000", (int)key, word);
	else
		gt_buf_add(out, word, len);
}

static void scrub_words(struct gt_buf *out, const char *line)
{
	for (const char *p = line; *p;) {
		size_t blank = strspn(p, " \t"), len = strcspn(p + blank, " \t");
		const char *word = p + blank;

		gt_buf_add(out, p, blank);
		if (len == 2 && !strncmp(word, "--", 2)) { /* for init, and anybody's guess */
			gt_buf_puts(out, word[2] ? "-- [scrubbed]" : "--");
			return;
		}
		scrub_word(out, word, len);
		p = word + len;
	}
}

char *pr_scrub_cmdline(const char *line)
{
	struct gt_buf out = { 0 };

	scrub_words(&out, line);
	pr_scrub_ids(&out);
	return gt_buf_take(&out);
}

/* hwloc's export, read by root, has what the firmware says about the machine. */
static bool names_machine(const char *xml_line)
{
	static const char *const any[] = { "Serial", "UUID", "AssetTag", "HostName", "ProcessName", NULL };
	const char *name = strstr(xml_line, "<info name=\"");

	return name && contains_any(name + 12, strcspn(name + 12, "\""), any);
}

static void replace_word(struct gt_buf *out, const char *text, const char *word)
{
	size_t n = strlen(word);
	char before = ' ';

	while (*text) {
		bool hit = !isalnum((unsigned char)before) && !strncmp(text, word, n) && !isalnum((unsigned char)text[n]);

		if (hit)
			gt_buf_puts(out, "host");
		else
			gt_buf_add(out, text, 1);
		text += hit ? n : 1;
		before = text[-1];
	}
}

/* A line of the kernel's table of routes, whose addresses become numbers: which are the same, and which are none, is left. */
static void scrub_route(struct gt_buf *out, const char *line, struct gt_strv *addresses)
{
	for (size_t field = 0; *line; field++) {
		size_t n = strcspn(line, "\t");
		bool address = (field == 1 || field == 2) && fits(line, "xxxxxxxx") && !gt_starts_with(line, "00000000");

		if (address)
			gt_buf_printf(out, "%08X", number_of(addresses, line, 8));
		else
			gt_buf_add(out, line, n);
		line += n;
		if (*line) {
			gt_buf_puts(out, "\t");
			line++;
		}
	}
}

/* One line of content, without its TAB. */
static void scrub_content(struct gt_buf *out, const char *path, const char *line, const char *hostname,
			  struct gt_strv *addresses)
{
	if (gt_starts_with(path, "/.facts/hwloc.xml") && names_machine(line))
		return;
	gt_buf_puts(out, "\t");
	if (!strcmp(path, "/etc/machine-id")) {
		gt_buf_puts(out, "00000000000000000000000000000000");
	} else if (!strcmp(path, "/proc/cmdline")) {
		scrub_words(out, line); /* ids are seen to at the end, so that one id is one word in the whole capture */
	} else if (!strcmp(path, "/proc/net/route")) {
		scrub_route(out, line, addresses);
	} else if ((gt_starts_with(path, "/etc/") || gt_starts_with(path, "/.facts/keys") ||
		    gt_starts_with(path, "/.facts/signature")) && hostname && *hostname) {
		replace_word(out, line, hostname);
	} else {
		gt_buf_puts(out, line);
	}
	gt_buf_puts(out, "\n");
}

char *pr_scrub_home(const char *text)
{
	static const char home[] = "/home/";
	struct gt_buf out = { 0 };

	for (const char *p = text; *p;) {
		const char *at = strstr(p, home), *name = at ? at + strlen(home) : NULL;
		size_t n = name ? strcspn(name, "/ :;,\"'\\\t\n") : 0;

		if (!at) {
			gt_buf_puts(&out, p);
			break;
		}
		gt_buf_add(&out, p, (size_t)(name - p));
		gt_buf_puts(&out, n ? "user" : "");
		p = name + n;
	}
	return gt_buf_take(&out);
}

void pr_scrub_capture(struct gt_buf *capture, const char *hostname)
{
	gt_autofree char *text = gt_buf_take(capture), *path = gt_xstrdup(""), *home = NULL, *clean = NULL;
	gt_auto_strv addresses = { 0 };
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *slash;

		if (*line == '\t') {
			scrub_content(capture, path, line + 1, hostname, &addresses);
			continue;
		}
		slash = strchr(line, '/');
		free(path);
		path = gt_xstrdup(slash && *line != '#' && !gt_starts_with(line, "link") ? slash : "");
		gt_buf_puts(capture, line);
		gt_buf_puts(capture, "\n");
	}
	pr_scrub_ids(capture);
	home = gt_buf_take(capture);
	clean = pr_scrub_home(home);
	gt_buf_puts(capture, clean);
}
