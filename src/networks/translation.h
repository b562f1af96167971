/* networks/translation.h: texts that a translator writes, greedily or by beams, and where it looks while it writes. */
#ifndef MICA_NETWORKS_TRANSLATION_H
#define MICA_NETWORKS_TRANSLATION_H

#include <mica/generate.h>
#include <mica/model.h>
#include <mica/tokenizer.h>

typedef struct mica__translator {
  mica_engine *engine;
  mica_model_config network;
  mica_nn_config nn;
  mica_session *share; /* has the weights */
  const mica_tokenizer *tokenizer;
  int32_t begin, end; /* the tokens before and after a text */
} mica__translator;

/* Texts as ids, one after another: text i begins at offsets[i], and offsets[count] is their end. */
typedef struct mica__translation_sources {
  const int32_t *ids;
  const int64_t *offsets;
  size_t count;
} mica__translation_sources;

/* What mica__translate makes of the sources: a text and its score for each. A source that is only an end token gets
 * an empty text. The caller frees them, which is not needed after a failure. */
typedef struct mica__translations {
  char **texts;
  double *scores;
  size_t count;
} mica__translations;
mica_status mica__translate(const mica__translator *translator, const mica__translation_sources *sources, int64_t beams,
                            double length_penalty, mica__translations *translations);
void mica__translations_free(mica__translations *translations);

/* How the decoder's last block attends from each of the `targets` ids that it reads to the source: weights (targets,
 * sources), the mean over its heads. */
mica_status mica__translator_attend(const mica__translator *translator, const int32_t *source, int64_t sources,
                                    const int32_t *target, int64_t targets, float *weights);

#endif
