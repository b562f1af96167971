/* The usual names of the parts of a dataset, and of files that systems and programs leave in folders. */
#include "data/source.h"

#include <string.h>
#include <strings.h>

/* Words for parts. A word stands before any shorter word that it begins with, such as "training" before "train". */
typedef struct word {
  const char *text;
  bool whole; /* no letter may follow it in the name of a file: "dev.csv", but not "devices.csv" */
} word;

static const word words[3][5] = {
    [MICA_PART_TRAIN] = {{"training", true}, {"train", false}, {"data_batch", false}},
    [MICA_PART_VALIDATION] = {{"validation", false}, {"valid", false}, {"val", false}, {"dev", true}},
    [MICA_PART_TEST] = {{"testing", true}, {"test", false}, {"t10k", false}, {"evaluation", true}, {"eval", true}},
};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

const char *mica__part_rest(mica_part part, const char *name) {
  for (size_t i = 0; i < 5 && words[part][i].text; i++) {
    const size_t n = strlen(words[part][i].text);
    if (!strncasecmp(name, words[part][i].text, n) && !(words[part][i].whole && is_letter(name[n]))) return name + n;
  }
  return NULL;
}

/* True for what may follow the word in the name of a folder: nothing, or as in "test_set", "trainset" and "Training
 * Data". */
static bool is_plain(const char *rest) {
  static const char *const ends[] = {"", "set", "data", "dataset", "split", "images"};
  if (*rest == '_' || *rest == '-' || *rest == ' ') rest++;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (!strcasecmp(rest, ends[i])) return true;
  return false;
}

bool mica__part_is_named(mica_part part, const char *name) {
  const char *rest = mica__part_rest(part, name);
  return rest && is_plain(rest);
}

bool mica__part_is_meant(mica_part part, const char *name) {
  for (const char *at = name; *at; at++) {
    if (!is_letter(*at) || (at > name && is_letter(at[-1]))) continue;
    const char *rest = mica__part_rest(part, at);
    if (rest && !is_letter(*rest)) return true;
  }
  return false;
}

bool mica__is_part_name(const char *name) {
  for (int part = 0; part < 3; part++)
    if (mica__part_is_named((mica_part)part, name)) return true;
  return false;
}

bool mica__is_litter(const char *name) {
  static const char *const names[] = {"__MACOSX",    "@eaDir",       "Thumbs.db",  "ehthumbs.db",
                                      "desktop.ini", "$RECYCLE.BIN", "lost+found", "System Volume Information",
                                      "__pycache__"};
  if (*name == '.') return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcasecmp(name, names[i])) return true;
  return false;
}
