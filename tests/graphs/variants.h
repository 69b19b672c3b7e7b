/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_VARIANTS_H
#define TESTS_GRAPHS_VARIANTS_H
/* What every program must hold, each promise one function. */
#include "runtime/cpu/run.h"
#include "tests/graphs/generated.h"

struct trial {
	struct gen_program *m;
	char said[1024]; /* what was broken */
	const char *kind; /* the same for what is broken in the same way */
	bool passed_over; /* nothing to be seen in this program */
	bool refused; /* the device has no kernel for something in it, and said so */
	int judged, mildly; /* gradients compared; those that rounding may be a fiftieth of, or more */
};
struct variant {
	const char *name;
	const char *promise;
	bool (*holds)(struct trial *t);
	bool forks; /* must come before any team of threads; not for libFuzzer */
};
/* All of them and the device that they are about: variants_cpu.c, variants_cuda.c. */
extern const struct variant variants[];
extern const int n_variants;
extern const enum rt_device variants_device;
extern const int variants_programs, variants_first; /* so many from that seed, unless asked otherwise */
extern const char *const variants_libraries; /* where the device's stand-ins lie */

/* false, with what was broken. */
bool broken(struct trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool pass_over(struct trial *t); /* true */
/* A program of the graph with the values of m, or NULL with what compiling said. */
struct rt_program *trial_program(struct trial *t, const struct gen_program *m, const struct gen_graph *mg,
				 const struct rt_options *opt);
/* rt_value() and rt_gradient(), on a device copies: valid until seen_clear(). */
const float *seen_value(struct rt_program *p, const struct rt_node *n);
const float *seen_gradient(struct rt_program *p, const struct rt_node *n);
void seen_clear(void);
/* Options as the program's bytes say. */
struct rt_options trial_options(const struct gen_program *m);
bool trial_has(const struct gen_program *m, enum gen_op op);

bool variant_values(struct trial *t);
bool variant_reduced_values(struct trial *t);
bool variant_values_cuda(struct trial *t);
bool variant_reduced_values_cuda(struct trial *t);
bool variant_pixels(struct trial *t);
bool variant_inference(struct trial *t);
bool variant_trained(struct trial *t);
bool variant_rules(struct trial *t); /* as a device tells of its updates: later */
bool variant_same_bits(struct trial *t);
bool variant_resumed(struct trial *t);
bool variant_shapes(struct trial *t);
bool variant_accumulated(struct trial *t);
bool variant_mixed(struct trial *t);
bool variant_ranks_alike(struct trial *t);
bool variant_ranks_apart(struct trial *t);
bool variant_ranks_compressed(struct trial *t);
bool variant_refused(struct trial *t);
#endif
