/* run/fields.h: the stored values (facts, run/facts.h) and settings that one file reads, such as an input or a head.
 *
 *   MICA__FACTS(classes, CLASSES_FACTS, 0);   the type mica__classes_facts, and facts_of(run), which reads them
 *   MICA__SETTINGS(classes, HEAD_SETTINGS);   settings_of(run); MICA__SETTINGS_STRUCT comes before it
 *
 * If several files read them, a header declares the structs and the functions, and one file defines the functions:
 *
 *   MICA__FIELDS(tokens, TOKENS_SETTINGS, TOKENS_FACTS);   mica__tokens_settings_of(run), mica__tokens_facts_of(run) */
#ifndef MICA_RUN_FIELDS_H
#define MICA_RUN_FIELDS_H

#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* MICA__SETTINGS_READER defines the function `name`, which reads the settings of a list; MICA__FACTS_READER defines one
 * that reads stored values. */
#define MICA__SETTINGS_READER(label, name)                                                                             \
  mica__##label##_settings name(const mica_run *run) {                                                                 \
    mica__##label##_settings settings;                                                                                 \
    mica__settings_read(run, &mica__##label##_setting_list, &settings);                                                \
    return settings;                                                                                                   \
  }                                                                                                                    \
  mica__##label##_settings name(const mica_run *run)

#define MICA__FACTS_READER(label, name)                                                                                \
  mica__##label##_facts name(const mica_run *run) {                                                                    \
    mica__##label##_facts facts;                                                                                       \
    mica__facts_read(run, &mica__##label##_fact_list, &facts);                                                         \
    return facts;                                                                                                      \
  }                                                                                                                    \
  mica__##label##_facts name(const mica_run *run)

#define MICA__FACTS(label, list, rank)                                                                                 \
  MICA__FACTS_STRUCT(label, list);                                                                                     \
  static MICA__FACTS_TABLE(label, list, rank);                                                                         \
  static MICA__FACTS_READER(label, facts_of)

#define MICA__SETTINGS(label, list)                                                                                    \
  static MICA__SETTINGS_TABLE(label, list);                                                                            \
  static MICA__SETTINGS_READER(label, settings_of)

#define MICA__FIELDS(label, settings_list, facts_list)                                                                 \
  static MICA__SETTINGS_TABLE(label, settings_list);                                                                   \
  static MICA__FACTS_TABLE(label, facts_list, 0);                                                                      \
  MICA__SETTINGS_READER(label, mica__##label##_settings_of);                                                           \
  MICA__FACTS_READER(label, mica__##label##_facts_of)

#endif
