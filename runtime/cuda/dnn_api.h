/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_DNN_API_H
#define RT_CUDA_DNN_API_H
/* The used part of cudnn_graph.h. Names and values are NVIDIA's, of cuDNN 9. */
#include "runtime/cuda/dnn.h"
#include "runtime/cuda/tuned.h"

enum {
	DNN_OK = 0,
	DNN_SUBLIBRARY_LOADING_FAILED = 1008,
	DNN_NOT_SUPPORTED = 3000, /* the range ends at 3999 */
	DNN_INTERNAL_ERROR = 4000,

	DNN_POINTWISE = 0, /* kinds of descriptors */
	DNN_CONVOLUTION_DESC = 1,
	DNN_ENGINE = 2,
	DNN_ENGINECFG = 3,
	DNN_ENGINEHEUR = 4,
	DNN_PLAN = 5,
	DNN_KNOB_CHOICE = 7,
	DNN_OP_FORWARD = 10,
	DNN_OP_FILTER = 11,
	DNN_OP_DATA = 12,
	DNN_OP_POINTWISE = 13,
	DNN_GRAPH = 15,
	DNN_PACK = 16,
	DNN_TENSOR = 17,
	DNN_MATMUL = 18,
	DNN_OP_MATMUL = 19,
	DNN_REDUCTION = 21,
	DNN_OP_REDUCTION = 22,
	DNN_OP_RESHAPE = 31,
	DNN_DEVICEPROP = 38,

	DNN_TYPE_HANDLE = 0, /* types of attributes */
	DNN_TYPE_DATA_TYPE = 1,
	DNN_TYPE_BOOLEAN = 2,
	DNN_TYPE_INT64 = 3,
	DNN_TYPE_FLOAT = 4,
	DNN_TYPE_VOID_PTR = 6,
	DNN_TYPE_CONVOLUTION_MODE = 7,
	DNN_TYPE_HEUR_MODE = 8,
	DNN_TYPE_KNOB_TYPE = 9,
	DNN_TYPE_NUMERICAL_NOTE = 11,
	DNN_TYPE_POINTWISE_MODE = 14,
	DNN_TYPE_DESCRIPTOR = 15,
	DNN_TYPE_REDUCTION = 18,
	DNN_TYPE_CHAR = 24,

	DNN_POINTWISE_MODE = 0, /* attributes */
	DNN_POINTWISE_PRECISION = 1,
	DNN_POINTWISE_AXIS = 9,
	DNN_CONV_COMP_TYPE = 100,
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
	DNN_FORWARD_ALPHA = 700, /* BETA, CONV_DESC, W, X and Y follow */
	DNN_DATA_ALPHA = 706,	 /* BETA, CONV_DESC, W, DX and DY follow */
	DNN_FILTER_ALPHA = 712,	 /* BETA, CONV_DESC, DW, X and DY follow */
	DNN_OP_POINTWISE_DESC = 750,
	DNN_OP_POINTWISE_X = 751,
	DNN_OP_POINTWISE_B = 752,
	DNN_OP_POINTWISE_Y = 753,
	DNN_OP_POINTWISE_T = 758,
	DNN_GRAPH_HANDLE = 800,
	DNN_GRAPH_OPS = 801,
	DNN_TENSOR_ALIGNMENT = 900,
	DNN_TENSOR_DATA_TYPE = 901,
	DNN_TENSOR_DIMENSIONS = 902,
	DNN_TENSOR_STRIDES = 903,
	DNN_TENSOR_UNIQUE_ID = 906,
	DNN_TENSOR_VIRTUAL = 907,
	DNN_TENSOR_BY_VALUE = 908,
	DNN_PACK_IDS = 1000,
	DNN_PACK_POINTERS = 1001,
	DNN_PACK_WORKSPACE = 1003,
	DNN_ENGINE_INDEX = 1301,
	DNN_ENGINE_NUMERICAL_NOTE = 1303,
	DNN_MATMUL_PRECISION = 1500,
	DNN_OP_MATMUL_A = 1520,
	DNN_OP_MATMUL_B = 1521,
	DNN_OP_MATMUL_C = 1522,
	DNN_OP_MATMUL_DESC = 1523,
	DNN_REDUCTION_OPERATOR = 1600,
	DNN_REDUCTION_PRECISION = 1601,
	DNN_OP_REDUCTION_X = 1610,
	DNN_OP_REDUCTION_Y = 1611,
	DNN_OP_REDUCTION_DESC = 1612,
	DNN_OP_RESHAPE_X = 2200,
	DNN_OP_RESHAPE_Y = 2201,
	DNN_DEVICEPROP_JSON = 2702,

	DNN_DATA_FLOAT = 0,
	DNN_DATA_HALF = 2,
	DNN_DATA_INT32 = 4,
	DNN_DATA_BFLOAT16 = 9,
	DNN_DATA_BOOLEAN = 11,
	DNN_MUL = 1, /* modes of pointwise operations */
	DNN_ADD = 0,
	DNN_DIV = 6,
	DNN_SUB = 9,
	DNN_EXP = 13,
	DNN_LOG = 15,
	DNN_IDENTITY = 21,
	DNN_AT_LEAST = 303,
	DNN_INDEX = 501,
	DNN_SELECT = 601,
	DNN_REDUCE_ADD = 0,
	DNN_REDUCE_MAX = 3,
	DNN_CROSS_CORRELATION = 1,
	DNN_HEUR_FALLBACK = 2,
	DNN_HEUR_A = 3,
	DNN_NOTE_TENSOR_CORE = 0,
	DNN_NOTE_DOWN_CONVERT = 1,
	DNN_NOTE_REDUCED_PRECISION = 2,
	DNN_NOTE_FFT = 3,
	DNN_NOTE_NONDETERMINISTIC = 4,
	DNN_NOTE_WINOGRAD = 5, /* one number per tile size, up to 8 */
	DNN_NOTE_WINOGRAD_13 = 8,
	DNN_NOTES = 32, /* space for newer ones */
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

/* One execution plan. */
struct dnn_candidate {
	dnn_desc plan;
	size_t workspace;
	uint64_t words[RT_TUNED_WORDS]; /* engine and knobs */
};
/* The plans of a shape, and the chosen one. */
struct dnn_choice {
	char name[160];	 /* key on disk */
	bool full;	 /* no precision below f32 */
	bool any_order;	 /* the order of sums, and so their last bits, may differ between runs */
	int most;	 /* limit of built plans, up to RT_DNN_CANDIDATES */
	size_t room;	 /* workspace limit of each plan, in bytes */
	bool rivalled;	 /* an implementation outside this library may be chosen */
	struct rt_dnn_info info;
	struct dnn_candidate candidates[RT_DNN_CANDIDATES];
	int chosen; /* -1: not yet; DNN_RIVAL: the rival */
	bool from_disk;
};
#define DNN_RIVAL (-2)

struct dnn_conv {
	struct rt_dnn_conv key;
	struct dnn_choice c;
};
struct dnn_attention {
	struct rt_dnn_attention key;
	struct dnn_choice c;
};
struct rt_dnn {
	struct rt_cuda *dev; /* NULL: no device is present */
	struct dnn_api api;
	void *lib, *handle;
	dnn_desc properties; /* properties of a device that is not present */
	char version[24];
	struct dnn_conv **convs;
	int n_convs;
	struct dnn_attention **attentions;
	int n_attentions;
	int plan_status; /* status of the last plan that failed */
	cu_stream stream; /* stream of the handle */
	int timed, cached, guessed;
	struct rt_tuned *tuned; /* NULL: no timing */
};

/* Returns 0, or -ENODEV (-ENOTSUP for an unsupported feature) with a message that names the call, the status and its
 * reason. */
int rt_dnn_check(const struct rt_dnn *d, int status, const char *what, struct gt_err *err);

/* ---- dnn_graph.c ---- */
/* Descriptors that are destroyed together, and their first error. */
#define DNN_DESCRIPTORS 96
#define DNN_OPERATIONS	32
struct dnn_bin {
	struct rt_dnn *d;
	dnn_desc all[DNN_DESCRIPTORS];
	int n;
	dnn_desc ops[DNN_OPERATIONS];
	int n_ops;
	const char *what; /* first call that failed */
	int status;
};
/* A tensor of four dimensions: in memory, an intermediate, or a number passed by the host. */
enum dnn_tensor { DNN_IN_MEMORY, DNN_VIRTUAL, DNN_BY_VALUE };
dnn_desc rt_dnn_make(struct dnn_bin *b, int kind, const char *what);
void rt_dnn_set(struct dnn_bin *b, dnn_desc x, int attribute, int type, int64_t n, const void *value);
void rt_dnn_finish(struct dnn_bin *b, dnn_desc x);
dnn_desc rt_dnn_tensor(struct dnn_bin *b, int64_t id, int data_type, const int64_t dims[4], const int64_t strides[4],
		       enum dnn_tensor how);
int rt_dnn_data_type(enum rt_dtype t);
/* Builds c's plans for the operations of b from the heuristics. The caller sets c's name, full, any_order, most and
 * room. With a choice on disk, only that plan is built, or all if it fails. A rival on disk needs no plan. Destroys b.
 * -ENOTSUP: no plan. */
int rt_dnn_build(struct rt_dnn *d, struct dnn_choice *c, void (*operations)(struct dnn_bin *b, const void *key), const void *key,
		 struct gt_err *err);

/* ---- dnn_library.c ---- */
#define DNN_ARGS 16
struct dnn_pack {
	int n;
	int64_t ids[DNN_ARGS];
	void *pointers[DNN_ARGS];
	void *workspace;
};
/* An alternative that is timed together with the library's plans. */
struct dnn_rival {
	int (*run)(void *arg, struct gt_err *err);
	void *arg;
};
/* Enqueues c after choosing its plan if necessary. Returns 0, or 1 if the rival must run instead. */
int rt_dnn_do(struct rt_dnn *d, struct dnn_choice *c, const struct dnn_pack *a, const struct dnn_rival *rival, cu_stream stream,
	      bool tune, struct gt_err *err);
#endif
