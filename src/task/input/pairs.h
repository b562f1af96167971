/* task/input/pairs.h: what training and translating have in common. */
#ifndef MICA_TASK_INPUT_PAIRS_H
#define MICA_TASK_INPUT_PAIRS_H

#include "run/tokens.h"

/* The network that the run's settings describe. */
mica_model_config mica__translate_network(const mica_run *run);
/* The tokens before a target and behind it, of the run's tokeniser; -1: it has none. */
int32_t mica__translate_begin(const mica_run *run);
int32_t mica__translate_end(const mica_run *run);

/* The name of a column: of a table's answers, which its dataset calls "label", that of the table. */
const char *mica__translate_name(const mica_dataset *data, const mica_column *column);
/* The column of that name in data that fit the run; "label" stands for that of answers. */
size_t mica__translate_column(const mica_dataset *data, const char *name);

/* Adds a text's ids with the end behind them. Longer ones than the context lose what is too much; texts are UTF-8. name
 * stands in sentences. */
mica_status mica__translate_add(const mica_run *run, const char *name, const char *text, size_t bytes,
                                mica_encoding *work, mica__ids *ids);

/* Makes *texts, which is NULL before, of the translations of all ids, and their scores; a text that is its end alone
 * has an empty one. Both are the caller's: mica__translations_free. */
typedef struct mica__translations {
  char **texts;
  double *scores;
  size_t count;
} mica__translations;
mica_status mica__translate(mica_run *run, const mica__ids *ids, int64_t beams, double length_penalty,
                            mica__translations *translations);
void mica__translations_free(mica__translations *translations);

/* Adds a section: which tokens of a source each token of its translation looks at. */
mica_status mica__translate_show_attention(mica_run *run, const char *source, const char *translation,
                                           mica_report *report);

/* Columns of a task row. */
mica_status mica__translate_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__translate_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__translate_answers(mica_run *run);
mica_status mica__translate_report(mica_run *run, mica_report *report);

#endif
