/* mica/foundation.h: published models of texts, pictures and speech: description, tokenizer, network and weights of a
 * folder or a GGUF file.
 *
 *   mica_foundation *model;
 *   if (mica_foundation_open("SmolLM2-135M-Instruct.Q4_1.gguf", NULL, &model) != MICA_OK) ...
 *   const mica_foundation_info *info = mica_foundation_describe(model);
 *   printf("%s: %d layers of width %d\n", info->family, (int)info->layers, (int)info->width);
 *   mica_value logits = mica_foundation_network(nn, model, &(mica_foundation_build){.ids = ids});
 *   mica_session_create(engine, graph, &logits, 1, NULL, &session);
 *   mica_foundation_load(model, nn, session);
 *
 * A folder has config.json and safetensors files, as transformers saves them. A GGUF file has both in one. Files are
 * mapped; opening reads no weights.
 *
 * Threads: an open model does not change; any number of threads may use it. */
#ifndef MICA_FOUNDATION_H
#define MICA_FOUNDATION_H

#include <mica/sequence.h>
#include <mica/weights.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

struct mica_tokenizer;
struct mica_chat_template;

/* name, text. Purpose of a model. GENERATE: the next token of a text; EMBED: vectors of texts, of pictures, or of both;
 * CLASSIFY: classes; TRANSCRIBE: the text of speech (mica/whisper.h). */
#define MICA_FOUNDATION_TASK_LIST(X)                                                                                   \
  X(GENERATE, "generate")                                                                                              \
  X(EMBED, "embed")                                                                                                    \
  X(CLASSIFY, "classify")                                                                                              \
  X(TRANSCRIBE, "transcribe")

typedef enum mica_foundation_task {
#define MICA_FOUNDATION_TASK_ENUM(name, text) MICA_FOUNDATION_TASK_##name,
  MICA_FOUNDATION_TASK_LIST(MICA_FOUNDATION_TASK_ENUM)
#undef MICA_FOUNDATION_TASK_ENUM
      MICA_FOUNDATION_TASK_COUNT
} mica_foundation_task;

/* Norms of a block. BEFORE: x + f(norm(x)); AFTER: norm(x + f(x)); AROUND: x + norm(f(norm(x))). */
typedef enum mica_foundation_norms {
  MICA_FOUNDATION_NORMS_BEFORE,
  MICA_FOUNDATION_NORMS_AFTER,
  MICA_FOUNDATION_NORMS_AROUND,
} mica_foundation_norms;

/* name, text. Function f in feed-forward layers: down(f(gate(x)) up(x)) if gated, else down(f(up(x))). SWIGLU: silu;
 * GEGLU, GEGLU_TANH: GELU, exact and by tanh; RELU2: relu(x)^2; QUICK_GELU: x sigmoid(1.702 x). */
#define MICA_FOUNDATION_FUNCTION_LIST(X)                                                                               \
  X(SWIGLU, "swiglu")                                                                                                  \
  X(GEGLU, "geglu")                                                                                                    \
  X(GEGLU_TANH, "geglu_tanh")                                                                                          \
  X(GELU, "gelu")                                                                                                      \
  X(GELU_TANH, "gelu_tanh")                                                                                            \
  X(RELU, "relu")                                                                                                      \
  X(RELU2, "relu2")                                                                                                    \
  X(SILU, "silu")                                                                                                      \
  X(QUICK_GELU, "quick_gelu")

typedef enum mica_foundation_function {
#define MICA_FOUNDATION_FUNCTION_ENUM(name, text) MICA_FOUNDATION_FUNCTION_##name,
  MICA_FOUNDATION_FUNCTION_LIST(MICA_FOUNDATION_FUNCTION_ENUM)
#undef MICA_FOUNDATION_FUNCTION_ENUM
      MICA_FOUNDATION_FUNCTION_COUNT
} mica_foundation_function;

/* name, text. How angles of rotary positions are adapted to longer texts; names as in transformers. FACTORS: by the
 * tensors rope_freqs, or rope_factors_long and _short, of a GGUF file. */
#define MICA_FOUNDATION_SCALING_LIST(X)                                                                                \
  X(NONE, "default")                                                                                                   \
  X(LINEAR, "linear")                                                                                                  \
  X(DYNAMIC, "dynamic")                                                                                                \
  X(YARN, "yarn")                                                                                                      \
  X(LONGROPE, "longrope")                                                                                              \
  X(LLAMA3, "llama3")                                                                                                  \
  X(FACTORS, "factors")

typedef enum mica_foundation_scaling {
#define MICA_FOUNDATION_SCALING_ENUM(name, text) MICA_FOUNDATION_SCALING_##name,
  MICA_FOUNDATION_SCALING_LIST(MICA_FOUNDATION_SCALING_ENUM)
#undef MICA_FOUNDATION_SCALING_ENUM
      MICA_FOUNDATION_SCALING_COUNT
} mica_foundation_scaling;

/* "generate", "swiglu", "yarn", ...; "?" for any other value. */
MICA_API const char *mica_foundation_task_name(mica_foundation_task task);
MICA_API const char *mica_foundation_function_name(mica_foundation_function function);
MICA_API const char *mica_foundation_scaling_name(mica_foundation_scaling scaling);

/* Rotary positions. Fields that the scaling does not use are 0. */
typedef struct mica_foundation_rotary {
  double base;
  mica_foundation_scaling scaling;
  double factor;           /* longer context divided by the original one */
  double original;         /* positions of the original context; 0: unknown */
  double attention_factor; /* YARN, LONGROPE: multiplies cosine and sine; 0: computed from factor */
  bool exact_range;        /* YARN: do not round the bounds of the pairs whose frequencies are blended */
  double beta_fast, beta_slow, mscale, mscale_all; /* YARN */
  double low_factor, high_factor;                  /* LLAMA3 */
  const double *short_factors, *long_factors;      /* LONGROPE: `count` numbers; each divides a frequency */
  size_t count;
} mica_foundation_rotary;

typedef struct mica_foundation_info {
  const char *family;  /* "llama" */
  const char *name;    /* name given in the file; NULL: none */
  const char *licence; /* licence given in the file; NULL: none */
  mica_foundation_task task;

  /* Sizes. */
  int64_t width, layers, vocabulary;
  int64_t heads, groups, head_size; /* heads of queries; heads of keys and values; features per head */
  int64_t hidden;                   /* features between feed-forward layers */
  int64_t context;                  /* positions used in training */
  int64_t types;                    /* number of token types with embeddings (BERT); 0: none */
  int64_t classes;                  /* CLASSIFY */
  const char *const *class_names;   /* names of the classes, from id2label; NULL: none */
  /* Pictures (ViT): side in pixels, side of a patch, channels; 0: the model reads texts. vocabulary is 0 then, and
   * context is the number of patches and one class token. */
  int64_t picture, patch, channels;
  int64_t projection; /* numbers per vector of the space that texts and pictures share (CLIP); 0: none */
  /* CLIP: the network of pictures; the other fields describe the network of texts. NULL: the model has one network. */
  const struct mica_foundation_info *vision;
  /* Whisper: the encoder, whose context is half the number of frames per window; the other fields describe the decoder.
   * NULL: the model reads no sound. */
  const struct mica_foundation_info *sound;
  int64_t bins; /* mel bins per frame of sound, in `sound` */

  /* Blocks. */
  bool rms_norm; /* else layer norms */
  double epsilon;
  mica_foundation_norms norms;
  mica_foundation_function function;
  /* true for layers with biases: queries, keys and values; the output layer of attention; feed-forward layers */
  bool attention_bias, out_bias, feed_bias;
  /* Mixture of experts in place of dense layers: number of experts, experts per token; 0: none. `hidden` is the size of
   * each expert. normalise_routes: the chosen experts' probabilities are divided by their sum. */
  int64_t experts, experts_used;
  bool normalise_routes;
  bool mxfp4_experts;          /* the folder has the experts' matrices as MXFP4 blocks with scales */
  double clamp;                /* limit of the results of the experts' gate and up layers; 0: none */
  bool sinks;                  /* one more score per head in the softmax of attention (mica/attention.h) */
  bool qk_norm;                /* RMS norm on each head's queries and keys */
  bool norm_plus_one;          /* stored norms lack 1: y = x / rms(x) (1 + w) */
  bool tied;                   /* the output layer uses the embeddings */
  bool embed_norm;             /* a norm follows the embeddings */
  bool causal;                 /* a token sees no later ones */
  double embed_scale;          /* multiplies embeddings; 1: off */
  double score_scale;          /* multiplies q k^T */
  double score_cap, logit_cap; /* c of c tanh(z / c); 0: none */

  /* Positions. */
  mica_positions_kind positions;               /* ROTARY or LEARNED */
  int64_t first_position;                      /* LEARNED: row of the first token */
  int64_t rotated;                             /* number of leading features per head that are rotated */
  bool interleaved;                            /* rows of q and k are stored as pairs (2 i, 2 i + 1), not as halves */
  mica_foundation_rotary rotary, rotary_local; /* for layers with full attention; for layers with a window */
  int64_t window;    /* in layers with a window: keys that a query sees, including its own; 0: no such layer */
  const bool *local; /* one flag per layer: it has the window */
  /* one flag per layer: its queries and keys have no positions (NoPE); NULL: all layers have positions */
  const bool *no_rope;

  /* Special tokens; -1: none. */
  int32_t begin, pad;
  const int32_t *ends; /* each of them ends a text */
  size_t end_count;

  /* Files. */
  uint64_t bytes;   /* size of all tensors */
  int64_t elements; /* elements of all tensors */

  /* Keys of config.json that Mica does not know and ignores. */
  const char *const *unknown;
  size_t unknown_count;
} mica_foundation_info;

typedef struct mica_foundation mica_foundation;

typedef struct mica_foundation_config {
  int64_t context; /* positions to use; 0: the model's, at most 8,192 */
} mica_foundation_config;

/* Opens a folder, a GGUF file, or the first shard of one. config may be NULL. It can fail as mica_weights_open does.
 * MICA_E_INVALID: context is negative or above the model's. MICA_E_UNSUPPORTED: a folder in a build without cJSON.
 * MICA_E_FORMAT: the file holds only weights, or one of the cases below; the message names the key, its value and what
 * is supported:
 *
 *   - config.json is not a JSON object, is above 16 MiB, or is nested more than 64 deep
 *   - the family is unknown, or the model needs its author's code
 *   - a size is missing, not a number, or out of range; groups do not divide heads; an odd rotary size
 *   - an activation, kind of layer or scaling of positions is unknown
 *   - a key changes the arithmetic in a way that Mica does not support */
MICA_API MICA_CHECKED mica_status mica_foundation_open(const char *path, const mica_foundation_config *config,
                                                       mica_foundation **model);
/* Closes a model. Everything that it describes becomes invalid. NULL is a no-op. */
MICA_API void mica_foundation_close(mica_foundation *model);

/* True if path is a GGUF file, or a folder whose config.json names a model_type and was not written by Mica for a run
 * (key "mica"). Checks nothing else, and never fails. Without cJSON, folders are not recognised. Without the memory to
 * find out it returns true; mica_foundation_open then reports the lack of memory. */
MICA_API bool mica_foundation_is(const char *path);

/* Compares names and shapes of all tensors with the description. MICA_E_FORMAT: a tensor is missing, has another shape
 * (the message gives both), or does not belong to the family's network; the message names the first one. */
MICA_API MICA_CHECKED mica_status mica_foundation_check(const mica_foundation *model);

/* Description of the model. The model owns it. */
MICA_API const mica_foundation_info *mica_foundation_describe(const mica_foundation *model);
/* Positions to use: mica_foundation_config.context, or its default. */
MICA_API int64_t mica_foundation_context(const mica_foundation *model);
/* Returns the weights of the model, which owns them; mica_weights_retain makes them outlive it. */
MICA_API mica_weights *mica_foundation_weights(const mica_foundation *model);

/* --- texts --- */

/* Opens the model's tokenizer: tokenizer.json of a folder, or keys of a GGUF file. The caller destroys it.
 * MICA_E_NOT_FOUND: the model has no tokenizer. It can also fail as mica_tokenizer_open does. */
MICA_API MICA_CHECKED mica_status mica_foundation_tokenizer(const mica_foundation *model,
                                                            struct mica_tokenizer **tokenizer);
/* Opens the model's chat template: chat_template.jinja or tokenizer_config.json of a folder, or the key
 * tokenizer.chat_template of a GGUF file. The caller destroys it. MICA_E_NOT_FOUND: the model has no template.
 * It can also fail as mica_chat_template_create does. */
MICA_API MICA_CHECKED mica_status mica_foundation_template(const mica_foundation *model,
                                                           struct mica_chat_template **chat_template);

/* --- pictures --- */

/* Reads a picture file and does the steps that the model's preprocessor_config.json lists: resizes it, crops its centre
 * and normalises it. Writes (channels, picture, picture) floats to pixels, as mica_foundation_build.pixels takes them.
 * The sizes are fields of mica_foundation_info, or of its `vision`. Resized bytes equal PIL's. Transparent pixels of a
 * PNG are blended onto black.
 *
 * MICA_E_INVALID: the model does not read pictures. MICA_E_NOT_FOUND: it has no preprocessor_config.json.
 * MICA_E_UNSUPPORTED: that file requires a step or a filter that Mica lacks, or the build lacks cJSON. MICA_E_FORMAT:
 * that file is invalid, or makes pictures of another size. It can also fail as mica_image_read does. */
MICA_API MICA_CHECKED mica_status mica_foundation_picture(const mica_foundation *model, const char *path,
                                                          float *pixels);

/* --- networks --- */

typedef struct mica_foundation_build {
  mica_value ids;     /* (B, T) i32 or i64; null: pixels are given */
  mica_value pixels;  /* (B, channels, picture, picture), normalised pictures; null: ids are given */
  mica_value lengths; /* (B) i32: number of valid leading positions per sequence; null: all */
  /* (B, T) i32: first position that each token attends to, so that several texts can share a row; null: 0. Not with a
   * cache. */
  mica_value starts;
  mica_value types;           /* (B, T) i32 or i64: token types, if the model has them (BERT); null: all 0 */
  const mica_kv_cache *cache; /* NULL: each sequence starts with ids, and nothing is kept */
  int64_t layers;             /* number of blocks to build, from the first; 0: all */
  bool logits_of_last;        /* true: logits (B, V) of the last valid position only; false: (B, T, V) */
  /* The result is features (..., C) after the last layer and its norm, instead of logits. Features of a picture are (B,
   * context, C), the class token first. CLIP's features of pictures are without the norm, like last_hidden_state in
   * transformers. */
  bool hidden;
  /* In training, keep only the input of each block in memory, and compute the block's values again in the backward pass
   * (mica_checkpoint). */
  bool recompute;
} mica_foundation_build;

/* Builds the model's network in nn's graph and returns f32 logits, or features. Models of the task GENERATE give logits
 * of tokens; models of the task CLASSIFY give logits of classes (B, classes) of a picture or of a text. Parameters have
 * PyTorch-style names ("layers.3.self_attn.q_proj.weight"), whatever names the files use.
 *
 * CLIP gives projected vectors (B, projection) of ids or of pixels, from a text's first end token or a picture's class
 * token. These vectors are not of unit length. Call the function twice to have both networks in one graph; parameters
 * of the network of pictures begin with "vision.".
 *
 * Errors are recorded in the graph. MICA_E_UNSUPPORTED: logits of a model that only has features, such as BERT without
 * a head; or Whisper, whose networks mica/whisper.h builds. MICA_E_INVALID: ids for a model that reads only pictures,
 * pixels for a model that reads only texts, both ids and pixels, pixels of another shape, or `layers` out of range.
 * Without ids and pixels the result is a null value. */
MICA_API mica_value mica_foundation_network(mica_nn *nn, const mica_foundation *model,
                                            const mica_foundation_build *build);

/* Configures a network to keep weights in the form of the files (mica_nn_config.hold): blocks stay blocks, 16 bits stay
 * 16 bits, and kernels convert the weights as they read them. These weights are frozen. Matrices that must be
 * transposed or divided are converted instead, except the experts' matrices. Call it before mica_nn_create. The model
 * must outlive the network. */
MICA_API void mica_foundation_hold(const mica_foundation *model, mica_nn_config *config);
/* Makes tensors of the weights that mica_foundation_hold keeps, for mica_session_config.parameters. On CPUs they use
 * the memory of the mapped files. Any number of sessions may use them. mica_foundation_load then reads the other
 * parameters. It fails as mica_nn_bind does. */
MICA_API MICA_CHECKED mica_status mica_foundation_bind(const mica_foundation *model, const mica_nn *nn,
                                                       mica_engine *engine, mica_bindings **bindings);

/* Reads the model's weights into a session made from nn's graph, after mica_foundation_network. Blocks and 16-bit
 * weights are converted to the parameters' types. Blocks the caller. MICA_E_INVALID: the network was not built from
 * this model. It can also fail as mica_foundation_check and mica_nn_load_from do. */
MICA_API MICA_CHECKED mica_status mica_foundation_load(const mica_foundation *model, const mica_nn *nn,
                                                       mica_session *session);

/* --- files --- */

typedef struct mica_foundation_write_config {
  /* Type of matrices: f32, f16, bf16, or a block type such as q4_k (mica_block_name). With a block type, the output
   * layer gets at least q6_k. Rows that blocks of 256 do not divide get blocks of 32 (q4_k: q5_0, q5_k: q5_1, q6_k:
   * q8_0), other rows f16. Vectors, biases, tables of positions and routers of experts become f32. NULL: each tensor of
   * a GGUF file and each other matrix of a folder keeps its type. */
  const char *type;
} mica_foundation_write_config;

typedef struct mica_foundation_written {
  size_t tensors, converted; /* tensors in the file; the number of them whose type changed */
  uint64_t bytes;            /* size of all tensors */
} mica_foundation_written;

/* Writes a model that generates texts as a GGUF file, from a folder or from another GGUF file. From a folder the file
 * also has tokenizer.json and the chat template, if there are any (mica_tokenizer_gguf_keys). The host needs memory for
 * the new tensors. The file is replaced atomically. config and written may be NULL. Blocks.
 *
 * MICA_E_INVALID: config names an unknown type, or a number is not finite or too large for its block.
 * MICA_E_UNSUPPORTED: a tensor would have to change but has a type that Mica does not compute with, or GGUF cannot
 * express the tokenizer or a setting of config.json. It can also fail as mica_foundation_check and mica_gguf_write
 * do. */
MICA_API MICA_CHECKED mica_status mica_foundation_write(const mica_foundation *model, const char *path,
                                                        const mica_foundation_write_config *config,
                                                        mica_foundation_written *written);

/* --- scores --- */

typedef struct mica_perplexity_config {
  int64_t window; /* tokens per window, from 2 to mica_foundation_context; 0: 512, or the context if it is less */
  struct mica_adapter *adapter; /* of the model (mica_foundation_adapter_open); NULL: none */
} mica_perplexity_config;

typedef struct mica_perplexity {
  double nll;        /* sum of -log p(token | tokens before it in its window), in nats */
  int64_t tokens;    /* tokens in that sum */
  double perplexity; /* exp(nll / tokens); infinite or NaN if the logits are not finite */
  int64_t window;    /* tokens per window that were used */
} mica_perplexity;

/* Scores count tokens with the model's f32 logits. Tokens are divided into windows of C = window tokens that do not
 * overlap: window k has tokens [k C, (k + 1) C), and the last one has the remaining tokens. A window's first token has
 * no score, since nothing precedes it. This is the strided evaluation of transformers with stride = max_length = C. ids
 * are used as they are: a begin token that the tokenizer adds is in the first window only. (llama.cpp computes another
 * number as perplexity: there each window begins with a begin token, and only the second half of a window is scored.)
 *
 * Losses and sums are f64. Weights keep the form of the files (mica_foundation_hold). The engine and the host need
 * memory for (C, vocabulary) logits. config may be NULL. *result is only written on success. Blocks.
 *
 * MICA_E_INVALID: fewer than two tokens, a token outside of the vocabulary, or a window out of range.
 * MICA_E_UNSUPPORTED: the model does not generate text. It can also fail as mica_foundation_network,
 * mica_foundation_bind, mica_foundation_load and mica_adapter_write_to do. */
MICA_API MICA_CHECKED mica_status mica_foundation_perplexity(mica_engine *engine, const mica_foundation *model,
                                                             const int32_t *ids, size_t count,
                                                             const mica_perplexity_config *config,
                                                             mica_perplexity *result);

MICA_END_DECLS

#endif
