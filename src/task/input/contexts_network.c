/* The network of a language model, by the settings of its run. */
#include "run/facts.h"
#include "run/settings.h"
#include "task/input/contexts.h"

#include <string.h>

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

mica_model_config mica__language_network(const mica_run *run) {
  mica_sequence_sizes sizes = {.context = whole(run, "context"),
                               .layers = whole(run, "layers"),
                               .heads = whole(run, "heads"),
                               .groups = whole(run, "groups"),
                               .rms_norm = mica__run_flag(run, "rms-norm")};
  const char *positions = mica_run_setting(run, "positions"), *function = mica_run_setting(run, "feed-forward");
  while (sizes.positions < MICA_POSITIONS_KIND_NONE && strcmp(mica_positions_name(sizes.positions), positions) != 0)
    sizes.positions++;
  while (sizes.feed_forward < MICA_FEED_FORWARD_SWIGLU &&
         strcmp(mica_feed_forward_name(sizes.feed_forward), function) != 0)
    sizes.feed_forward++;
  return (mica_model_config){.name = "gpt",
                             .classes = (int64_t)mica__run_fact_number(run, "vocabulary", MICA__LANGUAGE_BYTES),
                             .width = whole(run, "width"),
                             .dropout = mica_run_number(run, "dropout"),
                             .sequence = sizes};
}
