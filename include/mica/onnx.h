/* mica/onnx.h: models in ONNX files: read, described, run, written.
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
 * shapes finds it. Where such a number (axes, a length) comes from a small input, that input is bound: its elements
 * belong to what was lowered, and others are lowered anew. Where it is computed from data, the model is cut there: the
 * host waits for the value and goes on with a graph that was made for it. Branches by data and loops that are not
 * unrolled are functions that the host calls, each made once for the shapes it meets.
 *
 * Operator sets 1 to the current one; which operators there are says mica_onnx_operator_at. Functions are inlined.
 * Files are never trusted: what is wrong with one is a sentence and a status. A build without protobuf-c opens no model
 * (MICA_E_UNSUPPORTED).
 *
 * Threads: nothing of a model changes once it is open, so several threads may look at it and have runners of it; one
 * thread at a time uses a runner. */
#ifndef MICA_ONNX_H
#define MICA_ONNX_H

#include <mica/session.h>

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
  const char *doc;                     /* what the file's author says of it; "" for nothing */
} mica_onnx_port;

/* Inputs that have no initial value in the file, and outputs, in the file's order. An index beyond gives zeros. */
MICA_API size_t mica_onnx_input_count(const mica_onnx *model);
MICA_API mica_onnx_port mica_onnx_input(const mica_onnx *model, size_t index);
MICA_API size_t mica_onnx_output_count(const mica_onnx *model);
MICA_API mica_onnx_port mica_onnx_output_port(const mica_onnx *model, size_t index);

/* True if the output holds texts, such as class labels: a tensor of i64 whose elements are indices into a list. */
MICA_API bool mica_onnx_is_text(const mica_onnx *model, size_t output);
/* The length of that list. For an output with a column per class, the number of columns: probabilities, and maps, which
 * are given as such a tensor. 0 for every other output. */
MICA_API size_t mica_onnx_class_count(const mica_onnx *model, size_t output);
/* Writes the name of class `index`, which may be an integer, into text[size]; a longer name is cut. False if there is
 * no such class. */
MICA_API bool mica_onnx_class_name(const mica_onnx *model, size_t output, size_t index, char *text, size_t size);

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
/* Numbers and texts of the file's head. Texts are valid as long as the model. */
MICA_API mica_onnx_info mica_onnx_describe(const mica_onnx *model);

/* A text that the file's author put beside the model; NULL for no such key. */
MICA_API const char *mica_onnx_metadata(const mica_onnx *model, const char *key);

typedef struct mica_onnx_text {
  const char *key, *value;
} mica_onnx_text;
/* These texts in the file's order; NULLs behind the last. They are the model's. */
MICA_API mica_onnx_text mica_onnx_metadata_at(const mica_onnx *model, size_t index);

/* --- operators of one's own --- */

/* A node that is being lowered, valid during the callback. */
typedef struct mica_onnx_call mica_onnx_call;

/* The graph to build into, and the number of the node's operands. */
MICA_API mica_graph *mica_onnx_call_graph(mica_onnx_call *call);
MICA_API size_t mica_onnx_call_operand_count(const mica_onnx_call *call);
/* Null for an operand that is absent. */
MICA_API mica_value mica_onnx_call_operand(mica_onnx_call *call, size_t index);
/* The elements of an operand of integers, which are valid during the callback; of an absent one none. False where they
 * are not known yet: the callback returns MICA_OK, and is called again. */
MICA_API bool mica_onnx_call_integers(mica_onnx_call *call, size_t index, const int64_t **values, size_t *count);
/* Attributes; `standard` where the node has none of the name, and no integers. */
MICA_API int64_t mica_onnx_call_integer(const mica_onnx_call *call, const char *name, int64_t standard);
MICA_API double mica_onnx_call_real(const mica_onnx_call *call, const char *name, double standard);
MICA_API size_t mica_onnx_call_list(const mica_onnx_call *call, const char *name, const int64_t **values);
/* True if the attribute is that text. */
MICA_API bool mica_onnx_call_is(const mica_onnx_call *call, const char *name, const char *text);
MICA_API void mica_onnx_call_result(mica_onnx_call *call, size_t index, mica_value value);
/* Records "model.onnx: node 'name' (Op): " and the sentence; returns the status. */
MICA_API MICA_CHECKED mica_status mica_onnx_call_fail(mica_onnx_call *call, mica_status status, const char *sentence);

/* Makes the operator's results of its operands, by builders of mica/nodes.h. */
typedef mica_status mica_onnx_define_fn(void *user, mica_onnx_call *call);
/* Defines an operator for this model, before any runner of it is made; it stands before one of Mica's own. Bodies of
 * the node's attributes are not seen. MICA_E_NOT_FOUND: the model has no such node. */
MICA_API MICA_CHECKED mica_status mica_onnx_define(mica_onnx *model, const char *domain, const char *op,
                                                   mica_onnx_define_fn *define, void *user);

/* --- running --- */

typedef struct mica_onnx_runner mica_onnx_runner;

typedef struct mica_onnx_runner_config {
  /* Lowerings kept, one a set of input shapes and bound elements; the one used longest ago goes. Where a model is cut,
   * each part counts; and bodies of loops and branches have as many of their own. 0 stands for 64. */
  uint32_t most_lowerings;
  /* Bytes of the device that their plans may hold, beside the weights; 0 stands for half of the device's memory. What
   * the last run used stays whatever it takes. */
  uint64_t most_bytes;
  /* A loop whose trips are known is unrolled up to so many nodes; 0 stands for 2000. */
  uint32_t most_unrolled;
  bool no_fusion, no_simplify; /* as in mica_session_config */
  mica_dtype dtype;            /* likewise: f16 or bf16 for inference in 16 bits */
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
 * lowered and compiled first. Returns without waiting unless an input that is bound is given as a tensor, or the model
 * is cut (mica_onnx_cut_at). Sentences name the node at fault: its name, operator and operands.
 *
 * Indices of Gather, GatherElements, GatherND, ScatterElements and ScatterND: where the model's own graph takes them
 * from a constant, or right from an input whose elements the host feeds, one that lies outside is MICA_E_INVALID. Those
 * that a device computes, or that are fed as a tensor, are not looked at, since each run would have to wait for the
 * device's answer: an element outside reads as 0 and is not written. */
MICA_API MICA_CHECKED mica_status mica_onnx_run(mica_onnx_runner *runner, mica_queue *queue,
                                                const mica_onnx_feed *feeds, size_t feed_count);
/* Output i of the last run, the runner's and valid until the next run. NULL before the first one and for an index
 * beyond the outputs. */
MICA_API const mica_tensor *mica_onnx_output(const mica_onnx_runner *runner, size_t index);
/* True if the last run bound this input: its elements, not only its shape, belong to what was compiled. */
MICA_API bool mica_onnx_is_bound(const mica_onnx_runner *runner, const char *input);
/* How many lowerings the runner keeps. */
MICA_API size_t mica_onnx_lowering_count(const mica_onnx_runner *runner);
/* Binds output i to the tensor's memory: from the next run on it is written there, which spares a copy. The tensor is
 * contiguous, of the runner's engine (MICA_E_INVALID) and, in each run, of the output's dtype and shape (MICA_E_DTYPE,
 * MICA_E_SHAPE); it overlaps no feed. It lives until another one, or NULL, is bound. */
MICA_API MICA_CHECKED mica_status mica_onnx_bind_output(mica_onnx_runner *runner, size_t index, mica_tensor *tensor);

/* Where a run has to wait for data: the node, its operator, and what of it comes from data. */
typedef struct mica_onnx_cut {
  const char *node, *op, *why;
} mica_onnx_cut;
/* Cuts that runs have met so far. Zeros for an index beyond. */
MICA_API size_t mica_onnx_cut_count(const mica_onnx_runner *runner);
MICA_API mica_onnx_cut mica_onnx_cut_at(const mica_onnx_runner *runner, size_t index);

typedef struct mica_onnx_report {
  size_t stages;            /* parts that the last run took: 1 and the cuts on its way, bodies not counted */
  size_t lowerings;         /* parts that the runner keeps, those of branches and of loops' bodies included */
  size_t lowered;           /* parts that were ever made */
  size_t launches;          /* of the last run's parts */
  double flops;             /* of these launches, as far as they say */
  uint64_t planned_bytes;   /* the largest of their arenas */
  uint64_t parameter_bytes; /* weights on the device */
  uint64_t plan_bytes;      /* that all parts' plans hold */
} mica_onnx_report;
/* Describes the last run. MICA_E_STATE before the first. */
MICA_API MICA_CHECKED mica_status mica_onnx_runner_describe(const mica_onnx_runner *runner, mica_onnx_report *report);

/* Runs on the tensors input_0.pb, input_1.pb, ... of a folder, in the order of the model's inputs, and compares the
 * outputs with output_0.pb, ...: dtypes and shapes are to be the same, and |y - want| <= absolute + relative |want|.
 * Zeros for both stand for the conformance tests' own 1e-7 and 1e-3, of bf16 for a unit in the last place, 2 u, since
 * results that are rounded at other steps differ by that much; and where the model is more than one operator deep
 * for what a chain of roundings adds, as a random walk of as many steps as it is deep: 2 u sqrt(depth) max |want|, u
 * being the dtype's unit roundoff. MICA_E_NUMERIC names the output, the first element that is wrong, and how many are;
 * MICA_E_SHAPE and MICA_E_DTYPE both sides. */
MICA_API MICA_CHECKED mica_status mica_onnx_check(mica_onnx_runner *runner, mica_queue *queue, const char *folder,
                                                  double relative, double absolute);

/* --- in a graph of one's own --- */

/* An initial value that became a parameter, or what a node Constant of the model's graph gives: its name in the graph,
 * its name in the file. */
typedef struct mica_onnx_parameter {
  char name[96];
  const char *file_name;
  mica_value value;
} mica_onnx_parameter;

typedef struct mica_onnx_build_config {
  /* Makes the parameter of a weight; NULL stands for mica_parameter. Floating initial values of more than 32 elements
   * are weights, and what nodes Constant of the model's graph give; others are constants, and what functions and bodies
   * hold. */
  mica_value (*parameter)(void *user, mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
  void *user;
  /* The name of a value: it is the only output, and what stands behind it is left out. NULL: the model's outputs. */
  const char *stop_at;
  /* Initial values of few elements are weights too, unless they have rank 0 or what they are is to be known: so biases
   * of few classes are trained. */
  bool small_weights;
  /* Values of f16 and bf16 are f32 throughout, inputs too: so a model of f16 is trained. */
  bool widen;
} mica_onnx_build_config;

/* Lowers a model into a graph, as a network whose inputs are these values (as many as the model has, constants where a
 * shape is computed from them), so that a loss and mica_gradients may follow. Dimensions may be open where the model is
 * the same for every extent: it is lowered for one too, and what differs is MICA_E_UNSUPPORTED; then config->parameter
 * adds one node for each weight. outputs has room for
 * all outputs, or for one with stop_at. Loops are unrolled, branches are of known conditions: where something comes
 * from data MICA_E_UNSUPPORTED names node and value. *parameters, the caller's to mica_free, are the weights. config
 * may be NULL. */
MICA_API MICA_CHECKED mica_status mica_onnx_build(const mica_onnx *model, mica_graph *graph, const mica_value *inputs,
                                                  size_t input_count, mica_value *outputs, size_t output_count,
                                                  const mica_onnx_build_config *config,
                                                  mica_onnx_parameter **parameters, size_t *parameter_count);
/* The name of the index-th value that nodes of the model's graph make, in their order, as stop_at takes it; NULL behind
 * the last. */
MICA_API const char *mica_onnx_value_at(const mica_onnx *model, size_t index);
/* Uploads the file's elements of a weight, by its file_name, into a tensor of its dtype and shape (MICA_E_DTYPE,
 * MICA_E_SHAPE); a tensor of f32 takes f16 and bf16 too. MICA_E_NOT_FOUND: the model's graph has none of that name. */
MICA_API MICA_CHECKED mica_status mica_onnx_load(const mica_onnx *model, mica_queue *queue, const char *file_name,
                                                 mica_tensor *tensor);

/* The index-th initial value of the model's graph, with a copy of its elements, the caller's to mica_free. *name is the
 * model's, NULL behind the last one, which is no error. What mica_onnx_load would say of those that cannot be read. */
MICA_API MICA_CHECKED mica_status mica_onnx_initial_read(const mica_onnx *model, size_t index, const char **name,
                                                         mica_dtype *dtype, mica_shape *shape, void **data);

/* --- writing --- */

typedef struct mica_onnx_write_config {
  /* ONNX's operator set, 17 to 23; 0 stands for 17. What is one operator in a newer set alone (Gelu 20,
   * GroupNormalization 21, RMSNormalization 23) is written out before it. */
  int64_t opset;
  /* Has the elements of the graph's parameters, by their names; may be another graph's. NULL: there are none. */
  mica_session *session;
  const char *const *output_names; /* one an output; NULL: those of the values, else new ones */
  const char *input_prefix;        /* names of inputs that begin with it are written without; NULL: none */
  const char *name;                /* of the model's graph; NULL: "mica" */
  const mica_onnx_text *metadata;  /* texts beside the model, as mica_onnx_metadata finds them */
  size_t metadata_count;
  /* What inputs and outputs are, by the names that they have in the file: doc strings of these, and as lines
   * "NAME: TEXT" that of the graph. Names that it has not are passed over. */
  const mica_onnx_text *docs;
  size_t doc_count;
  /* Weights of more bytes in all lie beside the file, in PATH.data; 0 stands for 1 GiB. Where a model is there whose
   * weights may lie so, the new ones are in PATH.2.data, and so on by turns. */
  uint64_t external_bytes;
} mica_onnx_write_config;

/* Writes what outputs are made of as a model in ONNX, which is replaced as a whole: at any moment there is the old one
 * or the new one with its own weights (the file of weights beside it comes first, and the old one goes last). Inputs
 * and parameters keep their names, other values theirs where they have some (mica_named), so that a layer can be told.
 * Open dimensions are called "N" where they are the first of an input, else "NAME_axis"; an output is no input or
 * parameter itself.
 *
 * Norms, means, dense layers, convolutions with a bias, quantisation and whatever else builders mark are one operator;
 * weights of recurrent layers are put in ONNX's order. config may be NULL. Blocks.
 *
 * MICA_E_UNSUPPORTED names the value and the op that have no form in ONNX: nothing is written. MICA_E_INVALID: an
 * operator set that is not written, a name that is there twice. */
MICA_API MICA_CHECKED mica_status mica_onnx_write(const char *path, const mica_value *outputs, size_t count,
                                                  const mica_onnx_write_config *config);

/* --- tensors in files of ONNX --- */

/* The tensor in a file that holds one TensorProto (.pb), as the conformance tests have it; *data, aligned for any type,
 * is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_onnx_tensor_read(const char *path, mica_dtype *dtype, mica_shape *shape,
                                                        void **data);

MICA_END_DECLS

#endif
