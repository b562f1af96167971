/* Texts of pairs as tokens, and the network that reads them. */
#include "base/utf8.h"
#include "run/fields.h"
#include "run/network.h"
#include "task/input/pairs.h"

#include <string.h>

MICA__FIELDS(pairs, PAIRS_SETTINGS, PAIRS_FACTS);

/* --- tokens --- */

int32_t mica__pairs_begin(const mica_run *run) {
  const int32_t id = mica_tokenizer_id(run->tokenizer, "<s>");
  return id < 0 ? mica_tokenizer_id(run->tokenizer, "[CLS]") : id;
}

int32_t mica__pairs_end(const mica_run *run) {
  const int32_t id = mica_tokenizer_id(run->tokenizer, "</s>");
  return id < 0 ? mica_tokenizer_id(run->tokenizer, "[SEP]") : id;
}

mica_status mica__pairs_add(const mica_run *run, const char *name, const char *text, size_t bytes, mica_encoding *work,
                            mica__ids *ids) {
  const int64_t most = mica__pairs_settings_of(run).length - 1;
  const size_t valid = mica__utf8_prefix(text, bytes);
  if (valid < bytes) return mica__fail(MICA_E_FORMAT, "%s is not UTF-8 at byte %zu", name, valid + 1);
  MICA_TRY(mica__ids_add(run, name, text, bytes, false, most, false, work, ids));
  /* mica__ids_add has left room for the end token. */
  ids->ids[ids->count++] = mica__pairs_end(run);
  ids->offsets[ids->texts] = (int64_t)ids->count;
  return MICA_OK;
}

/* --- the network --- */

mica_model_config mica__pairs_network(const mica_run *run) {
  const mica__pairs_settings s = mica__pairs_settings_of(run);
  return (mica_model_config){.width = s.width,
                             .dropout = s.dropout,
                             .sequence = {.vocabulary = (int64_t)mica__pairs_facts_of(run).vocabulary,
                                          .context = s.length,
                                          .layers = s.layers,
                                          .heads = s.heads,
                                          .hidden = s.hidden,
                                          .positions = (mica_positions_kind)s.positions,
                                          .feed_forward = (mica_feed_forward)s.feed_forward}};
}

mica__translator mica__pairs_translator(const mica_run *run) {
  return (mica__translator){.engine = run->engine,
                            .network = mica__pairs_network(run),
                            .nn = mica__run_building(run),
                            .share = mica_trainer_test_session(run->trainer),
                            .tokenizer = run->tokenizer,
                            .begin = mica__pairs_begin(run),
                            .end = mica__pairs_end(run)};
}

mica_status mica__pairs_translate(const mica_run *run, const mica__ids *ids, int64_t beams, double length_penalty,
                                  mica__translations *out) {
  const mica__translator translator = mica__pairs_translator(run);
  const mica__translation_sources sources = {ids->ids, ids->offsets, ids->texts};
  return mica__translate(&translator, &sources, beams, length_penalty, out);
}
