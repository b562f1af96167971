/* Reports the attention of a translation: how much each of its tokens attends to each token of the source. */
#include "base/utf8.h"
#include "task/head/sentence.h"
#include "task/input/pairs.h"

#include <stdlib.h>
#include <string.h>

/* A token as text, or in the tokeniser's spelling if it is not a whole character. */
static mica_status name_token(const mica_run *run, int32_t id, char **name) {
  char *text = NULL;
  size_t bytes = 0;
  MICA_TRY(mica_tokenizer_decode(run->tokenizer, &id, 1, false, &text, &bytes));
  if (mica__utf8_prefix(text, bytes) == bytes) {
    *name = text;
    return MICA_OK;
  }
  mica_free(text);
  *name = mica__strdup(mica_tokenizer_token(run->tokenizer, id));
  return *name ? MICA_OK : mica__fail_nomem("a report");
}

/* Adds the matrix of attention weights. ids holds the tokens of a source, then the tokens of its translation, each list
 * with an end token. read, weights, names and numbers are memory that the caller owns; it also frees the names. */
static mica_status add_matrix(mica_run *run, const mica__ids *ids, int32_t *read, float *weights, char **names,
                              double *numbers, mica_report *report) {
  const int64_t sources = ids->offsets[1], targets = ids->offsets[2] - sources;
  for (int64_t i = 0; i < sources + targets; i++) MICA_TRY(name_token(run, ids->ids[i], &names[i]));
  read[0] = mica__pairs_begin(run);
  memcpy(read + 1, ids->ids + sources, (size_t)(targets - 1) * sizeof *read);
  const mica__translator translator = mica__pairs_translator(run);
  MICA_TRY(mica__translator_attend(&translator, ids->ids, sources, read, targets, weights));
  for (int64_t i = 0; i < sources * targets; i++) numbers[i] = 100 * (double)weights[i];
  const mica_item matrix = {.kind = MICA_ITEM_KIND_MATRIX,
                            .name = "attention, in percent",
                            .rows = (size_t)targets,
                            .columns = (size_t)sources,
                            .row_names = (const char *const *)names + sources,
                            .column_names = (const char *const *)names,
                            .numbers = numbers};
  MICA_TRY(mica_report_begin(report, "Attention of a translation's tokens to its source"));
  return mica_report_add(report, &matrix);
}

mica_status mica__sentence_attention(mica_run *run, const char *source, const char *translation, mica_report *report) {
  mica_encoding work = {0};
  mica__ids ids = {0};
  mica_status status = mica__pairs_add(run, "the source", source, strlen(source), &work, &ids);
  if (status == MICA_OK)
    status = mica__pairs_add(run, "the translation", translation, strlen(translation), &work, &ids);
  mica_encoding_free(&work);
  const size_t all = status == MICA_OK ? ids.count : 0;
  int32_t *read = calloc(all + 1, sizeof *read);
  float *weights = calloc(all * all + 1, sizeof *weights);
  double *numbers = calloc(all * all + 1, sizeof *numbers);
  char **names = calloc(all + 1, sizeof *names);
  if (status == MICA_OK && (!read || !weights || !numbers || !names)) status = mica__fail_nomem("a report");
  if (status == MICA_OK) status = add_matrix(run, &ids, read, weights, names, numbers, report);
  for (size_t i = 0; names && i < all; i++) free(names[i]);
  free(read);
  free(weights);
  free(numbers);
  free(names);
  mica__ids_free(&ids);
  return status;
}
