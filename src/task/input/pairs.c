/* Texts of two languages: their columns, the tokenizer, and batches. */
#include "task/input/pairs.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <mica/model.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 8

static const char *const networks[] = {"translator", NULL};

/* --- columns --- */

static bool is_text(const mica_column *column) {
  return column &&
         (column->kind == MICA_COLUMN_KIND_TEXT || (column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0));
}

/* Finds the text column named `wanted` or, if `wanted` is empty, the first one whose name is not `other`. *found
 * receives its name. */
static mica_status find_text(const mica_run *run, const mica_dataset *data, const char *wanted, const char *other,
                             const char *setting, const char **found) {
  mica__text names = {0};
  *found = NULL;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const char *name = mica__column_given_name(data, mica_dataset_column(data, i));
    if (!is_text(mica_dataset_column(data, i))) continue;
    mica__text_addf(&names, names.length ? ", %s" : "%s", name);
    if (!*found && (*wanted ? !strcmp(name, wanted) : !other || strcmp(name, other) != 0)) *found = name;
  }
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK && !*found)
    status = *wanted ? mica__fail(MICA_E_FORMAT, "%s has no texts '%s', which the setting %s names; its texts: %s",
                                  mica_dataset_name(data), wanted, setting, names.length ? names.data : "none")
                     : mica__fail(MICA_E_FORMAT,
                                  "%s: the task %s needs two columns of texts, or two files such as train.en and "
                                  "train.de; found: %s",
                                  mica_dataset_name(data), run->task->name, names.length ? names.data : "none");
  mica__text_free(&names);
  return status;
}

static mica_status note_columns(mica_run *run) {
  const mica__pairs_settings settings = mica__pairs_settings_of(run);
  const char *from = settings.from, *to = settings.to, *source = NULL, *target = NULL;
  if (*from && !strcmp(from, to))
    return mica__fail(MICA_E_INVALID, "from and to are both %s: nothing is translated", from);
  MICA_TRY(find_text(run, run->parts->whole, from, *to ? to : NULL, "from", &source));
  MICA_TRY(find_text(run, run->parts->whole, to, source, "to", &target));
  const mica__schema *schema = run->parts->whole->store->schema;
  if (schema && !schema->header)
    MICA_TRY(mica__run_remark(run,
                              "the first row of %s is taken for texts; if it names the columns, --from and --to with "
                              "these names say so",
                              mica_dataset_name(run->parts->whole)));
  MICA_TRY(mica__run_note_text(run, "from", source));
  return mica__run_note_text(run, "to", target);
}

/* Gives the name of the target column to the reader of tables, which takes the first line for a header if a cell holds
 * this name. */
static void opens(const mica_run *run, mica_dataset_config *config) {
  const char *to = mica__pairs_facts_of(run).to;
  if (!*to) to = mica__pairs_settings_of(run).to;
  if (*to) config->label_column = to;
}

/* Data suit if they have exactly two columns, both of texts. */
static int32_t suits(const mica_dataset *data) {
  const mica_column *a = mica_dataset_column(data, 0), *b = mica_dataset_column(data, 1);
  const bool two = b && mica_dataset_column_count(data) == 2;
  return two && a->kind == MICA_COLUMN_KIND_TEXT && b->kind == MICA_COLUMN_KIND_TEXT ? 15 : 0;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica__pairs_facts facts = mica__pairs_facts_of(run);
  const char *found = NULL;
  MICA_TRY(find_text(run, data, facts.from, NULL, "from", &found));
  return find_text(run, data, facts.to, NULL, "to", &found);
}

/* --- preparation --- */

static mica_status check_network(const mica_run *run) {
  const mica__pairs_settings settings = mica__pairs_settings_of(run);
  if (*mica__common_settings_of(run).model) MICA_TRY(mica__task_check_network(run));
  return mica__task_share_width(settings.width, settings.heads, settings.positions == MICA_POSITIONS_KIND_ROTARY);
}

/* All source texts, followed by all target texts. */
typedef struct both {
  mica__texts from, to;
} both;

static mica_status next_text(void *user, const char **text, size_t *bytes) {
  both *b = user;
  MICA_TRY(mica__texts_next(&b->from, text, bytes));
  return *text ? MICA_OK : mica__texts_next(&b->to, text, bytes);
}

static mica_status make_tokenizer(mica_run *run, mica_text_fn *next, both *texts) {
  MICA_TRY(mica__run_make_framing_tokenizer(run, next, texts));
  if (mica__pairs_begin(run) >= 0 && mica__pairs_end(run) >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the tokeniser %s has no tokens <s> and </s> (or [CLS] and [SEP]) that frame a text",
                    mica__pairs_settings_of(run).tokenizer);
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(check_network(run));
  MICA_TRY(mica__common_set(run, MICA__SETTING_model, networks[0]));
  return run->parts->whole ? note_columns(run) : make_tokenizer(run, NULL, NULL);
}

static mica_status complete(mica_run *run, const mica_column *label) {
  const mica__pairs_facts facts = mica__pairs_facts_of(run);
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  both texts = {mica__texts_of(data, facts.from), mica__texts_of(data, facts.to)};
  (void)label;
  mica_status status = make_tokenizer(run, next_text, &texts);
  mica__texts_free(&texts.from);
  mica__texts_free(&texts.to);
  return status;
}

/* --- tokens --- */

/* Bits for the sides of a pair that are missing. A blank text counts as missing. */
enum { NO_SOURCE = 1, NO_TARGET = 2 };

static bool is_blank(const char *text, size_t bytes) {
  while (bytes && strchr(" \t\r\n", text[bytes - 1])) bytes--;
  return !bytes;
}

/* Encodes the texts of a column; sets the bit `lack` of each pair whose text is blank. */
static mica_status encode_all(const mica_run *run, const mica_dataset *data, const char *column, uint8_t lack,
                              uint8_t *lacks, mica__ids *ids) {
  mica__texts texts = mica__texts_of(data, column);
  mica_encoding work = {0};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data); i++) {
    mica__text name = {0};
    status = mica__texts_read(&texts);
    mica__text_addf(&name, "%s: line %llu of '%s'", mica_dataset_name(data), (unsigned long long)i + 1, column);
    if (status == MICA_OK) status = mica__text_status(&name);
    if (status == MICA_OK) status = mica__pairs_add(run, name.data, texts.text, texts.bytes, &work, ids);
    if (status == MICA_OK && is_blank(texts.text, texts.bytes)) lacks[i] |= lack;
    mica__text_free(&name);
  }
  mica_encoding_free(&work);
  mica__texts_free(&texts);
  return status;
}

/* Makes targets as the decoder reads them: with a begin token before each, and without the end token. NULL: out of
 * memory. The caller frees the result. */
static int32_t *shift(const mica_run *run, const mica__ids *targets) {
  int32_t *read = malloc((targets->count + 1) * sizeof *read);
  for (size_t i = 0; read && i < targets->texts; i++) {
    const int64_t from = targets->offsets[i], to = targets->offsets[i + 1];
    read[from] = mica__pairs_begin(run);
    memcpy(read + from + 1, targets->ids + from, (size_t)(to - from - 1) * sizeof *read);
  }
  return read;
}

static mica_column_data column_of(const mica_run *run, const char *name, const int32_t *ids, const int64_t *offsets) {
  return (mica_column_data){.column = {.name = name,
                                       .kind = MICA_COLUMN_KIND_TOKENS,
                                       .dtype = MICA_I32,
                                       .shape = {1, {MICA_DYNAMIC}},
                                       .classes = mica_tokenizer_size(run->tokenizer)},
                            .data = ids,
                            .offsets = offsets};
}

/* Passes arrays to the dataset, which frees them. If this fails for an array, the arrays after it are freed here. */
static mica_status own(mica_dataset *data, void *const *arrays, size_t count) {
  mica_status status = MICA_OK;
  for (size_t i = 0; i < count; i++)
    if (status == MICA_OK)
      status = mica__store_own(data->store, arrays[i], free);
    else
      free(arrays[i]);
  return status;
}

static mica_status derive_of(const mica_run *run, const mica_dataset *data, uint8_t *lacks, mica__ids *sources,
                             mica__ids *targets, mica_dataset **out) {
  const mica__pairs_facts facts = mica__pairs_facts_of(run);
  if (!lacks) return mica__fail_nomem("pairs");
  MICA_TRY(encode_all(run, data, facts.from, NO_SOURCE, lacks, sources));
  MICA_TRY(encode_all(run, data, facts.to, NO_TARGET, lacks, targets));
  int32_t *read = shift(run, targets);
  if (!read) return mica__fail_nomem("tokens");
  const mica_column_data added[] = {column_of(run, MICA__PAIRS_SOURCE, sources->ids, sources->offsets),
                                    column_of(run, MICA__PAIRS_READ, read, targets->offsets),
                                    column_of(run, MICA__PAIRS_TARGET, targets->ids, targets->offsets)};
  mica_status status = mica_dataset_derive(data, added, 3, out);
  if (status != MICA_OK) {
    free(read);
    return status;
  }
  void *const arrays[] = {read, sources->ids, sources->offsets, targets->ids, targets->offsets};
  sources->ids = targets->ids = NULL;
  sources->offsets = targets->offsets = NULL;
  return own(*out, arrays, 5);
}

/* Checks for pairs with a blank side.
 * - In training data, it is an error if more than half of the pairs have only one side: the files do not belong
 * together. Fewer are remarked on and trained on as they are.
 * - In other data, it is an error if no pair has a target, since BLEU has no references then. Blank sides are remarked
 * on, except in the validation part of a run that trains. */
static mica_status remark_empty(mica_run *run, mica_part part, const char *name, const uint8_t *lacks, size_t pairs) {
  const mica__pairs_facts facts = mica__pairs_facts_of(run);
  const char *from = facts.from, *to = facts.to;
  const bool learns = run->parts->whole && part == MICA_PART_TRAIN;
  const char *of = run->parts->whole && part == MICA_PART_TEST ? " of the test part" : "";
  size_t counts[4] = {0};
  for (size_t i = 0; i < pairs; i++) counts[lacks[i]]++;
  const size_t half = counts[NO_SOURCE] + counts[NO_TARGET], none = counts[NO_SOURCE | NO_TARGET];
  if (!learns && pairs && counts[NO_TARGET] + none == pairs)
    return mica__fail(MICA_E_FORMAT,
                      "%s: none of the %zu lines of the %s part has a text in '%s': there is nothing to compare "
                      "translations with",
                      name, pairs, mica_part_name(part), to);
  if (run->parts->whole && part == MICA_PART_VALIDATION) return MICA_OK;
  if (learns && half > pairs / 2)
    return mica__fail(MICA_E_FORMAT,
                      "%s: %zu of %zu lines have a text in only one of '%s' and '%s', so they are not translations",
                      name, half, pairs, from, to);
  if (counts[NO_TARGET])
    MICA_TRY(mica__run_remark(run, "%zu of %zu lines%s have a text in '%s' and none in '%s'%s", counts[NO_TARGET],
                              pairs, of, from, to, learns ? ": the network learns to translate into nothing" : ""));
  if (counts[NO_SOURCE])
    MICA_TRY(mica__run_remark(run, "%zu of %zu lines%s have a text in '%s' and none in '%s'%s", counts[NO_SOURCE],
                              pairs, of, to, from,
                              learns ? ": the network learns to translate nothing into texts" : ""));
  if (!none) return MICA_OK;
  return mica__run_remark(run, "%zu of %zu lines%s are empty in both '%s' and '%s'", none, pairs, of, from, to);
}

static mica_status remark(mica_run *run, mica_part part, const char *name, const uint8_t *lacks,
                          const mica__ids *sources, const mica__ids *targets) {
  /* Texts that are cut are reported for the training part, or for data of a run that does not train. */
  if (part == MICA_PART_TRAIN || !run->parts->whole)
    MICA_TRY(mica__run_remark_cut(run, sources->cut + targets->cut, sources->texts + targets->texts,
                                  mica__pairs_settings_of(run).length - 1));
  return remark_empty(run, part, name, lacks, sources->texts);
}

static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  mica__ids sources = {0}, targets = {0};
  mica_dataset *made = NULL;
  uint8_t *lacks = calloc((size_t)mica_dataset_count(data) + 1, sizeof *lacks);
  mica_status status = derive_of(run, data, lacks, &sources, &targets, &made);
  if (status == MICA_OK) status = remark(run, part, mica_dataset_name(data), lacks, &sources, &targets);
  free(lacks);
  mica__ids_free(&sources);
  mica__ids_free(&targets);
  if (status == MICA_OK)
    *out = made;
  else
    mica_dataset_destroy(made);
  return status;
}

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  static const mica_column_config columns[] = {{.name = MICA__PAIRS_TARGET, .pad = MICA__PAIRS_NOTHING}};
  (void)run, (void)part;
  config->columns = columns;
  config->column_count = 1;
  config->buckets = BUCKETS;
}

/* --- the network --- */

/* The logits (N, T, outputs) of the token after each token that is read. */
static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  mica_model_config network = mica__pairs_network(run);
  mica_value lengths = mica_batch_value(batch, MICA__PAIRS_SOURCE ".length");
  network.sequence.vocabulary = outputs;
  network.sequence.lengths = lengths;
  mica_value memory = mica_translator_encode(nn, mica_batch_value(batch, MICA__PAIRS_SOURCE), &network);
  network.sequence.lengths = (mica_value){0};
  return mica_translator_decode(nn, mica_batch_value(batch, MICA__PAIRS_READ), memory, lengths, &network);
}

/* An exported model gives the logits of the next token, for a source and the target so far. */
static const mica_batch_column columns[] = {{MICA__PAIRS_SOURCE, MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}},
                                            {MICA__PAIRS_SOURCE ".length", MICA_I32, {1, {MICA_DYNAMIC}}},
                                            {MICA__PAIRS_READ, MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}},
                                            {0}};

/* --- samples --- */

mica__pair_samples mica__pairs_samples(const mica_run *run) {
  const mica__pairs_facts facts = mica__pairs_facts_of(run);
  return (mica__pair_samples){facts.from, facts.to, mica__pairs_settings_of(run).length - 1, mica__pairs_add};
}

static mica_status visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  const mica__pair_samples pairs = mica__pairs_samples(run);
  return mica__pair_samples_visit(run, &pairs, given, fn, user);
}

static mica_status look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  const mica__pair_samples pairs = mica__pairs_samples(run);
  return mica__pair_samples_look(run, &pairs, data, fn, user);
}

const mica__input mica__input_pairs = {
    .name = "pairs",
    .traits.own_input = true,
    .traits.kinds = "*=text",
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .complete = complete,
    .fits = fits,
    .views.derive = derive,
    .loads = loads,
    .networks = networks,
    .network = network,
    .onnx.columns = columns,
    .samples.visit = visit,
    .samples.look = look,
};
