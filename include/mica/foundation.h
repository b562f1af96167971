/* mica/foundation.h: published language models: what a folder or a GGUF file says of its network.
 *
 *   mica_foundation *model;
 *   if (mica_foundation_open("SmolLM2-135M-Instruct.Q4_1.gguf", NULL, &model) != MICA_OK) ...
 *   const mica_foundation_info *info = mica_foundation_describe(model);
 *   printf("%s: %d layers of width %d\n", info->family, (int)info->layers, (int)info->width);
 *   mica_value logits = mica_foundation_network(nn, model, &(mica_foundation_build){.ids = ids});
 *   mica_session_create(engine, graph, &logits, 1, NULL, &session);
 *   mica_foundation_load(model, nn, session);
 *
 * A folder has config.json and safetensors files, as transformers saves them; a GGUF file has both in one. Files are
 * mapped: opening reads no weights. A model does not change once it is open: any number of threads may use it.
 * Experimental: may change in the next two minor versions. */
#ifndef MICA_FOUNDATION_H
#define MICA_FOUNDATION_H

#include <mica/sequence.h>
#include <mica/weights.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

struct mica_tokenizer;
struct mica_chat_template;

/* name, text. What a model is for. GENERATE: the next token of a text; EMBED: vectors of texts; CLASSIFY: classes. */
#define MICA_FOUNDATION_TASK_LIST(X)                                                                                   \
  X(GENERATE, "generate")                                                                                              \
  X(EMBED, "embed")                                                                                                    \
  X(CLASSIFY, "classify")

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

/* name, text. f of the feed-forward layers: down(f(gate(x)) up(x)) if it is gated, else down(f(up(x))). SWIGLU: silu;
 * GEGLU, GEGLU_TANH: GELU, exact and by tanh; RELU2: relu(x)^2. */
#define MICA_FOUNDATION_FUNCTION_LIST(X)                                                                               \
  X(SWIGLU, "swiglu")                                                                                                  \
  X(GEGLU, "geglu")                                                                                                    \
  X(GEGLU_TANH, "geglu_tanh")                                                                                          \
  X(GELU, "gelu")                                                                                                      \
  X(GELU_TANH, "gelu_tanh")                                                                                            \
  X(RELU, "relu")                                                                                                      \
  X(RELU2, "relu2")                                                                                                    \
  X(SILU, "silu")

typedef enum mica_foundation_function {
#define MICA_FOUNDATION_FUNCTION_ENUM(name, text) MICA_FOUNDATION_FUNCTION_##name,
  MICA_FOUNDATION_FUNCTION_LIST(MICA_FOUNDATION_FUNCTION_ENUM)
#undef MICA_FOUNDATION_FUNCTION_ENUM
      MICA_FOUNDATION_FUNCTION_COUNT
} mica_foundation_function;

/* name, text. How the angles of rotary positions are stretched to longer texts, as transformers names it. FACTORS: by
 * the tensors rope_freqs or rope_factors_long and _short of a GGUF file. */
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

/* "generate", "swiglu", "yarn"; "?" for other values. */
MICA_API const char *mica_foundation_task_name(mica_foundation_task task);
MICA_API const char *mica_foundation_function_name(mica_foundation_function function);
MICA_API const char *mica_foundation_scaling_name(mica_foundation_scaling scaling);

/* Rotary positions. Fields that the scaling does not have are 0. */
typedef struct mica_foundation_rotary {
  double base;
  mica_foundation_scaling scaling;
  double factor;           /* the longer context over the original one */
  double original;         /* positions of the original context; 0: the model does not say */
  double attention_factor; /* of YARN and LONGROPE: multiplies cosine and sine; 0: computed from factor */
  double beta_fast, beta_slow, mscale, mscale_all; /* of YARN */
  double low_factor, high_factor;                  /* of LLAMA3 */
  const double *short_factors, *long_factors;      /* of LONGROPE: count numbers, each divides a frequency */
  size_t count;
} mica_foundation_rotary;

typedef struct mica_foundation_info {
  const char *family;  /* "llama" */
  const char *name;    /* what the model calls itself; NULL: nothing */
  const char *licence; /* likewise */
  mica_foundation_task task;

  /* Sizes. */
  int64_t width, layers, vocabulary;
  int64_t heads, groups, head_size; /* heads of queries; of keys and values; features of one */
  int64_t hidden;                   /* features between the feed-forward layers */
  int64_t context;                  /* positions that the model was trained for */
  int64_t types;                    /* kinds of tokens with vectors of their own (BERT); 0: none */
  int64_t classes;                  /* of CLASSIFY */

  /* Blocks. */
  bool rms_norm; /* else layer norms */
  double epsilon;
  mica_foundation_norms norms;
  mica_foundation_function function;
  bool attention_bias, out_bias, feed_bias; /* of queries, keys, values; of the layer behind; of feed-forward layers */
  bool qk_norm;                             /* each head's queries and keys have an RMS norm */
  bool norm_plus_one;                       /* stored norms lack 1: y = x / rms(x) (1 + w) */
  bool tied;                                /* the head is the table of embeddings */
  bool embed_norm;                          /* a norm follows the embeddings */
  double embed_scale;                       /* multiplies embeddings; 1: nothing */
  double score_scale;                       /* multiplies q k^T */
  double score_cap, logit_cap;              /* c of c tanh(z / c); 0: none */

  /* Positions. */
  mica_positions_kind positions;               /* ROTARY or LEARNED */
  int64_t first_position;                      /* of LEARNED: the row of the first token */
  int64_t rotated;                             /* features of a head that are rotated, the first ones */
  bool interleaved;                            /* rows of q and k are stored as pairs (2 i, 2 i + 1), not as halves */
  mica_foundation_rotary rotary, rotary_local; /* of layers that see all, and of those with a window */
  int64_t window;                              /* keys that a query sees there, its own included; 0: no layer has one */
  const bool *local;                           /* layers flags: this layer has the window */

  /* Special tokens; -1: none. */
  int32_t begin, pad;
  const int32_t *ends; /* any of them ends a text */
  size_t end_count;

  /* Files. */
  uint64_t bytes;   /* of all tensors */
  int64_t elements; /* of all tensors */

  /* Keys of config.json that Mica does not know. They are taken to change nothing. */
  const char *const *unknown;
  size_t unknown_count;
} mica_foundation_info;

typedef struct mica_foundation mica_foundation;

typedef struct mica_foundation_config {
  int64_t context; /* positions to use; 0: the model's, at most 8,192 */
} mica_foundation_config;

/* Opens a folder or a GGUF file (or its first shard); config may be NULL. Fails as mica_weights_open does, and with
 * MICA_E_FORMAT, naming the key, both sides and what is known, for:
 *
 *   - a config.json that is no JSON object, is above 16 MiB, or is nested more than 64 deep
 *   - a family that Mica does not know, and models that need code of their author's
 *   - a size that is missing, is no number, or is out of range; heads that groups do not divide; odd rotary sizes
 *   - an unknown activation, kind of layer or scaling of positions
 *   - a key that changes the arithmetic and that Mica does not compute
 *
 * MICA_E_INVALID for a context above the model's. MICA_E_UNSUPPORTED for folders in a build without cJSON. */
MICA_API MICA_CHECKED mica_status mica_foundation_open(const char *path, const mica_foundation_config *config,
                                                       mica_foundation **model);
/* What it describes dies with it. NULL is a no-op. */
MICA_API void mica_foundation_close(mica_foundation *model);

/* True if the path is a GGUF file, or a folder whose config.json names a model_type: a look, without a check. Never
 * fails. */
MICA_API bool mica_foundation_is(const char *path);

/* Compares the names and shapes of all tensors with the description. MICA_E_FORMAT names the first tensor that is
 * missing, has another shape (both are said) or belongs to no network of the family. */
MICA_API MICA_CHECKED mica_status mica_foundation_check(const mica_foundation *model);

/* What the model says of itself. */
MICA_API const mica_foundation_info *mica_foundation_describe(const mica_foundation *model);
/* Positions to use: mica_foundation_config.context, or its default. */
MICA_API int64_t mica_foundation_context(const mica_foundation *model);
/* Its files. They belong to model; mica_weights_retain keeps them longer. */
MICA_API mica_weights *mica_foundation_weights(const mica_foundation *model);

/* --- texts --- */

/* Opens the model's tokenizer, from tokenizer.json of a folder or from the keys of a GGUF file; the caller destroys it.
 * MICA_E_NOT_FOUND if it has none; fails as mica_tokenizer_open does. */
MICA_API MICA_CHECKED mica_status mica_foundation_tokenizer(const mica_foundation *model,
                                                            struct mica_tokenizer **tokenizer);
/* Opens the model's chat template, from chat_template.jinja or tokenizer_config.json of a folder or from the key
 * tokenizer.chat_template of a GGUF file; the caller destroys it. MICA_E_NOT_FOUND if it has none; fails as
 * mica_chat_template_create does. */
MICA_API MICA_CHECKED mica_status mica_foundation_template(const mica_foundation *model,
                                                           struct mica_chat_template **chat_template);

/* --- networks --- */

typedef struct mica_foundation_build {
  mica_value ids;             /* (B, T) i32 or i64 */
  mica_value lengths;         /* (B) i32: positions of each sequence that count, the first ones; null: all */
  const mica_kv_cache *cache; /* NULL: each sequence begins with ids, and nothing is kept */
  int64_t layers;             /* blocks to build, the first ones; 0: all */
  bool logits_of_last;        /* (B, V) of the last position that counts, else (B, T, V) of all */
  bool hidden;                /* features (..., C) after the last norm, else logits */
} mica_foundation_build;

/* The model's network in the graph of nn: logits, f32, or features. Its parameters are named as PyTorch would name them
 * ("layers.3.self_attn.q_proj.weight"), whatever the files' names are. Sticky as all builders are: errors stand in the
 * graph, MICA_E_UNSUPPORTED for a model that does not write texts. */
MICA_API mica_value mica_foundation_network(mica_nn *nn, const mica_foundation *model,
                                            const mica_foundation_build *build);

/* Reads the model's weights into a session that was made from nn's graph, after mica_foundation_network built it there.
 * Weights in blocks or in 16 bits become what the parameters are. Fails as mica_foundation_check and mica_nn_load_from
 * do. Blocks. */
MICA_API MICA_CHECKED mica_status mica_foundation_load(const mica_foundation *model, const mica_nn *nn,
                                                       mica_session *session);

MICA_END_DECLS

#endif
