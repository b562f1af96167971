/* translate: texts of a language to texts of another, by an encoder-decoder that learns from pairs of lines. */
#include "task/input/pairs.h"
#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include "data/dataset.h"
#include "data/table/table.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* Columns of batches: the source, what the decoder reads (the target behind its begin), and what it is to say. */
#define SOURCE "source"
#define READ "read"
#define TARGET "target"
/* Stands behind the end of a target: it counts for nothing. */
#define NOTHING (-1)
#define NETWORK "translator"
#define BUCKETS 8

/* name, kind, default, how help calls a value, help and further fields */
#define TRANSLATE_SETTINGS(X, S)                                                                                       \
  X(S, TEXT, from, "from", "", "COLUMN", "source language or column, as en of train.en (default: the first)",          \
    .fixed = true)                                                                                                     \
  X(S, TEXT, to, "to", "", "COLUMN", "target language or column (default: the other one)", .fixed = true)              \
  MICA__TOKENIZER_SETTINGS(                                                                                            \
      X, S, "bpe", "a tokenizer.json with <s> and </s>, or a kind to train on the training texts", MICA__OF_LETTERS)   \
  X(S, INT, length, "length", "64", "N", "most tokens of a text, its end included", .low = 2, .high = 1 << 16,         \
    .fixed = true)                                                                                                     \
  X(S, INT, layers, "layers", "3", "N", "blocks of the encoder and of the decoder", .low = 1, .high = 1000,            \
    .fixed = true)                                                                                                     \
  X(S, INT, width, "width", "128", "N", "features per position", .low = 1, .high = 1 << 16, .fixed = true)             \
  X(S, INT, heads, "heads", "4", "N", "attention heads", .low = 1, .high = 1024, .fixed = true)                        \
  X(S, INT, hidden, "hidden", "0", "N", "features between a block's dense layers; 0: 4 x width", .low = 0,             \
    .high = 1 << 20, .fixed = true)                                                                                    \
  MICA__BLOCK_SETTINGS(X, S, "0.1", "sinusoidal", "relu")                                                              \
  X(S, REAL, label_smoothing, "label-smoothing", "0.1", "S", "probability shared evenly by all tokens", .low = 0,      \
    .high = 1, .fixed = true)                                                                                          \
  X(S, INT, beam, "beam", "5", "N", "beam width for the metric bleu_beam; 1: do not measure it", .low = 1, .high = 64) \
  X(S, REAL, length_penalty, "length-penalty", "1", "A", "beam scores are log probability / tokens^A", .low = 0,       \
    .high = 10)                                                                                                        \
  X(S, INT, bleu_samples, "bleu-samples", "200", "N", "validation texts for an epoch's BLEU; 0: all", .low = 0,        \
    .high = 1e9)
MICA__SETTINGS_STRUCT(translate, TRANSLATE_SETTINGS);
static MICA__SETTINGS_TABLE(translate, TRANSLATE_SETTINGS);

/* Found on multi30k (29,000 pairs of lines): after six epochs BLEU of its test part is 33.2, greedily. */
static const mica_setting defaults[] = {{"epochs", "10"},
                                        {"batch", "64"},
                                        {"lr", "0.002"},
                                        {"optimizer", "adamw"},
                                        {"weight-decay", "0.01"},
                                        {"clip-norm", "1"},
                                        {0}};

static const mica_task_metric metrics[] = {{"bleu", false}, {"perplexity", true}, {NULL, false}};

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

/* --- columns --- */

static bool is_text(const mica_column *column) {
  return column &&
         (column->kind == MICA_COLUMN_KIND_TEXT || (column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0));
}

/* The name of the column of texts that is wanted; without one the first that is not `other`. */
static mica_status find_text(const mica_dataset *data, const char *wanted, const char *other, const char *setting,
                             const char **found) {
  mica__text names = {0};
  *found = NULL;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const char *name = mica__translate_name(data, mica_dataset_column(data, i));
    if (!is_text(mica_dataset_column(data, i))) continue;
    mica__text_addf(&names, names.length ? ", %s" : "%s", name);
    if (!*found && (*wanted ? !strcmp(name, wanted) : !other || strcmp(name, other) != 0)) *found = name;
  }
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK && !*found)
    status = *wanted ? mica__fail(MICA_E_FORMAT, "%s has no texts '%s' for the setting %s; there is %s",
                                  mica_dataset_name(data), wanted, setting, names.length ? names.data : "none")
                     : mica__fail(MICA_E_FORMAT,
                                  "%s has texts of %s: the task translate wants two columns, or files side by side as "
                                  "train.en and train.de",
                                  mica_dataset_name(data), names.length ? names.data : "no language");
  mica__text_free(&names);
  return status;
}

static mica_status note_columns(mica_run *run) {
  const char *from = mica_run_setting(run, "from"), *to = mica_run_setting(run, "to");
  const char *source = NULL, *target = NULL;
  if (*from && !strcmp(from, to))
    return mica__fail(MICA_E_INVALID, "from and to are both %s: nothing is translated", from);
  MICA_TRY(find_text(run->parts->whole, from, *to ? to : NULL, "from", &source));
  MICA_TRY(find_text(run->parts->whole, to, source, "to", &target));
  const mica__schema *schema = run->parts->whole->store->schema;
  if (schema && !schema->header)
    MICA_TRY(mica__run_remark(run,
                              "the first line of %s is taken for texts; if it names the columns, --from and --to with "
                              "these names say so",
                              mica_dataset_name(run->parts->whole)));
  MICA_TRY(mica__run_note_text(run, "from", source));
  return mica__run_note_text(run, "to", target);
}

/* A table's first line is known for names by that of the answers. */
static void opens(const mica_run *run, mica_dataset_config *config) {
  const char *to = mica__run_fact_text(run, "to");
  if (!*to) to = mica_run_setting(run, "to");
  if (*to) config->label_column = to;
}

/* Two columns of texts, and nothing else. */
static int32_t suits(const mica_dataset *data) {
  const size_t count = mica_dataset_column_count(data);
  bool texts = count == 2;
  for (size_t i = 0; texts && i < count; i++) texts = mica_dataset_column(data, i)->kind == MICA_COLUMN_KIND_TEXT;
  return texts ? 15 : 0;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const char *found = NULL;
  MICA_TRY(find_text(data, mica__run_fact_text(run, "from"), NULL, "from", &found));
  return find_text(data, mica__run_fact_text(run, "to"), NULL, "to", &found);
}

/* --- preparation --- */

static mica_status check_network(const mica_run *run) {
  const long long width = whole(run, "width"), heads = whole(run, "heads");
  if (*mica_run_setting(run, "model")) MICA_TRY(mica__task_check_network(run));
  if (width % heads)
    return mica__fail(MICA_E_INVALID, "a width of %lld cannot be shared by %lld heads: width is a multiple of heads",
                      width, heads);
  if (width / heads % 2 && !strcmp(mica_run_setting(run, "positions"), "rotary"))
    return mica__fail(MICA_E_INVALID, "rotary positions rotate pairs: width %lld over heads %lld is odd", width, heads);
  return MICA_OK;
}

/* The texts of both languages, one after another. */
typedef struct both {
  mica__texts from, to;
} both;

static mica_status next_text(void *user, const char **text, size_t *bytes) {
  both *b = user;
  MICA_TRY(mica__texts_next(&b->from, text, bytes));
  return *text ? MICA_OK : mica__texts_next(&b->to, text, bytes);
}

static mica__texts texts_of(const mica_dataset *data, const char *name) {
  return (mica__texts){.data = data, .column = mica__translate_column(data, name)};
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(check_network(run));
  MICA_TRY(mica__run_set(run, "model", NETWORK));
  both texts = {.from = {.data = NULL}};
  if (run->parts->whole) {
    MICA_TRY(note_columns(run));
    const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
    texts.from = texts_of(data, mica__run_fact_text(run, "from"));
    texts.to = texts_of(data, mica__run_fact_text(run, "to"));
  }
  mica_status status = mica__run_make_framing_tokenizer(run, run->parts->whole ? next_text : NULL, &texts);
  mica__texts_free(&texts.from);
  mica__texts_free(&texts.to);
  MICA_TRY(status);
  if (mica__translate_begin(run) >= 0 && mica__translate_end(run) >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the tokeniser %s has no tokens <s> and </s> (or [CLS] and [SEP]) that frame a text",
                    mica_run_setting(run, "tokenizer"));
}

/* --- tokens --- */

/* What pairs lack, a bit a side; a text of blanks is none. */
enum { NO_SOURCE = 1, NO_TARGET = 2 };

static bool is_blank(const char *text, size_t bytes) {
  while (bytes && strchr(" \t\r\n", text[bytes - 1])) bytes--;
  return !bytes;
}

/* Sets the bit `lack` of each pair that has no text in the column. */
static mica_status encode_all(const mica_run *run, const mica_dataset *data, const char *column, uint8_t lack,
                              uint8_t *lacks, mica__ids *ids) {
  mica__texts texts = texts_of(data, column);
  mica_encoding work = {0};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data); i++) {
    mica__text name = {0};
    status = mica__texts_read(&texts);
    mica__text_addf(&name, "%s: line %llu of '%s'", mica_dataset_name(data), (unsigned long long)i + 1, column);
    if (status == MICA_OK) status = mica__text_status(&name);
    if (status == MICA_OK) status = mica__translate_add(run, name.data, texts.text, texts.bytes, &work, ids);
    if (status == MICA_OK && is_blank(texts.text, texts.bytes)) lacks[i] |= lack;
    mica__text_free(&name);
  }
  mica_encoding_free(&work);
  mica__texts_free(&texts);
  return status;
}

/* Targets that begin with their begin, and lack their end. */
static int32_t *shift(const mica_run *run, const mica__ids *targets) {
  int32_t *read = malloc((targets->count + 1) * sizeof *read);
  for (size_t i = 0; read && i < targets->texts; i++) {
    const int64_t from = targets->offsets[i], to = targets->offsets[i + 1];
    read[from] = mica__translate_begin(run);
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

/* Hands arrays to the dataset, which frees them; those behind one that fails are freed. */
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
  if (!lacks) return mica__fail_nomem("pairs");
  MICA_TRY(encode_all(run, data, mica__run_fact_text(run, "from"), NO_SOURCE, lacks, sources));
  MICA_TRY(encode_all(run, data, mica__run_fact_text(run, "to"), NO_TARGET, lacks, targets));
  int32_t *read = shift(run, targets);
  if (!read) return mica__fail_nomem("tokens");
  const mica_column_data added[] = {column_of(run, SOURCE, sources->ids, sources->offsets),
                                    column_of(run, READ, read, targets->offsets),
                                    column_of(run, TARGET, targets->ids, targets->offsets)};
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

/* Says what pairs lack. A few that lack a side are learnt from as they are; where that is most of them the files do not
 * belong together. Without a single translation there is no BLEU either. Of validation that is all that is said. */
static mica_status remark_empty(mica_run *run, mica_part part, const char *name, const uint8_t *lacks, size_t pairs) {
  const char *from = mica__run_fact_text(run, "from"), *to = mica__run_fact_text(run, "to");
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
    return mica__fail(MICA_E_FORMAT, "%s: %zu of %zu lines have a text in one of '%s' and '%s' alone: no translations",
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
  /* Texts that are cut are told of what is trained on, or of what is tested alone. */
  if (part == MICA_PART_TRAIN || !run->parts->whole)
    MICA_TRY(mica__run_remark_cut(run, sources->cut + targets->cut, sources->texts + targets->texts,
                                  whole(run, "length") - 1));
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
  static const mica_column_config columns[] = {{.name = TARGET, .pad = NOTHING}};
  (void)run, (void)part;
  config->columns = columns;
  config->column_count = 1;
  config->buckets = BUCKETS;
}

/* --- the step --- */

static mica_value logits_of(mica_nn *nn, const mica_batch_values *batch, const mica_run *run) {
  mica_model_config network = mica__translate_network(run);
  mica_value lengths = mica_batch_value(batch, SOURCE ".length");
  network.sequence.lengths = lengths;
  mica_value memory = mica_translator_encode(nn, mica_batch_value(batch, SOURCE), &network);
  network.sequence.lengths = (mica_value){0};
  return mica_translator_decode(nn, mica_batch_value(batch, READ), memory, lengths, &network);
}

/* The loss is a mean over the tokens of targets, their ends among them. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  mica_value rows = mica_flatten(logits_of(nn, batch, run), 2);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES,
                                  .value = mica_value_dtype(rows) == MICA_F32 ? rows : mica_cast(rows, MICA_F32)};
  if (!mica_batch_has(batch, TARGET)) return;
  mica_value target = mica_reshape(mica_batch_value(batch, TARGET), MICA_SHAPE(MICA_DYNAMIC));
  const double smoothing = mica_nn_is_training(nn) ? mica_run_number(run, "label-smoothing") : 0;
  const mica_cross_entropy_config how = {.label_smoothing = smoothing, .ignore = true, .ignored = NOTHING};
  out->loss = mica_cross_entropy(rows, target, &how);
  if (mica_value_dtype(out->loss) != MICA_F32) out->loss = mica_cast(out->loss, MICA_F32);
  out->weight = mica_sum(mica_cast(mica_batch_value(batch, TARGET ".length"), MICA_F32), MICA_ALL_AXES, false);
  out->answers[0].weight = mica_cast(mica_greater_equal(target, mica_full_like(target, 0)), MICA_F32);
  out->answers[0].count = out->weight;
}

/* A model tells the logits of each next token (N, T, V), given a source and the target so far. */
static const mica_batch_column export_columns[] = {{SOURCE, MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}},
                                                   {SOURCE ".length", MICA_I32, {1, {MICA_DYNAMIC}}},
                                                   {READ, MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}},
                                                   {0}};

static const mica_onnx_text export_docs[] = {
    {SOURCE, "tokens of the text, by the run's tokenizer.json, </s> behind them"},
    {SOURCE ".length", "how many tokens of the source count, from the left"},
    {READ, "tokens of the translation so far, <s> before them"},
    {"logits", "of each token of the vocabulary to follow, behind each of those read"},
    {0}};

static void exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  out->outputs[0] = logits_of(nn, batch, config);
  out->output_names[0] = "logits";
}

static const char *const networks[] = {NETWORK, NULL};

/* What config.json must hold of a run of the task. */
#define TRANSLATE_FACTS(X, S)                                                                                          \
  X(S, NUMBER, vocabulary, .needed = true, .most = 1 << 24)                                                            \
  X(S, TEXT, from, .needed = true)                                                                                     \
  X(S, TEXT, to, .needed = true)
MICA__FACTS_STRUCT(translate, TRANSLATE_FACTS);
static MICA__FACTS_TABLE(translate, TRANSLATE_FACTS, 0);

static const mica__input input = {
    .name = "pairs",
    .networks = networks,
    .traits.own_input = true,
    .traits.kinds = "*=text",
    .loads = loads,
    .views.derive = derive,
    .onnx.columns = export_columns,
};

const mica__task_row mica__task_translate = {
    .name = "translate",
    .text = "texts of one language to another, learned from pairs of lines",
    .input = &input,
    .beams = true,
    .metrics = metrics,
    .facts = &mica__translate_fact_list,
    .settings = &mica__translate_setting_list,
    .defaults = defaults,
    .opens = opens,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .answer_columns = (const char *const[]){TARGET, NULL},
    .step = step,
    .exports = exports,
    .export_docs = export_docs,
    .evaluate = mica__translate_evaluate,
    .predict = mica__translate_predict,
    .answers = mica__translate_answers,
    .report = mica__translate_report,
};
