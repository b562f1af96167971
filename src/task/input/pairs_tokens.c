/* Texts of pairs as tokens, and the network that takes them. */
#include "base/utf8.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/facts.h"
#include "task/input/pairs.h"

#include <string.h>

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

/* --- columns --- */

const char *mica__translate_name(const mica_dataset *data, const mica_column *column) {
  const mica__schema *schema = data->store->schema;
  for (size_t i = 0; schema && i < schema->count; i++)
    if (schema->fields[i].label && !strcmp(column->name, "label")) return schema->fields[i].name;
  return column->name;
}

size_t mica__translate_column(const mica_dataset *data, const char *name) {
  const size_t count = mica_dataset_column_count(data);
  size_t i = 0;
  while (i < count && strcmp(mica__translate_name(data, mica_dataset_column(data, i)), name) != 0) i++;
  /* What is derived of a table knows no names of it. */
  return i < count ? i : mica_dataset_column_index(data, "label");
}

/* --- tokens --- */

int32_t mica__translate_begin(const mica_run *run) {
  const int32_t id = mica_tokenizer_id(run->tokenizer, "<s>");
  return id < 0 ? mica_tokenizer_id(run->tokenizer, "[CLS]") : id;
}

int32_t mica__translate_end(const mica_run *run) {
  const int32_t id = mica_tokenizer_id(run->tokenizer, "</s>");
  return id < 0 ? mica_tokenizer_id(run->tokenizer, "[SEP]") : id;
}

mica_status mica__translate_add(const mica_run *run, const char *name, const char *text, size_t bytes,
                                mica_encoding *work, mica__ids *ids) {
  const int64_t most = whole(run, "length") - 1;
  const size_t valid = mica__utf8_prefix(text, bytes);
  if (valid < bytes) return mica__fail(MICA_E_FORMAT, "%s is not UTF-8: byte %zu of it", name, valid + 1);
  MICA_TRY(mica__ids_add(run, name, text, bytes, false, most, false, work, ids));
  /* mica__ids_add has left room. */
  ids->ids[ids->count++] = mica__translate_end(run);
  ids->offsets[ids->texts] = (int64_t)ids->count;
  return MICA_OK;
}

/* --- the network --- */

mica_model_config mica__translate_network(const mica_run *run) {
  mica_sequence_sizes sizes = {.vocabulary = (int64_t)mica__run_fact_number(run, "vocabulary", 1),
                               .context = whole(run, "length"),
                               .layers = whole(run, "layers"),
                               .heads = whole(run, "heads"),
                               .hidden = whole(run, "hidden")};
  const char *positions = mica_run_setting(run, "positions"), *function = mica_run_setting(run, "feed-forward");
  while (sizes.positions < MICA_POSITIONS_KIND_NONE && strcmp(mica_positions_name(sizes.positions), positions) != 0)
    sizes.positions++;
  while (sizes.feed_forward < MICA_FEED_FORWARD_SWIGLU &&
         strcmp(mica_feed_forward_name(sizes.feed_forward), function) != 0)
    sizes.feed_forward++;
  return (mica_model_config){
      .width = whole(run, "width"), .dropout = mica_run_number(run, "dropout"), .sequence = sizes};
}
