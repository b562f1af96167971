/* The network that settings and stored values (run/facts.h) describe. */
#include "run/fields.h"
#include "run/run.h"
#include "run/state/networks.h"
#include "task/input/strings.h"

#include <string.h>

#define READ_SETTINGS(X, S) STRINGS_SETTINGS(X, S) X(S, TEXT, model, "model", "", "", "")

MICA__SETTINGS_STRUCT(strings, READ_SETTINGS);
MICA__SETTINGS(strings, READ_SETTINGS);
MICA__FACTS(strings, STRINGS_FACTS, 0);

mica__recogniser mica__strings_network(const mica_run *run) {
  const mica__strings_settings s = settings_of(run);
  return (mica__recogniser){.conformer = !strcmp(s.model, "conformer"),
                            .rate = facts_of(run).rate,
                            .tens = s.reduction == 0 ? 4 : 2,
                            .mels = s.mels,
                            .masks = s.masks,
                            .filters = s.filters,
                            .layers = s.layers,
                            .width = s.width,
                            .heads = s.heads,
                            .kernel = s.kernel,
                            .context = s.context,
                            .dropout = s.dropout,
                            .like = run->networks->like};
}

mica__strings_time mica__strings_time_of(const mica_run *run) {
  const mica__recogniser l = mica__strings_network(run);
  return mica__recogniser_time(&l, MICA__STRINGS_TAIL);
}
