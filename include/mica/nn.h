/* mica/nn.h: networks: layers with named parameters, built on graphs.
 *
 * A mica_nn is a network under construction in a graph. A layer is a function of the network, a name and a value:
 *
 *   mica_value h = mica_relu(mica_nn_dense(nn, "fc1", mica_flatten(x, 1), 128, NULL));
 *   mica_value z = mica_nn_dense(nn, "fc2", h, 10, NULL);
 *
 * The layer "fc1" in the scope "head" has the parameters "head.fc1.weight" and "head.fc1.bias". Names and layouts are
 * those that PyTorch's modules use, so files of weights can be exchanged. For training and inference, one function of
 * yours builds two graphs with two networks. Their parameters have equal names, and mica_nn_share makes their sessions
 * use the same memory.
 *
 * Layers are sticky like all builders: errors are recorded in the graph, and null values pass through.
 *
 * Threads: use a network and its graph from one thread at a time. */
#ifndef MICA_NN_H
#define MICA_NN_H

#include <mica/blocks.h>
#include <mica/session.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

typedef struct mica_nn mica_nn;
struct mica_safetensors;
struct mica_communicator;

/* name, text. Points at which a layer passes a value to the network's hook:
 *
 *   INPUT    of dense layers and convolutions: the operand of the weight, in the network's dtype
 *   WEIGHT   of dense layers and convolutions: the weight before its use, in the network's dtype; of embeddings: the
 *            table, in the network's dtype if mica_nn_config.hold set blocks, else in the dtype that it is held in
 *   RESULT   of dense layers, convolutions, embeddings and norms: the result, with bias, before an activation */
#define MICA_NN_POINT_LIST(X)                                                                                          \
  X(INPUT, "input")                                                                                                    \
  X(WEIGHT, "weight")                                                                                                  \
  X(RESULT, "result")

typedef enum mica_nn_point {
#define MICA_NN_POINT_ENUM(name, text) MICA_NN_POINT_##name,
  MICA_NN_POINT_LIST(MICA_NN_POINT_ENUM)
#undef MICA_NN_POINT_ENUM
} mica_nn_point;

/* "input", "weight", "result"; "?" for any other value. */
MICA_API const char *mica_nn_point_name(mica_nn_point point);

/* A hook returns the value that the layer uses: `value`, or another one of its shape and dtype. `layer` is the layer's
 * name with its scopes ("head.fc1") without name_prefix, valid during the call. The layer's scope is open, so
 * mica_nn_state_of(nn, "scale", ...) makes "head.fc1.scale". The hook records errors in the graph. Quantisation,
 * pruning, distillation and low-rank adapters are hooks. */
typedef mica_value mica_nn_hook(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value);

/* Form of a weight in memory. All zeros: f32, trained. If block is MICA_BLOCK_NONE, the weight has dtype f32, f16 or
 * bf16. Otherwise it has blocks along the last axis, and dtype is ignored. A weight that is not f32 is frozen; kernels
 * convert it as they read it, and sessions keep no converted copy. Experimental. */
typedef struct mica_nn_held {
  mica_dtype dtype;
  mica_block block;
  bool frozen;
} mica_nn_held;

/* Sets the form of a weight; `name` is without name_prefix. If it returns false, the form is all zeros: f32,
 * trained. */
typedef bool mica_nn_hold_fn(void *user, const char *name, mica_shape shape, mica_nn_held *held);

typedef struct mica_nn_config {
  bool training; /* dropout is active; batch norms use the batch's statistics and update the running ones */
  /* type that layers compute in: f32, f16 or bf16. Parameters, norms and the sums of transformer and conformer blocks
   * stay f32 (mixed precision) */
  mica_dtype dtype;
  bool allow_tf32;    /* f32 only: mica_conv_config.allow_tf32 of every convolution */
  uint64_t seed;      /* seed of initial values and dropout */
  mica_nn_hook *hook; /* called by each layer at its points, in the order in which layers are built; may be NULL */
  void *hook_user;
  /* Prefix of all parameter names in graph and sessions ("teacher."), to put two networks into one graph. Files,
   * initial values and hooks use names without it. Copied. NULL: none. */
  const char *name_prefix;
  /* Called when a weight of rank 2 or more is made, which dense layers, embeddings and convolutions have. Weights of
   * rank 1 are f32. NULL: all weights are f32 and trained. Errors recorded in the graph: MICA_E_DTYPE: the dtype is not
   * f32, f16 or bf16. MICA_E_INVALID: there is no such type of blocks. MICA_E_SHAPE: a row is not a whole number of
   * blocks. MICA_E_UNSUPPORTED: blocks together with tensor_ranks. */
  mica_nn_hold_fn *hold;
  void *hold_user;
  /* File of weights whose shapes determine the widths of layers, instead of the arguments of the functions. With it,
   * the function that builds the original network also builds its pruned form. NULL: none.
   *
   * The dimensions of a layer's weight in the file give the units of a dense layer, the filters of a convolution
   * (transposed: the second dimension), both sizes of an embedding, and the channels per group of a grouped
   * convolution; the number of groups follows from x. Attention gets the number of heads that the columns allow at the
   * requested head size. The number of units of a recurrent layer is weight_hh's number of columns. Layers that the
   * file lacks keep their arguments.
   *
   * Weights may be integers of mica_quantize_weights. Nothing is loaded. The file must stay open while layers are
   * built. */
  const struct mica_safetensors *like;
  /* For a part of a larger network that is built as several networks: the number of dropouts in the parts before this
   * one (mica_nn_draws). This part then draws the same random numbers as it would in one large network. */
  uint64_t draws;
  /* Batch norms of a training network use the samples of all these ranks (mica_batch_norm_ranks), on channels from
   * MICA_CHANNELS / 8 on. Must outlive the graph. NULL: own samples only. */
  struct mica_communicator *norm_ranks;
  /* Ranks whose samples together form the batch, for losses that are not a mean over samples (mica_dice_config.ranks).
   * See mica_nn_loss_ranks. Must outlive the graph. NULL: own samples only. */
  struct mica_communicator *loss_ranks;
  /* Tensor parallelism (Shoeybi et al. 2019): ranks with the same samples, each with a part of some layers: attention,
   * transformer blocks (the basis of all networks of sequences) and the mlp. One layer is divided by columns, the next
   * by rows, and a sum over ranks follows, on channels from 0 on. Other layers are not divided: all ranks have them.
   *
   * Parameters of divided layers are the rank's parts. Their initial values are the same as in an undivided network,
   * and mica_nn_load reads the parts from a file of undivided tensors. Dropout inside a part differs by rank. The
   * communicator must outlive the graph. MICA_E_UNSUPPORTED: combined with `like` or a hook. The graph fails with
   * MICA_E_INVALID if heads, their groups or units cannot be divided by the number of ranks. NULL: no layer is
   * divided. */
  struct mica_communicator *tensor_ranks;
} mica_nn_config;

/* Creates a network without layers in a graph, which must outlive it. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_nn_create(mica_graph *graph, const mica_nn_config *config, mica_nn **nn);
/* Destroys a network; its graph stays. NULL is a no-op. */
MICA_API void mica_nn_destroy(mica_nn *nn);

/* Return the graph of the network, and mica_nn_config.training. */
MICA_API mica_graph *mica_nn_graph(const mica_nn *nn);
MICA_API bool mica_nn_is_training(const mica_nn *nn);
/* Returns mica_nn_config.loss_ranks. */
MICA_API struct mica_communicator *mica_nn_loss_ranks(const mica_nn *nn);
/* Number of dropouts so far in a training network, including attention, plus the config's draws. */
MICA_API uint64_t mica_nn_draws(const mica_nn *nn);

/* --- initial values --- */

/* name, text. fan_in is the number of inputs that an output sums, fan_out the number of outputs that use an input: C R
 * S and K R S for a weight (K, C, R, S). g is the gain (default 1).
 *
 *   default            as stated at the layer
 *   constant           value
 *   uniform            uniform in [-b, b)
 *   normal             N(0, deviation)
 *   truncated_normal   N(0, deviation), drawn again beyond two deviations
 *   kaiming_...        deviation g / sqrt(fan) (He et al. 2015, with g = sqrt(2))
 *   xavier_...         deviation g sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)
 *   orthogonal         the rows or columns of the matrix (dim[0], rest), whichever are fewer, are orthogonal with
 *                      length g (Saxe et al. 2013) */
#define MICA_INIT_LIST(X)                                                                                              \
  X(DEFAULT, "default")                                                                                                \
  X(CONSTANT, "constant")                                                                                              \
  X(UNIFORM, "uniform")                                                                                                \
  X(NORMAL, "normal")                                                                                                  \
  X(TRUNCATED_NORMAL, "truncated_normal")                                                                              \
  X(KAIMING_UNIFORM, "kaiming_uniform")                                                                                \
  X(KAIMING_NORMAL, "kaiming_normal")                                                                                  \
  X(XAVIER_UNIFORM, "xavier_uniform")                                                                                  \
  X(XAVIER_NORMAL, "xavier_normal")                                                                                    \
  X(ORTHOGONAL, "orthogonal")

typedef enum mica_init {
#define MICA_INIT_ENUM(name, text) MICA_INIT_##name,
  MICA_INIT_LIST(MICA_INIT_ENUM)
#undef MICA_INIT_ENUM
} mica_init;

/* "kaiming_normal", ...; "?" for any other value. */
MICA_API const char *mica_init_name(mica_init kind);

typedef struct mica_init_config {
  mica_init kind;
  /* CONSTANT: the value. UNIFORM: b. NORMAL, TRUNCATED_NORMAL: the deviation. For these, 0 means 0. Others: g; 0: 1. */
  double value;
  bool fan_out;   /* KAIMING: use fan_out instead of fan_in */
  int64_t fan_in; /* fan_in to use; 0: from the shape */
} mica_init_config;

/* --- parameters --- */

/* Adds "name." to the names of everything made between push and pop. Scopes nest. */
MICA_API void mica_nn_push(mica_nn *nn, const char *name);
MICA_API void mica_nn_pop(mica_nn *nn);

/* Makes a trained parameter, f32, and returns it cast to the network's dtype. mica_nn_config.hold may give it another
 * form. Weight decay applies if its rank is at least 2. init NULL: zeros. */
MICA_API mica_value mica_nn_parameter(mica_nn *nn, const char *name, mica_shape shape, const mica_init_config *init);
/* Makes state: f32, not trained, but saved with the network, such as running statistics. It starts as `value`;
 * mica_assign changes it. */
MICA_API mica_value mica_nn_state(mica_nn *nn, const char *name, mica_shape shape, double value);
/* mica_nn_state with any dtype; `value` is rounded as in mica_full. */
MICA_API mica_value mica_nn_state_of(mica_nn *nn, const char *name, mica_dtype dtype, mica_shape shape, double value);
/* Returns an existing weight for a further use (tied weights). `name` includes all scopes ("embed.weight") but not
 * name_prefix. The value has the network's dtype, as from mica_nn_parameter, after the layer's hook. If the name is
 * unknown, it records an error in the graph and returns the null value. */
MICA_API mica_value mica_nn_weight_of(mica_nn *nn, const char *name);

/* WEIGHT: trained. STATE: made by mica_nn_state or mica_nn_state_of. OPTIMIZER: made by mica_optimize or mica_nn_step;
 * saved with a training run, but not a part of the network. */
typedef enum mica_nn_role { MICA_NN_ROLE_WEIGHT, MICA_NN_ROLE_STATE, MICA_NN_ROLE_OPTIMIZER } mica_nn_role;

typedef struct mica_nn_parameter_info {
  const char *name; /* name with scopes in graph and sessions; valid as long as the network */
  mica_value value; /* parameter of the graph */
  mica_init_config init;
  mica_nn_role role;
  bool frozen;          /* weight that is not trained */
  bool decay;           /* weight decay applies */
  const char *own_name; /* name without name_prefix, as used by files and patterns */
  int32_t uses;         /* number of uses through mica_nn_weight_of */
  mica_nn_held held;    /* form in memory, as mica_nn_config.hold set it */
} mica_nn_parameter_info;

/* Number of parameters so far. */
MICA_API size_t mica_nn_parameter_count(const mica_nn *nn);
/* Parameter number `index`, in order of creation; NULL if index is too large. Valid until the next parameter is made.
 */
MICA_API const mica_nn_parameter_info *mica_nn_parameter_at(const mica_nn *nn, size_t index);
/* Number of elements of all weights; with `trained`, only of weights that are not frozen. */
MICA_API int64_t mica_nn_element_count(const mica_nn *nn, bool trained);

/* Freezes or thaws existing weights whose names (without name_prefix) match the pattern: * is any text, ? any
 * character, as in "features.*". Weights that are held in another form than f32 stay frozen. *count (may be NULL)
 * receives the number of matches. Call it before mica_optimize. */
MICA_API MICA_CHECKED mica_status mica_nn_freeze(mica_nn *nn, const char *pattern, bool frozen, size_t *count);
/* Sets whether weight decay applies to the weights that match; pattern and *count are as in mica_nn_freeze. */
MICA_API MICA_CHECKED mica_status mica_nn_set_decay(mica_nn *nn, const char *pattern, bool decay, size_t *count);

/* Uploads initial values into a session made from the network's graph. Uses the engine's queue and blocks until they
 * are there, whatever queue the session runs on. Values only depend on the seed and on the parameter's name (without
 * name_prefix), shape and initial distribution. Weights in blocks become 0. Weights in read-only memory, such as a
 * mapped file (mica_nn_bind), are left alone. MICA_E_SHAPE: the session belongs to another network. */
MICA_API MICA_CHECKED mica_status mica_nn_initialise(const mica_nn *nn, mica_session *session);
/* Makes `session`, made from this network's graph, use the tensors of `owner` for all of the network's parameters that
 * it has. owner must outlive session. MICA_E_NOT_FOUND: owner lacks one of these parameters; the message names it. */
MICA_API MICA_CHECKED mica_status mica_nn_share(const mica_nn *nn, mica_session *session, mica_session *owner);

/* Number of training steps so far, i64: the parameter "step" of the graph. mica_optimize makes it count. Its name has
 * name_prefix, but no scope. */
MICA_API mica_value mica_nn_step(mica_nn *nn);

/* --- files --- */

/* Save writes weights and state from a session of the network's graph into a safetensors file, by name, without the
 * optimiser's state; metadata as in mica_safetensors_write. Load reads them. Both block.
 *
 * load: *missing receives the number of parameters that the file lacks; they keep their values. missing NULL: a missing
 * parameter is MICA_E_FORMAT. Tensors with other names are ignored, so checkpoints of trainers can be read. f16 and
 * bf16 become f32. MICA_E_FORMAT: any other shape or dtype differs; nothing is loaded then. */
struct mica_safetensors_pair;
MICA_API MICA_CHECKED mica_status mica_nn_save(const mica_nn *nn, mica_session *session, const char *path,
                                               const struct mica_safetensors_pair *metadata, size_t metadata_count);
MICA_API MICA_CHECKED mica_status mica_nn_load(const mica_nn *nn, mica_session *session, const char *path,
                                               size_t *missing);
/* mica_nn_load without `missing`; reads the moving average of each weight if the file has one (mica_nn_share_ema). From
 * a trainer's checkpoint this gives the weights that the trainer tests. */
MICA_API MICA_CHECKED mica_status mica_nn_load_ema(const mica_nn *nn, mica_session *session, const char *path);

/* --- weights of published models --- */

/* Assigns a tensor of a source to a parameter. All zeros: a tensor of the parameter's shape, unchanged. */
typedef struct mica_name_row {
  /* Name of the parameter, without name_prefix. '#' is a number: "layers.#.norm1.weight". NULL: tensors named by
   * `source` are not needed, such as buffers of attention masks. */
  const char *own;
  /* Name of the tensor, or several separated by '|' in order of preference: "lm_head.weight|model.embed_tokens.weight".
   * '#' is the number of the '#' of `own` in the same position (any number if own is NULL). */
  const char *source;
  /* The tensor is a matrix (columns, rows), or several along a first axis; its last two axes are swapped first. */
  bool transposed;
  bool reshaped; /* the tensor may have another shape with the same number of elements, in the same order */
  /* The parameter is rows first, first + 1, ... of a tensor with `of` rows (its first axis, after swapping). The other
   * dimensions must agree. of 0: all rows. */
  int64_t first, of;
  /* Number of tensors that the source names, with '@' for 0, 1, ..: each is one index of the parameter's first axis,
   * such as one expert. Other fields must be zero. 0: one tensor. */
  int64_t stacked;
  /* The parameter, of rank 2 or 3, is indices phase, phase + every, ... of the tensor's second axis (after swapping),
   * such as interleaved rows of gate and up. every 0: all indices. Not with `first`, `of` and `stacked`. */
  int64_t every, phase;
  /* Name of a second tensor, spelled like `source`. Together they are MXFP4 as in safetensors files: the source is U8
   * (.., columns / 32, 16), whose byte b has elements 2 b and 2 b + 1 of a block; this one is U8 (.., columns / 32),
   * exponents of two plus 127. NULL: the source has its elements. Apart from `own` and `source`, only `every` and
   * `phase` may then be set too. */
  const char *scales;
  double add; /* added to each element, such as 1 for Gemma's norms, which multiply by 1 + weight */
} mica_name_row;

typedef struct mica_name_map {
  /* A parameter uses the first row whose `own` is its name and whose `source` exists. A parameter without a row uses
   * the tensor of its own name. */
  const mica_name_row *rows;
  size_t count;
  bool complete; /* every tensor of the source must be read, or be named by a row with own NULL */
  bool finite;   /* all numbers read must be finite; false: only in tensors of rank 1 */
} mica_name_map;

struct mica_weights;

/* Reads the parameters of a session made from nn's graph from a source of weights (mica/weights.h), without the
 * optimiser's state. map NULL: equal names. f32, f64, f16, bf16 and blocks can be read into any float type, rounded to
 * nearest even. Weights held in blocks need a source in the same blocks. Parameters of other types need their own type
 * and `add` 0. Blocks until everything is read. Experimental.
 *
 * *missing receives the number of parameters that the source lacks; they keep their values. NULL: a missing parameter
 * is MICA_E_FORMAT. MICA_E_FORMAT also: a shape differs, a type is unreadable, a number is not finite, or a tensor is
 * not used although `complete` is set. Then nothing changes, and the message names file and tensor, and the shapes if
 * they differ. MICA_E_INVALID: a row is invalid. MICA_E_UNSUPPORTED: blocks would have to be transposed, or cut inside
 * a block. */
MICA_API MICA_CHECKED mica_status mica_nn_load_from(const mica_nn *nn, mica_session *session,
                                                    const struct mica_weights *weights, const mica_name_map *map,
                                                    size_t *missing);

/* Tensors of the weights that mica_nn_config.hold gave a form, for mica_session_config.parameters. */
typedef struct mica_bindings mica_bindings;

/* Makes a tensor of each weight that mica_nn_config.hold gave a form or froze. Weights divided by tensor_ranks are left
 * out. On CPUs the tensor uses the memory of the mapped file, if the file has the weight in this form, `map` does not
 * change it, and f32, f16 or bf16 data begin at a multiple of 64 bytes. Otherwise the weight is read into memory once.
 *
 * All sessions of such a network may use the same bindings. mica_nn_load_from then reads only the other parameters. The
 * tensors keep `weights` open. It fails as mica_nn_load_from does; a missing weight is MICA_E_FORMAT. Experimental. */
MICA_API MICA_CHECKED mica_status mica_nn_bind(const mica_nn *nn, mica_engine *engine, struct mica_weights *weights,
                                               const mica_name_map *map, mica_bindings **bindings);
/* Returns names and tensors, which belong to the bindings. *count receives their number. */
MICA_API const mica_binding *mica_bindings_list(const mica_bindings *bindings, size_t *count);
/* Destroys the bindings and their tensors. Sessions that use a tensor keep its memory. NULL is a no-op. */
MICA_API void mica_bindings_destroy(mica_bindings *bindings);

/* --- layers --- */

typedef struct mica_dense_config {
  bool no_bias;
  mica_init_config weight, bias; /* default: Kaiming normal with gain sqrt(2), and zeros */
} mica_dense_config;
/* Dense layer: x W' + b over the last axis. x (..., C), weight W (units, C), bias (units). config may be NULL, here and
 * below. */
MICA_API mica_value mica_nn_dense(mica_nn *nn, const char *name, mica_value x, int64_t units,
                                  const mica_dense_config *config);

typedef struct mica_nn_conv_config {
  int64_t window[3];    /* extents of a filter per spatial axis; 0: `size` */
  mica_conv_config how; /* stride, padding, dilation, groups */
  bool no_bias;
  mica_init_config weight, bias; /* default: as dense */
} mica_nn_conv_config;
/* Convolution of x (N, C, 1 to 3 spatial axes) with `filters` filters of extent `size` on each spatial axis. weight
 * (filters, C / groups, size...), bias (filters). */
MICA_API mica_value mica_nn_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size,
                                 const mica_nn_conv_config *config);
/* Transposed convolution to `channels` channels. weight (C, channels / groups, size...), bias (channels). */
MICA_API mica_value mica_nn_conv_transpose(mica_nn *nn, const char *name, mica_value x, int64_t channels, int64_t size,
                                           const mica_nn_conv_config *config);

typedef struct mica_embedding_config {
  mica_init_config weight; /* default: normal with deviation 1 */
} mica_embedding_config;
/* Embedding: rows of a table, weight (count, width), selected by i32 or i64 indices; the result has one more axis. Rows
 * are gathered from the table, which is f32 or in the form that mica_nn_config.hold set, and then cast to the network's
 * dtype. A step thus only touches the rows that it uses.
 */
MICA_API mica_value mica_nn_embedding(mica_nn *nn, const char *name, mica_value indices, int64_t count, int64_t width,
                                      const mica_embedding_config *config);

/* Dropout. Training: 0 with probability `rate`, else x / (1 - rate). Inference: x. Each call draws its own numbers. */
MICA_API mica_value mica_nn_dropout(mica_nn *nn, mica_value x, double rate);

typedef struct mica_norm_config {
  double epsilon;  /* 0: 1e-5; MICA_ZERO: 0 */
  double momentum; /* batch norm: weight of the batch in running statistics; 0: 0.1; MICA_ZERO: no update */
  bool no_scale, no_bias;
  double scale; /* initial value of scales; 0: 1; MICA_ZERO: 0 */
} mica_norm_config;
/* Layer norm over the last axis. weight and bias (C). */
MICA_API mica_value mica_nn_layer_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config);
/* RMS norm over the last axis. weight (C). */
MICA_API mica_value mica_nn_rms_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config);

/* Batch norm over all axes but 1. weight and bias (C); state running_mean (initially 0) and running_var (initially 1),
 * (C). Training uses the batch's statistics and moves the running ones by `momentum`. The running variance is the
 * unbiased one; with a single value per channel it does not change. Inference uses the running statistics. */
MICA_API mica_value mica_nn_batch_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config);
/* Group norm. weight and bias (C). With groups = C it is instance norm. */
MICA_API mica_value mica_nn_group_norm(mica_nn *nn, const char *name, mica_value x, int64_t groups,
                                       const mica_norm_config *config);

/* --- composition --- */

/* A function that builds a part of a network: it returns the part's result for the operand x. */
typedef mica_value mica_nn_block(mica_nn *nn, mica_value x, const void *config);

/* mica_nn_apply returns block(x), built in the scope `name`. mica_nn_residual returns x + block(x); block must keep the
 * shape. */
MICA_API mica_value mica_nn_apply(mica_nn *nn, const char *name, mica_value x, mica_nn_block *block,
                                  const void *config);
MICA_API mica_value mica_nn_residual(mica_nn *nn, const char *name, mica_value x, mica_nn_block *block,
                                     const void *config);

typedef struct mica_nn_stage {
  mica_nn_block *block;
  const void *config;
} mica_nn_stage;
/* Applies blocks one after another, in the scopes "name.0", "name.1", ... */
MICA_API mica_value mica_nn_sequential(mica_nn *nn, const char *name, mica_value x, const mica_nn_stage *stages,
                                       size_t count);

/* --- inspection --- */

/* Writes a table with one line per layer: name, kind, shape of the result (? if dynamic), parameters (over all
 * tensor_ranks), and forward operations per sample (on this rank); then totals. Dynamic dimensions are counted as 1, so
 * the total of a network that reads sequences is per step (token, frame), and the text says so. The caller frees *text
 * with mica_free. */
MICA_API MICA_CHECKED mica_status mica_nn_summary(const mica_nn *nn, char **text);

MICA_END_DECLS

#endif
