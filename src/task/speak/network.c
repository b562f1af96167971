/* Settings of speech from texts, and the network that they describe. */
#include "run/fields.h"
#include "run/letters.h"
#include "task/speak/speak.h"

MICA__SETTINGS_TABLE(speak, SPEAK_SETTINGS);
MICA__FACTS_TABLE(speak, SPEAK_FACTS, 0);

MICA__SETTINGS_READER(speak, mica__speak_settings_of);

MICA__FACTS_READER(speak, mica__speak_facts_of);

mica_status mica__speak_network(const mica_run *run, mica__speaker *network, int32_t **letters) {
  const mica__speak_settings s = mica__speak_settings_of(run);
  const mica__speak_facts facts = mica__speak_facts_of(run);
  MICA_TRY(mica__letters_read(run, letters));
  *network = (mica__speaker){.rate = facts.rate,
                             .mels = s.mels,
                             .width = s.width,
                             .encoder_layers = s.encoder_layers,
                             .layers = s.layers,
                             .kernel = s.kernel,
                             .dropout = s.dropout,
                             .speakers = (int64_t)facts.speakers.count,
                             .classes = mica__letters_classes(run),
                             .letters = *letters};
  return MICA_OK;
}
