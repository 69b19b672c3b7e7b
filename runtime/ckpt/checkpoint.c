/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's parameters, buffers and optimizer state as one safetensors file. Parameters carry their own names, so that
 * others can read them; "optimizer.NAME" is the rest. Written under a name of its own, made durable, then renamed: whoever is
 * killed on the way leaves the old file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "runtime/ckpt/safetensors.h"
#include "runtime/cuda/engine.h"
#include "runtime/exec/program.h"

/* A device has other states too, copies of parameters in low types and their scales: they follow from the parameters. */
static bool of_optimizer(const struct rt_program *p, const struct rt_node *n)
{
	for (int i = 0; i < p->plan.ir.n_calls; i++)
		if (p->plan.ir.calls[i]->phase == RT_PHASE_UPDATE && rt_writes(p->plan.ir.calls[i], n))
			return true;
	return false;
}

static bool is_kept(const struct rt_program *p, const struct rt_node *n)
{
	return n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER ||
	       (n->role == RT_ROLE_STATE && n->first >= 0 && (!p->cuda || of_optimizer(p, n)));
}

/* A state that the ranks of a node keep in pieces is one tensor in the file, whoever reads it. */
static const struct rt_shape *shape_of(const struct rt_node *n)
{
	return n->piece_unit ? &n->whole : &n->shape;
}

static uint64_t bytes_of(const struct rt_node *n)
{
	return (uint64_t)rt_shape_elements(shape_of(n)) * rt_dtype_bytes(n->dtype);
}

static char *name_of(const struct rt_node *n)
{
	return n->role == RT_ROLE_STATE ? gt_xasprintf("optimizer.%s", n->name) : gt_xstrdup(n->name);
}

static const char *dtype_of(const struct rt_node *n)
{
	static const char *const names[] = {
		[RT_F32] = "F32", [RT_I32] = "I32", [RT_BF16] = "BF16", [RT_F16] = "F16", [RT_U8] = "U8",
		[RT_E4M3] = "F8_E4M3", [RT_E5M2] = "F8_E5M2",
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
	return o;
}

/* Length, header padded to 8 bytes. */
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

		if (!is_kept(p, n))
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

static int write_from_device(const struct rt_program *p, const struct rt_node *n, int fd)
{
	gt_autofree char *bytes = gt_xcalloc(1, rt_node_bytes(n));
	struct gt_err err = { 0 };
	int r = rt_engine_get(p, n, bytes, &err);

	return r ? r : gt_fd_write(fd, bytes, rt_node_bytes(n));
}

static int write_tensor(const struct rt_program *p, const struct rt_node *n, int fd)
{
	int r;

	if (p->cuda)
		return write_from_device(p, n, fd);
	r = n->piece_unit ? 0 : gt_fd_write(fd, n->data, rt_node_bytes(n));

	for (int i = 0; !r && n->piece_unit && i < p->ranks.team; i++) {
		uint64_t bytes = 0;
		const void *piece = rt_ddp_piece(p->ddp, n, i, &bytes);

		r = gt_fd_write(fd, piece, bytes);
	}
	return r;
}

static int write_all(const struct rt_program *p, int fd, uint64_t ticket)
{
	gt_auto_buf head = { 0 };
	int r;

	header(p, ticket, &head);
	r = gt_fd_write(fd, head.s, head.len);
	for (int i = 0; !r && i < p->plan.ir.n_nodes; i++)
		if (is_kept(p, p->plan.ir.nodes[i]))
			r = write_tensor(p, p->plan.ir.nodes[i], fd);
	return !r && fsync(fd) < 0 ? -errno : r;
}

static void sync_directory(const char *path)
{
	gt_autofree char *copy = gt_xstrdup(path);
	gt_autoclose int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		fsync(fd);
}

int rt_save(const struct rt_program *p, const char *path, uint64_t ticket, struct gt_err *err)
{
	gt_autofree char *temporary = gt_xasprintf("%s.%ld.new", path, (long)getpid());
	int fd, r = rt_wait((struct rt_program *)p, err); /* and so know the step and the loss scale */

	if (r)
		return r;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return gt_fail_errno(err, errno, "cannot write %s", path);
	r = write_all(p, fd, ticket);
	if (close(fd) < 0 && !r)
		r = -errno;
	if (!r && rename(temporary, path) < 0)
		r = -errno;
	if (r) {
		unlink(temporary);
		return gt_fail_errno(err, -r, "cannot write %s", path);
	}
	sync_directory(path);
	return 0;
}

struct mapped {
	char *bytes;
	size_t len;
};

static int map_file(const char *path, struct mapped *ret, struct gt_err *err)
{
	gt_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *p;

	if (fd < 0)
		return gt_fail_errno(err, errno, "cannot read %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 8)
		return gt_fail(err, EBADMSG, "%s is no safetensors file", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return gt_fail_errno(err, errno, "cannot read %s", path);
	*ret = (struct mapped){ p, (size_t)st.st_size };
	return 0;
}

static int check_tensor(const char *path, const struct rt_node *n, const struct rt_st_tensor *t, const char *name,
			struct gt_err *err)
{
	const struct rt_shape *shape = shape_of(n);
	bool same = t && t->n_dims == shape->n && gt_streq(t->dtype, dtype_of(n));

	if (!t)
		return gt_fail(err, EINVAL, "%s: there is no tensor %s in it: it is of another model or optimizer", path, name);
	for (int i = 0; same && i < t->n_dims; i++)
		same = t->dim[i] == shape->d[i];
	if (!same) {
		char want[64];

		return gt_fail(err, EINVAL, "%s: tensor %s has another shape or type than the program's %s %s", path, name,
			       dtype_of(n), rt_shape_format(shape, want, sizeof(want)));
	}
	return 0;
}

/* Of a state in pieces, ours. */
static int read_tensor(struct rt_program *p, struct rt_node *n, const char *from, struct gt_err *err)
{
	uint64_t at = 0, bytes = 0;

	if (p->cuda)
		return rt_engine_put(p, n, from, err);
	for (int i = 0; n->piece_unit && i <= p->ranks.me; i++) {
		at += bytes;
		rt_ddp_piece(p->ddp, n, i, &bytes);
	}
	memcpy(n->data, from + at, n->piece_unit ? bytes : rt_node_bytes(n));
	return 0;
}

static bool has_state(const struct rt_safetensors *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (gt_starts_with(s->tensor[i].name, "optimizer."))
			return true;
	return false;
}

/* First everything is checked, then everything copied: a file that does not fit changes nothing. */
static int load_all(struct rt_program *p, const char *path, const struct mapped *f, const struct rt_safetensors *s, bool copy,
		    struct gt_err *err)
{
	bool state = has_state(s);

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];
		gt_autofree char *name = NULL;
		const struct rt_st_tensor *t;
		int r;

		if (!is_kept(p, n) || (n->role == RT_ROLE_STATE && !state))
			continue;
		name = name_of(n);
		t = rt_safetensors_find(s, name);
		r = check_tensor(path, n, t, name, err);
		if (!r && copy)
			r = read_tensor(p, n, f->bytes + s->data_at + t->begin, err);
		if (r)
			return r;
	}
	return 0;
}

static uint64_t number(const struct rt_safetensors *s, const char *key)
{
	return strtoull(gt_json_get_str(s->metadata, key, "0"), NULL, 10);
}

int rt_load(struct rt_program *p, const char *path, uint64_t *ret_ticket, struct gt_err *err)
{
	struct rt_safetensors s = { 0 };
	struct mapped f = { 0 };
	int r;

	r = map_file(path, &f, err);
	if (r)
		return r;
	r = rt_safetensors_parse(f.bytes, f.len, f.len, path, &s, err);
	if (!r)
		r = load_all(p, path, &f, &s, false, err);
	if (!r)
		r = load_all(p, path, &f, &s, true, err);
	if (!r && p->cuda)
		r = rt_engine_forget_scale(p, err);
	if (!r) {
		double scale = strtod(gt_json_get_str(s.metadata, "loss_scale", "0"), NULL);

		if (has_state(&s))
			p->step = (int64_t)(number(&s, "step") & INT64_MAX);
		if (scale > 0 && scale < 1e30)
			rt_set_scaler(p, scale, (int64_t)(number(&s, "loss_scale_held") & INT64_MAX));
		*ret_ticket = number(&s, "ticket");
	}
	rt_safetensors_clear(&s);
	munmap(f.bytes, f.len);
	return r;
}
