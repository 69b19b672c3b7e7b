/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_BACKEND_H
#define RT_BACKEND_H
/*
 * A backend runs programs on one kind of device. exec/ plans and drives a program and knows backends by this table alone.
 * Functions that can fail return 0 or a negative errno with its sentence. NULL: the backend has nothing to do there.
 */
#include "runtime/backend/program.h"

struct rt_backend {
	enum rt_device device;
	const char *name;      /* "cpu" */
	const char *track;     /* title of the row of calls in a trace */
	bool host_memory;      /* the data of a node is an address of this process */
	bool scales_loss;      /* the device multiplies by the loss scale, which it has itself */
	struct rt_target target;
	uint64_t align;	       /* of tensors, in bytes; 0: 64 */

	/* Is there such a device? */
	int (*probe)(struct gt_err *err);
	/* -ENOSYS or -EINVAL: an option that the device does not have. */
	int (*check)(const struct rt_options *o, struct gt_err *err);
	/* Before the passes: opens the device, sets p->threads and p->state, completes p->opt. */
	int (*open)(struct rt_program *p, struct gt_err *err);
	/* Memory that a call wants while it runs, in bytes. An error is returned by build(). */
	size_t (*plan_scratch)(void *state, const struct rt_call *c);
	/* All memory that the plan in p needs, in bytes. */
	uint64_t (*plan_bytes)(const struct rt_program *p);
	/* After the passes: memory, start values of the parameters, all that a step must not do. -ENOSYS names the first op,
	 * type or shape that the device has no kernel for. */
	int (*build)(struct rt_program *p, struct gt_err *err);
	void (*free)(struct rt_program *p);

	/* One batch, and the update if run->update; counts the loss (rt_run_count_loss) and advances p->step. */
	int (*step)(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m, struct gt_err *err);
	/* The forward pass alone. ret_loss NULL: the loss is not read, nor checked. */
	int (*eval)(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err);
	/* Until all that was asked for is done. */
	int (*wait)(struct rt_program *p, struct gt_err *err);
	/* One call of the forward pass, for rt_run_find_nonfinite(). */
	void (*run_call)(struct rt_program *p, int i, struct rt_run *run);

	/* The whole tensor as it is in memory; of a state in pieces, put() takes the piece that is ours. */
	int (*get)(const struct rt_program *p, const struct rt_node *n, void *out, struct gt_err *err);
	int (*put)(struct rt_program *p, struct rt_node *n, const void *in, struct gt_err *err);
	/* Fills with a byte, in the order of the calls. */
	void (*fill)(struct rt_program *p, void *at, int byte, size_t bytes);
	/* False: an element of n is infinite or no number. True for tensors that cannot be inspected. */
	bool (*finite)(struct rt_program *p, const struct rt_node *n);

	/* The program's loss scale or step will change. */
	int (*scale_changes)(struct rt_program *p, struct gt_err *err);
	/* All parameters were replaced. */
	int (*restart)(struct rt_program *p, struct gt_err *err);
	int (*pin)(struct rt_program *p, void *base, size_t bytes, struct gt_err *err);
	void (*unpin)(struct rt_program *p, const void *base);

	uint64_t (*bytes)(const struct rt_program *p); /* allocated */
	double (*pages_at)(const struct rt_program *p, int node); /* rt_program_pages_at() */
	/* Is a matrix product of this type made in it, and not in f32? */
	bool (*multiplies)(const struct rt_call *c, enum rt_dtype type);
	/* Adds the members of rt_program_report() that only this device has. */
	void (*report)(const struct rt_program *p, json_t *doc);
};
extern const struct rt_backend rt_backend_cpu, rt_backend_cuda;
/* All backends of this build; NULL-terminated. */
extern const struct rt_backend *const rt_backend_list[];
#endif
