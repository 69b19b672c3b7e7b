/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GRAPHS_VARIANTS_H
#define TESTS_GRAPHS_VARIANTS_H
/* The properties that all generated programs must have, one function each. */
#include "runtime/cpu/run.h"
#include "tests/graphs/generated.h"

struct trial {
	struct gen_program *m;
	char message[1024]; /* how the property failed */
	const char *kind; /* identifies the kind of failure */
	bool discarded; /* discarded: the property does not apply to the program */
	bool refused; /* the device has no kernel for an op of the program */
	int compared, imprecise; /* compared gradients, and those among them with an error bound of 2 % or more */
};
struct variant {
	const char *name;
	const char *property; /* name of the property in words */
	bool (*holds)(struct trial *t);
	bool forks; /* must run before any OpenMP team exists; not for libFuzzer */
};
#define VARIANTS_MOST	24
/* All properties and their device: variants_cpu.c, variants_cuda.c. */
extern const struct variant variants[];
extern const int n_variants;
extern const enum rt_device variants_device;
extern const int variants_programs, variants_first; /* default number of programs and first seed */
extern const char *const variants_libraries; /* directory of the stand-in libraries */

/* Records how the property failed; returns false. */
bool broken(struct trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool discard(struct trial *t); /* discards the program; returns true */
/* Compiles the graph with the values of m. Returns NULL after recording the error. */
struct rt_program *trial_program(struct trial *t, const struct gen_program *m, const struct gen_graph *mg,
				 const struct rt_options *opt);
/* Like rt_value() and rt_gradient(). On a device they return copies, valid until read_clear(). */
const float *read_value(struct rt_program *p, const struct rt_node *n);
const float *read_gradient(struct rt_program *p, const struct rt_node *n);
void read_clear(void);
/* Derives the options from the bytes of the program. */
struct rt_options trial_options(const struct gen_program *m);
bool trial_has(const struct gen_program *m, enum gen_op op);

bool variant_values(struct trial *t);
bool variant_reduced_values(struct trial *t);
bool variant_values_cuda(struct trial *t);
bool variant_reduced_values_cuda(struct trial *t);
bool variant_pixels(struct trial *t);
bool variant_inference(struct trial *t);
bool variant_trained(struct trial *t);
bool variant_rules(struct trial *t); /* the optimizer rules, with the delayed reports of a device */
bool variant_same_bits(struct trial *t);
bool variant_resumed(struct trial *t);
bool variant_shapes(struct trial *t);
bool variant_accumulated(struct trial *t);
bool variant_mixed(struct trial *t);
bool variant_ranks_alike(struct trial *t);
bool variant_ranks_apart(struct trial *t);
bool variant_ranks_compressed(struct trial *t);
bool variant_split(struct trial *t);
bool variant_masked(struct trial *t);
bool variant_smaller(struct trial *t);
bool variant_int8(struct trial *t);
bool variant_refused(struct trial *t);
#endif
