/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of corrected errors, and counters of uncorrected errors. One corrected error is normal. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "probe/check/log_rates.h"

#define HOUR_S	3600.0
#define DAY_S	86400.0
#define PCIE_PER_HOUR	480.0 /* DCGM warns above 8 replays per minute (DCGM_LIMIT_MAX_PCIREPLAY_RATE) */
#define MEMORY_PER_DAY	10.0  /* errors of one module; mcelog.conf, ce-error-threshold */

/* Returns the number of errors per period. Counts all errors if they are younger than one period or of unknown age. */
static double rate(double n, double age_s, double period_s)
{
	return age_s > period_s ? n * period_s / age_s : n;
}

static double number_or_nan(struct pr_num n)
{
	return pr_has(n) ? (double)n.v : NAN;
}

/* ---- PCIe --------------------------------------------------------------------------------------------------------------- */

static const char pcie_remedy[] = "The link to the device is bad: reseat the card and its riser or cable, and compare the slot "
				  "with another.\n  lspci -tv";

static void set_pcie_rate(struct pr_finding *f, const char *device, int len, double n, double per_hour)
{
	pr_set(f, PR_WARN, "PCIe device %.*s has %.0f corrected errors (AER), %.0f per hour; each costs a repeated transfer", len,
	       device, n, per_hour);
	pr_remedy(f, "%s", pcie_remedy);
}

static bool judge_pcie_counters(const struct pr_host *h, struct pr_finding *f)
{
	for (size_t i = 0; i < h->errors.n_pcie; i++) {
		const struct pr_pcie_errors *e = &h->errors.pcie[i];
		int64_t fatal = pr_or(e->fatal, 0), nonfatal = pr_or(e->nonfatal, 0);
		double corrected = (double)pr_or(e->corrected, 0),
		       per_hour = rate(corrected, number_or_nan(h->errors.uptime_s), HOUR_S);

		if (fatal || nonfatal) {
			pr_set(f, PR_WARN, "PCIe device %s has %lld fatal and %lld other uncorrected errors (AER) since boot",
			       e->address, (long long)fatal, (long long)nonfatal);
			pr_remedy(f, "%s", pcie_remedy);
			return true;
		}
		if (per_hour > PCIE_PER_HOUR) {
			set_pcie_rate(f, e->address, (int)strlen(e->address), corrected, per_hour);
			return true;
		}
	}
	return false;
}

/* Sums the errors in the lines of one device. The rate covers the time since its first line. */
static bool judge_pcie_lines(const struct pr_host *h, struct pr_finding *f)
{
	for (size_t i = 0; i < h->n_log; i++) {
		const struct pr_log_line *l = &h->log[i];
		double n = 0, first = l->first_s, per_hour;

		if (l->kind != PR_LOG_CORRECTED || strcmp(l->check, "log.pcie") != 0)
			continue;
		for (size_t k = 0; k < h->n_log; k++)
			if (h->log[k].rule == l->rule && pr_log_same_device(&h->log[k], l)) {
				n += h->log[k].count;
				first = fmin(first, h->log[k].first_s);
			}
		per_hour = rate(n, h->log_source.now_s - first, HOUR_S);
		if (per_hour > PCIE_PER_HOUR && !isnan(first)) {
			set_pcie_rate(f, l->text, (int)strcspn(l->text, ":") + 8, n, per_hour);
			return true;
		}
	}
	return false;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------- */

static void set_memory(struct pr_finding *f, enum pr_result result, const char *label, int len, const char *what)
{
	pr_set(f, result, "memory module %.*s has %s", len, label, what);
	pr_remedy(f, "%s it replaced. The counters of each module:\n"
		     "  grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_{label,ce_count,ue_count}",
		  result == PR_FAIL ? "Have" : "Watch the number, and have");
}

static bool judge_memory_counters(const struct pr_host *h, struct pr_finding *f)
{
	char what[96];

	for (size_t i = 0; i < h->errors.n_memory; i++) {
		const struct pr_memory_errors *m = &h->errors.memory[i];
		double n = (double)pr_or(m->corrected, 0), per_day = rate(n, number_or_nan(h->errors.memory_s), DAY_S);

		if (pr_or(m->uncorrected, 0) > 0) {
			snprintf(what, sizeof(what), "%lld uncorrectable errors since boot", (long long)m->uncorrected.v);
			set_memory(f, PR_FAIL, m->label, (int)strlen(m->label), what);
			return true;
		}
		if (per_day >= MEMORY_PER_DAY) {
			snprintf(what, sizeof(what), "%.0f corrected errors, %.0f per day", n, per_day);
			set_memory(f, PR_WARN, m->label, (int)strlen(m->label), what);
			return true;
		}
	}
	return false;
}

/* Parses "EDAC MC1: 99 CE memory scrubbing error on LABEL (channel:1 ...". Returns the label; NULL: another form. */
static const char *parse_edac(const char *text, double *ret_n, size_t *ret_len)
{
	const char *label = strstr(text, " on ");
	unsigned n;

	if (!label || sscanf(text, "EDAC MC%*u: %u CE ", &n) != 1)
		return NULL;
	*ret_n = n;
	*ret_len = strcspn(label + strlen(" on "), " ");
	return label + strlen(" on ");
}

static bool judge_memory_lines(const struct pr_host *h, struct pr_finding *f)
{
	char what[96];

	for (size_t i = 0; i < h->n_log; i++) {
		double sum = 0, first = NAN, n, per_day;
		size_t len, other_len;
		const char *label = h->log[i].kind == PR_LOG_CORRECTED ? parse_edac(h->log[i].text, &n, &len) : NULL;

		for (size_t k = 0; label && k < h->n_log; k++) {
			const char *other = parse_edac(h->log[k].text, &n, &other_len);

			if (other && other_len == len && !strncmp(label, other, len)) {
				sum += n * h->log[k].count;
				first = fmin(first, h->log[k].first_s);
			}
		}
		per_day = rate(sum, h->log_source.now_s - first, DAY_S);
		if (per_day >= MEMORY_PER_DAY) {
			snprintf(what, sizeof(what), "%.0f corrected errors in the kernel log, %.0f per day", sum, per_day);
			set_memory(f, PR_WARN, label, (int)len, what);
			return true;
		}
	}
	return false;
}

bool pr_log_judge_rates(const struct pr_context *c, struct pr_finding *f)
{
	if (!strcmp(c->check->id, "log.pcie"))
		return judge_pcie_counters(c->host, f) || judge_pcie_lines(c->host, f);
	if (!strcmp(c->check->id, "log.hardware"))
		return judge_memory_counters(c->host, f) || judge_memory_lines(c->host, f);
	return false;
}
