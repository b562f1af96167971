/* foundation/whisper.h: parts of Whisper: the decoder with caches. */
#ifndef MICA_FOUNDATION_WHISPER_H
#define MICA_FOUNDATION_WHISPER_H

#include "base/error.h"
#include "foundation/model.h"

#include <mica/whisper.h>

/* Keys and values of the decoder's tokens, and of the encoder's features. */
typedef struct mica__whisper_caches {
  mica_kv_cache self, cross;
} mica__whisper_caches;

/* mica_whisper_decoder. caches NULL: none. With caches memory may be null: the features of the last run with a memory
 * are used again. */
mica_value mica__whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids, mica_value memory,
                                 const mica__whisper_caches *caches);

#endif
