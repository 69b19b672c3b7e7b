/* SPDX-License-Identifier: Apache-2.0 */
/* Writes checkpoints. If the process is killed during a save, the previous file stays intact. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/replace.h"
#include "runtime/ckpt/parts.h"
#include "runtime/ckpt/tensors.h"

#define PIECE		(UINT64_C(1) << 20)

static json_t *metadata(const struct rt_program *p, uint64_t ticket)
{
	json_t *o = json_object();
	char text[64];

	json_object_set_new(o, "format", json_string("pt"));
	snprintf(text, sizeof(text), "%" PRId64, p->step);
	json_object_set_new(o, "step", json_string(text));
	snprintf(text, sizeof(text), "%" PRIu64, ticket);
	json_object_set_new(o, "ticket", json_string(text));
	snprintf(text, sizeof(text), "%.9g", (double)p->scale.scale);
	json_object_set_new(o, "loss_scale", json_string(text));
	snprintf(text, sizeof(text), "%" PRId64, p->scale.tracker);
	json_object_set_new(o, "loss_scale_held", json_string(text));
	if (p->note)
		json_object_set_new(o, "note", gt_json_str(p->note));
	if (p->pruned)
		json_object_set_new(o, RT_CKPT_PRUNED, json_string(p->pruned));
	return o;
}

/* Appends the length and the header, padded to 8 bytes. */
static void header(const struct rt_program *p, uint64_t ticket, struct gt_buf *out)
{
	gt_auto_json *o = json_object();
	gt_autofree char *text = NULL;
	uint64_t at = 0, len;

	json_object_set_new(o, "__metadata__", metadata(p, ticket));
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];
		gt_autofree char *name = NULL;
		json_t *shape;

		if (!rt_ckpt_is_saved(p, n))
			continue;
		name = rt_ckpt_name(n);
		shape = json_array();
		for (int d = 0; d < rt_ckpt_shape(n)->n; d++)
			json_array_append_new(shape, json_integer(rt_ckpt_shape(n)->d[d]));
		json_object_set_new(o, name, json_pack("{s:s, s:o, s:[I, I]}", "dtype", rt_ckpt_dtype(n), "shape", shape,
						       "data_offsets", (json_int_t)at, (json_int_t)(at + rt_ckpt_bytes(n))));
		at += rt_ckpt_bytes(n);
	}
	text = json_dumps(o, JSON_COMPACT);
	len = (strlen(text) + 7) / 8 * 8;
	for (int i = 0; i < 8; i++)
		gt_buf_add(out, &(char){ (char)(len >> (8 * i)) }, 1);
	gt_buf_printf(out, "%-*s", (int)len, text);
}

/* fd -1: this rank does not write. It sends its part to the rank that writes. */
static int write_tensor(const struct rt_program *p, const struct rt_node *n, struct rt_parts *parts, int fd, struct gt_err *err)
{
	gt_autofree char *copy = NULL;
	const char *whole = NULL;
	int r = rt_parts_whole(p, n, parts, &copy, &whole, err);

	return r || fd < 0 ? r : gt_fd_write(fd, whole, rt_ckpt_bytes(n));
}

/* Stage 0 writes the tensor of another stage, piece by piece. */
static int write_received(const struct rt_program *p, const struct rt_node *n, int fd, struct gt_err *err)
{
	gt_autofree char *piece = gt_xcalloc(1, PIECE);
	uint64_t bytes = fd < 0 ? 0 : rt_ckpt_bytes(n);

	for (uint64_t at = 0; at < bytes; at += PIECE) {
		uint64_t some = GT_MIN(bytes - at, PIECE);
		int r = rt_pipeline_take(p->pipeline, n->stage, piece, some, err);

		if (r)
			return r;
		r = gt_fd_write(fd, piece, some);
		if (r)
			return r;
	}
	return 0;
}

static int write_all(const struct rt_program *p, struct rt_parts *parts, int fd, uint64_t ticket, struct gt_err *err)
{
	gt_auto_buf head = { 0 };
	int r = 0;

	header(p, ticket, &head);
	if (fd >= 0)
		r = gt_fd_write(fd, head.s, head.len);
	if (r)
		return r;
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (!rt_ckpt_is_saved(p, n))
			continue;
		r = p->pipeline && n->stage > 0 ? write_received(p, n, fd, err) : write_tensor(p, n, parts, fd, err);
		if (r)
			return r;
	}
	return 0;
}

/* Sends the tensors of this stage to stage 0, in the order of the file. */
static int send_all(const struct rt_program *p, struct rt_parts *parts, struct gt_err *err)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];
		gt_autofree char *copy = NULL;
		const char *whole = NULL;
		int r;

		if (!rt_ckpt_is_saved(p, n) || n->stage != p->plan.stage->index)
			continue;
		r = rt_parts_whole(p, n, parts, &copy, &whole, err);
		if (!r && whole)
			r = rt_pipeline_give(p->pipeline, 0, whole, rt_ckpt_bytes(n), err);
		if (r)
			return r;
	}
	return 0;
}

int rt_save(const struct rt_program *p, const char *path, uint64_t ticket, struct gt_err *err)
{
	struct gt_replace file;
	struct gt_err why = { 0 };
	rt_auto_parts parts = { 0 };
	int r = rt_wait((struct rt_program *)p, err); /* the step and the loss scale are final only after this */

	if (r)
		return r;
	r = rt_parts_open(p, &parts, err);
	if (r)
		return r;
	if (p->pipeline && p->plan.stage->index > 0)
		return send_all(p, &parts, err);
	if (!rt_parts_is_first(&parts))
		return write_all(p, &parts, -1, ticket, err);
	r = gt_replace_begin(path, 0644, &file, err);
	if (r)
		return r;
	r = gt_replace_end(&file, write_all(p, &parts, file.fd, ticket, &why));
	if (why.code && err)
		*err = why;
	if (why.code)
		return -why.code;
	return r ? gt_fail_errno(err, -r, "cannot write %s", path) : 0;
}
