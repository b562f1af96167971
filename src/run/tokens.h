/* run/tokens.h: texts as tokens. A run has one tokeniser, the file tokenizer.json of its folder: trained on the texts
 * that the network is trained on, or a file of the user's; evaluation, prediction and resuming take that of the
 * folder. */
#ifndef MICA_RUN_TOKENS_H
#define MICA_RUN_TOKENS_H

#include "run/run.h"

#define MICA__TOKENIZER_FILE "tokenizer.json"

/* Where settings do something: how many tokens of a tokeniser that learns them, case of one that is made here. */
#define MICA__OF_TRAINED "tokenizer=bpe|wordpiece|unigram|word|character|char"
#define MICA__OF_LETTERS MICA__OF_TRAINED "|byte"

/* Names of kinds that the setting "tokenizer" takes beside a file, for help; NULL after the last. */
const char *mica__tokenizer_kind_at(size_t index);
/* The kind of that name, "char" being short for "character"; false for what is none. */
bool mica__tokenizer_find_kind(const char *name, mica_tokenizer_kind *kind);
/* Checks a value of the setting "tokenizer": a kind or a file that can be read. */
mica_status mica__tokens_check(const char *value);
/* True if the setting "tokenizer" says that tokens are the bytes of a text. */
bool mica__tokens_are_bytes(const mica_run *run);

/* Makes run->tokenizer and notes the facts "tokenizer" (its kind or model, and the hash of its file) and "vocabulary":
 * of a run that is opened or resumed from its folder, else from the file that the setting "tokenizer" names, else
 * trained by the settings "tokenizer", "vocabulary" and "lowercase" on the texts that
 * `next` gives. MICA_E_FORMAT where the folder's file is not the one that the run was trained with. */
mica_status mica__run_make_tokenizer(mica_run *run, mica_text_fn *next, void *user);
/* Does so; one that is trained has the tokens <s> and </s> to begin and to end texts that are written. */
mica_status mica__run_make_framing_tokenizer(mica_run *run, mica_text_fn *next, void *user);
/* Writes the tokeniser to the run's folder; without one it does nothing. */
mica_status mica__run_write_tokenizer(const mica_run *run);

/* --- texts of a dataset --- */

/* A walk over the texts of a column: of kind TEXT, or CLASS, where the names of classes are the texts. */
typedef struct mica__texts {
  const mica_dataset *data;
  size_t column;
  uint64_t at; /* the sample that is read next */
  char *text;  /* the present one */
  size_t bytes, capacity;
} mica__texts;

/* The text of sample texts->at, which is counted on; a NUL follows it. */
mica_status mica__texts_read(mica__texts *texts);
/* A mica_text_fn of a mica__texts. */
mica_status mica__texts_next(void *texts, const char **text, size_t *bytes);
void mica__texts_free(mica__texts *texts);

/* Ids of texts one after another; offsets[i] is where those of text i begin. */
typedef struct mica__ids {
  int32_t *ids;
  int64_t *offsets;
  size_t count, capacity, texts, capacity_texts;
  size_t cut, empty; /* texts that lost their end, and that had no token */
} mica__ids;

/* Adds the ids of a text, framed as the tokeniser says if `special`; most > 0: the first ones. `filled`: a text without
 * tokens counts as one of id 0. name stands in sentences. */
mica_status mica__ids_add(const mica_run *run, const char *name, const char *text, size_t bytes, bool special,
                          int64_t most, bool filled, mica_encoding *work, mica__ids *ids);
/* Adds a text by its ids. */
mica_status mica__ids_append(mica__ids *ids, const int32_t *list, size_t count);
void mica__ids_free(mica__ids *ids);

/* *out: the samples of data with a ragged column `name`, the ids of a column's texts. `cut` and `empty` of *about,
 * which may be NULL, count texts. */
mica_status mica__tokens_derive(const mica_run *run, const mica_dataset *data, size_t column, const char *name,
                                int64_t most, mica_dataset **out, mica__ids *about);

/* Remarks where texts are longer than the network takes: their ends are not read, in training as in evaluation and
 * prediction. */
mica_status mica__run_remark_cut(mica_run *run, size_t cut, size_t texts, int64_t most);

#endif
