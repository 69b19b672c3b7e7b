/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the owner of a process by its cgroup. Sources of the names: Slurm's cgroup plug-ins, the kubelet's cgroup manager
 * (pkg/kubelet/cm), Docker, podman, containerd and CRI-O (scope PREFIX-ID.scope), systemd's units.
 */
#include <ctype.h>
#include <string.h>
#include "lib/text.h"
#include "probe/holder/holder.h"

#define UUID_LEN 36

/* An owner with a higher rank is more specific: a Slurm job may run in a container of the unit slurmd. */
struct owner {
	enum { NONE, UNIT, CONTAINER, POD, JOB } rank;
	char *id;
};

static void take(struct owner *o, int rank, char *id)
{
	if (rank < (int)o->rank) {
		free(id);
		return;
	}
	free(o->id);
	o->id = id;
	o->rank = rank;
}

static size_t hex_span(const char *s)
{
	return strspn(s, "0123456789abcdef");
}

/* Parses "kubepods-burstable-podUID.slice" or "podUID". The slice has _ in place of - in the UID; a static pod has a hash. */
static void take_pod(struct owner *o, const char *part)
{
	const char *at = strstr(part, "-pod"), *uid = at ? at + 4 : gt_starts_with(part, "pod") ? part + 3 : "";
	size_t n = strspn(uid, "0123456789abcdef-_");
	char *id;

	if (n != UUID_LEN && (n != 32 || hex_span(uid) != 32))
		return;
	id = gt_xstrndup(uid, n);
	for (char *p = id; *p; p++)
		*p = *p == '_' ? '-' : *p;
	take(o, POD, id);
}

/* Parses "docker-ID.scope", "ID" and the like; an id has 64 hexadecimal digits, of which tools show 12. */
static void take_container(struct owner *o, const char *part)
{
	for (const char *p = part; *p; p++)
		if ((p == part || !isalnum((unsigned char)p[-1])) && hex_span(p) == 64) {
			take(o, CONTAINER, gt_xstrndup(p, 12));
			return;
		}
	if (gt_starts_with(part, "lxc.payload."))
		take(o, CONTAINER, gt_xstrdup(part + strlen("lxc.payload.")));
}

static void take_job(struct owner *o, const char *part)
{
	size_t n = gt_starts_with(part, "job_") ? strspn(part + 4, "0123456789") : 0;

	if (n && !part[4 + n])
		take(o, JOB, gt_xstrndup(part + 4, n));
}

static void take_path(struct owner *o, const char *path)
{
	bool slurm = strstr(path, "slurm"), kubernetes = strstr(path, "kubepods");

	gt_each_word(part, path, "/") {
		if (gt_ends_with(part, ".service") || gt_ends_with(part, ".scope"))
			take(o, UNIT, gt_xstrdup(part));
		take_container(o, part);
		if (kubernetes)
			take_pod(o, part);
		if (slurm)
			take_job(o, part);
	}
}

void pr_find_group(const char *text, const char **ret_kind, char **ret_group)
{
	static const char *const kinds[] = {
		[NONE] = NULL, [UNIT] = "unit", [CONTAINER] = "container", [POD] = "pod", [JOB] = "Slurm job"
	};
	struct owner o = { 0 };

	gt_each_word(line, text, "\n") { /* ID:CONTROLLERS:PATH */
		const char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (path)
			take_path(&o, path + 1);
	}
	*ret_kind = kinds[o.rank];
	*ret_group = o.id;
}
