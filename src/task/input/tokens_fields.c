/* Settings and facts of texts as tokens. */
#include "task/input/tokens.h"

static MICA__SETTINGS_TABLE(tokens, TOKENS_SETTINGS);
static MICA__FACTS_TABLE(tokens, TOKENS_FACTS, 0);

mica__tokens_settings mica__tokens_settings_of(const mica_run *run) {
  mica__tokens_settings settings;
  mica__settings_read(run, &mica__tokens_setting_list, &settings);
  return settings;
}

mica__tokens_facts mica__tokens_facts_of(const mica_run *run) {
  mica__tokens_facts facts;
  mica__facts_read(run, &mica__tokens_fact_list, &facts);
  return facts;
}
