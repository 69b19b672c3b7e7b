/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes that hold a GPU. NVML lists the contexts of its GPUs. For other GPUs, and without NVML, the open
 * device files and KFD's list of processes are read. Captures have the result as a fact, so the files in /proc are not
 * recorded. Source: the kernel's amdkfd/kfd_process.c (kfd/proc).
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/host/holders.h"
#include "probe/host/reading.h"
#include "probe/scrub/scrub.h"

#define KFD_PROC     "/sys/class/kfd/kfd/proc"
#define SCAN_S	     0.025		/* time for the open files of all processes of a live host */
#define MOST_HOLDERS 4096		/* of one GPU */

static struct pr_held_gpu *held_of(struct pr_host *h, const struct pr_pci *d)
{
	for (size_t i = 0; i < h->holders.n; i++)
		if (h->holders.gpu[i].pci == d)
			return &h->holders.gpu[i];
	h->holders.gpu = gt_xrealloc(h->holders.gpu, (h->holders.n + 1) * sizeof(*h->holders.gpu));
	h->holders.gpu[h->holders.n] = (struct pr_held_gpu){ .pci = d };
	return &h->holders.gpu[h->holders.n++];
}

static struct pr_holder *add_holder(struct pr_held_gpu *g, int64_t pid)
{
	static struct pr_holder beyond;

	for (size_t i = 0; i < g->n; i++)
		if (g->holder[i].pid == pid)
			return &g->holder[i];
	if (g->n == MOST_HOLDERS)
		return &beyond;
	g->holder = gt_xrealloc(g->holder, (g->n + 1) * sizeof(*g->holder));
	g->holder[g->n] = (struct pr_holder){ .pid = pid, .memory_bytes = -1 };
	return &g->holder[g->n++];
}

static void note(struct pr_host *h, const char *why)
{
	free(h->holders.note);
	h->holders.note = gt_xstrdup(why);
}

/* ---- open device files ---------------------------------------------------------------------------------------- */

struct device_file {
	char *path; /* "/dev/nvidia0", "/dev/dri/renderD128" */
	size_t gpu; /* index in pr_holders */
};
struct device_files {
	struct device_file *v;
	size_t n;
};

static void add_file(struct device_files *f, char *path, size_t gpu)
{
	f->v = gt_xrealloc(f->v, (f->n + 1) * sizeof(*f->v));
	f->v[f->n++] = (struct device_file){ path, gpu };
}

/* Adds the device files of a GPU that NVML does not describe. */
static void find_files(struct gt_fsroot *fs, struct pr_host *h, size_t gpu, struct device_files *ret)
{
	const char *pci = h->holders.gpu[gpu].pci->address, *minor;
	gt_autofree char *drm = gt_xasprintf("/sys/bus/pci/devices/%s/drm", pci), *text = NULL,
			 *information = gt_xasprintf("/proc/driver/nvidia/gpus/%s/information", pci);
	gt_auto_strv names = { 0 };
	unsigned number;

	gt_fs_list(fs, drm, &names);
	for (size_t i = 0; i < names.n; i++)
		if (gt_starts_with(names.v[i], "renderD"))
			add_file(ret, gt_xasprintf("/dev/dri/%s", names.v[i]), gpu);
	if (gt_fs_read_prefix(fs, information, 4096, &text, NULL) < 0)
		return;
	minor = strstr(text, "Device Minor:");
	if (minor && sscanf(minor, "Device Minor: %u", &number) == 1)
		add_file(ret, gt_xasprintf("/dev/nvidia%u", number), gpu);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct device_file *)a)->path, ((const struct device_file *)b)->path);
}

/* Reads the open files of a process. Returns 0 or a negative errno. files: sorted by path. */
static int scan_process(struct gt_fsroot *fs, struct pr_host *h, const char *pid, const struct device_files *files)
{
	gt_autofree char *dir = gt_xasprintf("/proc/%s/fd", pid);
	gt_auto_strv targets = { 0 };
	int r = gt_fs_links(fs, dir, &targets);

	for (size_t i = 0; i < targets.n; i++) {
		const struct device_file *found =
			!gt_starts_with(targets.v[i], "/dev/") ? NULL :
			bsearch(&(struct device_file){ .path = targets.v[i] }, files->v, files->n, sizeof(*files->v), by_path);

		if (found)
			add_holder(&h->holders.gpu[found->gpu], strtoll(pid, NULL, 10));
	}
	return r;
}

/* Returns whether the open files of all processes were read. */
static bool scan_processes(struct gt_fsroot *fs, struct pr_host *h, const struct device_files *files)
{
	double end_s = gt_now_s() + SCAN_S;
	gt_auto_strv names = { 0 };
	size_t hidden = 0;
	bool all = pr_sees_all_processes(fs);

	gt_fs_list(fs, "/proc", &names);
	for (size_t i = 0; i < names.n; i++) {
		if (!isdigit((unsigned char)*names.v[i]))
			continue;
		if (h->live && gt_now_s() > end_s) {
			note(h, "not all processes were examined, because there are too many");
			return false;
		}
		hidden += pr_state_of(scan_process(fs, h, names.v[i], files)) == PR_UNREADABLE;
	}
	if (hidden)
		note(h, "only the processes of this user can be examined; root can examine all");
	return all && !hidden;
}

/* Adds the processes of KFD's list that have memory of the GPU. */
static void read_kfd(struct gt_fsroot *fs, struct pr_host *h, const struct gt_strv *pids)
{
	for (size_t i = 0; i < pids->n && i < MOST_HOLDERS; i++)
		for (size_t k = 0; k < h->amd.n_kfd; k++) {
			const struct pr_kfd_node *node = &h->amd.kfd[k];
			struct pr_num bytes = pr_read_num(fs, KFD_PROC "/%s/vram_%lld", pids->v[i], (long long)node->gpu_id);
			struct pr_holder *p;

			if (pr_or(bytes, 0) <= 0 || !isdigit((unsigned char)*pids->v[i]))
				continue;
			p = add_holder(held_of(h, node->gpu->pci), strtoll(pids->v[i], NULL, 10));
			p->memory_bytes = GT_MAX(p->memory_bytes, INT64_C(0)) + bytes.v;
		}
}

/* Reads the use of a GPU from amdgpu. A suspended GPU would wake up, so it is not read. */
static void read_amd_use(struct gt_fsroot *fs, struct pr_host *h, struct pr_held_gpu *g)
{
	struct pr_str status = pr_read_str(h, fs, "/sys/bus/pci/devices/%s/power/runtime_status", g->pci->address);

	if (gt_streq(status.v, "suspended"))
		return;
	g->memory_used_bytes = pr_read_num(fs, "/sys/bus/pci/devices/%s/mem_info_vram_used", g->pci->address);
	g->compute_percent = pr_read_num(fs, "/sys/bus/pci/devices/%s/gpu_busy_percent", g->pci->address);
}

/* Finds the holders of the GPUs that NVML did not describe. */
static void scan(struct gt_fsroot *fs, struct pr_host *h)
{
	struct device_files files = { 0 };
	gt_auto_strv pids = { 0 };
	bool all, kfd = h->amd.n && pr_in_first_namespace(fs) && gt_fs_list(fs, KFD_PROC, &pids) >= 0;

	for (size_t i = 0; i < h->holders.n; i++)
		if (!h->holders.gpu[i].source)
			find_files(fs, h, i, &files);
	if (files.n)
		qsort(files.v, files.n, sizeof(*files.v), by_path);
	all = files.n && scan_processes(fs, h, &files);
	read_kfd(fs, h, &pids);
	for (size_t i = 0; i < h->holders.n; i++) {
		struct pr_held_gpu *g = &h->holders.gpu[i];
		bool found = false;

		if (g->source)
			continue;
		for (size_t k = 0; k < files.n; k++)
			found |= files.v[k].gpu == i;
		g->source = kfd && pr_amd_gpu_at(h, g->pci) ? "KFD and open files" : found ? "open files" : NULL;
		g->complete = all && found;
	}
	for (size_t k = 0; k < files.n; k++)
		free(files.v[k].path);
	free(files.v);
}

/* ---- documents ------------------------------------------------------------------------------------------------ */

static const char *const sources[] = { "NVML", "KFD and open files", "open files" };

json_t *pr_holders_json(const struct pr_holders *h)
{
	json_t *gpus = json_array();

	for (size_t i = 0; i < h->n; i++) {
		const struct pr_held_gpu *g = &h->gpu[i];
		json_t *list = json_array();

		for (size_t k = 0; k < g->n; k++)
			json_array_append_new(list, pr_holder_json(&g->holder[k]));
		json_array_append_new(gpus, json_pack("{s:s, s:o, s:o, s:o, s:b, s:o}", "pci", g->pci->address,
						      "memory_used_bytes", pr_num_json(g->memory_used_bytes), "compute_percent",
						      pr_num_json(g->compute_percent), "source", gt_json_str(g->source),
						      "complete", g->complete, "processes", list));
	}
	return json_pack("{s:o, s:o}", "note", gt_json_str(h->note), "gpus", gpus);
}

/* ---- the fact ------------------------------------------------------------------------------------------------- */

/* Replaces the names of users in a string of the document, which may be part of a unit's name. */
static void scrub_string(json_t *o, const char *key, const struct gt_strv *users)
{
	const char *text = gt_json_get_str(o, key, NULL);

	for (size_t i = 0; text && i < users->n; i++) {
		gt_autofree char *with = i ? gt_xasprintf("user%zu", i + 1) : gt_xstrdup("user");
		gt_auto_buf b = { 0 };

		pr_scrub_word(&b, text, users->v[i], with);
		json_object_set_new(o, key, gt_json_str(b.s));
		text = gt_json_get_str(o, key, NULL);
	}
}

static void scrub_processes(json_t *list, struct gt_strv *users)
{
	json_t *p;
	size_t i;

	json_array_foreach(list, i, p) {
		const char *user = gt_json_get_str(p, "user", "root");
		unsigned number = strcmp(user, "root") ? pr_scrub_number(users, user, strlen(user)) : 0;
		gt_autofree char *with = number > 1 ? gt_xasprintf("user%u", number) : gt_xstrdup(number ? "user" : "root");

		scrub_string(p, "name", users);
		scrub_string(json_object_get(p, "group"), "id", users);
		if (json_is_string(json_object_get(p, "user")))
			json_object_set_new(p, "user", gt_json_str(with));
	}
}

char *pr_holders_fact(const struct pr_host *h)
{
	gt_auto_json *doc = pr_holders_json(&h->holders);
	gt_auto_strv users = { 0 };
	json_t *g;
	size_t i;

	if (!h->holders.n)
		return NULL;
	for (i = 0; i < h->holders.n; i++)
		for (size_t k = 0; k < h->holders.gpu[i].n; k++) {
			const char *user = h->holders.gpu[i].holder[k].user;

			if (user && *user && strcmp(user, "root"))
				pr_scrub_number(&users, user, strlen(user));
		}
	json_array_foreach(json_object_get(doc, "gpus"), i, g)
		scrub_processes(json_object_get(g, "processes"), &users);
	return gt_json_text(doc);
}

/* Reverses pr_num_json(). */
static struct pr_num number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	const char *state = gt_json_get_str(o, key, pr_state_name(json_is_null(v) ? PR_ABSENT : PR_UNKNOWN));

	if (json_is_integer(v) && json_integer_value(v) >= 0)
		return pr_value(json_integer_value(v));
	for (enum pr_state s = PR_UNKNOWN; s <= PR_BROKEN; s++)
		if (s != PR_PRESENT && !strcmp(state, pr_state_name(s)))
			return (struct pr_num){ s, 0 };
	return (struct pr_num){ PR_BROKEN, 0 };
}

static void take_process(struct pr_held_gpu *g, const json_t *o)
{
	size_t n = g->n;
	struct pr_holder *p = add_holder(g, gt_json_get_int(o, "pid", 0));

	if (g->n > n) /* else duplicate or too many */
		pr_holder_take(o, p);
}

static void take_gpu(struct pr_host *h, const json_t *o)
{
	const char *pci = gt_json_get_str(o, "pci", ""), *source = gt_json_get_str(o, "source", "");
	const json_t *p, *list = json_object_get(o, "processes");
	size_t i;

	for (size_t k = 0; k < h->holders.n; k++) {
		struct pr_held_gpu *g = &h->holders.gpu[k];

		if (strcmp(g->pci->address, pci))
			continue;
		g->memory_used_bytes = number_of(o, "memory_used_bytes");
		g->compute_percent = number_of(o, "compute_percent");
		for (size_t s = 0; s < GT_ARRAY_SIZE(sources); s++)
			g->source = !strcmp(sources[s], source) ? sources[s] : g->source;
		g->complete = g->source && gt_json_get_bool(o, "complete", false);
		json_array_foreach(list, i, p)
			if (gt_json_get_int(p, "pid", 0) > 0)
				take_process(g, p);
	}
}

static bool take_fact(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;
	gt_auto_json *doc = NULL;
	json_t *g;
	size_t len, i;

	if (gt_fs_fact(fs, "gpu_holders", &text, &len) < 0)
		return false;
	if (gt_json_parse(text, len, "gpu_holders", &doc, NULL) < 0) {
		note(h, "the list of processes in the capture is damaged");
		return true;
	}
	if (gt_json_get_str(doc, "note", NULL))
		note(h, gt_json_get_str(doc, "note", NULL));
	json_array_foreach(json_object_get(doc, "gpus"), i, g)
		take_gpu(h, g);
	return true;
}

/* ---- the phase ------------------------------------------------------------------------------------------------ */

void pr_take_use(struct pr_host *h, const struct pr_pci *d, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "processes"), *p, *used = json_object_get(answer, "memory_used_bytes"),
		     *percent = json_object_get(answer, "compute_percent");
	struct pr_held_gpu *g = held_of(h, d);
	size_t i;

	if (json_is_integer(used))
		g->memory_used_bytes = pr_value(json_integer_value(used));
	if (json_is_integer(percent))
		g->compute_percent = pr_value(json_integer_value(percent));
	if (!json_is_array(list))
		return;
	g->source = "NVML";
	json_array_foreach(list, i, p)
		if (gt_json_get_int(p, "pid", 0) > 0)
			add_holder(g, gt_json_get_int(p, "pid", 0))->memory_bytes = gt_json_get_int(p, "memory_bytes", -1);
}

static int by_pid(const void *a, const void *b)
{
	const struct pr_holder *const *p = a, *const *q = b;

	return ((*p)->pid > (*q)->pid) - ((*p)->pid < (*q)->pid);
}

/* Copies what is the same for all GPUs of a process. */
static void copy_process(const struct pr_holder *from, struct pr_holder *to)
{
	to->state = from->state;
	to->name = from->name ? gt_xstrdup(from->name) : NULL;
	to->user = from->user ? gt_xstrdup(from->user) : NULL;
	to->kind = from->kind;
	to->group = from->group ? gt_xstrdup(from->group) : NULL;
}

/* Describes all holders; reads a process that holds several GPUs only once. */
static void describe(struct gt_fsroot *fs, struct pr_host *h, bool see_all)
{
	gt_autofree char *passwd = NULL;
	gt_autofree struct pr_holder **all = NULL;
	size_t n = 0;

	for (size_t i = 0; i < h->holders.n; i++)
		n += h->holders.gpu[i].n;
	if (!n)
		return;
	all = gt_xcalloc(n, sizeof(*all));
	n = 0;
	for (size_t i = 0; i < h->holders.n; i++)
		for (size_t k = 0; k < h->holders.gpu[i].n; k++)
			all[n++] = &h->holders.gpu[i].holder[k];
	qsort(all, n, sizeof(*all), by_pid);
	gt_fs_read_prefix(fs, "/etc/passwd", 1 << 20, &passwd, NULL);
	for (size_t i = 0; i < n; i++)
		if (i && all[i]->pid == all[i - 1]->pid)
			copy_process(all[i - 1], all[i]);
		else
			pr_describe_holder(fs, see_all, passwd, all[i]);
}

static int by_memory(const void *a, const void *b)
{
	const struct pr_holder *p = a, *q = b;

	if (p->memory_bytes != q->memory_bytes)
		return p->memory_bytes < q->memory_bytes ? 1 : -1;
	return (p->pid > q->pid) - (p->pid < q->pid);
}

static void discover(struct gt_fsroot *fs, struct pr_host *h)
{
	bool see_all = pr_sees_all_processes(fs), complete = true, other = false;

	for (size_t i = 0; i < h->holders.n; i++) {
		h->holders.gpu[i].complete = h->holders.gpu[i].source && see_all;
		other |= !h->holders.gpu[i].source;
	}
	if (other)
		scan(fs, h);
	describe(fs, h, see_all);
	for (size_t i = 0; i < h->holders.n; i++)
		complete &= h->holders.gpu[i].complete;
	if (!complete && !h->holders.note)
		note(h, see_all ? "the driver does not list the processes" :
				  "processes outside of this container, or of other users, are not visible");
}

/* Discovers without recording the files for a capture. */
static void discover_unrecorded(struct gt_fsroot *fs, struct pr_host *h)
{
	bool recording = gt_fs_pause_recording(fs);
	struct stat st;

	if (gt_fs_lstat(fs, "/proc/self/ns/pid", &st) >= 0)
		discover(fs, h);
	else
		note(h, "the capture has no list of processes");
	if (recording)
		gt_fs_record(fs);
}

void pr_discover_holders(struct gt_fsroot *fs, struct pr_host *h)
{
	const struct pr_pci *d;

	for (size_t i = 0; i < h->n_gpu; i++)
		if (pr_on_bus(&h->gpu[i]))
			held_of(h, h->gpu[i].pci);
	for (size_t i = 0; (d = pr_other_gpu(h, i)); i++)
		if (pr_amd_gpu_at(h, d))
			read_amd_use(fs, h, held_of(h, d));
		else
			held_of(h, d);
	if (!h->holders.n)
		return;
	if (!take_fact(fs, h))
		discover_unrecorded(fs, h);
	for (size_t i = 0; i < h->holders.n; i++)
		if (h->holders.gpu[i].n)
			qsort(h->holders.gpu[i].holder, h->holders.gpu[i].n, sizeof(*h->holders.gpu[i].holder), by_memory);
}

void pr_holders_clear(struct pr_holders *h)
{
	for (size_t i = 0; i < h->n; i++) {
		for (size_t k = 0; k < h->gpu[i].n; k++)
			pr_holder_clear(&h->gpu[i].holder[k]);
		free(h->gpu[i].holder);
	}
	free(h->gpu);
	free(h->note);
}
