/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's parameters, buffers and optimizer state as one safetensors file. Parameters have their own names, so that
 * other programs can read them; other tensors are "optimizer.NAME". If the process is killed during a save, the
 * previous file stays intact.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/parse.h"
#include "lib/replace.h"
#include "runtime/ckpt/parts.h"
#include "runtime/ckpt/safetensors.h"
#include "runtime/backend/backend.h"

#define OPTIMIZER	"optimizer."
#define HEADER_MOST	(100u << 20) /* limit of the format, in bytes */
#define PIECE		(UINT64_C(1) << 20)
#define COUNT_MOST	(UINT64_C(1) << 40) /* limit of updates: times the batches per update (at most 2^20) it still
					     * fits in 64 bits */

/* Returns whether n is optimizer state. A device also has reduced-precision copies of parameters and their scales,
 * which follow from the parameters. */
static bool of_optimizer(const struct rt_program *p, const struct rt_node *n)
{
	for (int i = 0; i < p->plan.ir.n_calls; i++)
		if (p->plan.ir.calls[i]->phase == RT_PHASE_UPDATE && rt_writes(p->plan.ir.calls[i], n))
			return true;
	return false;
}

static bool is_saved(const struct rt_program *p, const struct rt_node *n)
{
	return n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER ||
	       (n->role == RT_ROLE_STATE && (n->absent || (n->first >= 0 && of_optimizer(p, n))));
}

/* Returns the shape that get() and put() of the backend copy. Sharded state is one tensor there. */
static const struct rt_shape *own_shape(const struct rt_node *n)
{
	return n->piece_unit ? &n->whole : &n->shape;
}

/* Returns the shape in the file, which does not depend on how ranks split the tensor. */
static const struct rt_shape *shape_of(const struct rt_node *n)
{
	return n->cut.parts ? &n->cut.whole : own_shape(n);
}

static uint64_t bytes_of(const struct rt_node *n)
{
	return (uint64_t)rt_shape_elements(shape_of(n)) * rt_dtype_bytes(n->dtype);
}

static uint64_t own_bytes(const struct rt_node *n)
{
	return (uint64_t)rt_shape_elements(own_shape(n)) * rt_dtype_bytes(n->dtype);
}

static char *name_of(const struct rt_node *n)
{
	return n->role == RT_ROLE_STATE ? gt_xasprintf(OPTIMIZER "%s", n->name) : gt_xstrdup(n->name);
}

static const char *dtype_of(const struct rt_node *n)
{
	static const char *const names[] = {
		[RT_F32] = "F32", [RT_I32] = "I32", [RT_BF16] = "BF16", [RT_F16] = "F16", [RT_U8] = "U8",
		[RT_E4M3] = "F8_E4M3", [RT_E5M2] = "F8_E5M2", [RT_I8] = "I8",
	};

	return names[n->dtype];
}

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
	return o;
}

void rt_set_note(struct rt_program *p, const char *note)
{
	free(p->note);
	p->note = note ? gt_xstrdup(note) : NULL;
}

const char *rt_note(const struct rt_program *p)
{
	return p->note;
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

		if (!is_saved(p, n))
			continue;
		name = name_of(n);
		shape = json_array();
		for (int d = 0; d < shape_of(n)->n; d++)
			json_array_append_new(shape, json_integer(shape_of(n)->d[d]));
		json_object_set_new(o, name, json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_of(n), "shape", shape,
						       "data_offsets", (json_int_t)at, (json_int_t)(at + bytes_of(n))));
		at += bytes_of(n);
	}
	text = json_dumps(o, JSON_COMPACT);
	len = (strlen(text) + 7) / 8 * 8;
	for (int i = 0; i < 8; i++)
		gt_buf_add(out, &(char){ (char)(len >> (8 * i)) }, 1);
	gt_buf_printf(out, "%-*s", (int)len, text);
}

/* Returns the memory that contains all of n, or NULL if the backend has none. */
static void *memory_of(const struct rt_program *p, const struct rt_node *n)
{
	return p->backend->host_memory && !n->piece_unit && !n->cut.parts ? n->data : NULL;
}

static bool is_first_part(const struct rt_parts *parts)
{
	return !parts->comm || rt_comm_rank(parts->comm) == 0;
}

/* Sets *ret to all elements of n in the first of the ranks that split tensors, and to NULL in the others. *copy owns them
 * unless they are in the program's memory. */
static int gather_tensor(const struct rt_program *p, const struct rt_node *n, struct rt_parts *parts, char **copy,
			 const char **ret, struct gt_err *err)
{
	gt_autofree char *own = NULL;
	int r;

	*ret = is_first_part(parts) ? memory_of(p, n) : NULL;
	if (memory_of(p, n) || (!n->cut.parts && !is_first_part(parts)))
		return 0;
	own = gt_xcalloc(1, own_bytes(n));
	r = p->backend->get(p, n, own, err);
	if (r)
		return r;
	if (!n->cut.parts)
		*copy = gt_take(own);
	else if (is_first_part(parts))
		*copy = gt_xcalloc(1, bytes_of(n));
	*ret = *copy;
	return n->cut.parts ? rt_parts_gather(parts, n, own, *copy, err) : 0;
}

/* fd -1: this rank does not write. It sends its part to the rank that does. */
static int write_tensor(const struct rt_program *p, const struct rt_node *n, struct rt_parts *parts, int fd, struct gt_err *err)
{
	gt_autofree char *copy = NULL;
	const char *whole = NULL;
	int r = gather_tensor(p, n, parts, &copy, &whole, err);

	return r || fd < 0 ? r : gt_fd_write(fd, whole, bytes_of(n));
}

/* Stage 0 writes the tensor of another stage, piece by piece. */
static int write_received(const struct rt_program *p, const struct rt_node *n, int fd, struct gt_err *err)
{
	gt_autofree char *piece = gt_xcalloc(1, PIECE);
	uint64_t bytes = fd < 0 ? 0 : bytes_of(n);

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

		if (!is_saved(p, n))
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

		if (!is_saved(p, n) || n->stage != p->plan.stage->index)
			continue;
		r = gather_tensor(p, n, parts, &copy, &whole, err);
		if (!r && whole)
			r = rt_pipeline_give(p->pipeline, 0, whole, bytes_of(n), err);
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
	int r = rt_wait((struct rt_program *)p, err); /* the step and the loss scale are then final */

	if (r)
		return r;
	r = rt_parts_open(p, &parts, err);
	if (r)
		return r;
	if (p->pipeline && p->plan.stage->index > 0)
		return send_all(p, &parts, err);
	if (!is_first_part(&parts))
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

/* A file that is read, not mapped: if it is truncated meanwhile, that is an error instead of SIGBUS. */
struct file {
	const char *path;
	int fd;
	uint64_t len;
	uint64_t data_at;
};

static void close_file(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
}

static int read_at(const struct file *f, uint64_t at, void *out, uint64_t n, struct gt_err *err)
{
	for (uint64_t done = 0; done < n;) {
		ssize_t got = pread(f->fd, (char *)out + done, GT_MIN(n - done, UINT64_C(1) << 30), (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gt_fail_errno(err, errno, "cannot read %s", f->path);
		if (got == 0)
			return gt_fail(err, EIO, "%s ends early: it was truncated while it was read", f->path);
		done += (uint64_t)got;
	}
	return 0;
}

static int open_file(const char *path, struct file *ret, struct gt_err *err)
{
	struct stat st;

	*ret = (struct file){ .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (ret->fd < 0)
		return gt_fail_errno(err, errno, "cannot read %s", path);
	if (fstat(ret->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 8)
		return gt_fail(err, EBADMSG, "%s is not a safetensors file", path);
	ret->len = (uint64_t)st.st_size;
	return 0;
}

static int read_head(struct file *f, struct rt_safetensors *ret, struct gt_err *err)
{
	unsigned char first[8];
	gt_autofree char *head = NULL;
	uint64_t len = 0;
	int r = read_at(f, 0, first, sizeof(first), err);

	if (r)
		return r;
	for (int i = 0; i < 8; i++)
		len |= (uint64_t)first[i] << (8 * i);
	if (len > HEADER_MOST || len > f->len - 8)
		len = 0; /* the parser reports the error */
	head = malloc(len + 8);
	if (!head)
		return gt_fail(err, ENOMEM, "no memory for the header of %s", f->path);
	r = read_at(f, 0, head, len + 8, err);
	if (r)
		return r;
	r = rt_safetensors_parse(head, len + 8, f->len, f->path, ret, err);
	if (r)
		return r;
	f->data_at = ret->data_at;
	return 0;
}

static int check_tensor(const char *path, const struct rt_node *n, const struct rt_st_tensor *t, const char *name,
			struct gt_err *err)
{
	const struct rt_shape *shape = shape_of(n);
	bool same = t && t->n_dims == shape->n && gt_streq(t->dtype, dtype_of(n));

	if (!t)
		return gt_fail(err, EINVAL, "%s: it has no tensor %s: it belongs to another model or optimizer", path, name);
	for (int i = 0; same && i < t->n_dims; i++)
		same = t->dim[i] == shape->d[i];
	if (!same) {
		char text[64];

		return gt_fail(err, EINVAL, "%s: tensor %s has another shape or type than the program's %s %s", path, name,
			       dtype_of(n), rt_shape_format(shape, text, sizeof(text)));
	}
	return 0;
}

static int read_tensor(struct rt_program *p, struct rt_node *n, const struct file *f, uint64_t at, struct gt_err *err)
{
	gt_autofree char *copy = NULL, *own = NULL;
	int r;

	if (n->absent)
		return 0;
	if (memory_of(p, n))
		return read_at(f, at, memory_of(p, n), bytes_of(n), err);
	copy = gt_xcalloc(1, bytes_of(n));
	r = read_at(f, at, copy, bytes_of(n), err);
	if (r)
		return r;
	if (!n->cut.parts)
		return p->backend->put(p, n, copy, err);
	own = gt_xcalloc(1, own_bytes(n));
	rt_cut_take(&n->cut, n->cut.part, rt_dtype_bytes(n->dtype), copy, own);
	return p->backend->put(p, n, own, err);
}

static bool has_state(const struct rt_safetensors *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (gt_starts_with(s->tensor[i].name, OPTIMIZER))
			return true;
	return false;
}

static bool needs_state(const struct rt_program *p)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		if (p->plan.ir.nodes[i]->role == RT_ROLE_STATE && is_saved(p, p->plan.ir.nodes[i]))
			return true;
	return false;
}

static int clear_state(struct rt_program *p, struct rt_node *n, struct gt_err *err)
{
	gt_autofree char *zeros = NULL;

	if (n->absent)
		return 0;
	if (memory_of(p, n)) {
		memset(n->data, 0, n->bytes);
		return 0;
	}
	zeros = gt_xcalloc(1, own_bytes(n));
	return p->backend->put(p, n, zeros, err);
}

static int load_tensor(struct rt_program *p, struct rt_node *n, const struct file *f, const struct rt_safetensors *s, bool copy,
		       struct gt_err *err)
{
	gt_autofree char *name = name_of(n);
	const struct rt_st_tensor *t = rt_safetensors_find(s, name);
	int r = check_tensor(f->path, n, t, name, err);

	if (r || !copy)
		return r;
	return read_tensor(p, n, f, f->data_at + t->begin, err);
}

/* Checks all tensors, or copies them if `copy`. A file that does not match changes nothing, because all are checked first. */
static int load_all(struct rt_program *p, const struct file *f, const struct rt_safetensors *s, bool copy, struct gt_err *err)
{
	bool state = has_state(s);

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];
		int r = 0;

		if (!is_saved(p, n))
			continue;
		if (n->role != RT_ROLE_STATE || state)
			r = load_tensor(p, n, f, s, copy, err);
		else if (copy)
			r = clear_state(p, n, err);
		if (r)
			return r;
	}
	return 0;
}

/* Returns whether the tensor belongs to the model. Integer counters of other frameworks and optimizer state are ignored. */
static bool is_model_tensor(const struct rt_st_tensor *t)
{
	return !gt_starts_with(t->name, OPTIMIZER) && (t->dtype[0] == 'F' || t->dtype[0] == 'B') && !gt_streq(t->dtype, "BOOL");
}

static bool has_tensor(const struct rt_program *p, const char *name)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		if (p->plan.ir.nodes[i]->role != RT_ROLE_STATE && is_saved(p, p->plan.ir.nodes[i]) &&
		    gt_streq(p->plan.ir.nodes[i]->name, name))
			return true;
	return false;
}

/* Fails if the file has tensors that the model lacks: a subset of another model is refused. */
static int check_rest(const struct rt_program *p, const char *path, const struct rt_safetensors *s, struct gt_err *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_model_tensor(&s->tensor[i]) && !has_tensor(p, s->tensor[i].name))
			return gt_fail(err, EINVAL, "%s: the program has no tensor %s: the file belongs to another model", path,
				       s->tensor[i].name);
	return 0;
}

/* The training position in the file. */
struct position {
	uint64_t step, ticket, unchanged;
	double loss_scale; /* 0: not in the file */
};

static int count(const char *path, const json_t *metadata, const char *key, uint64_t *ret, struct gt_err *err)
{
	const char *text = gt_json_get_str(metadata, key, "0");

	if (gt_parse_u64(text, ret) < 0 || *ret > COUNT_MOST)
		return gt_fail(err, EBADMSG, "%s: its %s is \"%.40s\", which is not a count from 0 to 2^40", path, key, text);
	return 0;
}

static int read_position(const char *path, const json_t *metadata, struct position *ret, struct gt_err *err)
{
	int r = count(path, metadata, "step", &ret->step, err);

	if (r)
		return r;
	r = count(path, metadata, "ticket", &ret->ticket, err);
	if (r)
		return r;
	r = count(path, metadata, "loss_scale_held", &ret->unchanged, err);
	if (r)
		return r;
	ret->loss_scale = strtod(gt_json_get_str(metadata, "loss_scale", "0"), NULL);
	if (!(ret->loss_scale > 0 && ret->loss_scale < 1e30))
		ret->loss_scale = 0;
	return 0;
}

static int load(struct rt_program *p, const struct file *f, const struct rt_safetensors *s, uint64_t *ret_ticket,
		struct gt_err *err)
{
	struct position at = { 0 };
	int r = read_position(f->path, s->metadata, &at, err);

	if (r)
		return r;
	r = load_all(p, f, s, false, err);
	if (r)
		return r;
	r = check_rest(p, f->path, s, err);
	if (r)
		return r;
	p->stale = true; /* even a file that ends early has changed some parameters */
	r = load_all(p, f, s, true, err);
	if (r)
		return r;
	if (p->backend->scale_changes) {
		r = p->backend->scale_changes(p, err);
		if (r)
			return r;
	}
	r = p->backend->restart(p, err);
	if (r)
		return r;
	/* An optimizer without saved state restarts at step 0. An optimizer without any state continues with the saved
	 * step. */
	p->step = has_state(s) || !needs_state(p) ? (int64_t)at.step : 0;
	if (at.loss_scale > 0)
		rt_set_scaler(p, at.loss_scale, (int64_t)at.unchanged);
	rt_set_note(p, gt_json_get_str(s->metadata, "note", NULL));
	*ret_ticket = at.ticket;
	return 0;
}

int rt_load(struct rt_program *p, const char *path, uint64_t *ret_ticket, struct gt_err *err)
{
	rt_auto_safetensors s = { 0 };
	__attribute__((cleanup(close_file))) struct file f = { .fd = -1 };
	int r = open_file(path, &f, err);

	if (r)
		return r;
	r = read_head(&f, &s, err);
	if (r)
		return r;
	return load(p, &f, &s, ret_ticket, err);
}
