/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_BACKEND_H
#define RT_BACKEND_H
/*
 * A backend runs programs on one kind of device. exec/ plans and drives a program and calls backends only through this
 * table. Functions that can fail return 0, or a negative errno with a message. A function that is NULL is not needed by
 * the backend.
 */
#include "runtime/backend/program.h"

struct rt_backend {
	enum rt_device device;
	const char *name;      /* "cpu" */
	const char *track;     /* title of its row of calls in a trace */
	bool host_memory;      /* addresses of nodes are addresses of this process */
	bool scales_loss;      /* the device holds the loss scale and applies it */
	struct rt_target target;
	uint64_t align;	       /* alignment of tensors in bytes; 0: 64 */

	/* Checks that the device exists. */
	int (*probe)(struct gt_err *err);
	/* Checks options; -ENOSYS or -EINVAL if the device does not support one. */
	int (*check)(const struct rt_options *o, struct gt_err *err);
	/* Runs before the passes: opens the device, sets p->threads and p->state, completes p->opt. */
	int (*open)(struct rt_program *p, struct gt_err *err);
	/* Returns the scratch memory of a call in bytes. build() returns its errors. */
	size_t (*plan_scratch)(void *state, const struct rt_call *c);
	/* Returns the memory that the plan in p needs in total, in bytes. */
	uint64_t (*plan_bytes)(const struct rt_program *p);
	/* Runs after the passes: memory, initial parameters, and all other one-time work. -ENOSYS names the first op,
	 * type or shape without a kernel. */
	int (*build)(struct rt_program *p, struct gt_err *err);
	void (*free)(struct rt_program *p);

	/* Runs one batch, and the update if run->update. Counts the loss (rt_run_count_loss) and advances p->step. */
	int (*step)(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m, struct gt_err *err);
	/* Runs the forward pass only. ret_loss NULL: the loss is neither read nor checked. */
	int (*eval)(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err);
	/* Waits until all requested work is done. */
	int (*wait)(struct rt_program *p, struct gt_err *err);
	/* Runs one call of the forward pass, for rt_run_find_nonfinite(). */
	void (*run_call)(struct rt_program *p, int i, struct rt_run *run);

	/* Copy the whole tensor as stored. For sharded state, put() takes this rank's part only. */
	int (*get)(const struct rt_program *p, const struct rt_node *n, void *out, struct gt_err *err);
	int (*put)(struct rt_program *p, struct rt_node *n, const void *in, struct gt_err *err);
	/* Fills memory with a byte, in the order of calls. */
	void (*fill)(struct rt_program *p, void *at, int byte, size_t bytes);
	/* Returns false if an element of n is infinite or NaN. Returns true for tensors that cannot be inspected. */
	bool (*finite)(struct rt_program *p, const struct rt_node *n);

	/* Prepares for a change of the program's loss scale or step. */
	int (*scale_changes)(struct rt_program *p, struct gt_err *err);
	/* Called after all parameters were replaced. */
	int (*restart)(struct rt_program *p, struct gt_err *err);
	int (*pin)(struct rt_program *p, void *base, size_t bytes, struct gt_err *err);
	void (*unpin)(struct rt_program *p, const void *base);

	uint64_t (*bytes)(const struct rt_program *p); /* allocated memory */
	double (*pages_at)(const struct rt_program *p, int node); /* rt_program_pages_at() */
	/* Returns whether the matrix product of this call is computed in this type, not in f32. */
	bool (*multiplies)(const struct rt_call *c, enum rt_dtype type);
	/* Adds device-specific members to rt_program_report(). */
	void (*report)(const struct rt_program *p, json_t *doc);
};
/*
 * The backends of a program, NULL-terminated. The file of runtime/devices that the program is linked with defines the
 * list.
 */
extern const struct rt_backend *const rt_backend_list[];
#endif
