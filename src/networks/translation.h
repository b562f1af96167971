/* networks/translation.h: translates texts with a trained network, greedily or by beam search, and shows to which
 * source tokens the network attends. */
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

/* The result of mica__translate: for each source a text and its score. A source without a token before its end token
 * gets an empty text and the score 0. The caller frees the result with mica__translations_free, which is not needed
 * after a failure. */
typedef struct mica__translations {
  char **texts;
  double *scores;
  size_t count;
} mica__translations;
mica_status mica__translate(const mica__translator *translator, const mica__translation_sources *sources, int64_t beams,
                            double length_penalty, mica__translations *translations);
void mica__translations_free(mica__translations *translations);

/* Computes attention weights (targets, sources): how strongly the decoder's last block attends to each source token
 * when it reads each target token. The weights are the mean over the block's heads. */
mica_status mica__translator_attend(const mica__translator *translator, const int32_t *source, int64_t sources,
                                    const int32_t *target, int64_t targets, float *weights);

#endif
