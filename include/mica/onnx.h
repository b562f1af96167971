/* mica/onnx.h: models in ONNX files: read, described, run.
 *
 *   mica_onnx *model;
 *   mica_onnx_runner *runner;
 *   mica_onnx_open("model.onnx", &model);
 *   mica_onnx_runner_create(engine, model, NULL, &runner);
 *   mica_onnx_run(runner, queue, &(mica_onnx_feed){.name = "x", .tensor = x}, 1);
 *   mica_tensor_download(queue, mica_onnx_output(runner, 0), y, bytes);
 *
 * A model stays ONNX until the shapes of a run are known. Then it is lowered to a graph (mica/graph.h) in which every
 * shape and every number that a shape needs is known, and that is compiled as any session; a further run of the same
 * shapes finds it. Where such a number (axes, a length) comes from an input, that input is bound: its elements belong
 * to what was lowered, and others are lowered anew.
 *
 * Operator sets 1 to the current one; which operators there are says mica_onnx_operator_at. Functions are inlined.
 * Files are never trusted: what is wrong with one is a sentence and a status. A build without protobuf-c opens no model
 * (MICA_E_UNSUPPORTED).
 *
 * Threads: nothing of a model changes once it is open, so several threads may look at it and have runners of it; one
 * thread at a time uses a runner. */
#ifndef MICA_ONNX_H
#define MICA_ONNX_H

#include <mica/graph.h>
#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* --- models --- */

typedef struct mica_onnx mica_onnx;

/* Reads and checks a model, of up to 1 GiB beside its external data. Tensors in files beside the model are mapped:
 * regular files inside of the model's folder, never through links, which must not be truncated while the model is
 * open. MICA_E_FORMAT names what is wrong and where; of external data the tensor, the file and the reason
 * (MICA_E_NOT_FOUND for a file that is missing). */
MICA_API MICA_CHECKED mica_status mica_onnx_open(const char *path, mica_onnx **model);
/* A model of these bytes, at most 2 GiB, which are copied; name is for sentences. It has no external data. */
MICA_API MICA_CHECKED mica_status mica_onnx_open_memory(const char *name, const void *data, size_t bytes,
                                                        mica_onnx **model);
/* Runners of it are destroyed before. */
MICA_API void mica_onnx_close(mica_onnx *model);

typedef enum mica_onnx_kind {
  MICA_ONNX_KIND_TENSOR,
  MICA_ONNX_KIND_SEQUENCE,
  MICA_ONNX_KIND_OPTIONAL,
  MICA_ONNX_KIND_OTHER /* a map, or nothing that is said */
} mica_onnx_kind;

/* An input or an output, as the file declares it. */
typedef struct mica_onnx_port {
  const char *name;
  mica_onnx_kind kind;
  bool has_dtype; /* dtype is the type of a tensor's elements; false for texts and types that Mica lacks */
  mica_dtype dtype;
  const char *type; /* the file's word: "float", "int64", "string" */
  bool has_shape;   /* the file says how many dimensions there are, and they are no more than Mica's */
  mica_shape shape; /* MICA_DYNAMIC where a dimension is open */
  const char *dim_name[MICA_MAX_RANK]; /* of open ones, such as "batch"; "" for none */
} mica_onnx_port;

/* Inputs that have no initial value in the file, and outputs, in the file's order. An index beyond gives zeros. */
MICA_API size_t mica_onnx_input_count(const mica_onnx *model);
MICA_API mica_onnx_port mica_onnx_input(const mica_onnx *model, size_t index);
MICA_API size_t mica_onnx_output_count(const mica_onnx *model);
MICA_API mica_onnx_port mica_onnx_output_port(const mica_onnx *model, size_t index);

/* An operator that the model uses: "" is the domain of ONNX's own. count nodes have it, bodies and functions
 * included. */
typedef struct mica_onnx_operator {
  const char *domain, *name;
  int64_t version;
  size_t count;
  bool supported;
} mica_onnx_operator;
MICA_API size_t mica_onnx_operator_count(const mica_onnx *model);
MICA_API mica_onnx_operator mica_onnx_operator_at(const mica_onnx *model, size_t index);

typedef struct mica_onnx_info {
  const char *producer, *producer_version; /* "" where the file does not say */
  int64_t ir_version, opset;               /* opset: of ONNX's own operators */
  size_t nodes, depth;                     /* of the graph itself; depth: nodes on the longest way through it */
  size_t weights;                          /* initial values */
  uint64_t weight_elements, weight_bytes;
  size_t functions;
} mica_onnx_info;
MICA_API mica_onnx_info mica_onnx_describe(const mica_onnx *model);

/* A text that the file's author put beside the model; NULL for no such key. */
MICA_API const char *mica_onnx_metadata(const mica_onnx *model, const char *key);

/* --- running --- */

typedef struct mica_onnx_runner mica_onnx_runner;

typedef struct mica_onnx_runner_config {
  /* Lowerings kept, one a set of input shapes and bound elements; the one used longest ago goes. 0 stands for 64. */
  uint32_t most_lowerings;
  bool no_fusion, no_simplify; /* as in mica_session_config */
} mica_onnx_runner_config;

/* A model made ready to run on an engine. Weights are uploaded when the first run needs them, once for all shapes.
 * config may be NULL. MICA_E_UNSUPPORTED names the operators that are missing, all of them. */
MICA_API MICA_CHECKED mica_status mica_onnx_runner_create(mica_engine *engine, mica_onnx *model,
                                                          const mica_onnx_runner_config *config,
                                                          mica_onnx_runner **runner);
MICA_API void mica_onnx_runner_destroy(mica_onnx_runner *runner);
MICA_API const mica_onnx *mica_onnx_runner_model(const mica_onnx_runner *runner);

/* A value for an input: a tensor of the runner's engine, or elements of the host in C order. Those of the host are
 * read during the call, and cost an upload; but an input that is bound costs a download where it is given as a
 * tensor. */
typedef struct mica_onnx_feed {
  const char *name;
  const mica_tensor *tensor; /* contiguous; NULL: what follows */
  mica_dtype dtype;
  mica_shape shape;
  const void *data;
} mica_onnx_feed;

/* Queues one run on values for all inputs; an input that the file declares optional may be left out. New shapes are
 * lowered and compiled first. Returns without waiting unless an input that is bound is given as a tensor. Sentences
 * name the node at fault: its name, operator and operands.
 *
 * Indices of Gather, GatherElements, GatherND, ScatterElements and ScatterND: where the model's own graph takes them
 * from a constant, or right from an input whose elements the host feeds, one that lies outside is MICA_E_INVALID. Those
 * that a device computes, or that are fed as a tensor, are not looked at: an element outside reads as 0 and is not
 * written. */
MICA_API MICA_CHECKED mica_status mica_onnx_run(mica_onnx_runner *runner, mica_queue *queue,
                                                const mica_onnx_feed *feeds, size_t feed_count);
/* Output i of the last run, the runner's and valid until the next run. NULL before the first one and for an index
 * beyond the outputs. */
MICA_API const mica_tensor *mica_onnx_output(const mica_onnx_runner *runner, size_t index);
/* True if the last run bound this input: its elements, not only its shape, belong to what was compiled. */
MICA_API bool mica_onnx_is_bound(const mica_onnx_runner *runner, const char *input);
/* How many lowerings the runner keeps. */
MICA_API size_t mica_onnx_lowering_count(const mica_onnx_runner *runner);

/* Runs on the tensors input_0.pb, input_1.pb, ... of a folder, in the order of the model's inputs, and compares the
 * outputs with output_0.pb, ...: dtypes and shapes are to be the same, and |y - want| <= absolute + relative |want|.
 * Zeros for both stand for the conformance tests' own 1e-7 and 1e-3; and where the model is more than one operator deep
 * for what a chain of roundings adds, as a random walk of as many steps as it is deep: 2 u sqrt(depth) max |want|, u
 * being the dtype's unit roundoff. MICA_E_NUMERIC names the output, the first element that is wrong, and how many are;
 * MICA_E_SHAPE and MICA_E_DTYPE both sides. */
MICA_API MICA_CHECKED mica_status mica_onnx_check(mica_onnx_runner *runner, mica_queue *queue, const char *folder,
                                                  double relative, double absolute);

/* --- tensors in files of ONNX --- */

/* The tensor in a file that holds one TensorProto (.pb), as the conformance tests have it; *data, aligned for any type,
 * is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_onnx_tensor_read(const char *path, mica_dtype *dtype, mica_shape *shape,
                                                        void **data);

MICA_END_DECLS

#endif
