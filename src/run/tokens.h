/* run/tokens.h: texts as tokens. A run has one tokeniser, the file tokenizer.json in its folder. It is learned from the
 * training texts or is a file of the user's; evaluation, prediction and resuming always read the one in the folder. */
#ifndef MICA_RUN_TOKENS_H
#define MICA_RUN_TOKENS_H

#include "data/text/texts.h"
#include "run/run.h"

#define MICA__TOKENIZER_FILE "tokenizer.json"

/* Conditions under which settings have an effect (mica_setting_row.of): MICA__OF_TRAINED if the tokeniser is learned,
 * for "vocabulary"; MICA__OF_LETTERS if it is learned or takes bytes, for "lowercase". */
#define MICA__OF_TRAINED "tokenizer=bpe|wordpiece|unigram|word|character|char"
#define MICA__OF_LETTERS MICA__OF_TRAINED "|byte"

/* Names of the kinds that the setting "tokenizer" takes besides a file, for help; ends with NULL. */
const char *mica__tokenizer_kind_at(size_t index);
/* The kind of this name ("char" means "character"); false if there is none. */
bool mica__tokenizer_find_kind(const char *name, mica_tokenizer_kind *kind);
/* Checks a value of the setting "tokenizer": a kind, or a readable file. */
mica_status mica__tokens_check(const char *value);
/* True if the setting "tokenizer" says that tokens are the bytes of a text. */
bool mica__tokens_are_bytes(const mica_run *run);

/* Makes run->tokenizer and sets the stored values "tokenizer" (its kind or model, and the hash of its file) and
 * "vocabulary".
 *
 * An opened or resumed run takes the tokeniser from its folder; MICA_E_FORMAT if the file there is not the one that the
 * run was trained with. A new run takes it from the file that the setting "tokenizer" names. If that names a kind, the
 * run learns it, by the settings "vocabulary" and "lowercase", from the texts that `next` gives. */
mica_status mica__run_make_tokenizer(mica_run *run, mica_text_fn *next, void *user);
/* Like mica__run_make_tokenizer, but a tokeniser that is learned has the tokens <s> and </s> at the beginning and end
 * of texts to be written. */
mica_status mica__run_make_framing_tokenizer(mica_run *run, mica_text_fn *next, void *user);
/* Writes the tokeniser to the run's folder; does nothing if there is none. */
mica_status mica__run_write_tokenizer(const mica_run *run);

/* --- texts of a dataset --- */

/* The ids of all texts, one text after another; offsets[i] is the first id of text i. */
typedef struct mica__ids {
  int32_t *ids;
  int64_t *offsets;
  size_t count, capacity, texts, capacity_texts;
  size_t cut, empty; /* the number of texts that were cut, and that had no token */
} mica__ids;

/* Appends the ids of a text, with the tokeniser's special tokens if `special`, and only the first `most` if most > 0.
 * If `filled`, a text without tokens becomes a single id 0. `name` appears in messages. */
mica_status mica__ids_add(const mica_run *run, const char *name, const char *text, size_t bytes, bool special,
                          int64_t most, bool filled, mica_encoding *work, mica__ids *ids);
/* Appends a text given as ids. */
mica_status mica__ids_append(mica__ids *ids, const int32_t *list, size_t count);
void mica__ids_free(mica__ids *ids);

/* Makes *out, a dataset with the samples of `data` and an added column `name`, which holds the ids of the texts in
 * `column`. Its length differs from sample to sample. If `about` is not NULL, sets its members cut, empty and texts to
 * numbers of texts. */
mica_status mica__tokens_derive(const mica_run *run, const mica_dataset *data, size_t column, const char *name,
                                int64_t most, mica_dataset **out, mica__ids *about);

/* Adds a remark if `cut` of the `texts` texts have more than `most` tokens, the most that the network takes. The ends
 * of such texts are ignored in training, evaluation and prediction alike. */
mica_status mica__run_remark_cut(mica_run *run, size_t cut, size_t texts, int64_t most);

#endif
