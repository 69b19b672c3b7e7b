/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the installed packages from dpkg's status file, without running dpkg. Keeps the few relevant ones of some
 * thousand. A captured host has them as the fact "packages", one "NAME VERSION [hold] [newer VERSION]" per line.
 */
#include <ctype.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/host/reading.h"

static const char *const prefixes[] = {
	"nvidia-",
	"libnvidia-",
	"libcuda1",
	"libcudart",
	"libcudnn",
	"libnccl",
	"cuda-",
	"linux-image-",
	"dkms",
	"docker",
	"containerd",
	"libc6",
	"gcc-1",
	"python3-torch",
	"xserver-xorg-video-nvidia",
	"libnvsdm",
	"datacenter-gpu-manager",
	"unattended-upgrades",
	"firmware-nvidia",
};

static bool matters(const char *name)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(prefixes); i++)
		if (gt_starts_with(name, prefixes[i]))
			return strcmp(name, "libc6-dev") != 0;
	return false;
}

/* Accepts only the characters of package names and versions, because reports print the text and it is untrusted. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("+-.:~_", *s))
			return false;
	return true;
}

static void add(struct pr_host *h, const char *name, const char *version, bool held)
{
	if (!*name || !*version || !matters(name) || !is_plain(name) || !is_plain(version))
		return;
	h->package = gt_xrealloc(h->package, (h->n_package + 1) * sizeof(*h->package));
	h->package[h->n_package++] = (struct pr_package){
		.name = pr_keep(h, name), .version = pr_keep(h, version), .held = held};
}

/* Returns the value of "Key: value" at the start of a line of the paragraph. */
static char *field(const char *paragraph, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = paragraph; line; line = gt_next_line(line))
		if (!strncmp(line, key, n) && line[n] == ':') {
			const char *value = line + n + 1 + strspn(line + n + 1, " \t");

			return gt_xstrndup(value, strcspn(value, "\n"));
		}
	return gt_xstrdup("");
}

static void read_status(struct pr_host *h, char *text)
{
	for (char *p = text; p;) {
		char *end = strstr(p, "\n\n");
		gt_autofree char *name = NULL;

		if (end)
			*end = '\0';
		name = field(p, "Package");
		if (matters(name)) {
			gt_autofree char *status = field(p, "Status"), *version = field(p, "Version");

			if (gt_ends_with(status, " installed"))
				add(h, name, version, gt_starts_with(status, "hold "));
		}
		p = end ? end + 2 : NULL;
	}
}

static void read_fact(struct pr_host *h, char *text)
{
	gt_each_line(line, text) {
		char *rest = line, *name = gt_cut(&rest, " "), *version = gt_cut(&rest, " "), *more = gt_cut(&rest, " ");
		bool held = gt_streq(more, "hold");
		size_t before = h->n_package;

		if (version)
			add(h, name, version, held);
		if (held)
			more = gt_cut(&rest, " ");
		more = gt_streq(more, "newer") ? gt_cut(&rest, " ") : NULL;
		if (more && h->n_package > before && is_plain(more))
			h->package[before].candidate = pr_keep(h, more);
	}
}

const struct pr_package *pr_find_package(const struct pr_host *h, const char *name)
{
	for (size_t i = 0; i < h->n_package; i++)
		if (!strcmp(h->package[i].name, name))
			return &h->package[i];
	return NULL;
}

/* Derives the glibc version: "2.36-9+deb12u13" is 2.36. */
static void find_glibc(struct pr_host *h)
{
	const struct pr_package *p = pr_find_package(h, "libc6");

	if (p)
		h->glibc = (struct pr_str){PR_PRESENT,
					   pr_own(h, gt_xstrndup(p->version, strspn(p->version, "0123456789.")))};
}

/* On Debian-based systems /usr/bin/gcc is a link such as gcc-12. */
static void find_gcc(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *target = NULL;
	int r = gt_fs_readlink(fs, "/usr/bin/gcc", &target);
	const char *dash = r < 0 ? NULL : strrchr(target, '-');

	h->gcc.state = r < 0 ? pr_state_of(r) : PR_UNKNOWN;
	if (dash && dash[1] && !dash[1 + strspn(dash + 1, "0123456789")])
		h->gcc = pr_text(h, dash + 1);
}

void pr_discover_packages(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;
	int r = gt_fs_fact(fs, "packages", &text, NULL);

	if (r >= 0) {
		read_fact(h, text);
	} else {
		r = gt_fs_read(fs, PR_DPKG_STATUS, &text, NULL);
		if (r >= 0)
			read_status(h, text);
	}
	h->packages = pr_state_of(r);
	find_glibc(h);
	find_gcc(fs, h);
}

char *pr_packages_fact(const struct pr_host *h)
{
	struct gt_buf b = {0};

	for (size_t i = 0; i < h->n_package; i++)
		gt_buf_printf(&b, "%s %s%s%s%s\n", h->package[i].name, h->package[i].version,
			      h->package[i].held ? " hold" : "", h->package[i].candidate ? " newer " : "",
			      h->package[i].candidate ? h->package[i].candidate : "");
	return b.len ? gt_buf_take(&b) : NULL;
}
