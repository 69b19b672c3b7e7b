/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_DNN_API_H
#define RT_CUDA_DNN_API_H
/* cudnn_graph.h as far as used: names and values are NVIDIA's, those of cuDNN 9. */
#include "runtime/cuda/dnn.h"
#include "runtime/cuda/tuned.h"

enum {
	DNN_OK = 0,
	DNN_SUBLIBRARY_LOADING_FAILED = 1008,
	DNN_NOT_SUPPORTED = 3000, /* to 3999 */
	DNN_INTERNAL_ERROR = 4000,

	DNN_CONVOLUTION_DESC = 1, /* kinds of descriptors */
	DNN_ENGINE = 2,
	DNN_ENGINECFG = 3,
	DNN_ENGINEHEUR = 4,
	DNN_PLAN = 5,
	DNN_KNOB_CHOICE = 7,
	DNN_OP_FORWARD = 10,
	DNN_OP_FILTER = 11,
	DNN_OP_DATA = 12,
	DNN_GRAPH = 15,
	DNN_PACK = 16,
	DNN_TENSOR = 17,
	DNN_DEVICEPROP = 38,

	DNN_TYPE_HANDLE = 0, /* types of attributes */
	DNN_TYPE_DATA_TYPE = 1,
	DNN_TYPE_INT64 = 3,
	DNN_TYPE_FLOAT = 4,
	DNN_TYPE_VOID_PTR = 6,
	DNN_TYPE_CONVOLUTION_MODE = 7,
	DNN_TYPE_HEUR_MODE = 8,
	DNN_TYPE_KNOB_TYPE = 9,
	DNN_TYPE_NUMERICAL_NOTE = 11,
	DNN_TYPE_DESCRIPTOR = 15,
	DNN_TYPE_CHAR = 24,

	DNN_CONV_COMP_TYPE = 100, /* attributes */
	DNN_CONV_MODE = 101,
	DNN_CONV_DILATIONS = 102,
	DNN_CONV_STRIDES = 103,
	DNN_CONV_POST_PADDINGS = 104,
	DNN_CONV_PRE_PADDINGS = 105,
	DNN_CONV_SPATIAL_DIMS = 106,
	DNN_HEUR_MODE = 200,
	DNN_HEUR_GRAPH = 201,
	DNN_HEUR_RESULTS = 202,
	DNN_HEUR_DEVICEPROP = 204,
	DNN_CFG_ENGINE = 300,
	DNN_CFG_KNOBS = 302,
	DNN_PLAN_HANDLE = 400,
	DNN_PLAN_CFG = 401,
	DNN_PLAN_WORKSPACE = 402,
	DNN_PLAN_DEVICEPROP = 407,
	DNN_KNOB_TYPE = 600,
	DNN_KNOB_VALUE = 601,
	DNN_FORWARD_ALPHA = 700, /* then BETA, CONV_DESC, W, X, Y */
	DNN_DATA_ALPHA = 706,	 /* then BETA, CONV_DESC, W, DX, DY */
	DNN_FILTER_ALPHA = 712,	 /* then BETA, CONV_DESC, DW, X, DY */
	DNN_GRAPH_HANDLE = 800,
	DNN_GRAPH_OPS = 801,
	DNN_TENSOR_ALIGNMENT = 900,
	DNN_TENSOR_DATA_TYPE = 901,
	DNN_TENSOR_DIMENSIONS = 902,
	DNN_TENSOR_STRIDES = 903,
	DNN_TENSOR_UNIQUE_ID = 906,
	DNN_PACK_IDS = 1000,
	DNN_PACK_POINTERS = 1001,
	DNN_PACK_WORKSPACE = 1003,
	DNN_ENGINE_INDEX = 1301,
	DNN_ENGINE_NUMERICAL_NOTE = 1303,
	DNN_DEVICEPROP_JSON = 2702,

	DNN_DATA_FLOAT = 0,
	DNN_DATA_HALF = 2,
	DNN_DATA_BFLOAT16 = 9,
	DNN_CROSS_CORRELATION = 1,
	DNN_HEUR_FALLBACK = 2,
	DNN_HEUR_A = 3,
	DNN_NOTE_TENSOR_CORE = 0,
	DNN_NOTE_DOWN_CONVERT = 1,
	DNN_NOTE_REDUCED_PRECISION = 2,
	DNN_NOTE_FFT = 3,
	DNN_NOTE_NONDETERMINISTIC = 4,
	DNN_NOTE_WINOGRAD = 5, /* to 8: by size of tile */
	DNN_NOTE_WINOGRAD_13 = 8,
	DNN_NOTES = 32, /* room for newer ones */
	DNN_KNOBS = 64,
};
typedef void *dnn_desc;

struct dnn_api {
	size_t (*version)(void);
	size_t (*cudart_version)(void);
	const char *(*error_string)(int);
	void (*last_error)(char *, size_t);
	int (*create)(void **);
	int (*destroy)(void *);
	int (*set_stream)(void *, cu_stream);
	int (*desc_create)(int, dnn_desc *);
	int (*desc_destroy)(dnn_desc);
	int (*desc_set)(dnn_desc, int, int, int64_t, const void *);
	int (*desc_get)(dnn_desc, int, int, int64_t, int64_t *, void *);
	int (*desc_finalize)(dnn_desc);
	int (*execute)(void *, dnn_desc, dnn_desc);
};

/* One way of doing a convolution. */
struct dnn_way {
	dnn_desc plan;
	size_t workspace;
	uint64_t words[RT_TUNED_WORDS]; /* which engine and knobs */
};
struct dnn_conv {
	struct rt_dnn_conv key;
	char name[160]; /* on disk */
	struct rt_dnn_info info;
	struct dnn_way ways[RT_DNN_CANDIDATES];
	int chosen;	/* -1: not yet */
	bool from_disk;
};
struct rt_dnn {
	struct rt_cuda *dev; /* NULL: none is here */
	struct dnn_api api;
	void *lib, *handle;
	dnn_desc properties; /* of the card that is not here */
	char version[24];
	struct dnn_conv **convs;
	int n_convs;
	int plan_status; /* of the last plan that could not be made */
	cu_stream stream; /* of the handle */
	int timed, cached, guessed;
	struct rt_tuned *tuned;
};

/* 0, or -ENODEV (-ENOTSUP for what the library cannot do) and a sentence with the call, the status, its name and reason. */
int rt_dnn_check(const struct rt_dnn *d, int status, const char *what, struct gt_err *err);
/* Fill c->ways by the heuristics; with c->from_disk one way, the one whose words are in ways[0]. -ENOTSUP: none. */
int rt_dnn_build(struct rt_dnn *d, struct dnn_conv *c, struct gt_err *err);
#endif
