/* mica/embed.h: vectors of texts and pictures by a published model, and search among vectors.
 *
 *   mica_foundation_open("all-MiniLM-L6-v2", NULL, &model);
 *   mica_embedder_create(engine, model, NULL, &embedder);
 *   float *vectors = malloc(count * mica_embedder_width(embedder) * sizeof *vectors);
 *   mica_embedder_texts(embedder, texts, count, vectors);
 *   mica_nearest(vectors, count, width, query, 1, 5, nearest);
 *
 * The tokenizer divides a text into tokens, the model computes features for each token, and pooling reduces them to one
 * vector. A folder made by sentence-transformers sets the pooling in modules.json and the files that it names; a GGUF
 * file sets it with the key pooling_type. ViT makes vectors of pictures. CLIP makes vectors of texts and of pictures,
 * which can be compared with one another.
 *
 * Threads: use an embedder from one thread at a time. mica_nearest may be called from any thread. */
#ifndef MICA_EMBED_H
#define MICA_EMBED_H

#include <mica/foundation.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* name, text. MEAN: mean of all tokens' features. CLS: features of the first token. LAST: features of the last token.
 * MODEL: the pooling that the model's files set. If they set none, it is LAST for a model that generates text, CLS for
 * a ViT, and MEAN for others. CLIP has a pooling of its own, and accepts only MODEL. */
#define MICA_EMBED_POOLING_LIST(X)                                                                                     \
  X(MODEL, "model")                                                                                                    \
  X(MEAN, "mean")                                                                                                      \
  X(CLS, "cls")                                                                                                        \
  X(LAST, "last")

typedef enum mica_embed_pooling {
#define MICA_EMBED_POOLING_ENUM(name, text) MICA_EMBED_POOLING_##name,
  MICA_EMBED_POOLING_LIST(MICA_EMBED_POOLING_ENUM)
#undef MICA_EMBED_POOLING_ENUM
      MICA_EMBED_POOLING_COUNT
} mica_embed_pooling;
/* "model", "mean", ...; "?" for any other value. */
MICA_API const char *mica_embed_pooling_name(mica_embed_pooling pooling);

/* Scale of vectors. RAW: as pooled. UNIT: divided by their length; zeros stay zeros. MODEL: what the model's files set,
 * or RAW if they set nothing. */
typedef enum mica_embed_scale {
  MICA_EMBED_SCALE_MODEL,
  MICA_EMBED_SCALE_RAW,
  MICA_EMBED_SCALE_UNIT,
} mica_embed_scale;

typedef struct mica_embedder_config {
  mica_embed_pooling pooling;
  mica_embed_scale scale;
  /* maximum number of tokens per text, with special tokens; longer texts are cut at the end, special tokens stay. 0: as
   * the model's files say, at most the model's number of positions. */
  int64_t most_tokens;
  /* vectors are logits of the model's classes, for models of the task CLASSIFY that read texts; pooling and scale must
   * be zero */
  bool classes;
  int64_t batch_tokens; /* maximum number of tokens per run, with padding; a longer text runs alone; 0: 1,024 */
} mica_embedder_config;

typedef struct mica_embedder mica_embedder;

/* Loads a model's tokenizer and weights, to compute vectors in f32. For models that read pictures, the first call of
 * mica_embedder_texts and of mica_embedder_pictures loads what it needs, and can fail as this function does. config may
 * be NULL. The engine and the model must outlive the embedder. *embedder is only written on success.
 *
 * MICA_E_NOT_FOUND: the model has no tokenizer, or a file that modules.json names is missing. MICA_E_INVALID: a number
 * is out of range, or a field does not suit the model. MICA_E_FORMAT: modules.json, a file that it names or
 * sentence_bert_config.json is invalid. MICA_E_UNSUPPORTED: these files require a module or pooling that Mica lacks
 * (the message names it), or a folder in a build without cJSON. It can also fail as mica_foundation_network and
 * mica_foundation_load do. */
MICA_API MICA_CHECKED mica_status mica_embedder_create(mica_engine *engine, const mica_foundation *model,
                                                       const mica_embedder_config *config, mica_embedder **embedder);
/* NULL is a no-op. */
MICA_API void mica_embedder_destroy(mica_embedder *embedder);

/* Numbers per vector. */
MICA_API int64_t mica_embedder_width(const mica_embedder *embedder);
/* True if mica_embedder_texts works. A CLIP model takes texts and pictures. */
MICA_API bool mica_embedder_reads_texts(const mica_embedder *embedder);
/* True if mica_embedder_pictures works. */
MICA_API bool mica_embedder_reads_pictures(const mica_embedder *embedder);
/* CLIP: the factor s in softmax(s cosine), the probabilities of texts for a picture; 0: the model has none. */
MICA_API double mica_embedder_logit_scale(const mica_embedder *embedder);
/* Maximum number of tokens per text. */
MICA_API int64_t mica_embedder_most_tokens(const mica_embedder *embedder);
/* Pooling in use; never MODEL. */
MICA_API mica_embed_pooling mica_embedder_pooling(const mica_embedder *embedder);

/* Writes vectors of count texts, which end with a NUL, to out (count, width). Texts of similar length run together.
 * Except for rounding, a vector does not depend on the other texts. Blocks. After a failure, out may be partly written.
 * MICA_E_INVALID: the model does not read texts; or a text has no tokens or has one that the model lacks, and the
 * message gives the text's index. It can also fail as mica_tokenizer_encode and mica_session_run do. */
MICA_API MICA_CHECKED mica_status mica_embedder_texts(mica_embedder *embedder, const char *const *texts, size_t count,
                                                      float *out);

/* Writes vectors of count picture files to out (count, width). Each is prepared as in mica_foundation_picture. Except
 * for rounding, a vector does not depend on the other pictures. Blocks. After a failure, out may be partly written.
 * MICA_E_INVALID: the model does not read pictures. It can also fail as mica_foundation_picture and mica_session_run
 * do. */
MICA_API MICA_CHECKED mica_status mica_embedder_pictures(mica_embedder *embedder, const char *const *paths,
                                                         size_t count, float *out);

typedef struct mica_neighbour {
  size_t index;     /* index of the vector */
  float similarity; /* cosine: a b / (|a| |b|), from -1 to 1; 0 for zeros */
} mica_neighbour;

/* Finds the `nearest` vectors of each query by cosine, most similar first; ties go to the smaller index. vectors
 * (count, width), queries (query_count, width), neighbours (query_count, nearest). Compares with every vector on the
 * host, so results are exact. MICA_E_INVALID: a pointer is NULL, width is not positive, or nearest is not from 1 to
 * count. MICA_E_FORMAT: a number is not finite; the message names its row. */
MICA_API MICA_CHECKED mica_status mica_nearest(const float *vectors, size_t count, int64_t width, const float *queries,
                                               size_t query_count, size_t nearest, mica_neighbour *neighbours);

MICA_END_DECLS

#endif
