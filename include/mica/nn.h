/* mica/nn.h: networks: layers with named parameters on top of graphs.
 *
 * A mica_nn is a network under construction in a graph. Layers are functions of it, of a name and of a value, and read
 * like the formula:
 *
 *   mica_value h = mica_relu(mica_nn_dense(nn, "fc1", mica_flatten(x, 1), 128, NULL));
 *   mica_value z = mica_nn_dense(nn, "fc2", h, 10, NULL);
 *
 * A layer named "fc1" inside the scope "head" makes the parameters "head.fc1.weight" and "head.fc1.bias", in the names
 * and layouts of PyTorch's modules, so that files of weights may be exchanged. Training and inference are two graphs
 * built by one function of yours, given two networks: their parameters have the same names, and mica_nn_share makes
 * the sessions use the same memory.
 *
 * Layers are sticky as all builders are: errors stand in the graph, and null values pass through.
 *
 * Threads: a network and its graph are used by one thread at a time. */
#ifndef MICA_NN_H
#define MICA_NN_H

#include <mica/session.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

typedef struct mica_nn mica_nn;
struct mica_safetensors;
struct mica_communicator;

/* name, text. The points at which a layer hands a value to the network's hook. INPUT: what dense layers and
 * convolutions multiply by their weight, in the network's dtype. WEIGHT: the weight of these, in the network's
 * dtype, as it is about to be used; the table of an embedding, f32. RESULT: the layer's result, bias included,
 * before any activation; of dense layers, convolutions, embeddings and norms. */
#define MICA_NN_POINT_LIST(X)                                                                                          \
  X(INPUT, "input")                                                                                                    \
  X(WEIGHT, "weight")                                                                                                  \
  X(RESULT, "result")

typedef enum mica_nn_point {
#define MICA_NN_POINT_ENUM(name, text) MICA_NN_POINT_##name,
  MICA_NN_POINT_LIST(MICA_NN_POINT_ENUM)
#undef MICA_NN_POINT_ENUM
} mica_nn_point;

/* "weight"; "?" for a value that is none. */
MICA_API const char *mica_nn_point_name(mica_nn_point point);

/* A hook returns what the layer goes on with: `value`, or another one of its shape and dtype. `layer` is the layer's
 * name with its scopes ("head.fc1") without name_prefix, and valid during the call. The layer's scope is open: what the
 * hook makes by mica_nn_state_of(nn, "scale", ...) is called "head.fc1.scale". The hook reports errors in the graph.
 * Quantisation, pruning, distillation and low-rank adapters are hooks: they need no surgery on a graph. */
typedef mica_value mica_nn_hook(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value);

typedef struct mica_nn_config {
  bool training;      /* dropout drops, batch norms take the batch's statistics and note them for inference */
  mica_dtype dtype;   /* what layers compute in: f32, f16 or bf16. Parameters are f32 all the same (mixed precision), as
                         are norms and the sums of transformers' and conformers' blocks */
  bool allow_tf32;    /* of f32: mica_conv_config.allow_tf32 of every convolution */
  uint64_t seed;      /* of initial values and of dropout */
  mica_nn_hook *hook; /* called by every layer at its points, in the order in which the layers are built; may be NULL */
  void *hook_user;
  /* The names of all parameters in graph and sessions begin with this text ("teacher."), so that two networks may stand
   * in one graph; files, initial values and hooks know them without it. Copied; NULL for none. */
  const char *name_prefix;
  /* A file of weights from which layers take their widths, in place of those that are asked for: where it has the
   * layer's weight, a dense layer has its first dimension as units, a convolution as filters (a transposed one its
   * second), an embedding both. Of a convolution with several groups the channels of a group are the file's as well,
   * and the number of groups follows from x. Attention has as many heads of the size that is asked for as there are
   * columns, and a recurrent layer as many units as weight_hh has columns. So a network that was pruned is built by the
   * function that built the whole one. Weights may be the integers of mica_quantize_weights. Outlives the network's
   * layers; nothing is loaded. NULL for none. */
  const struct mica_safetensors *like;
  /* The dropouts before this network's, where it is a part of a whole one whose other parts are networks of their own
   * (mica_nn_draws): it draws what the whole one would. */
  uint64_t draws;
  /* Batch norms of a training network take the statistics of all ranks' samples (mica_batch_norm_ranks), on channels
   * from MICA_CHANNELS / 8 on. Outlives the graph. NULL: those of its own samples. */
  struct mica_communicator *norm_ranks;
  /* Ranks whose samples together are the batch, for a loss that is no mean of samples (mica_dice_config.ranks); what
   * mica_nn_loss_ranks gives. Outlives the graph. NULL: the network's own samples are the batch. */
  struct mica_communicator *loss_ranks;
  /* Ranks that have the same samples and each a part of the layers (tensor parallelism, Shoeybi et al. 2019): of
   * attention and transformers, which all networks of sequences are made of, and of the mlp. Columns of one layer, rows
   * of the next and a sum over the ranks, on channels from 0 on; other layers all ranks have whole. Parameters are the
   * rank's blocks; their initial values are those of a whole network, and mica_nn_load takes blocks of whole tensors.
   * What is dropped within a part differs by rank. Not with `like` or a hook (MICA_E_UNSUPPORTED); MICA_E_INVALID in
   * the graph where the ranks do not divide heads, their groups or units. Outlives the graph. NULL: layers whole. */
  struct mica_communicator *tensor_ranks;
} mica_nn_config;

/* A network without layers in the graph, which must outlive it. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_nn_create(mica_graph *graph, const mica_nn_config *config, mica_nn **nn);
/* The graph stays. NULL is a no-op. */
MICA_API void mica_nn_destroy(mica_nn *nn);

/* The graph that the network was created beside, and mica_nn_config.training. */
MICA_API mica_graph *mica_nn_graph(const mica_nn *nn);
MICA_API bool mica_nn_is_training(const mica_nn *nn);
/* mica_nn_config.loss_ranks. */
MICA_API struct mica_communicator *mica_nn_loss_ranks(const mica_nn *nn);
/* The dropouts of a training network so far, those of attention too, and config's draws. */
MICA_API uint64_t mica_nn_draws(const mica_nn *nn);

/* --- initial values --- */

/* name, text. fan_in and fan_out are the inputs that an output of the layer sums and the outputs that an input goes to:
 * for a weight (K, C, R, S) C R S and K R S. g is the gain, 1 unless given.
 * default: what the layer's own contract says. truncated_normal: N(0, deviation) cut at two deviations, by drawing
 * again. kaiming: deviation g / sqrt(fan) (He et al. 2015, where g is sqrt(2)); xavier: g sqrt(2 / (fan_in + fan_out))
 * (Glorot and Bengio 2010); the uniform ones have that deviation too. orthogonal: rows (or columns, whichever are
 * fewer) of a matrix (dim[0], rest) are orthogonal and of length g (Saxe et al. 2013). */
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

/* "kaiming_normal"; "?" for a value that is none. */
MICA_API const char *mica_init_name(mica_init kind);

typedef struct mica_init_config {
  mica_init kind;
  /* CONSTANT: the value; UNIFORM: the bound b of [-b, b); NORMAL and TRUNCATED_NORMAL: the deviation (for these, 0 is
   * 0). Others: the gain g, 0: 1. */
  double value;
  bool fan_out;   /* KAIMING: by fan_out instead of fan_in */
  int64_t fan_in; /* in place of the fan_in that the shape has; 0 for none */
} mica_init_config;

/* --- parameters --- */

/* Names begin with "name." from push to pop. Scopes nest. */
MICA_API void mica_nn_push(mica_nn *nn, const char *name);
MICA_API void mica_nn_pop(mica_nn *nn);

/* A parameter that is trained, f32, to be used as nn's dtype says (the value is a cast of it). Weight decay is for
 * those of rank 2 and more. init may be NULL: zeros. */
MICA_API mica_value mica_nn_parameter(mica_nn *nn, const char *name, mica_shape shape, const mica_init_config *init);
/* State that is not trained but saved with the network, such as running statistics: f32, begins as `value`. Changed by
 * mica_assign. */
MICA_API mica_value mica_nn_state(mica_nn *nn, const char *name, mica_shape shape, double value);
/* mica_nn_state of any dtype: `value` is rounded to it as mica_full does. */
MICA_API mica_value mica_nn_state_of(mica_nn *nn, const char *name, mica_dtype dtype, mica_shape shape, double value);
/* A weight that was made before, to be used once more (tied): its name with all scopes ("embed.weight"), whichever are
 * open now, without name_prefix. As nn's dtype says, as mica_nn_parameter gives it, and as the hook made it for its
 * layer. The null value, with an error that says what is missing in the graph, for a name that no weight has. */
MICA_API mica_value mica_nn_weight_of(mica_nn *nn, const char *name);

/* WEIGHT: trained; STATE: made by mica_nn_state; OPTIMIZER: made by mica_optimize, no part of the network but of what a
 * training run saves. */
typedef enum mica_nn_role { MICA_NN_ROLE_WEIGHT, MICA_NN_ROLE_STATE, MICA_NN_ROLE_OPTIMIZER } mica_nn_role;

typedef struct mica_nn_parameter_info {
  const char *name; /* with its scopes, in graph and sessions; valid as long as the network */
  mica_value value; /* the graph's parameter */
  mica_init_config init;
  mica_nn_role role;
  bool frozen;          /* a weight that is not trained */
  bool decay;           /* weight decay is for it */
  const char *own_name; /* name without name_prefix: what files and patterns know it by */
  int32_t uses;         /* by mica_nn_weight_of, beside the layer's own */
} mica_nn_parameter_info;

/* The number of parameters so far. */
MICA_API size_t mica_nn_parameter_count(const mica_nn *nn);
/* The parameters in the order in which they were made; NULL when index is too large. The structure is valid until the
 * next one is made. */
MICA_API const mica_nn_parameter_info *mica_nn_parameter_at(const mica_nn *nn, size_t index);
/* Elements of all weights, or of those only that are not frozen. */
MICA_API int64_t mica_nn_element_count(const mica_nn *nn, bool trained);

/* Freezes (or thaws) the weights made so far whose names (without name_prefix) match the pattern, in which * stands
 * for any text and ? for any character: "features.*". *count (may be NULL) says how many there are. Before
 * mica_optimize. */
MICA_API MICA_CHECKED mica_status mica_nn_freeze(mica_nn *nn, const char *pattern, bool frozen, size_t *count);
/* Sets whether weight decay is for those that match, likewise. */
MICA_API MICA_CHECKED mica_status mica_nn_set_decay(mica_nn *nn, const char *pattern, bool decay, size_t *count);

/* Uploads initial values into the session's tensors, through the engine's queue; blocks until they are there, whatever
 * queue the session runs on. They depend on the seed and on a parameter's name (without name_prefix) alone. The session
 * was made from the network's graph. */
MICA_API MICA_CHECKED mica_status mica_nn_initialise(const mica_nn *nn, mica_session *session);
/* Makes `session`, made from this network's graph, use `owner`'s tensors for all the network's parameters. owner
 * outlives session. MICA_E_NOT_FOUND names a parameter that owner lacks. */
MICA_API MICA_CHECKED mica_status mica_nn_share(const mica_nn *nn, mica_session *session, mica_session *owner);

/* The number of training steps so far, i64, which the graph itself holds as the parameter "step". It counts where
 * mica_optimize was called. Its name has name_prefix, but no scope. */
MICA_API mica_value mica_nn_step(mica_nn *nn);

/* --- files --- */

/* Writes the weights and state of a network to a safetensors file, and reads them, out of and into the tensors of a
 * session made from its graph, by name; state of the optimiser is left out. metadata as in mica_safetensors_write.
 * load: *missing (may be NULL: then a missing one is MICA_E_FORMAT) counts parameters that the file lacks and that stay
 * as they are; tensors of other names are passed over, so that a trainer's checkpoint serves too. A shape or a dtype
 * that differs is MICA_E_FORMAT, and nothing is loaded; but f16 and bf16 become f32. Both block. */
struct mica_safetensors_pair;
MICA_API MICA_CHECKED mica_status mica_nn_save(const mica_nn *nn, mica_session *session, const char *path,
                                               const struct mica_safetensors_pair *metadata, size_t metadata_count);
MICA_API MICA_CHECKED mica_status mica_nn_load(const mica_nn *nn, mica_session *session, const char *path,
                                               size_t *missing);
/* As mica_nn_load without `missing`, of each weight its moving average where the file has one (mica_nn_share_ema): from
 * a trainer's checkpoint what it tested. */
MICA_API MICA_CHECKED mica_status mica_nn_load_ema(const mica_nn *nn, mica_session *session, const char *path);

/* --- weights of published models --- */

/* Says which tensor of a source becomes a parameter, and how. Zero: a tensor of the parameter's shape, as it is. */
typedef struct mica_name_row {
  /* The parameter's name, without name_prefix. '#' stands for a number: "layers.#.norm1.weight". NULL: the tensors of
   * that source are of no use, such as buffers of attention masks. */
  const char *own;
  /* The tensor's name; several, separated by '|', by preference: "lm_head.weight|model.embed_tokens.weight". A '#' here
   * is the number of the '#' of `own` in the same position (any number if own is NULL). */
  const char *source;
  bool transposed; /* the tensor is a matrix (columns, rows): its axes are swapped before anything else */
  bool reshaped;   /* the tensor may have another shape of equally many elements; their order stays */
  /* The parameter is the rows first, first + 1, ... of a tensor that has `of` rows (its first axis, after swapping) and
   * otherwise the parameter's shape. of 0: all rows. */
  int64_t first, of;
  double add; /* added to every element, as 1 for norms of Gemma that multiply by 1 + weight */
} mica_name_row;

typedef struct mica_name_map {
  /* A parameter takes the first row whose `own` is its name and whose `source` is there. A parameter that no row names
   * is read from the tensor of its own name. */
  const mica_name_row *rows;
  size_t count;
  bool complete; /* every tensor of the source must be read, or be named by a row whose `own` is NULL */
  bool finite;   /* numbers of all tensors that are read must be finite; otherwise only of rank 1 */
} mica_name_map;

struct mica_weights;

/* Reads the parameters of a session made from nn's graph, but the optimiser's state, out of a source of weights
 * (mica/weights.h). map NULL: by equal names. f32, f64, f16, bf16 and blocks are read into parameters of any floating
 * type, rounded to nearest even if that holds less; parameters of other types take their own alone, without `add`.
 *
 * *missing counts parameters that the source lacks and that stay as they are; NULL: a missing one is MICA_E_FORMAT, as
 * are another shape, a type that cannot be read, numbers that are not finite and what `complete` refuses: the message
 * has file, tensor and both sides, and nothing is changed. MICA_E_INVALID: a row that cannot be. MICA_E_UNSUPPORTED:
 * blocks that are to be transposed, or cut within a block. Blocks until all is read. Experimental: may change in the
 * next two minor versions. */
MICA_API MICA_CHECKED mica_status mica_nn_load_from(const mica_nn *nn, mica_session *session,
                                                    const struct mica_weights *weights, const mica_name_map *map,
                                                    size_t *missing);

/* --- layers --- */

typedef struct mica_dense_config {
  bool no_bias;
  mica_init_config weight, bias; /* default: Kaiming normal with gain sqrt(2), and zeros */
} mica_dense_config;
/* x W' + b over the last axis. x (..., C), weight W (units, C), bias (units). config may be NULL, here and below. */
MICA_API mica_value mica_nn_dense(mica_nn *nn, const char *name, mica_value x, int64_t units,
                                  const mica_dense_config *config);

typedef struct mica_nn_conv_config {
  int64_t window[3];    /* of a filter, along each spatial axis; 0: as `size` says */
  mica_conv_config how; /* stride, padding, dilation, groups */
  bool no_bias;
  mica_init_config weight, bias; /* default: as dense */
} mica_nn_conv_config;
/* Convolution of x (N, C, 1 to 3 spatial axes) with `filters` filters of `size` elements along every spatial axis:
 * weight (filters, C / groups, size...), bias (filters). */
MICA_API mica_value mica_nn_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size,
                                 const mica_nn_conv_config *config);
/* The transposed one, to `channels` channels: weight (C, channels / groups, size...), bias (channels). */
MICA_API mica_value mica_nn_conv_transpose(mica_nn *nn, const char *name, mica_value x, int64_t channels, int64_t size,
                                           const mica_nn_conv_config *config);

typedef struct mica_embedding_config {
  mica_init_config weight; /* default: normal of deviation 1 */
} mica_embedding_config;
/* Rows of a table, weight (count, width), by i32 or i64 indices; the result has one axis more. Rows are gathered from
 * the f32 table and then cast to nn's dtype: a step touches the rows that it names, not the vocabulary. */
MICA_API mica_value mica_nn_embedding(mica_nn *nn, const char *name, mica_value indices, int64_t count, int64_t width,
                                      const mica_embedding_config *config);

/* Dropout: in training 0 with probability rate, else x / (1 - rate); otherwise x. Each call draws numbers of its own.
 * */
MICA_API mica_value mica_nn_dropout(mica_nn *nn, mica_value x, double rate);

typedef struct mica_norm_config {
  double epsilon;  /* 0: 1e-5; MICA_ZERO: 0 */
  double momentum; /* batch norm: the batch's share in the running statistics; 0: 0.1, MICA_ZERO: they stay */
  bool no_scale, no_bias;
  double scale; /* what scales begin as; 0: 1, MICA_ZERO: 0 */
} mica_norm_config;
/* Layer norm over the last axis: weight and bias (C). */
MICA_API mica_value mica_nn_layer_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config);
/* RMS norm over the last axis: weight (C). */
MICA_API mica_value mica_nn_rms_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config);

/* Batch norm over all axes but 1: weight and bias (C), and state running_mean and running_var (C), which begin as 0 and
 * 1. In training with the batch's statistics, which move the running ones by `momentum` (the variance as the unbiased
 * one, which a single value a channel has not: then the running one stays); otherwise with the running ones. */
MICA_API mica_value mica_nn_batch_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config);
/* Group norm: weight and bias (C). groups C is instance norm. */
MICA_API mica_value mica_nn_group_norm(mica_nn *nn, const char *name, mica_value x, int64_t groups,
                                       const mica_norm_config *config);

/* --- composition --- */

/* A part of a network. */
typedef mica_value mica_nn_block(mica_nn *nn, mica_value x, const void *config);

/* block(x) inside the scope `name`, and x + block(x); block keeps the shape there. */
MICA_API mica_value mica_nn_apply(mica_nn *nn, const char *name, mica_value x, mica_nn_block *block,
                                  const void *config);
MICA_API mica_value mica_nn_residual(mica_nn *nn, const char *name, mica_value x, mica_nn_block *block,
                                     const void *config);

typedef struct mica_nn_stage {
  mica_nn_block *block;
  const void *config;
} mica_nn_stage;
/* One block after another, in the scopes "name.0", "name.1", ... */
MICA_API mica_value mica_nn_sequential(mica_nn *nn, const char *name, mica_value x, const mica_nn_stage *stages,
                                       size_t count);

/* --- what was built --- */

/* A table, a line a layer: name, kind, shape of the result (? where open), parameters, of all tensor_ranks, and the
 * floating point operations of one sample forward, of this rank (open dimensions count as 1, rows that are flattened
 * keep their number); then totals. *text is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_nn_summary(const mica_nn *nn, char **text);

MICA_END_DECLS

#endif
