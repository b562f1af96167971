/* run/fields.h: the facts and settings that one file reads, such as an input or a head.
 *
 *   MICA__FACTS(classes, CLASSES_FACTS, 0);   the type mica__classes_facts, and facts_of(run), which reads them
 *   MICA__SETTINGS(classes, HEAD_SETTINGS);   settings_of(run); MICA__SETTINGS_STRUCT comes before it
 *
 * Several files read them by functions of a header, which has the structs:
 *
 *   MICA__FIELDS(tokens, TOKENS_SETTINGS, TOKENS_FACTS);   mica__tokens_settings_of(run), mica__tokens_facts_of(run) */
#ifndef MICA_RUN_FIELDS_H
#define MICA_RUN_FIELDS_H

#include "run/fact_fields.h"
#include "run/setting_fields.h"

#define MICA__FACTS(label, list, rank)                                                                                 \
  MICA__FACTS_STRUCT(label, list);                                                                                     \
  static MICA__FACTS_TABLE(label, list, rank);                                                                         \
  static mica__##label##_facts facts_of(const mica_run *run) {                                                         \
    mica__##label##_facts facts;                                                                                       \
    mica__facts_read(run, &mica__##label##_fact_list, &facts);                                                         \
    return facts;                                                                                                      \
  }                                                                                                                    \
  static mica__##label##_facts facts_of(const mica_run *run)

#define MICA__SETTINGS(label, list)                                                                                    \
  static MICA__SETTINGS_TABLE(label, list);                                                                            \
  static mica__##label##_settings settings_of(const mica_run *run) {                                                   \
    mica__##label##_settings settings;                                                                                 \
    mica__settings_read(run, &mica__##label##_setting_list, &settings);                                                \
    return settings;                                                                                                   \
  }                                                                                                                    \
  static mica__##label##_settings settings_of(const mica_run *run)

#define MICA__FIELDS(label, settings_list, facts_list)                                                                 \
  static MICA__SETTINGS_TABLE(label, settings_list);                                                                   \
  static MICA__FACTS_TABLE(label, facts_list, 0);                                                                      \
  mica__##label##_settings mica__##label##_settings_of(const mica_run *run) {                                          \
    mica__##label##_settings settings;                                                                                 \
    mica__settings_read(run, &mica__##label##_setting_list, &settings);                                                \
    return settings;                                                                                                   \
  }                                                                                                                    \
  mica__##label##_facts mica__##label##_facts_of(const mica_run *run) {                                                \
    mica__##label##_facts facts;                                                                                       \
    mica__facts_read(run, &mica__##label##_fact_list, &facts);                                                         \
    return facts;                                                                                                      \
  }                                                                                                                    \
  mica__##label##_facts mica__##label##_facts_of(const mica_run *run)

#endif
