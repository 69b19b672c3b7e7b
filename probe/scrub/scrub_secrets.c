/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds secrets in lines of key=value words: the kernel command line and the files under /etc that contain parts of it.
 * A key is compared by its whole name or by its last component: "rd.luks.key" is secret, "iommu.passthrough" is not. No
 * parameter that a check reads is replaced.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "probe/scrub/scrub.h"

#define BETWEEN ".-_:/" /* separators of the components of a key */

static bool is_one_of(const char *word, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && !strncasecmp(*list, word, len))
			return true;
	return false;
}

static bool ends_with_one_of(const char *word, size_t len, const char *const *list)
{
	for (; *list; list++) {
		size_t n = strlen(*list);

		if (n <= len && !strncasecmp(word + len - n, *list, n))
			return true;
	}
	return false;
}

bool pr_is_secret_key(const char *key, size_t len)
{
	static const char *const whole[] = { "ip", "ifname", "netroot", "nfsroot", "nfsaddrs", "nbdroot", "netconsole", "BOOTIF",
					     NULL };
	static const char *const anywhere[] = { "password", "passwd", "passphrase", "secret", "token", "credential",
						"credentials", "iscsi", NULL };
	static const char *const last[] = { "key", "keyfile", "apikey", "pass", "pw", "pwd", "cred", "auth", "user", "username",
					    "login", "host", "hostname", "domainname", "server", "nameserver", "url", NULL };
	static const char *const endings[] = { "password", "passwd", "passphrase", "secret", "token", NULL };
	const char *end = key + len, *p = key;
	size_t n;

	if (is_one_of(key, len, whole))
		return true;
	for (;; p += n + 1) {
		for (n = 0; p + n < end && !strchr(BETWEEN, p[n]);)
			n++;
		if (is_one_of(p, n, anywhere) || ends_with_one_of(p, n, endings))
			return true;
		if (p + n >= end)
			return is_one_of(p, n, last);
	}
}

/* Returns whether an IPv4 address starts at s and is not part of a longer word. */
static bool is_address(const char *s)
{
	unsigned part[4];
	int n = 0;

	return sscanf(s, "%3u.%3u.%3u.%3u%n", &part[0], &part[1], &part[2], &part[3], &n) == 4 && n && part[0] < 256 &&
	       part[1] < 256 && part[2] < 256 && part[3] < 256 && !isalnum((unsigned char)s[n]) && s[n] != '.';
}

/* Returns whether the value is an address of another machine, whatever its key, or was scrubbed before. */
static bool is_secret_value(const char *value, size_t len)
{
	static const char *const remote[] = { "nfs:", "nfs4:", "nbd:", "iscsi:", "cifs:", "fcoe:", "[scrubbed", NULL };
	gt_autofree char *v = gt_xstrndup(value, len);

	for (size_t i = 0; remote[i]; i++)
		if (gt_starts_with(v, remote[i]))
			return true;
	if (strstr(v, "://"))
		return true;
	for (const char *p = v; *p; p++)
		if (isdigit((unsigned char)*p) && (p == v || strchr(":=,@/;[", p[-1])) && is_address(p))
			return true;
	return false;
}

/* Returns the length of the value with its quotes. in_quotes: the whole word is quoted, and the closing quote ends the
 * value. */
static size_t value_length(const char *v, bool in_quotes)
{
	size_t esc = *v == '\\' && (v[1] == '"' || v[1] == '\'');
	char quote = v[esc];
	const char *end;

	if (in_quotes)
		return strcspn(v, "\"'");
	if (quote != '"' && quote != '\'')
		return strcspn(v, " \t\"'");
	end = strchr(v + esc + 1, quote);
	return end ? (size_t)(end - v) + 1 : strlen(v);
}

unsigned pr_scrub_number(struct gt_strv *seen, const char *word, size_t len)
{
	for (size_t i = 0; i < seen->n; i++)
		if (strlen(seen->v[i]) == len && !strncasecmp(seen->v[i], word, len))
			return (unsigned)i + 1;
	gt_strv_take(seen, gt_xstrndup(word, len));
	return (unsigned)seen->n;
}

static void put_scrubbed(struct gt_buf *out, const char *value, size_t len, struct gt_strv *seen)
{
	unsigned n = pr_scrub_number(seen, value, len);

	if (n == 1)
		gt_buf_puts(out, "[scrubbed]");
	else
		gt_buf_printf(out, "[scrubbed-%u]", n);
}

static bool is_machine_id(const char *v)
{
	return strspn(v, "0123456789abcdefABCDEF") == 32 && !isalnum((unsigned char)v[32]);
}

/* Scrubs one word of len characters without blanks and quotes. Returns the length of the word with its value. */
static size_t scrub_word(struct gt_buf *out, const char *word, size_t len, bool in_quotes, struct gt_strv *seen)
{
	const char *eq = memchr(word, '=', len);
	size_t key = eq ? (size_t)(eq - word) : len, blank = strspn(word + len, " \t"), n;

	if (!eq && word[len + blank] == '=' && pr_is_secret_key(word, len)) { /* syntax of sysctl.d: key = value */
		n = len + blank + 1 + strspn(word + len + blank + 1, " \t");
		gt_buf_add(out, word, n);
		put_scrubbed(out, word + n, strlen(word + n), seen);
		return n + strlen(word + n);
	}
	if (eq && (pr_is_secret_key(word, key) || is_secret_value(eq + 1, len - key - 1))) {
		n = value_length(eq + 1, in_quotes);
		gt_buf_add(out, word, key + 1);
		put_scrubbed(out, eq + 1, n, seen);
		return key + 1 + n;
	}
	if (eq && is_machine_id(eq + 1))
		gt_buf_printf(out, "%.*s=00000000000000000000000000000000", (int)key, word);
	else
		gt_buf_add(out, word, len);
	return len;
}

void pr_scrub_secrets(struct gt_buf *out, const char *line, bool kernel, struct gt_strv *seen)
{
	bool in_quotes = false;

	for (const char *p = line; *p;) {
		size_t len = strcspn(p, " \t\"'");

		if (!len) {
			bool begins = p == line || p[-1] == ' ' || p[-1] == '\t';

			in_quotes = (*p == '"' || *p == '\'') && begins;
			gt_buf_add(out, p++, 1);
			continue;
		}
		if (kernel && len == 2 && !strncmp(p, "--", 2)) { /* the rest belongs to init and may contain anything */
			size_t rest = strcspn(p + 2, "\"'");

			gt_buf_puts(out, rest ? "-- [scrubbed]" : "--");
			p += 2 + rest;
			continue;
		}
		p += scrub_word(out, p, len, in_quotes, seen);
		in_quotes = false;
	}
}
