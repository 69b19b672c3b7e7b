/* SPDX-License-Identifier: Apache-2.0 */
/* Runs apt-get, apt-cache and apt-mark with fixed options, a clean environment and no shell. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "tune/provision/provision.h"

/* dpkg must not ask questions, because stdin is /dev/null. Local configuration files stay unchanged. */
static const char *const options[] = {
	"-q",
	"-y",
	"-o",
	"Dpkg::Use-Pty=0",
	"-o",
	"APT::Color=0",
	"-o",
	"APT::Get::Show-User-Simulation-Note=0",
	"-o",
	"DPkg::Lock::Timeout=60",
	"-o",
	"APT::Get::AutomaticRemove=0",
	"-o",
	"Dpkg::Options::=--force-confdef",
	"-o",
	"Dpkg::Options::=--force-confold",
	"--no-install-recommends",
};
static char *const environment[] = {
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C.UTF-8",
	"HOME=/",
	"TERM=dumb",
	"DEBIAN_FRONTEND=noninteractive",
	"APT_LISTCHANGES_FRONTEND=none",
	"NEEDRESTART_MODE=l",
	NULL,
};

/* Returns the first "E: …" of apt, else its last line. */
static char *first_error(const char *text)
{
	const char *e = gt_starts_with(text, "E: ") ? text : strstr(text, "\nE: "), *last = text;

	if (e) {
		e += *e == '\n' ? 4 : 3;
		return gt_xstrndup(e, strcspn(e, "\n"));
	}
	for (const char *p = text; p && *p; p = gt_next_line(p))
		if (*p != '\n')
			last = p;
	return gt_xstrndup(last, strcspn(last, "\n"));
}

static int lock_fd = -1;

void tn_apt_keeps(int fd)
{
	lock_fd = fd;
}

static int keep_lock(void *arg, struct gt_err *err)
{
	return lock_fd >= 0 && fcntl(lock_fd, F_SETFD, 0) < 0 ? gt_fail_errno(err, errno, "cannot pass on the lock") : 0;
}

/* A query (out is set) ends together with this process. A change does not: a half installation is worse than a complete
 * unwanted one. dpkg also must not end when the reader of its output is gone. */
static int run(const struct gt_strv *argv, double timeout_s, char **out, struct gt_err *err)
{
	struct gt_spawn s = {.argv = argv->v,
			     .envp = environment,
			     .timeout_s = timeout_s,
			     .max_output = 32u << 20,
			     .in_child = out ? NULL : keep_lock,
			     .outlives = !out};
	int r = gt_spawn(&s, err);

	if (!r && s.status) {
		gt_autofree char *why = first_error(s.errout);

		r = gt_fail(err, EIO, "%s", *why ? why : "apt-get gave no reason");
	}
	if (!r && out)
		*out = gt_take(s.out);
	for (char *p = s.out, *line; p && (line = strsep(&p, "\n"));)
		gt_debug("%s", line);
	gt_spawn_clear(&s);
	return r;
}

int tn_apt_get(const char *const *args, const struct gt_strv *packages, double timeout_s, char **out,
	       struct gt_err *err)
{
	gt_auto_strv argv = {0};

	gt_strv_add(&argv, "/usr/bin/apt-get");
	for (size_t i = 0; i < GT_ARRAY_SIZE(options); i++)
		gt_strv_add(&argv, options[i]);
	for (size_t i = 0; args[i]; i++)
		gt_strv_add(&argv, args[i]);
	gt_strv_add(&argv, "--");
	gt_strv_add_all(&argv, packages);
	return run(&argv, timeout_s, out, err);
}

int tn_apt_mark(const char *mark, const struct gt_strv *packages, struct gt_err *err)
{
	gt_auto_strv argv = {0};

	if (!packages->n)
		return 0;
	gt_strv_add(&argv, "/usr/bin/apt-mark");
	gt_strv_add(&argv, mark);
	gt_strv_add_all(&argv, packages);
	return run(&argv, 120, NULL, err);
}

/* ---- output of apt-get -s ---------------------------------------------------------------------------------------- */

void tn_apt_result_clear(struct tn_apt_result *r)
{
	for (size_t i = 0; i < r->n_move; i++) {
		free(r->move[i].name);
		free(r->move[i].arch);
		free(r->move[i].version);
		free(r->move[i].old);
		free(r->move[i].from);
	}
	free(r->move);
	gt_strv_clear(&r->removals);
	*r = (struct tn_apt_result){0};
}

/* Parses "Inst NAME [OLD] (NEW FROM, FROM [ARCH]) [NAME:ARCH …]". Each package has one such line. */
static void take_inst(char *rest, struct tn_apt_result *ret)
{
	char *name = strsep(&rest, " "), *old = NULL, *version, *arch, *colon;
	struct tn_move *m;

	if (rest && *rest == '[') {
		old = rest + 1;
		rest = strchr(rest, ']');
		if (!rest)
			return;
		*rest++ = '\0';
		rest += *rest == ' ';
	}
	if (!rest || *rest != '(')
		return;
	rest++;
	rest[strcspn(rest, ")")] = '\0';
	version = strsep(&rest, " ");
	arch = rest ? strrchr(rest, '[') : NULL;
	if (arch)
		arch[strcspn(arch, "]")] = '\0';
	colon = strchr(name, ':');
	if (colon)
		*colon = '\0';
	if (!tn_deb_is_name(name) || !tn_deb_is_version(version) || (old && !tn_deb_is_version(old)))
		return;
	ret->move = gt_xrealloc(ret->move, (ret->n_move + 1) * sizeof(*ret->move));
	m = &ret->move[ret->n_move++];
	*m = (struct tn_move){.name = gt_xstrdup(name),
			      .arch = gt_xstrdup(arch ? arch + 1 : ""),
			      .version = gt_xstrdup(version),
			      .old = old ? gt_xstrdup(old) : NULL};
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tn_move *)a)->name, ((const struct tn_move *)b)->name);
}

void tn_apt_parse(char *text, struct tn_apt_result *ret)
{
	char *p = text, *line;

	*ret = (struct tn_apt_result){0};
	while ((line = strsep(&p, "\n"))) {
		if (gt_starts_with(line, "Inst ")) {
			take_inst(line + 5, ret);
		} else if (gt_starts_with(line, "Remv ") || gt_starts_with(line, "Purg ")) {
			line += 5;
			line[strcspn(line, " :")] = '\0';
			if (tn_deb_is_name(line))
				gt_strv_add(&ret->removals, line);
		}
	}
	if (ret->n_move)
		qsort(ret->move, ret->n_move, sizeof(*ret->move), by_name);
}

/* ---- output of apt-cache policy ---------------------------------------------------------------------------------- */

/* Finds "NAME:" and the indented lines below it, "Installed: VERSION", "Candidate: VERSION" and others. */
static char *policy_field(const char *text, const char *name, const char *field)
{
	gt_autofree char *head = gt_xasprintf("%s:\n", name), *key = gt_xasprintf("  %s: ", field);
	const char *p = text;

	while (p && !gt_starts_with(p, head))
		p = gt_next_line(p);
	for (p = p ? gt_next_line(p) : NULL; p && *p == ' '; p = gt_next_line(p))
		if (gt_starts_with(p, key))
			return gt_xstrndup(p + strlen(key), strcspn(p + strlen(key), "\n"));
	return NULL;
}

void tn_apt_parse_policy(const char *text, const struct gt_strv *names, struct gt_strv *ret)
{
	for (size_t i = 0; i < names->n; i++) {
		gt_autofree char *installed = policy_field(text, names->v[i], "Installed");
		gt_autofree char *candidate = policy_field(text, names->v[i], "Candidate");

		if (!candidate || !tn_deb_is_version(candidate))
			gt_strv_add(ret, names->v[i]);
		else if (!gt_streq(candidate, installed))
			gt_strv_take(ret, gt_xasprintf("%s=%s", names->v[i], candidate));
	}
}

int tn_apt_candidates(const struct gt_strv *names, struct gt_strv *ret, struct gt_err *err)
{
	gt_auto_strv argv = {0};
	gt_autofree char *text = NULL;
	int r;

	gt_strv_add(&argv, "/usr/bin/apt-cache");
	gt_strv_add(&argv, "policy");
	gt_strv_add(&argv, "--");
	gt_strv_add_all(&argv, names);
	r = run(&argv, 120, &text, err);
	if (!r)
		tn_apt_parse_policy(text, names, ret);
	return r;
}
