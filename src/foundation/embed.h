/* foundation/embed.h: an embedder, and how its model's files turn features into a vector. */
#ifndef MICA_FOUNDATION_EMBED_H
#define MICA_FOUNDATION_EMBED_H

#include "foundation/model.h"
#include "foundation/processor.h"

#include "base/text.h"

#include <mica/embed.h>
#include <mica/tokenizer.h>

typedef struct mica__embed_form {
  mica_embed_pooling pooling; /* MICA_EMBED_POOLING_MODEL: the files do not say */
  bool unit;
  int64_t most_tokens; /* 0: the files do not say */
} mica__embed_form;

/* A network whose one output is vectors. */
typedef struct mica__embed_network {
  mica_graph *graph;
  mica_nn *nn;
  mica_bindings *bindings; /* weights that are used as stored in the file; NULL: none */
  mica_session *session;   /* NULL: not made yet */
} mica__embed_network;

struct mica_embedder {
  mica_engine *engine;
  const mica_foundation *model;
  mica_tokenizer *tokenizer;
  mica__embed_network texts, pictures; /* made at first use, except `texts` of a model that reads no pictures */
  mica__processor processor;
  mica__embed_form form; /* as used: with defaults filled in */
  bool classes;          /* vectors are logits of classes */
  int64_t width, batch_tokens;
  double logit_scale;
};

/* Begins the network. If the file has block-quantised weights, all matrices stay as they are in the file. Otherwise all
 * weights become f32, which is faster. */
mica_status mica__embed_network_begin(const mica_embedder *e, mica__embed_network *network);
/* Makes the session and loads the weights. After a failure of this function or of mica__embed_network_begin, nothing
 * stays allocated. */
mica_status mica__embed_network_finish(const mica_embedder *e, mica__embed_network *network, mica_value vectors);
void mica__embed_network_free(mica__embed_network *network);
/* Divides each vector by its length; zero vectors stay. */
void mica__embed_to_unit(float *vectors, size_t count, int64_t width);

/* Reads modules.json from memory. Sets form->unit if the model normalises its vectors. Appends to *pooling the name of
 * the folder with the pooling's config.json, such as "1_Pooling"; nothing is appended if there is no pooling. The
 * caller frees *pooling. `path` is for messages.
 *
 * MICA_E_FORMAT: the file is damaged, or the folder is not directly inside the model's folder. MICA_E_UNSUPPORTED: the
 * file has an unknown module. */
mica_status mica__embed_modules_read(const char *path, const char *text, size_t bytes, mica__embed_form *form,
                                     mica__text *pooling);
/* Reads a pooling's config.json from memory. MICA_E_UNSUPPORTED: several kinds at once, or an unknown one. */
mica_status mica__embed_pooling_read(const char *path, const char *text, size_t bytes, mica__embed_form *form);
/* Reads sentence_bert_config.json from memory: the maximum number of tokens. */
mica_status mica__embed_limits_read(const char *path, const char *text, size_t bytes, mica__embed_form *form);

/* Reads the form from the files of the model's folder. From the keys of a GGUF file, only the pooling is read. */
mica_status mica__embed_form_find(const mica_foundation *model, mica__embed_form *form);

#endif
