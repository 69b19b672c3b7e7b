/* SPDX-License-Identifier: Apache-2.0 */
/* All knobs, and what is the same for each of them. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/parse.h"
#include "sysctl/sysctl.h"
#include "tune/knob/list.h"

const struct tn_knob *const tn_knobs[] = {
	&tn_knob_dirty_ratio,
	&tn_knob_dirty_background_ratio,
	&tn_knob_dirty_bytes,
	&tn_knob_dirty_background_bytes,
	&tn_knob_swappiness,
	&tn_knob_zone_reclaim_mode,
	&tn_knob_max_map_count,
	&tn_knob_min_free_kbytes,
	&tn_knob_overcommit_memory,
	&tn_knob_nr_hugepages,
	&tn_knob_numa_balancing,
	&tn_knob_pid_max,
	&tn_knob_shmmax,
	&tn_knob_rt_runtime,
	&tn_knob_nmi_watchdog,
	&tn_knob_inotify_instances,
	&tn_knob_inotify_watches,
	&tn_knob_aio_max_nr,
	&tn_knob_file_max,
	&tn_knob_rmem_max,
	&tn_knob_wmem_max,
	&tn_knob_tcp_rmem,
	&tn_knob_tcp_wmem,
	&tn_knob_backlog,
	&tn_knob_budget,
	&tn_knob_arp_announce,
	&tn_knob_arp_ignore,
	&tn_knob_sunrpc,
	&tn_knob_rmem_default,
	&tn_knob_busy_read,
	&tn_knob_tcp_timestamps,
	&tn_knob_thp_enabled,
	&tn_knob_thp_defrag,
	&tn_knob_thp_shmem,
	&tn_knob_ksm,
	&tn_knob_scheduler, /* before whatever else its queue has: changing it resets some of that */
	&tn_knob_read_ahead,
	&tn_knob_platform_profile, /* resets preference and governor on some machines */
	&tn_knob_governor,
	&tn_knob_epp, /* after the governor, which decides what it may be */
	&tn_knob_min_perf,
	&tn_knob_epb,
	&tn_knob_boost,
	&tn_knob_idle_latency,
	&tn_knob_aspm,
	&tn_knob_irq_affinity,
	/* looked at only */
	&tn_knob_shm,
	&tn_knob_memlock,
	&tn_knob_nofile,
	&tn_knob_irq_balance,
	&tn_knob_nic_rings,
	&tn_knob_nic_queues,
	&tn_knob_nic_mtu,
	&tn_knob_acs,
	&tn_knob_mrrs,
	&tn_knob_nvme_timeout,
	&tn_knob_gpu_node,
	&tn_knob_persistence,
	&tn_knob_driver_options,
	&tn_knob_nccl_conf,
	&tn_knob_preempt,
	&tn_knob_isolcpus,
	&tn_knob_idle,
	&tn_knob_preemption,
	&tn_knob_init_on_free,
	&tn_knob_iommu,
	/* per run; CPUs first: threads and memory follow from them */
	&tn_knob_affinity,
	&tn_knob_mempolicy,
	&tn_knob_files,
	&tn_knob_omp_threads,
	&tn_knob_omp_bind,
	&tn_knob_blas,
	&tn_knob_kernels, /* of the BLAS that this one has chosen */
	&tn_knob_omp_spin, /* follows from the BLAS */
	&tn_knob_allocator,
	&tn_knob_malloc,
	&tn_knob_omp_runtime, /* after malloc, which looks for an allocator in LD_PRELOAD */
	&tn_knob_cuda_order,
	&tn_knob_cuda_segments,
	&tn_knob_nccl_ifname,
	&tn_knob_leftovers,
	NULL,
};

const struct tn_knob *tn_knob_find(const char *id)
{
	for (size_t i = 0; tn_knobs[i]; i++)
		if (!strcmp(tn_knobs[i]->id, id))
			return tn_knobs[i];
	return NULL;
}

const char *tn_knob_word(size_t i)
{
	return tn_knobs[i] ? tn_knobs[i]->id : NULL;
}

static bool names(const char *word, const struct tn_knob *k)
{
	return gt_ends_with(word, ".") ? gt_starts_with(k->id, word) : !strcmp(k->id, word);
}

bool tn_knob_selected(const struct tn_knob *k, const struct gt_strv *list)
{
	if (!list || !list->n)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (names(list->v[i], k))
			return true;
	return false;
}

bool tn_knob_named(const struct tn_knob *k, const struct gt_strv *list)
{
	return list && gt_strv_has(list, k->id);
}

int tn_knob_check_list(const struct gt_strv *list, const char *option, struct gt_err *err)
{
	for (size_t i = 0; list && i < list->n; i++) {
		size_t k = 0;

		while (tn_knobs[k] && !names(list->v[i], tn_knobs[k]))
			k++;
		if (!tn_knobs[k]) {
			bool several = strchr(list->v[i], ',');
			gt_autofree char *hint = gt_hint(list->v[i], tn_knob_word,
							 several ? "each takes an option of its own" : "gputune list shows them");

			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s: there is no knob or family '%.60s'; %s", option,
					    list->v[i], hint);
		}
	}
	return 0;
}

const char *tn_effect_name(enum tn_effect e)
{
	static const char *const name[] = { [TN_NOW] = "now",
					    [TN_NEW_PROCESS] = "new processes",
					    [TN_NEW_DEVICE] = "new devices",
					    [TN_REBOOT] = "after reboot" };

	return name[e];
}

const char *tn_op_name(enum tn_op op)
{
	static const char *const name[] = { [TN_SET] = "set", [TN_RAISE] = "raise", [TN_LOWER] = "lower" };

	return name[op];
}

/* NULL stays NULL. */
static char *with_instance(const char *path, const char *instance)
{
	const char *mark = path ? strstr(path, "%s") : NULL;

	if (!mark)
		return path ? gt_xstrdup(path) : NULL;
	return gt_xasprintf("%.*s%s%s", (int)(mark - path), path, instance ? instance : "", mark + 2);
}

char *tn_knob_path(const struct tn_knob *k, const char *instance)
{
	return k->key ? sc_path(k->key) : with_instance(k->path, instance);
}

char *tn_knob_side_path(const struct tn_knob *k, const char *instance)
{
	return with_instance(k->resets, instance);
}

char *tn_knob_side_label(const struct tn_knob *k, const char *instance)
{
	for (size_t i = 0; k->resets && tn_knobs[i]; i++)
		if (gt_streq(tn_knobs[i]->path, k->resets))
			return tn_knob_label(tn_knobs[i], instance);
	return NULL;
}

char *tn_knob_pair_path(const struct tn_knob *k)
{
	const struct sc_key *key = k->key ? sc_key_find(k->key) : NULL;

	return key && key->counterpart ? sc_path(key->counterpart) : NULL;
}

char *tn_knob_label(const struct tn_knob *k, const char *instance)
{
	return instance ? gt_xasprintf("%s:%s", k->id, instance) : gt_xstrdup(k->id);
}

/* ---- for desired() ---------------------------------------------------------------------------------------------- */

static void GT_PRINTF(4, 0) say(struct tn_wish *w, enum tn_status status, const char *value, const char *fmt, va_list ap)
{
	w->status = status;
	if (value)
		snprintf(w->value, sizeof(w->value), "%s", value);
	vsnprintf(w->reason, sizeof(w->reason), fmt, ap);
}

void tn_want(struct tn_wish *w, const char *value, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(w, TN_CHANGE, value, fmt, ap);
	va_end(ap);
}

void tn_want_num(struct tn_wish *w, int64_t value, const char *fmt, ...)
{
	char text[24];
	va_list ap;

	snprintf(text, sizeof(text), "%ld", value);
	va_start(ap, fmt);
	say(w, TN_CHANGE, text, fmt, ap);
	va_end(ap);
}

void tn_not_applicable(struct tn_wish *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(w, TN_NOT_APPLICABLE, NULL, fmt, ap);
	va_end(ap);
}

void tn_leave(struct tn_wish *w, enum tn_status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(w, status, NULL, fmt, ap);
	va_end(ap);
}

void tn_advise(struct tn_wish *w, const char *value, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(w, TN_ADVICE, value, fmt, ap);
	va_end(ap);
}
