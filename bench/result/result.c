/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "config.h"
#include "bench/result/text.h"
#include "bench/result/result.h"
#include "lib/file.h"
#include "probe/host/host.h"
#include "probe/host/machine_fingerprint.h"

static json_t *text_or_null(struct pr_str s)
{
	return gt_json_str(s.v);
}

/* With which kernels each copy computes: "/usr/lib/…/libopenblasp-r0.3.21.so: Prescott". */
static json_t *openblas_json(const struct pr_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_openblas; i++) {
		gt_autofree char *text = gt_xasprintf("%s: %s", h->openblas[i].path,
						      h->openblas[i].core ? h->openblas[i].core : "not known");

		json_array_append_new(list, gt_json_str(text));
	}
	return list;
}

/* What people ask about a host first; everything else is gpuprobe's to say. */
static json_t *host_json(struct gt_fsroot *fs, const struct pr_host *h)
{
	json_t *j = json_object(), *gpus = json_array();

	json_object_set_new(j, "identity", gt_json_str(h->identity));
	json_object_set_new(j, "cpu", text_or_null(h->cpu.model_name));
	json_object_set_new(j, "cpus", json_integer((json_int_t)gt_set_count(&h->cpu.online)));
	json_object_set_new(j, "cpus_allowed", json_integer((json_int_t)gt_set_count(&h->cpu.allowed)));
	json_object_set_new(j, "numa_nodes", json_integer((json_int_t)h->n_node));
	json_object_set_new(j, "memory_bytes",
			    pr_has(h->mem.total_bytes) ? json_integer(h->mem.total_bytes.v) : json_null());
	json_object_set_new(j, "distribution", text_or_null(h->distro.pretty));
	json_object_set_new(j, "kernel", text_or_null(h->kernel.release));
	json_object_set_new(j, "kernel_cmdline", text_or_null(h->kernel.cmdline));
	json_object_set_new(j, "microcode", text_or_null(h->cpu.microcode));
	json_object_set_new(j, "openblas", openblas_json(h));
	json_object_set_new(j, "virtualization", text_or_null(h->virt));
	json_object_set_new(j, "container", text_or_null(h->container));
	json_object_set_new(j, "nvidia_driver", text_or_null(h->driver.module_version));
	for (size_t i = 0; i < h->n_gpu; i++)
		json_array_append_new(gpus, h->gpu[i].name.v ? gt_json_str(h->gpu[i].name.v) :
							       gt_json_str(h->gpu[i].pci->address));
	json_object_set_new(j, "gpus", gpus);
	json_object_set(j, "identity_parts", h->identity_parts);
	json_object_set_new(j, "marks", pr_marks(fs, h));
	return j;
}

json_t *bn_result_new(struct gt_fsroot *fs, const struct pr_host *host, char *const *argv)
{
	json_t *args = json_array();

	for (; *argv; argv++)
		json_array_append_new(args, gt_json_str(*argv));
	return json_pack("{s:s, s:{s:s, s:s, s:i, s:s}, s:{s:o}, s:o, s:{s:[]}, s:{s:s, s:s}}", "schema", BN_SCHEMA,
			 "tool", "name", "gpubench", "version", PACKAGE_VERSION, "suite_major", BN_SUITE_MAJOR,
			 "compiler", __VERSION__, "run", "argv", args, "host", host_json(fs, host), "treatment", "declared",
			 "arms", "a", "baseline", "b", "tuned");
}

void bn_declare(json_t *doc, const char *id, const char *from, const char *to, const char *when)
{
	json_array_append_new(json_object_get(json_object_get(doc, "treatment"), "declared"),
			      json_pack("{s:o, s:o, s:o, s:s}", "id", gt_json_str(id), "from", gt_json_str(from), "to",
					gt_json_str(to), "when", when));
}

void bn_identity_difference(const json_t *a, const json_t *b, struct gt_buf *out)
{
	const json_t *ha = json_object_get(a, "host"), *hb = json_object_get(b, "host");
	json_t *pa = json_object_get(ha, "identity_parts"), *va;
	json_t *pb = json_object_get(hb, "identity_parts");
	const char *key;

	json_object_foreach(pa, key, va)
		if (!json_equal(va, json_object_get(pb, key)))
			gt_buf_printf(out, "%s%s (%s, %s)", out->len ? ", " : "", key, bn_text_json(va).s,
				      bn_text_json(json_object_get(pb, key)).s);
	if (!out->len && !json_equal(json_object_get(ha, "identity"), json_object_get(hb, "identity")))
		gt_buf_puts(out, "host identity");
	if (!out->len)
		pr_marks_difference(json_object_get(ha, "marks"), json_object_get(hb, "marks"), out);
}

bool bn_identity_shown(const json_t *a, const json_t *b)
{
	const json_t *ma = json_object_get(json_object_get(a, "host"), "marks"),
		     *mb = json_object_get(json_object_get(b, "host"), "marks");

	return !ma || !mb || pr_marks_shared(ma, mb);
}

int64_t bn_suite_major(const json_t *doc)
{
	return gt_json_get_int(json_object_get(doc, "tool"), "suite_major", -1);
}

/* Launches of two drivers would stand in one arm: there even the minor version counts. */
int bn_same_host(const json_t *old, const json_t *now, struct gt_err *err)
{
	const json_t *a = json_object_get(old, "host"), *b = json_object_get(now, "host");
	gt_auto_buf what = { 0 };

	bn_identity_difference(old, now, &what);
	if (what.len)
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was begun on another machine: %s differ", what.s);
	if (!json_equal(json_object_get(a, "kernel"), json_object_get(b, "kernel")))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was begun under another kernel (%s)",
				    gt_json_get_str(a, "kernel", "unknown"));
	if (!json_equal(json_object_get(a, "nvidia_driver"), json_object_get(b, "nvidia_driver")))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was begun with NVIDIA driver %s, now it is %s",
				    gt_json_get_str(a, "nvidia_driver", "none"), gt_json_get_str(b, "nvidia_driver", "none"));
	if (bn_suite_major(old) != bn_suite_major(now))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was begun by measuring suite %lld, this one is %lld",
				    (long long)bn_suite_major(old), (long long)bn_suite_major(now));
	return 0;
}

static const char *rank_of_process(void)
{
	static const char *const names[] = { "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			return getenv(names[i]);
	return "0";
}

static const char *expanded(const char *path)
{
	gt_auto_buf text = { 0 };
	struct utsname u;

	if (!path || !strchr(path, '%') || uname(&u) < 0)
		return path;
	for (const char *p = path; *p; p++) {
		if (p[0] == '%' && p[1] == 'h')
			gt_buf_puts(&text, u.nodename);
		else if (p[0] == '%' && p[1] == 'r')
			gt_buf_puts(&text, rank_of_process());
		else
			gt_buf_add(&text, p, 1);
		p += p[0] == '%' && (p[1] == 'h' || p[1] == 'r');
	}
	return gt_buf_take(&text);
}

void bn_outputs_expand(struct bn_outputs *out)
{
	out->json = expanded(out->json);
	out->html = expanded(out->html);
	out->markdown = expanded(out->markdown);
	out->openmetrics = expanded(out->openmetrics);
	out->trace = expanded(out->trace);
}

bool bn_outputs_take_stdout(const struct bn_outputs *out)
{
	const char *const paths[] = { out->json, out->html, out->markdown, out->openmetrics, out->trace };

	for (size_t i = 0; i < GT_ARRAY_SIZE(paths); i++)
		if (gt_streq(paths[i], "-"))
			return true;
	return false;
}

int bn_outputs_try(const struct bn_outputs *out, struct gt_err *err)
{
	const char *const paths[] = { out->json, out->html, out->markdown, out->openmetrics, out->trace };
	int r = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(paths) && r == 0; i++)
		r = gt_file_try(paths[i], err);
	return r;
}

void bn_output_write(const char *path, const char *text, size_t len, int *r, struct gt_err *err)
{
	struct gt_err mine = { 0 };
	int now = path ? gt_file_write(path, text ? text : "", len, 0644, &mine) : 0;

	if (now < 0 && *r == 0) {
		*r = now;
		*err = mine;
	}
}

void bn_output_render(const char *path, void (*render)(const json_t *, struct gt_buf *), const json_t *doc, int *r,
		      struct gt_err *err)
{
	gt_auto_buf text = { 0 };

	if (!path)
		return;
	render(doc, &text);
	bn_output_write(path, text.s, text.len, r, err);
}
