/* run/setting_fields.h: settings of a task as a typed struct. One list gives the struct and the table for help,
 * completion, config.json and checks.
 *
 *   #define KEYWORD_SETTINGS(X, S)                                                                   \
 *     X(S, REAL, seconds, "seconds", "1", "S", "length of a recording", .low = 0.05, .high = 60)     \
 *     X(S, INT, mels, "mels", "40", "N", "number of mel filters", .low = 4, .high = 256)
 *   MICA__SETTINGS_STRUCT(keyword, KEYWORD_SETTINGS);        the type mica__keyword_settings
 *   static MICA__SETTINGS_TABLE(keyword, KEYWORD_SETTINGS);  the list mica__keyword_setting_list
 *
 * A row has kind, field, name, default, placeholder, help and further fields of mica_setting_row. A list may call other
 * lists: groups of settings that several tasks have. */
#ifndef MICA_RUN_SETTING_FIELDS_H
#define MICA_RUN_SETTING_FIELDS_H

#include <mica/run.h>
#include <stddef.h>

/* Types of the fields, by mica_setting_kind. A CHOICE is the index of its name, or -1 if the setting is "". */
#define MICA__SETTING_FLAG_FIELD(name) bool name;
#define MICA__SETTING_INT_FIELD(name) int64_t name;
#define MICA__SETTING_REAL_FIELD(name) double name;
#define MICA__SETTING_CHOICE_FIELD(name) int32_t name;
#define MICA__SETTING_TEXT_FIELD(name) const char *name;
#define MICA__SETTING_PATH_FIELD(name) const char *name;

typedef struct mica__setting_list {
  const mica_setting_row *rows; /* the last has no name */
  const size_t *offsets;        /* of each row's field in the struct */
} mica__setting_list;

#define MICA__SETTING_FIELD(owner, kind, field, ...) MICA__SETTING_##kind##_FIELD(field)
#define MICA__SETTINGS_STRUCT(label, list)                                                                             \
  typedef struct mica__##label##_settings {                                                                            \
    list(MICA__SETTING_FIELD, )                                                                                        \
  } mica__##label##_settings
#define MICA__SETTING_ROW(owner, tag, field, name_, value_, hint_, ...)                                                \
  {.name = (name_), .kind = MICA_SETTING_KIND_##tag, .value = (value_), .hint = (hint_), .text = __VA_ARGS__},
#define MICA__SETTING_OFFSET(owner, tag, field, ...) offsetof(mica__##owner##_settings, field),
#define MICA__SETTINGS_TABLE(label, list)                                                                              \
  const mica__setting_list mica__##label##_setting_list = {                                                            \
      .rows = (const mica_setting_row[]){list(MICA__SETTING_ROW, label){0}},                                           \
      .offsets = (const size_t[]){list(MICA__SETTING_OFFSET, label)}}

/* Fills the struct of the list from the run's settings. Texts are valid until the setting changes. If a setting has no
 * value, an INT is 0 and a REAL is NAN. */
void mica__settings_read(const mica_run *run, const mica__setting_list *list, void *settings);

#endif
