/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include "config.h"
#include "bench/bench.h"
#include "bench/result/result.h"
#include "bench/result/text.h"
#include "probe/host/host.h"
#include "probe/host/machine_fingerprint.h"

static json_t *text_or_null(struct pr_str s)
{
	return gt_json_str(s.v);
}

/* The kernels that each OpenBLAS copy uses: "/usr/lib/…/libopenblasp-r0.3.21.so: Prescott". */
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

/* The most important facts of the host. gpuprobe reports everything else. */
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
	json_object_set_new(j, "marks", pr_fingerprint(fs, h));
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
		pr_fingerprint_difference(json_object_get(ha, "marks"), json_object_get(hb, "marks"), out);
}

bool bn_identity_shown(const json_t *a, const json_t *b)
{
	const json_t *ma = json_object_get(json_object_get(a, "host"), "marks"),
		     *mb = json_object_get(json_object_get(b, "host"), "marks");

	return !ma || !mb || pr_fingerprint_shared(ma, mb);
}

int64_t bn_suite_major(const json_t *doc)
{
	return gt_json_get_int(json_object_get(doc, "tool"), "suite_major", -1);
}

/* A resumed session would mix the launches of two drivers in one arm, so the minor version counts too. */
int bn_same_host(const json_t *old, const json_t *now, struct gt_err *err)
{
	const json_t *a = json_object_get(old, "host"), *b = json_object_get(now, "host");
	gt_auto_buf what = { 0 };

	bn_identity_difference(old, now, &what);
	if (what.len)
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was started on another machine: %s differ", what.s);
	if (!json_equal(json_object_get(a, "kernel"), json_object_get(b, "kernel")))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was started with another kernel (%s)",
				    gt_json_get_str(a, "kernel", "unknown"));
	if (!json_equal(json_object_get(a, "nvidia_driver"), json_object_get(b, "nvidia_driver")))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was started with NVIDIA driver %s, and the "
								      "driver is now %s",
				    gt_json_get_str(a, "nvidia_driver", "none"), gt_json_get_str(b, "nvidia_driver", "none"));
	if (bn_suite_major(old) != bn_suite_major(now))
		return gt_fail_exit(err, BN_EXIT_INCOMPARABLE, EXDEV, "it was started with measuring suite %lld, this one is "
								      "%lld",
				    (long long)bn_suite_major(old), (long long)bn_suite_major(now));
	return 0;
}
