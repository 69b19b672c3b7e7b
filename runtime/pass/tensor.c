/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor parallelism (Shoeybi et al., Megatron-LM, 2019). The ranks of a group split the parameters of linear layers:
 *
 * column: w (N,K), b (N) are split along N. The ranks read the same x, and each computes some columns of y. The ops that
 *         follow work on these columns: activations, products of elements, attention on some heads.
 * row:    w (N,K) is split along K, as the columns of x are. y is the sum over the ranks, then the bias is added.
 * vocabulary: the table of tokens and the output layer are split along the vocabulary. An embedding is a sum over the
 *         ranks. The loss exchanges two numbers per row (graph/op_vocabulary.c).
 *
 * Everything between a row layer and the next column layer is equal in all ranks. Parameters keep their names, and the
 * parts of one tensor are that tensor in a checkpoint (struct rt_cut).
 *
 * Sequence parallelism (pass/sequence.c) divides the tokens there instead.
 *
 * A linear layer is first assumed to be split by column. If its columns reach an op that needs whole rows, it is not.
 */
#include <errno.h>
#include <string.h>
#include "runtime/graph/attention.h"
#include "runtime/math/team.h"
#include "runtime/pass/rewrite.h"
#include "runtime/transport/comm.h"

enum how { WHOLE, COLUMN, ROW, VOCABULARY };

/* From this number of rows on, an embedding is split although no output layer shares its table. */
#define MIN_ROWS	1024

struct split {
	struct rt_plan *plan;
	int parts, part;
	/* by call */
	bool *candidate;
	enum how *how;
	struct layout {
		int blocks;
		int64_t len[RT_CUT_BLOCKS];
	} *columns; /* column blocks of the result of a column layer, for example q, k and v */
	/* layout of each node's last dimension, whose blocks are split (0 blocks: not split), and its column layer */
	struct layout *layout;
	int *root;
	bool changed;
};

/* ---- which layers are split ---- */

static bool is_own_param(const struct rt_plan *p, const struct rt_node *n)
{
	return n->role == RT_ROLE_PARAM && rt_plan_uses(p, n) == 1;
}

static bool is_layer(const struct rt_plan *p, const struct rt_call *c)
{
	return rt_is(c, RT_OP_LINEAR) && is_own_param(p, c->in[1]) && (!c->in[2] || is_own_param(p, c->in[2]));
}

/* Returns whether all calls that read the parameter are embeddings or `output`. */
static bool is_table(const struct rt_plan *p, const struct rt_node *n, const struct rt_call *output)
{
	for (int i = 0; i < p->ir.n_calls; i++) {
		const struct rt_call *c = p->ir.calls[i];

		if (rt_reads(c, n) && c != output && !(rt_is(c, RT_OP_EMBEDDING) && c->in[1] == n && c->in[2] != n))
			return false;
	}
	return n->role == RT_ROLE_PARAM && !rt_plan_is_output(p, n);
}

/* Returns whether the call computes logits that only a cross_entropy reads. */
static bool is_output_layer(const struct split *s, const struct rt_call *c)
{
	const struct rt_plan *p = s->plan;
	int reader;

	if (!rt_is(c, RT_OP_LINEAR) || rt_plan_uses(p, c->out[0]) != 1 || c->in[1]->shape.d[0] < s->parts)
		return false;
	reader = rt_consumer_in(p, c->out[0], 0, p->ir.n_calls);
	return reader >= 0 && rt_is(p->ir.calls[reader], RT_OP_CROSS_ENTROPY) && is_table(p, c->in[1], c) &&
	       (!c->in[2] || is_own_param(p, c->in[2]));
}

static bool is_split(const struct split *s, const struct rt_node *n)
{
	return n && s->layout[n->id].blocks;
}

static bool same_layout(const struct layout *a, const struct layout *b)
{
	return a->blocks == b->blocks && !memcmp(a->len, b->len, (size_t)a->blocks * sizeof(a->len[0]));
}

static struct layout one_block(const struct rt_node *n)
{
	return (struct layout){ .blocks = 1, .len = { rt_cols(n) } };
}

static void keep_whole(struct split *s, const struct rt_node *n)
{
	s->candidate[s->root[n->id]] = false;
	s->changed = true;
}

static void set_split(struct split *s, const struct rt_node *n, const struct layout *layout, int root)
{
	s->layout[n->id] = *layout;
	s->root[n->id] = root;
}

static void visit_linear(struct split *s, int at, const struct rt_call *c)
{
	bool row = is_split(s, c->in[0]);

	s->how[at] = WHOLE;
	if (row && (s->layout[c->in[0]->id].blocks != 1 || !is_layer(s->plan, c)))
		keep_whole(s, c->in[0]);
	else if (row)
		s->how[at] = ROW;
	else if (s->candidate[at])
		s->how[at] = is_output_layer(s, c) ? VOCABULARY : COLUMN;
	if (s->how[at] == COLUMN || s->how[at] == VOCABULARY)
		set_split(s, c->out[0], &s->columns[at], at);
}

/* Returns the layout that an op needs whose columns lie side by side: q, k and v of attention, both halves of swiglu. */
static struct layout needed_layout(const struct rt_call *c)
{
	int64_t cols = rt_cols(c->in[0]);
	struct rt_heads h;

	if (rt_is(c, RT_OP_SWIGLU))
		return (struct layout){ .blocks = 2, .len = { cols / 2, cols / 2 } };
	h = rt_heads_of(&c->attr, cols);
	return (struct layout){ .blocks = 3, .len = { h.key, h.value - h.key, cols - h.value } };
}

static void visit_side_by_side(struct split *s, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	struct layout need = needed_layout(c), one = one_block(c->out[0]);
	int root = s->root[x->id];

	if (s->columns[root].blocks > 1 && !same_layout(&s->columns[root], &need)) {
		keep_whole(s, x);
		return;
	}
	if (!same_layout(&s->layout[x->id], &need)) {
		s->columns[root] = need;
		s->changed = true;
	}
	set_split(s, c->out[0], &one, root);
}

static bool is_elementwise(const struct rt_call *c)
{
	return rt_is(c, RT_OP_ACT) || rt_is(c, RT_OP_AFFINE) || rt_is(c, RT_OP_MUL) ||
	       (rt_is(c, RT_OP_ADD) && rt_same_shape(c->in[0], c->in[1]));
}

/*
 * Returns whether the rotated heads are whole blocks, from the first block on. Before the layout is known, all columns
 * count as one block.
 */
static bool rotates_whole_blocks(const struct split *s, const struct rt_call *c)
{
	const struct layout *l = &s->layout[c->in[0]->id];
	int64_t rotated = (int64_t)c->attr.heads * c->attr.depth, end = 0;

	for (int b = 0; b < l->blocks && end < rotated; b++)
		end += l->len[b];
	return end == rotated || l->blocks == 1;
}

static void visit(struct split *s, int at, const struct rt_call *c)
{
	const struct rt_node *first = NULL;
	bool equal = true;

	if (rt_is(c, RT_OP_LINEAR)) {
		visit_linear(s, at, c);
		return;
	}
	for (int k = RT_MAX_IO - 1; k >= 0; k--)
		first = is_split(s, c->in[k]) ? c->in[k] : first;
	if (!first)
		return;
	for (int k = 0; k < RT_MAX_IO; k++)
		equal &= !c->in[k] || same_layout(&s->layout[c->in[k]->id], &s->layout[first->id]);
	if (rt_is(c, RT_OP_ATTENTION) || rt_is(c, RT_OP_SWIGLU))
		visit_side_by_side(s, c);
	else if ((is_elementwise(c) && equal) || (rt_is(c, RT_OP_ROPE) && rotates_whole_blocks(s, c)))
		set_split(s, c->out[0], &s->layout[first->id], s->root[first->id]);
	else if (!(rt_is(c, RT_OP_CROSS_ENTROPY) && s->how[s->root[c->in[0]->id]] == VOCABULARY))
		for (int k = 0; k < RT_MAX_IO; k++)
			if (is_split(s, c->in[k]))
				keep_whole(s, c->in[k]);
}

static void find_layers(struct split *s)
{
	const struct rt_plan *p = s->plan;

	for (int i = 0; i < p->ir.n_calls; i++) {
		s->candidate[i] = is_layer(p, p->ir.calls[i]) || is_output_layer(s, p->ir.calls[i]);
		s->columns[i] = one_block(p->ir.calls[i]->out[0]);
	}
	do {
		s->changed = false;
		memset(s->layout, 0, (size_t)p->ir.n_nodes * sizeof(*s->layout));
		for (int i = 0; i < p->ir.n_calls; i++)
			visit(s, i, p->ir.calls[i]);
		for (int i = 0; i < p->n_outputs; i++)
			if (is_split(s, p->outputs[i]))
				keep_whole(s, p->outputs[i]);
	} while (s->changed);
}

/* ---- checks ---- */

static int fail_to_divide(const struct split *s, const struct rt_node *n, int64_t count, const char *what, struct gt_err *err)
{
	return gt_fail(err, EINVAL, "%s: %lld %s cannot be divided among %d tensor parallel ranks", n->name, (long long)count, what,
		       s->parts);
}

static int check_call(const struct split *s, int at, struct gt_err *err)
{
	const struct rt_call *c = s->plan->ir.calls[at];
	bool heads = rt_is(c, RT_OP_ATTENTION) || rt_is(c, RT_OP_ROPE);

	if (heads && is_split(s, c->in[0]) && c->attr.heads % s->parts)
		return fail_to_divide(s, c->out[0], c->attr.heads, "heads", err);
	if (heads && is_split(s, c->in[0]) && c->attr.kv_heads % s->parts)
		return fail_to_divide(s, c->out[0], c->attr.kv_heads, "key/value heads", err);
	for (int b = 0; s->how[at] == COLUMN && b < s->columns[at].blocks; b++)
		if (s->columns[at].len[b] % s->parts)
			return fail_to_divide(s, c->out[0], s->columns[at].len[b], "columns", err);
	return 0;
}

static int check(const struct split *s, struct gt_err *err)
{
	int layers = 0;

	/* the heads are tested first, because their number explains why the columns of q, k and v cannot be divided */
	for (int heads = 1; heads >= 0; heads--)
		for (int i = 0; i < s->plan->ir.n_calls; i++) {
			int r = rt_is(s->plan->ir.calls[i], RT_OP_LINEAR) == heads ? 0 : check_call(s, i, err);

			if (r)
				return r;
			layers += s->how[i] == COLUMN;
		}
	if (!layers)
		return gt_fail(err, EINVAL, "the model has no pair of linear layers that %d tensor parallel ranks can split",
			       s->parts);
	if (s->plan->opt->optimizer.kind == RT_ADAMW8)
		return gt_fail(err, EINVAL, "adamw8 cannot update parameters that %d tensor parallel ranks split: use adamw",
			       s->parts);
	return 0;
}

/* ---- the rewrite ---- */

static int64_t part_of(const struct split *s, int64_t n)
{
	int64_t lo, hi;

	rt_part(n, 1, s->parts, s->part, &lo, &hi);
	return hi - lo;
}

/* layout NULL: one block. */
static void cut(const struct split *s, struct rt_node *n, int axis, const struct layout *layout)
{
	if (!n || n->cut.parts)
		return;
	n->cut = (struct rt_cut){ .axis = axis, .parts = s->parts, .part = s->part, .blocks = 1, .len = { n->shape.d[axis] },
				  .whole = n->shape };
	if (layout) {
		n->cut.blocks = layout->blocks;
		memcpy(n->cut.len, layout->len, sizeof(n->cut.len));
	}
	n->shape.d[axis] = rt_cut_length(&n->cut, s->part);
}

static struct rt_call *emit(const struct split *s, int at, enum rt_op_id op, struct rt_node *in, struct rt_node *out)
{
	struct rt_call *c = rt_emit_before(s->plan, at, op, RT_PHASE_FORWARD);

	c->attr.dim = RT_DIM_TENSOR;
	c->attr.parts = s->parts;
	c->attr.part = s->part;
	c->in[0] = in;
	c->out[0] = out;
	return c;
}

static struct rt_node *value_like(const struct split *s, const struct rt_node *n, const char *prefix)
{
	return rt_node_like(s->plan, RT_ROLE_VALUE, RT_F32, n, prefix);
}

/* Makes out[0] of call `at` a part of a sum. Returns the position after the sum. */
static int sum_output(const struct split *s, int at, struct rt_node *sum)
{
	struct rt_call *c = s->plan->ir.calls[at];

	c->out[0] = value_like(s, sum, "partial");
	emit(s, at + 1, RT_OP_ALL_REDUCE, c->out[0], sum);
	return at + 2;
}

static void split_row(const struct split *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at], *add;
	struct rt_node *y = c->out[0], *bias = c->in[2];

	cut(s, c->in[1], 1, NULL);
	c->in[2] = NULL;
	at = sum_output(s, at, bias ? value_like(s, y, "sum") : y);
	if (!bias)
		return;
	add = rt_emit_before(s->plan, at, RT_OP_ADD, RT_PHASE_FORWARD);
	add->in[0] = s->plan->ir.calls[at - 1]->out[0];
	add->in[1] = bias;
	add->out[0] = y;
}

static void split_embedding(const struct split *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at];
	struct rt_node *table = c->in[1];
	int64_t lo, hi;

	cut(s, table, 0, NULL);
	c->attr.whole_rows = table->cut.whole.d[0];
	rt_part(c->attr.whole_rows, 1, s->parts, s->part, &lo, &hi);
	c->attr.first_row = lo;
	sum_output(s, at, c->out[0]);
}

static void split_loss(const struct split *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at], *part, *gather;
	struct rt_node *logits = c->in[0], *probs = value_like(s, logits, "probabilities of");
	int64_t rows = rt_rows(logits), hi;
	struct rt_attr attr = { .parts = s->parts, .part = s->part, .whole_rows = rt_cols(c->out[1]) };

	rt_part(attr.whole_rows, 1, s->parts, s->part, &attr.first_row, &hi);
	c->out[1]->shape = logits->shape;
	part = rt_emit_before(s->plan, at, RT_OP_SOFTMAX_PART, RT_PHASE_FORWARD);
	part->attr = attr;
	part->in[0] = logits;
	part->in[1] = c->in[1];
	part->out[0] = probs;
	part->out[1] = rt_ir_node(&s->plan->ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(rows, 2), "softmax_part.stats");
	gather = emit(s, at + 1, RT_OP_ALL_GATHER, part->out[1],
		      rt_ir_node(&s->plan->ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(s->parts * rows, 2), "softmax_parts.stats"));
	c->op = rt_ops[RT_OP_CROSS_ENTROPY_PARTS];
	c->attr = attr;
	c->in[0] = probs;
	c->in[2] = gather->out[0];
}

/* Sets the shapes of the results that are split. */
static void split_shapes(const struct split *s)
{
	for (int i = 0; i < s->plan->n_graph_nodes; i++) {
		struct rt_node *n = s->plan->ir.nodes[i];
		const struct layout *l = &s->layout[i];
		int64_t cols = 0;

		for (int b = 0; b < l->blocks; b++)
			cols += part_of(s, l->len[b]);
		if (l->blocks)
			n->shape.d[n->shape.n - 1] = cols;
	}
}

static void split_call(const struct split *s, int at)
{
	struct rt_call *c = s->plan->ir.calls[at];

	if (s->how[at] == COLUMN || s->how[at] == VOCABULARY) {
		cut(s, c->in[1], 0, &s->columns[at]);
		cut(s, c->in[2], 0, &s->columns[at]);
	} else if (s->how[at] == ROW) {
		split_row(s, at);
	} else if (rt_is(c, RT_OP_EMBEDDING) && is_table(s->plan, c->in[1], NULL) && c->in[1]->shape.d[0] >= MIN_ROWS) {
		split_embedding(s, at);
	} else if (rt_is(c, RT_OP_CROSS_ENTROPY) && is_split(s, c->in[0])) {
		split_loss(s, at);
	} else if ((rt_is(c, RT_OP_ATTENTION) || rt_is(c, RT_OP_ROPE)) && is_split(s, c->in[0])) {
		c->attr.heads /= s->parts;
		c->attr.kv_heads /= s->parts;
		if (c->out[1])
			c->out[1]->shape.d[1] /= s->parts;
	}
}

/* If several column layers read one x, the gradient of x is summed only once. */
static void replicate_inputs(const struct split *s, struct rt_call *const *columns, int n)
{
	gt_autofree struct rt_node **copy = gt_xcalloc((size_t)s->plan->ir.n_nodes, sizeof(*copy));

	for (int i = 0; i < n; i++) {
		struct rt_node *x = columns[i]->in[0];
		int at = 0;

		if (!copy[x->id]) {
			while (s->plan->ir.calls[at] != columns[i])
				at++;
			copy[x->id] = value_like(s, x, "replicated");
			emit(s, at, RT_OP_REPLICATE, x, copy[x->id]);
		}
		columns[i]->in[0] = copy[x->id];
	}
}

static void rewrite(const struct split *s, struct gt_buf *did)
{
	struct rt_plan *p = s->plan;
	int n = p->ir.n_calls, n_columns = 0, vocabularies = 0;
	gt_autofree struct rt_call **columns = gt_xcalloc((size_t)n, sizeof(*columns));

	split_shapes(s);
	for (int i = 0; i < n; i++)
		if (s->how[i] == COLUMN || s->how[i] == VOCABULARY) {
			vocabularies += s->how[i] == VOCABULARY;
			columns[n_columns++] = p->ir.calls[i];
		}
	/* backwards, so that positions stay valid, and so that an output layer decides about its table before the
	 * embedding does */
	for (int i = n - 1; i >= 0; i--) {
		bool tied = rt_is(p->ir.calls[i], RT_OP_EMBEDDING) && p->ir.calls[i]->in[1]->cut.parts;

		if (tied)
			split_embedding(s, i);
		else
			split_call(s, i);
	}
	replicate_inputs(s, columns, n_columns);
	gt_buf_printf(did, "each of %d ranks has a part of %d pairs of layers%s", s->parts, n_columns - vocabularies,
		      vocabularies ? " and of the vocabulary" : "");
}

static int tensor(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	struct rt_comm *comm = p->opt->ranks.tensor;
	gt_autofree bool *candidate = NULL;
	gt_autofree enum how *how = NULL;
	gt_autofree struct layout *columns = NULL, *layout = NULL;
	gt_autofree int *root = NULL;
	struct split s = { .plan = p };
	int r;

	if (!comm || rt_comm_size(comm) < 2)
		return 0;
	s.parts = rt_comm_size(comm);
	s.part = rt_comm_rank(comm);
	s.candidate = candidate = gt_xcalloc((size_t)p->ir.n_calls, sizeof(*candidate));
	s.how = how = gt_xcalloc((size_t)p->ir.n_calls, sizeof(*how));
	s.columns = columns = gt_xcalloc((size_t)p->ir.n_calls, sizeof(*columns));
	s.layout = layout = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(*layout));
	s.root = root = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(*root));
	find_layers(&s);
	r = check(&s, err);
	if (r)
		return r;
	rewrite(&s, did);
	return 0;
}

const struct rt_pass rt_pass_tensor = { .name = "tensor", .run = tensor };
