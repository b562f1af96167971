/* foundation/embed.h: how a model's files say that its features become a vector per text. */
#ifndef MICA_FOUNDATION_EMBED_H
#define MICA_FOUNDATION_EMBED_H

#include "base/text.h"

#include <mica/embed.h>

typedef struct mica__embed_form {
  mica_embed_pooling pooling; /* MODEL: the files do not say */
  bool unit;
  int64_t most_tokens; /* 0: the files do not say */
} mica__embed_form;

/* Reads modules.json, in memory: unit, and the folder of the pooling's config.json ("1_Pooling") in *pooling, which
 * stays empty without such a module; the caller frees it. path is for messages. MICA_E_FORMAT; MICA_E_UNSUPPORTED: an
 * unknown module, or a folder outside of the model's. */
mica_status mica__embed_modules_read(const char *path, const char *text, size_t bytes, mica__embed_form *form,
                                     mica__text *pooling);
/* Reads a pooling's config.json, in memory. MICA_E_UNSUPPORTED: several kinds at once, or an unknown one. */
mica_status mica__embed_pooling_read(const char *path, const char *text, size_t bytes, mica__embed_form *form);
/* Reads sentence_bert_config.json, in memory: the maximum number of tokens. */
mica_status mica__embed_limits_read(const char *path, const char *text, size_t bytes, mica__embed_form *form);

/* Reads the files of the model's folder, or the keys of its GGUF file. */
mica_status mica__embed_form_find(const mica_foundation *model, mica__embed_form *form);

#endif
