/* mica/onnx.h: read, inspect, run and write ONNX models.
 *
 *   mica_onnx *model;
 *   mica_onnx_runner *runner;
 *   mica_onnx_open("model.onnx", &model);
 *   mica_onnx_runner_create(engine, model, NULL, &runner);
 *   mica_onnx_run(runner, queue, &(mica_onnx_feed){.name = "x", .tensor = x}, 1);
 *   mica_tensor_download(queue, mica_onnx_output(runner, 0), y, bytes);
 *
 * Terms:
 *
 *   lowered   At the first run with new input shapes, the model is converted to a graph (mica/graph.h) in which all
 *             shapes are known, and the graph is compiled. Later runs with these shapes reuse it.
 *   bound     A shape, axis or length depends on the elements of a small input. The input is bound then: the lowering
 *             holds for these elements only, and other elements need another lowering.
 *   cut       A shape depends on computed data. The model is cut there: the host waits for the value and continues with
 *             a graph made for it. Data-dependent branches, and loops that are not unrolled, are functions that the
 *             host calls; each is made once per set of shapes.
 *
 * Supported are operator sets from 1 to the current one; mica_onnx_operator_at tells which operators of a model are
 * supported. Functions are inlined. Files are never trusted: a faulty file gives a status and a message. A build
 * without protobuf-c cannot open models (MICA_E_UNSUPPORTED).
 *
 * Threads: an open model does not change. Several threads may inspect it and have runners of it. Use a runner from one
 * thread at a time. */
#ifndef MICA_ONNX_H
#define MICA_ONNX_H

#include <mica/session.h>

MICA_BEGIN_DECLS

/* --- models --- */

typedef struct mica_onnx mica_onnx;

/* Reads and checks a model of less than 2 GiB, not counting external data. Files with external data are mapped, and
 * must not be truncated while the model is open. They must be regular files in the model's folder or below it, without
 * further hard links; symbolic links must stay inside the folder. MICA_E_FORMAT: the model is faulty; the message says
 * what and where, or names tensor, file and reason for external data. MICA_E_NOT_FOUND: a file is missing. */
MICA_API MICA_CHECKED mica_status mica_onnx_open(const char *path, mica_onnx **model);
/* Reads a model of less than 2 GiB from memory. The bytes are copied. Error messages use `name`. External data are not
 * possible. */
MICA_API MICA_CHECKED mica_status mica_onnx_open_memory(const char *name, const void *data, size_t bytes,
                                                        mica_onnx **model);
/* Closes a model. Destroy its runners first. NULL is a no-op. */
MICA_API void mica_onnx_close(mica_onnx *model);

typedef enum mica_onnx_kind {
  MICA_ONNX_KIND_TENSOR,
  MICA_ONNX_KIND_SEQUENCE,
  MICA_ONNX_KIND_OPTIONAL,
  MICA_ONNX_KIND_OTHER /* a map, or an undeclared type */
} mica_onnx_kind;

/* An input or output, as declared in the file. */
typedef struct mica_onnx_port {
  const char *name;
  mica_onnx_kind kind;
  bool has_dtype; /* dtype is valid; false for texts and types that Mica lacks */
  mica_dtype dtype;
  const char *type;                    /* type as named in the file: "float", "int64", "string" */
  bool has_shape;                      /* shape is valid: the file gives the rank, and Mica supports it */
  mica_shape shape;                    /* MICA_DYNAMIC for dynamic dimensions */
  const char *dim_name[MICA_MAX_RANK]; /* names of dynamic dimensions, such as "batch"; else "" */
  const char *doc;                     /* documentation by the file's author; may be "" */
} mica_onnx_port;

/* Inputs without an initial value in the file, and outputs, in the file's order. All fields are 0 if index is too
 * large. */
MICA_API size_t mica_onnx_input_count(const mica_onnx *model);
MICA_API mica_onnx_port mica_onnx_input(const mica_onnx *model, size_t index);
MICA_API size_t mica_onnx_output_count(const mica_onnx *model);
MICA_API mica_onnx_port mica_onnx_output_port(const mica_onnx *model, size_t index);

/* True if the output holds texts, such as class labels. It is given as a tensor of i64 indices into a list. */
MICA_API bool mica_onnx_is_text(const mica_onnx *model, size_t output);
/* For an output of texts (mica_onnx_is_text), returns the length of its list. For an output with one column per class
 * (probabilities, a map from classes to numbers, or the "shares" of a model that mica export wrote) it returns the
 * number of columns. Otherwise it returns 0. */
MICA_API size_t mica_onnx_class_count(const mica_onnx *model, size_t output);
/* Writes the name of class `index` into text[size]; the name may be an integer. A long name is cut. False if index is
 * too large. */
MICA_API bool mica_onnx_class_name(const mica_onnx *model, size_t output, size_t index, char *text, size_t size);

/* An operator that the model uses. The domain of standard operators is "". `count` nodes use it, including nodes of
 * bodies and functions. */
typedef struct mica_onnx_operator {
  const char *domain, *name;
  int64_t version;
  size_t count;
  bool supported;
} mica_onnx_operator;
MICA_API size_t mica_onnx_operator_count(const mica_onnx *model);
MICA_API mica_onnx_operator mica_onnx_operator_at(const mica_onnx *model, size_t index);

typedef struct mica_onnx_info {
  const char *producer, *producer_version; /* "" if not given */
  int64_t ir_version, opset;               /* opset: version of the standard operators */
  size_t nodes, depth;                     /* nodes in the main graph, and on its longest path */
  size_t weights;                          /* initial values, and float attributes of ai.onnx.ml */
  uint64_t weight_elements, weight_bytes;
  size_t functions;
} mica_onnx_info;
/* Facts from the file's header. Texts are valid as long as the model. */
MICA_API mica_onnx_info mica_onnx_describe(const mica_onnx *model);

/* Metadata text with this key; NULL if the model has no such key. The model owns it. */
MICA_API const char *mica_onnx_metadata(const mica_onnx *model, const char *key);

typedef struct mica_onnx_text {
  const char *key, *value;
} mica_onnx_text;
/* Metadata number `index`, in the file's order; NULLs after the last one. The model owns the texts. */
MICA_API mica_onnx_text mica_onnx_metadata_at(const mica_onnx *model, size_t index);

/* --- custom operators --- */

/* A node that is being lowered. Valid during the callback. */
typedef struct mica_onnx_call mica_onnx_call;

/* Graph to build into, and the number of the node's operands. */
MICA_API mica_graph *mica_onnx_call_graph(mica_onnx_call *call);
MICA_API size_t mica_onnx_call_operand_count(const mica_onnx_call *call);
/* An operand; null if it is absent. */
MICA_API mica_value mica_onnx_call_operand(mica_onnx_call *call, size_t index);
/* Gets the elements of an integer operand, valid during the callback; *count is 0 if the operand is absent. Returns
 * false if the elements are not known yet. In that case, return MICA_OK from the callback; it is called again when they
 * are known. */
MICA_API bool mica_onnx_call_integers(mica_onnx_call *call, size_t index, const int64_t **values, size_t *count);
/* Attributes of the node. Returns `standard`, or no integers, if the node lacks the attribute. */
MICA_API int64_t mica_onnx_call_integer(const mica_onnx_call *call, const char *name, int64_t standard);
MICA_API double mica_onnx_call_real(const mica_onnx_call *call, const char *name, double standard);
MICA_API size_t mica_onnx_call_list(const mica_onnx_call *call, const char *name, const int64_t **values);
/* True if the attribute equals this text. */
MICA_API bool mica_onnx_call_is(const mica_onnx_call *call, const char *name, const char *text);
MICA_API void mica_onnx_call_result(mica_onnx_call *call, size_t index, mica_value value);
/* Records "model.onnx: node 'name' (Op): " and the sentence as error message. Returns the status. */
MICA_API MICA_CHECKED mica_status mica_onnx_call_fail(mica_onnx_call *call, mica_status status, const char *sentence);

/* Callback that builds an operator's results from its operands, with mica/nodes.h. */
typedef mica_status mica_onnx_define_fn(void *user, mica_onnx_call *call);
/* Defines an operator for this model; it takes precedence over Mica's own. Call it before creating a runner. Graph
 * attributes of the node are not available. MICA_E_NOT_FOUND: the model has no such node. */
MICA_API MICA_CHECKED mica_status mica_onnx_define(mica_onnx *model, const char *domain, const char *op,
                                                   mica_onnx_define_fn *define, void *user);

/* --- running --- */

typedef struct mica_onnx_runner mica_onnx_runner;

typedef struct mica_onnx_runner_config {
  /* Maximum number of lowerings to keep, one per set of input shapes and bound elements; the least recently used one is
   * dropped. If a model is cut, each of its parts is a lowering. Lowerings of loop bodies and branches are counted
   * separately, with the same limit. 0: 64. */
  uint32_t most_lowerings;
  /* Maximum device bytes that the plans of these lowerings hold, not counting weights. The plans of the last run always
   * stay. 0: half of the device's memory. */
  uint64_t most_bytes;
  /* Loops with a known number of trips are unrolled up to this number of nodes. 0: 2000. */
  uint32_t most_unrolled;
  bool no_fusion, no_simplify; /* see mica_session_config */
  mica_dtype dtype;            /* f16 or bf16 for inference in 16 bits; see mica_session_config */
  /* Seed of the operators that draw at random (RandomNormalLike, Multinomial and their family) and have no seed of
   * their own. Runs of one runner differ; the n-th runs of two runners with equal seeds and feeds agree. */
  uint64_t seed;
} mica_onnx_runner_config;

/* Prepares a model to run on an engine. The first run that needs a weight uploads it, once for all shapes. config may
 * be NULL. MICA_E_UNSUPPORTED: operators are missing; the message names all of them. mica_onnx_runner_destroy: NULL is
 * a no-op. */
MICA_API MICA_CHECKED mica_status mica_onnx_runner_create(mica_engine *engine, mica_onnx *model,
                                                          const mica_onnx_runner_config *config,
                                                          mica_onnx_runner **runner);
MICA_API void mica_onnx_runner_destroy(mica_onnx_runner *runner);
MICA_API const mica_onnx *mica_onnx_runner_model(const mica_onnx_runner *runner);

/* Value for an input: a tensor of the runner's engine, or host elements in C order. Host elements are read during the
 * call and uploaded. If a bound input is given as a tensor, it must be downloaded. */
typedef struct mica_onnx_feed {
  const char *name;
  const mica_tensor *tensor; /* contiguous; NULL: use the fields below */
  mica_dtype dtype;
  mica_shape shape;
  const void *data;
} mica_onnx_feed;

/* Queues one run. Feed all inputs; optional ones may be omitted. New shapes are lowered and compiled first. Returns
 * without waiting, unless a bound input is given as a tensor or the model is cut (mica_onnx_cut_at). Messages name the
 * node at fault with its operator and operands.
 *
 * Indices of Gather, GatherElements, GatherND, ScatterElements and ScatterND are checked only if they come from a
 * constant of the main graph, or directly from an input with host elements: an index that is out of range is
 * MICA_E_INVALID. Checking others would make every run wait for the device. With such an index that is out of range, a
 * gather gives 0 and a scatter writes nothing. */
MICA_API MICA_CHECKED mica_status mica_onnx_run(mica_onnx_runner *runner, mica_queue *queue,
                                                const mica_onnx_feed *feeds, size_t feed_count);
/* Output number `index` of the last run, valid until the next run. The runner owns it. NULL before the first run, from
 * mica_onnx_bind_output of this output to the next run, and if index is too large. */
MICA_API const mica_tensor *mica_onnx_output(const mica_onnx_runner *runner, size_t index);
/* True if the last run bound this input: the compiled graph holds for its elements, not only its shape. */
MICA_API bool mica_onnx_is_bound(const mica_onnx_runner *runner, const char *input);
/* Number of lowerings that the runner keeps, without branches and loop bodies. */
MICA_API size_t mica_onnx_lowering_count(const mica_onnx_runner *runner);
/* Makes later runs write an output directly into this tensor, without a copy. The tensor must be contiguous, of the
 * runner's engine (else MICA_E_INVALID), and must have the output's dtype and shape in each run (else MICA_E_DTYPE,
 * MICA_E_SHAPE). It must not overlap a feed. The runner keeps its memory alive until another tensor, or NULL, is bound;
 * the handle may be destroyed. MICA_E_INVALID also: there is no such output. */
MICA_API MICA_CHECKED mica_status mica_onnx_bind_output(mica_onnx_runner *runner, size_t index, mica_tensor *tensor);

/* Place where runs wait for data: the node, its operator, and the item that depends on data. */
typedef struct mica_onnx_cut {
  const char *node, *op, *why;
} mica_onnx_cut;
/* Cuts that runs have met so far. All fields are 0 if index is too large. */
MICA_API size_t mica_onnx_cut_count(const mica_onnx_runner *runner);
MICA_API mica_onnx_cut mica_onnx_cut_at(const mica_onnx_runner *runner, size_t index);

typedef struct mica_onnx_report {
  size_t stages;            /* parts of the last run: 1 plus its cuts, without bodies */
  size_t lowerings;         /* parts that the runner keeps, including branches and loop bodies */
  size_t lowered;           /* parts made so far */
  size_t launches;          /* in the last run's parts */
  double flops;             /* operations of these launches, as far as kernels state them */
  uint64_t planned_bytes;   /* size of the largest arena of the last run's parts */
  uint64_t parameter_bytes; /* weights on the device */
  uint64_t plan_bytes;      /* held by the plans of all parts */
} mica_onnx_report;
/* Describes the last run. MICA_E_STATE: no run has finished (mica_onnx_run). */
MICA_API MICA_CHECKED mica_status mica_onnx_runner_describe(const mica_onnx_runner *runner, mica_onnx_report *report);

/* Runs the model on input_0.pb, input_1.pb, ... of a folder, in the order of its inputs, and compares the outputs with
 * output_0.pb, ... They must have equal dtypes and shapes, and |y - want| <= absolute + relative |want|. An output
 * without a file is not compared.
 *
 * relative and absolute 0: the tolerances of the conformance tests, 1e-3 and 1e-7. With u the dtype's unit roundoff,
 * bf16 uses 2 u instead, because rounding at other steps changes the last place. If the model is more than one
 * operator deep, 2 u sqrt(depth) max |want| is added for the accumulation of rounding errors (a random walk).
 *
 * MICA_E_NUMERIC: values differ; the message gives the output, the first wrong element and the number of wrong ones.
 * MICA_E_SHAPE, MICA_E_DTYPE: the message has both shapes or dtypes. MICA_E_NOT_FOUND: there is no output file. */
MICA_API MICA_CHECKED mica_status mica_onnx_check(mica_onnx_runner *runner, mica_queue *queue, const char *folder,
                                                  double relative, double absolute);

/* --- models in graphs --- */

/* A weight that became a parameter of the graph, with its names in graph and file. It is an initial value, or the
 * tensor of a Constant node of the main graph. */
typedef struct mica_onnx_parameter {
  char name[96];
  const char *file_name;
  mica_value value;
} mica_onnx_parameter;

typedef struct mica_onnx_build_config {
  /* Creates the parameter of a weight; NULL: mica_parameter. Weights are initial values of the main graph with more
   * than 32 elements of a float type, or more than 65536 elements of another type, unless shapes depend on them.
   * Tensors of Constant nodes count as initial values. Other initial values become constants, as does everything inside
   * functions and bodies. */
  mica_value (*parameter)(void *user, mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
  void *user;
  /* Name of a value that becomes the only output; later nodes are omitted. NULL: the model's outputs. */
  const char *stop_at;
  /* Initial values of at most 32 elements are weights too, except scalars and values that shapes depend on. Needed to
   * train biases of few classes. */
  bool small_weights;
  /* Converts f16 and bf16 values to f32, including inputs. Needed to train models of f16. */
  bool widen;
} mica_onnx_build_config;

/* Builds a model into a graph. inputs has one value per input of the model, constants if shapes are computed from them.
 * A loss and mica_gradients may follow. outputs has room for all outputs, or for one with stop_at. *parameters receives
 * the weights; the caller frees it with mica_free. config may be NULL.
 *
 * Dimensions may be dynamic if the model is the same for every extent. To check this, it is also lowered for one fixed
 * extent; a difference is MICA_E_UNSUPPORTED. config->parameter must then add exactly one node per weight. Loops are
 * unrolled, and conditions of branches must be known. MICA_E_UNSUPPORTED: something depends on data; the message names
 * node and value. */
MICA_API MICA_CHECKED mica_status mica_onnx_build(const mica_onnx *model, mica_graph *graph, const mica_value *inputs,
                                                  size_t input_count, mica_value *outputs, size_t output_count,
                                                  const mica_onnx_build_config *config,
                                                  mica_onnx_parameter **parameters, size_t *parameter_count);
/* Name of result number `index` of the main graph's nodes, in order, for stop_at. NULL after the last one. */
MICA_API const char *mica_onnx_value_at(const mica_onnx *model, size_t index);
/* Uploads a weight's elements from the file. The tensor must have its dtype and shape (else MICA_E_DTYPE,
 * MICA_E_SHAPE); an f32 tensor also accepts f16 and bf16. MICA_E_NOT_FOUND: the main graph has no weight of this name.
 */
MICA_API MICA_CHECKED mica_status mica_onnx_load(const mica_onnx *model, mica_queue *queue, const char *file_name,
                                                 mica_tensor *tensor);

/* Copies initial value number `index` of the main graph. The caller frees *data with mica_free; the model owns *name.
 * After the last value, the call succeeds and *name is NULL. It fails if Mica lacks the value's type, or if its data
 * are faulty. */
MICA_API MICA_CHECKED mica_status mica_onnx_initial_read(const mica_onnx *model, size_t index, const char **name,
                                                         mica_dtype *dtype, mica_shape *shape, void **data);

/* --- writing --- */

typedef struct mica_onnx_write_config {
  /* Standard operator set, 17 to 23; 0: 17. Operators that are newer than this (Gelu 20, GroupNormalization 21,
   * RMSNormalization 23) are written as several nodes. Bitwise operators and scatters with MAX and MIN need set 18. */
  int64_t opset;
  /* Session that holds the graph's parameters, by name; may belong to another graph. NULL: the graph has no parameters.
   */
  mica_session *session;
  const char *const *output_names; /* one per output; NULL: names of the values, else new names */
  const char *input_prefix;        /* prefix to remove from names of inputs; NULL: none */
  const char *name;                /* name of the model's graph; NULL: "mica" */
  const mica_onnx_text *metadata;  /* metadata; see mica_onnx_metadata */
  size_t metadata_count;
  /* Doc strings of inputs and outputs, by name in the file. The doc string of the graph lists them as lines "NAME:
   * TEXT". Unknown names are ignored. */
  const mica_onnx_text *docs;
  size_t doc_count;
  /* If all weights need more bytes than this, weights of at least 1 KiB are stored in PATH.data beside the file; 0:
   * 1 GiB. If a model already exists at PATH, its weights may be in that file; the first unused name of PATH.data,
   * PATH.2.data to PATH.9.data is taken then. */
  uint64_t external_bytes;
} mica_onnx_write_config;

/* Writes the graph that computes these outputs as an ONNX model. The file is replaced atomically: at any moment there
 * is the old or the new model with its weights. (A file of weights is written first. After the model, files with
 * another of its names are removed.) config may be NULL. Blocks.
 *
 * Inputs and parameters keep their names, and so do other named values (mica_named). A dynamic dimension is named "N"
 * if it is the first one of an input or output, and "NAME_axis" if it is another one of an input. An output must not
 * itself be an input or parameter. Norms, means, dense layers, convolutions with a bias, quantisation and other
 * compositions that builders mark become one operator each. Weights of recurrent layers are reordered to ONNX's
 * convention.
 *
 * MICA_E_UNSUPPORTED: a value has no ONNX form; the message names value and op, and nothing is written. MICA_E_INVALID:
 * the operator set cannot be written, a name occurs twice, there are no outputs, or an output is listed twice or is an
 * input or parameter. MICA_E_OVERFLOW: the file itself would have 2 GiB or more. MICA_E_IO: all names for the file of
 * weights are taken. */
MICA_API MICA_CHECKED mica_status mica_onnx_write(const char *path, const mica_value *outputs, size_t count,
                                                  const mica_onnx_write_config *config);

/* --- tensors in ONNX files --- */

/* Reads a file with one TensorProto (.pb), as conformance tests use. *data is aligned for any type. The caller frees
 * *data with mica_free. */
MICA_API MICA_CHECKED mica_status mica_onnx_tensor_read(const char *path, mica_dtype *dtype, mica_shape *shape,
                                                        void **data);

MICA_END_DECLS

#endif
