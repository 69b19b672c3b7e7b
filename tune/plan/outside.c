/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/buf.h"
#include "probe/check/check.h"
#include "tune/model/namespaced.h"
#include "tune/model/nvml_settings.h"
#include "tune/plan/outside.h"

struct outside {
	const struct tn_plan *plan;
	const struct pr_host *host;
	const struct pr_node *node; /* NUMA node of all GPUs; NULL: none, or several */
	bool shm, memlock, nofile;  /* limits that are too low */
};

#define add(list, ...) take_line(list, gt_xasprintf(__VA_ARGS__))
static void take_line(json_t *list, char *line)
{
	json_array_append_new(list, gt_json_str(line));
	free(line);
}

static const char *sysctl_of(const struct tn_item *i)
{
	return i->outside ? tn_tunable_key(i->knob) : NULL;
}

/* Returns item n if the start of the container sets it, else NULL. */
static const char *start_sets(const struct outside *o, size_t n)
{
	const char *key = sysctl_of(&o->plan->item[n]);

	return tn_is_namespaced(key, NULL) ? key : NULL;
}

static const struct pr_node *node_of_gpus(const struct pr_host *h)
{
	const struct pr_node *found = NULL;

	for (size_t i = 0; h->n_node > 1 && i < h->n_gpu; i++)
		for (size_t k = 0; k < h->n_node; k++) {
			if (h->node[k].id != pr_or(h->gpu[i].pci->numa_node, -1))
				continue;
			if (found && found != &h->node[k])
				return NULL;
			found = &h->node[k];
		}
	return found;
}

static json_t *docker(const struct outside *o)
{
	json_t *list = json_array();
	gt_auto_buf b = { 0 };

	for (size_t i = 0; i < o->plan->n_item; i++)
		if (start_sets(o, i))
			gt_buf_printf(&b, " --sysctl %s='%s'", start_sets(o, i), o->plan->item[i].wanted);
	if (o->shm)
		gt_buf_printf(&b, " --shm-size=%ldg", pr_shm_gib(o->host));
	if (o->memlock)
		gt_buf_puts(&b, " --ulimit memlock=-1");
	if (o->nofile)
		gt_buf_puts(&b, " --ulimit nofile=1048576");
	if (o->node) {
		gt_autofree char *cpus = gt_set_format(&o->node->cpus);

		gt_buf_printf(&b, " --cpuset-cpus=%s --cpuset-mems=%d", cpus, o->node->id);
	}
	if (b.len)
		add(list, "docker run%s", b.s);
	return list;
}

static void pod_sysctls(const struct outside *o, json_t *list)
{
	gt_auto_buf unsafe = { 0 };
	bool any = false, safe = false;

	for (size_t i = 0; i < o->plan->n_item; i++) {
		const char *key = start_sets(o, i);

		if (!key)
			continue;
		if (!any) {
			add(list, "spec:");
			add(list, "  securityContext:");
			add(list, "    sysctls:");
		}
		any = true;
		add(list, "    - {name: %s, value: \"%s\"}", key, o->plan->item[i].wanted);
		if (tn_is_namespaced(key, &safe) && !safe)
			gt_buf_printf(&unsafe, "%s%s", unsafe.len ? "," : "", key);
	}
	if (unsafe.len)
		add(list, "  # the node needs: kubelet --allowed-unsafe-sysctls=%s", unsafe.s);
}

static json_t *kubernetes(const struct outside *o)
{
	json_t *list = json_array();

	pod_sysctls(o, list);
	if (o->shm && !json_array_size(list))
		add(list, "spec:");
	if (o->shm) {
		add(list, "  containers:");
		add(list, "  - volumeMounts: [{name: shm, mountPath: /dev/shm}]");
		add(list, "  volumes:");
		add(list, "  - {name: shm, emptyDir: {medium: Memory, sizeLimit: %ldGi}}", pr_shm_gib(o->host));
	}
	if (o->memlock || o->nofile)
		add(list, "# limits: LimitMEMLOCK=infinity and LimitNOFILE=1048576 in the unit of containerd on the node");
	if (o->host->n_node > 1) {
		add(list, "# kubelet: cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node");
		add(list, "# the pod: whole CPUs with equal requests and limits; hugepages-2Mi limits for reserved huge pages");
	}
	return list;
}

/* Returns the command that sets the item on its host. The caller frees it. */
static char *command(const struct tn_item *i)
{
	const char *key = tn_tunable_key(i->knob);

	return key ? gt_xasprintf("sysctl -w %s='%s'", key, i->wanted) : gt_xasprintf("echo '%s' > %s", i->wanted, i->path);
}

static json_t *slurm(const struct outside *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->plan->n_item; i++) {
		const struct tn_item *it = &o->plan->item[i];
		gt_autofree char *line = it->outside && !start_sets(o, i) && !tn_is_nvml_path(it->path) ? command(it) : NULL;

		if (!line)
			continue;
		if (!json_array_size(list))
			add(list, "# in the script Prolog= of slurm.conf, which runs as root on the node:");
		add(list, "%s", line);
	}
	if (o->host->n_node > 1)
		add(list, "srun --cpu-bind=cores --mem-bind=local");
	if (o->memlock)
		add(list, "# slurm.conf: PropagateResourceLimitsExcept=MEMLOCK, and LimitMEMLOCK=infinity in slurmd.service");
	return list;
}

static json_t *systemd(const struct outside *o)
{
	json_t *list = json_array();

	if (!o->memlock && !o->nofile && !o->node)
		return list;
	add(list, "[Service]");
	if (o->memlock)
		add(list, "LimitMEMLOCK=infinity");
	if (o->nofile)
		add(list, "LimitNOFILE=1048576");
	if (o->node) {
		gt_autofree char *cpus = gt_set_format(&o->node->cpus);

		add(list, "CPUAffinity=%s", cpus);
		add(list, "NUMAPolicy=bind");
		add(list, "NUMAMask=%d", o->node->id);
	}
	return list;
}

static json_t *host_command(const struct outside *o)
{
	json_t *list = json_array();
	gt_auto_buf b = { 0 };
	const char *last = NULL;

	for (size_t i = 0; i < o->plan->n_item; i++) {
		const struct tn_item *it = &o->plan->item[i];

		if (!it->outside || start_sets(o, i) || gt_streq(last, it->knob->id))
			continue;
		gt_buf_printf(&b, " --set %s='%s'", it->knob->id, it->wanted);
		last = it->knob->id;
	}
	if (b.len)
		add(list, "gputune apply --persist%s", b.s);
	return list;
}

static bool is_advice(const struct tn_plan *p, const char *id)
{
	for (size_t i = 0; i < p->n_item; i++)
		if (p->item[i].status == TN_ADVICE && !strcmp(p->item[i].knob->id, id))
			return true;
	return false;
}

json_t *tn_outside_json(const struct tn_plan *plan, const struct pr_host *host)
{
	struct outside o = { .plan = plan, .host = host, .node = node_of_gpus(host), .shm = is_advice(plan, "mem.shm"),
			     .memlock = is_advice(plan, "limits.memlock"), .nofile = is_advice(plan, "limits.nofile") };

	if (!tn_plan_outside(plan))
		return NULL;
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "docker", docker(&o), "kubernetes", kubernetes(&o), "slurm", slurm(&o),
			 "systemd", systemd(&o), "host", host_command(&o));
}
