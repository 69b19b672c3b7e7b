/* SPDX-License-Identifier: Apache-2.0 */
/* The table of op cases. */
#include "lib/util.h"
#include "runtime/cases/cases.h"

#define GPT "gpt(2, 24, 2, 48, 3, 61)"
#define VIT "vit(3, 15, 3, 2, 48, 3, 10)"
#define BERT "bert(2, 23, 2, 48, 3, 61)"

const struct rt_case rt_cases[] = {
	{ "linear", "linear(x[37,19], w[23,19:0.3], b[23])" },
	{ "linear.even", "linear(x[64,32], w[48,32:0.3], b[48])", .eight = true },
	{ "linear.gelu.even", "gelu(linear(x[80,64], w[96,64:0.3], b[96]))", .eight = true },
	{ "linear.plain", "linear(x[40,24], w[16,24:0.3])" },
	{ "linear.gelu", "gelu(linear(x[33,24], w[40,24:0.3], b[40]))" },
	{ "linear.gelu.odd", "gelu(linear(x[21,11], w[13,11:0.3], b[13]))" },
	{ "linear.relu", "relu(linear(x[48,17], w[32,17:0.3], b[32]))", .kink = true },
	/* The product of the second layer multiplies by the derivative of gelu. */
	{ "linear.layers", "linear(gelu(linear(x[33,24], w[40,24:0.3], b[40])), w2[17,40:0.3], b2[17])" },
	{ "linear.layers.even", "linear(gelu(linear(x[80,32], w[64,32:0.3], b[64])), w2[48,64:0.3], b2[48])" },
	{ "linear.layers.odd", "linear(gelu(linear(x[21,11], w[13,11:0.3], b[13])), w2[7,13:0.3], b2[7])" },
	{ "linear.layers.exact", "linear(gelu(linear(x[33,24], w[40,24:0.3], b[40])), w2[17,40:0.3], b2[17])", .exact = true },
	{ "linear.gelu.exact", "gelu(linear(x[33,24], w[40,24:0.3], b[40]))", .exact = true },

	{ "embedding", "embedding(ids[3,17], table[7,33], positions[29,33])", .ids = 7 },
	{ "embedding.even", "embedding(ids[3,17], table[101,64], positions[29,64])", .ids = 101 },
	{ "embedding.alone", "embedding(ids[3,17], table[1030,40])", .ids = 1030 },

	{ "layernorm", "layernorm(x[13,37], gain[37], bias[37])" },
	{ "layernorm.even", "layernorm(x[601,96], gain[96], bias[96])" },
	{ "layernorm.sum", "layernorm(add(x[29,768], residual[29,768]), gain[768], bias[768])" },
	{ "layernorm.many", "layernorm(x[2301,24], gain[24], bias[24])" },
	/* Rows that fit neither into the registers of a warp nor into those of a block. */
	{ "layernorm.long", "layernorm(add(x[3,4352], residual[3,4352]), gain[4352], bias[4352])" },
	{ "layernorm.long.odd", "layernorm(add(x[5,517], residual[5,517]), gain[517], bias[517])" },
	/* Gains that are activations: the first gradient of u is the one in f32, of v the one in reduced precision. */
	{ "layernorm.shared",
	  "u = gelu(s[24]); v = gelu(t[24]); add(layernorm(layernorm(add(x[13,24], u), u, b[24]), v, b2[24]), v)" },
	{ "rmsnorm", "add(rmsnorm(x[13,37], gain[37]), gelu(x))" },
	{ "rmsnorm.even", "add(rmsnorm(x[601,96], gain[96]), gelu(x))" },

	{ "attention", "attention(qkv[2,37,45], 3)" },
	{ "attention.64", "attention(qkv[2,130,384], 2)" },
	{ "attention.long", "attention(qkv[1,256,192], 1)" },
	{ "attention.48", "attention(qkv[1,65,144], 1)" },
	{ "attention.100", "attention(qkv[1,70,300], 1)" },
	{ "attention.72", "attention(qkv[2,140,432], 2)" },
	{ "attention.128", "attention(qkv[1,77,768], 2)" },
	{ "attention.24", "attention(qkv[2,9,216], 3)" },
	{ "attention.full", "attention_full(qkv[2,37,45], 3)" },
	{ "attention.full.64", "attention_full(qkv[2,130,384], 2)" },
	{ "attention.full.100", "attention_full(qkv[1,70,300], 1)" },
	{ "attention.full.128", "attention_full(qkv[1,77,768], 2)" },
	{ "attention.full.24", "attention_full(qkv[3,5,216], 3)" },
	{ "attention.full.vit", "attention_full(qkv[1,196,192], 1)" },
	{ "attention.64.cudnn", "attention(qkv[2,130,384], 2)", .fused = true },
	{ "attention.long.cudnn", "attention(qkv[1,256,192], 1)", .fused = true },
	{ "attention.72.cudnn", "attention(qkv[2,140,432], 2)", .fused = true },
	{ "attention.128.cudnn", "attention(qkv[1,77,768], 2)", .fused = true },
	{ "attention.24.cudnn", "attention(qkv[2,9,216], 3)", .fused = true },
	{ "attention.full.64.cudnn", "attention_full(qkv[2,130,384], 2)", .fused = true },
	{ "attention.full.128.cudnn", "attention_full(qkv[1,77,768], 2)", .fused = true },
	{ "attention.full.24.cudnn", "attention_full(qkv[3,5,216], 3)", .fused = true },
	{ "attention.full.vit.cudnn", "attention_full(qkv[1,196,192], 1)", .fused = true },
	/* x is read twice, so that one of its gradients is added to the other; so below. */
	{ "rope", "add(rope(x[3,17,43], 3, 14, 10000), gelu(x))" },

	{ "gelu", "gelu(x[7,131])" },
	{ "activations", "sigmoid(tanh(gelu_erf(linear(gelu_erf(silu(x[7,131])), w[40,131:0.1], b[40]))))" },
	{ "dot.accum", "x[5,43]", .steps = 6, .accum = 3 },
	{ "relu", "relu(x[9,64])", .kink = true },
	{ "add", "add(gelu(x[5,43]), add(x, y[5,43]))" },
	{ "add.tail", "add(x[4,9,24], y[9,24])" },
	{ "add.tail.odd", "add(x[4,3,7], y[7])" },
	{ "mul", "add(mul(affine(x[5,43], 0.5, 1.25), mul(x, y[5,43])), gelu(x))" },
	{ "mul.even", "add(mul(affine(x[9,64], 0.5, 1.25), mul(x, y[9,64])), gelu(x))" },
	{ "dropout", "add(dropout(dropout(x[7,131], 0.5), 0.1), gelu(x))" },
	{ "dropout.even", "add(dropout(dropout(x[3,40,64], 0.2), 0.1), gelu(x))" },
	{ "softmax", "add(softmax(affine(x[13,43], 3, 0)), gelu(x))" },
	{ "softmax.even", "add(softmax(affine(x[21,264], 3, 0)), gelu(x))" },
	{ "softmax.long", "add(softmax(affine(x[3,4099], 3, 0)), gelu(x))" },
	{ "softmax.wide", "add(softmax(affine(x[2,8200], 3, 0)), gelu(x))" },
	/* Half of the columns after the first eight are -inf. */
	{ "softmax.masked", "softmax(add(x[9,67], pad(affine(affine(affine(relu(mask[9,59]), 1e30, 0), 1e30, 0), -1, 0), 8, 0)))" },

	{ "cross_entropy", "cross_entropy(x[19,57], ids[19])", .ids = 57 },
	{ "cross_entropy.even", "cross_entropy(x[33,1096], ids[33])", .ids = 1000 },
	/* Rows larger than half of the shared memory. Compared with the few large elements the others have no size: kink. */
	{ "cross_entropy.long", "cross_entropy(x[3,58120], ids[3])", .ids = 58000, .kink = true },
	/* In bf16 a row takes all shared memory that the driver gives by default. */
	{ "cross_entropy.kept", "cross_entropy(x[3,24576], ids[3])", .ids = 24576, .kink = true },
	{ "cross_entropy.linear", "cross_entropy(linear(x[50,24], w[101,24], b[101]), ids[50])", .ids = 101 },
	/* Several slices of 256 KiB. */
	{ "cross_entropy.slices", "cross_entropy(linear(x[300,16], w[1000,16]), ids[300])", .ids = 1000 },
	{ "cross_entropy.ignored", "cross_entropy(x[19,57], ids[19])", .ids = 57, .ignore = true },
	{ "cross_entropy.linear.ignored",
	  "cross_entropy(linear(x[50,24], w[101,24], b[101]), ids[50])", .ids = 101, .ignore = true },
	{ "cross_entropy.slices.ignored", "cross_entropy(linear(x[300,16], w[1000,16]), ids[300])", .ids = 1000, .ignore = true },
	/* A weight that is no parameter has no padding after its rows (pass/pad.c). */
	{ "cross_entropy.computed", "cross_entropy(linear(x[50,24], gelu(w[101,24])), ids[50])", .ids = 101 },
	{ "cross_entropy.masked",
	  "cross_entropy(add(x[9,267], pad(affine(affine(affine(relu(mask[9,259]), 1e30, 0), 1e30, 0), -1, 0), 8, 0)), ids[9])",
	  .ids = 8 },

	{ "conv", "conv(x[2,9,7,5], w[7,5,3,3:0.2], b[7], 1, 1)" },
	{ "conv.even", "conv(x[3,8,8,16], w[32,16,3,3:0.2], 1, 1)" },
	{ "conv.1x1", "conv(x[2,7,5,24], w[16,24,1,1:0.2], b[16])" },
	{ "conv.stride", "conv(x[2,11,8,8], w[16,8,3,3:0.2], 2, 1)" },
	{ "conv.short", "conv(x[2,9,10,16], w[24,16,1,1:0.2], 2)" },
	{ "conv.stem", "conv(x[2,17,14,3], w[8,3,7,7:0.2], 2, 3)" },
	{ "conv.groups", "conv(x[2,6,7,32], w[16,16,3,3:0.2], 1, 1, 2)" },

	{ "batchnorm", "batchnorm(x[3,5,7,13], gain[13], bias[13], mean[13], var[13])" },
	{ "batchnorm.even", "batchnorm(x[2,24,25,64], gain[64], bias[64], mean[64], var[64])" },
	{ "batchnorm.wide", "batchnorm(x[37,2056], gain[2056], bias[2056], mean[2056], var[2056])" },
	{ "batchnorm.sum",
	  "relu(add(residual[2,6,6,24], batchnorm(x[2,6,6,24], gain[24], bias[24], mean[24], var[24])))", .kink = true },
	/* Two outputs of one call are parts of one gradient, for which a third op reads h. */
	{ "batchnorm.reread",
	  "h = linear(x[48,8], w[16,8]); add(add(batchnorm(h, gain[16], bias[16], mean[16], var[16]), h), h)" },
	/* The gradients of the square depend on the value of the batchnorm itself. */
	{ "batchnorm.far", "y = batchnorm(x[5,9,7,12], gain[12], bias[12], mean[12], var[12]); mul(y, y)", .mean = 1e4f },
	{ "batchnorm.first", "y = batchnorm(x[5,9,7,12], gain[12], bias[12], mean[12], var[12]); mul(y, y)", .first = 60 },

	{ "max_pool", "max_pool(x[2,13,10,24], 3, 2, 1)", .kink = true },
	{ "max_pool.odd", "max_pool(x[2,9,8,7], 2, 3, 0)", .kink = true },
	{ "avg_pool", "avg_pool(x[2,9,12,16], 3, 2, 1)" },
	{ "avg_pool.odd", "avg_pool(x[1,7,9,5], 4, 1, 2)" },
	{ "shortcut", "pad(add(max_pool(x[2,6,7,16], 1, 1, 0), gelu(x)), 8, 9)" },

	{ "mean", "mean(reshape(x[3,5,4,24], 3, 20, 24), 1)" },
	{ "mean.rows", "mean(x[5,9,64], 2)" },
	{ "sum.rows", "sum(x[5,9,7], 2)" },
	/* Numbers that every type represents, many of them equal: the first of the largest ones has the gradient. */
	{ "max", "v = add(dropout(x[5,9,7:0:1], 0.5), affine(dropout(y[5,9,7:0:1], 0.5), -2, 1)); add(max(v, 1), mean(v, 1))" },
	{ "max.even",
	  "v = add(dropout(x[3,6,24:0:1], 0.5), affine(dropout(y[3,6,24:0:1], 0.5), -2, 1)); add(max(v, 1), mean(v, 1))" },
	{ "max.rows",
	  "v = add(dropout(x[5,9,7:0:1], 0.5), affine(dropout(y[5,9,7:0:1], 0.5), -2, 1)); add(max(v, 2), mean(v, 2))" },
	{ "max.rows.even",
	  "v = add(dropout(x[37,264:0:1], 0.5), affine(dropout(y[37,264:0:1], 0.5), -2, 1)); add(max(v, 1), mean(v, 1))" },
	{ "max.rows.long",
	  "v = add(dropout(x[2,2056:0:1], 0.5), affine(dropout(y[2,2056:0:1], 0.5), -2, 1)); add(max(v, 1), mean(v, 1))" },

	/* Each operand stored both ways; x is read by two products. */
	{ "matmul", "add(matmul(x[3,17,11:0.3], y[3,11,7:0.3]), matmul(x, gelu(y)))" },
	{ "matmul.even", "add(matmul(x[2,3,24,16:0.3], y[2,3,32,16:0.3], 0, 1), matmul(x, gelu(y), 0, 1))" },
	{ "matmul.turned", "add(matmul(x[2,3,24,13:0.3], y[2,3,24,9:0.3], 1, 0), matmul(x, gelu(y), 1, 0))" },
	{ "matmul.both", "add(matmul(x[5,8,16:0.3], y[5,40,8:0.3], 1, 1), matmul(x, gelu(y), 1, 1))" },
	{ "matmul.one", "add(matmul(x[33,20:0.3], y[12,20:0.3], 0, 1), matmul(x, gelu(y), 0, 1))" },

	{ "gpt", GPT, .ids = 61, .steps = 8, .eight = true },
	{ "gpt.dropout", "gpt(2, 24, 2, 48, 3, 61, 0, 0.1)", .ids = 61, .steps = 9, .accum = 3, .eight = true },
	{ "gpt.accum", GPT, .ids = 61, .steps = 9, .accum = 3, .eight = true },
	{ "gpt.clip", GPT, .ids = 61, .steps = 8, .accum = 2, .clip = 0.05, .eight = true },
	{ "gpt.master.none", GPT, .ids = 61, .steps = 8, .no_master = true, .eight = true },
	{ "gpt.cudnn", GPT, .ids = 61, .steps = 8, .fused = true },
	{ "bert", BERT, .ids = 61, .steps = 8, .eight = true, .ignore = true },
	{ "bert.cudnn", BERT, .ids = 61, .steps = 8, .fused = true, .ignore = true },
	{ "vit", VIT, .ids = 10, .steps = 8, .eight = true },
	{ "vit.cudnn", VIT, .ids = 10, .steps = 8, .fused = true },
	{ "mlp", "mlp(32, 17, 40, 24, 10)", .ids = 10, .steps = 8, .eight = true, .kink = true },
	{ "mlp.clip", "mlp(32, 17, 40, 24, 10)", .ids = 10, .steps = 8, .clip = 0.1, .kink = true },
	{ "resnet", "resnet(4, 8, 8, 10)", .ids = 10, .steps = 4, .kink = true },
	{ "resnet.accum", "resnet(4, 8, 8, 10)", .ids = 10, .steps = 4, .accum = 2, .kink = true },
};
const int rt_n_cases = GT_ARRAY_SIZE(rt_cases);

bool rt_case_applies(const struct rt_case *c, enum rt_case_user user)
{
	bool device_only = c->steps || c->exact || c->fused || c->mean != 0 || c->first != 0;

	return !(c->skip & user) && (user == RT_CASE_DEVICE || !device_only);
}
