#include "runtime/tuning.h"

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "runtime/kernel_source.h"
#include "runtime/objects.h"
#include "runtime/program_bundle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

mica_status mica__tuning_init(mica__tuning *tuning) {
  *tuning = (mica__tuning){0};
  return pthread_mutex_init(&tuning->lock, NULL) ? mica__fail_nomem("a lock") : MICA_OK;
}

void mica__tuning_destroy(mica__tuning *tuning) {
  free(tuning->facts);
  pthread_mutex_destroy(&tuning->lock);
}

/* Copies n bytes of a field, as far as they fit, and replaces separators by blanks. */
static void copy_field(char out[MICA__TUNING_TEXT], const char *field, size_t n) {
  if (n >= MICA__TUNING_TEXT) n = MICA__TUNING_TEXT - 1;
  for (size_t i = 0; i < n; i++) out[i] = field[i] == '\t' || field[i] == '\n' || field[i] == '\r' ? ' ' : field[i];
  out[n] = '\0';
}

static mica__tuning_fact *find(const mica__tuning *tuning, bool bad, const char *subject) {
  for (size_t i = 0; i < tuning->count; i++)
    if (tuning->facts[i].bad == bad && !strcmp(tuning->facts[i].subject, subject)) return &tuning->facts[i];
  return NULL;
}

static mica_status put(mica__tuning *tuning, const mica__tuning_fact *fact) {
  mica__tuning_fact *known = find(tuning, fact->bad, fact->subject);
  if (!known && tuning->count == tuning->capacity) {
    size_t capacity = tuning->capacity ? tuning->capacity * 2 : 32;
    mica__tuning_fact *grown = realloc(tuning->facts, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("the measurements of the device");
    tuning->facts = grown;
    tuning->capacity = capacity;
  }
  if (!known) known = &tuning->facts[tuning->count++];
  *known = *fact;
  return MICA_OK;
}

/* Parses one line without its newline; false if it is not an entry (tuning.h). */
static bool parse_line(const char *line, size_t n, mica__tuning_fact *fact) {
  const char *fields[4];
  size_t sizes[4], count = 0;
  for (const char *at = line, *end = line + n; count < 4; at += sizes[count - 1] + 1) {
    const char *tab = count < 3 ? memchr(at, '\t', (size_t)(end - at)) : NULL; /* the last field takes the rest */
    fields[count] = at;
    sizes[count++] = tab ? (size_t)(tab - at) : (size_t)(end - at);
    if (!tab) break;
  }
  *fact = (mica__tuning_fact){.bad = sizes[0] == 3 && !memcmp(fields[0], "bad", 3)};
  bool best = sizes[0] == 4 && !memcmp(fields[0], "best", 4);
  if (!(fact->bad && count == 3) && !(best && count == 4)) return false;
  copy_field(fact->subject, fields[1], sizes[1]);
  copy_field(fact->text, fields[2], sizes[2]);
  if (best) {
    char number[32];
    if (sizes[3] == 0 || sizes[3] >= sizeof number) return false;
    memcpy(number, fields[3], sizes[3]);
    number[sizes[3]] = '\0';
    char *rest = NULL;
    fact->seconds = mica__strtod(number, &rest);
    if (*rest || !(fact->seconds > 0 && fact->seconds < 1e9)) return false;
  }
  return fact->subject[0] && fact->text[0];
}

mica_status mica__tuning_parse(mica__tuning *tuning, const char *text, size_t bytes) {
  for (const char *end = text + bytes; text < end;) {
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    size_t n = newline ? (size_t)(newline - text) : (size_t)(end - text);
    mica__tuning_fact fact;
    if (parse_line(text, n, &fact)) MICA_TRY(put(tuning, &fact));
    text += n + 1;
  }
  return MICA_OK;
}

/* The path tuning/KEY.txt for the engine's device; false if there is no cache directory. */
static bool file_name(const mica_engine *engine, mica__text *path) {
  const mica_device_info *d = &engine->device.info;
  char name[MICA__HASH_TEXT];
  if (!*engine->cache_dir) return false;
  mica__hash key = mica__hash_text(mica__kernel_source_hash(), d->platform);
  key = mica__hash_text(mica__hash_text(mica__hash_text(key, d->platform_version), d->name), d->driver);
  mica__text_addf(path, "%s/tuning/%s.txt", engine->cache_dir, mica__hash_format(key, name));
  return !path->failed;
}

/* Adds the entries of a file; a missing file is not an error. */
static mica_status merge_file(const char *path, mica__tuning *into) {
  unsigned char *data = NULL;
  size_t size = 0;
  if (access(path, F_OK)) return MICA_OK;
  mica_status status = mica__file_read_private(path, &data, &size);
  if (status == MICA_OK) status = mica__tuning_parse(into, (const char *)data, size);
  free(data);
  return status;
}

/* Adds the entries of the engine's bundle, then those of the file, which are newer and so replace them. If reading
 * fails, only logs that. */
static void merge_known(const mica_engine *engine, mica__tuning *into) {
  mica__text path = {0};
  mica_status status = MICA_OK;
  mica__attempt_begin();
  if (engine->bundle) {
    size_t bytes = 0;
    const char *facts = mica__program_bundle_facts(engine->bundle, &bytes);
    status = mica__tuning_parse(into, facts, bytes);
  }
  if (status == MICA_OK && file_name(engine, &path)) status = merge_file(path.data, into);
  if (status != MICA_OK)
    mica__log(MICA_LOG_LEVEL_INFO, "earlier tuning results are not used: %s", mica_error_message());
  mica__attempt_end();
  mica__text_free(&path);
}

static void load_once(mica_engine *engine) {
  if (engine->tuning->loaded) return;
  engine->tuning->loaded = true;
  merge_known(engine, engine->tuning);
}

static void add_fact(const mica__tuning_fact *f, mica__text *out) {
  mica__text_addf(out, "%s\t%s\t%s", f->bad ? "bad" : "best", f->subject, f->text);
  if (!f->bad) mica__text_addf(out, "\t%.9g", f->seconds);
  mica__text_add(out, "\n");
}

void mica__tuning_text(const mica_engine *engine, mica__text *out) {
  mica__tuning known = {0};
  merge_known(engine, &known);
  for (size_t i = 0; i < known.count; i++) add_fact(&known.facts[i], out);
  free(known.facts);
}

/* Reads the file, which another process may have changed, adds or replaces the entry `fact`, and writes the file again.
 * If `remove`, removes the entry of the same kind on the same subject instead. Does nothing if there is no cache
 * directory. */
static mica_status store(mica_engine *engine, const mica__tuning_fact *fact, bool remove) {
  mica__text path = {0}, out = {0};
  mica_status status = MICA_OK;
  if (!file_name(engine, &path)) goto done;
  mica__tuning merged = {0};
  status = merge_file(path.data, &merged);
  if (status == MICA_OK && !remove) status = put(&merged, fact);
  mica__text_addf(&out, "# what Mica measured on %s, driver %s\n", engine->device.info.name,
                  engine->device.info.driver);
  for (size_t i = 0; status == MICA_OK && i < merged.count; i++) {
    const mica__tuning_fact *f = &merged.facts[i];
    if (remove && f->bad == fact->bad && !strcmp(f->subject, fact->subject)) continue;
    add_fact(f, &out);
  }
  free(merged.facts);
  if (status == MICA_OK) status = mica__text_status(&out);
  if (status == MICA_OK) status = mica__file_replace_private(path.data, &(mica__bytes){out.data, out.length}, 1);
done:
  mica__text_free(&path);
  mica__text_free(&out);
  return status;
}

bool mica__tuning_best(mica_engine *engine, const char *problem, char choice[MICA__TUNING_TEXT]) {
  pthread_mutex_lock(&engine->tuning->lock);
  load_once(engine);
  const mica__tuning_fact *fact = find(engine->tuning, false, problem);
  if (fact) memcpy(choice, fact->text, MICA__TUNING_TEXT);
  pthread_mutex_unlock(&engine->tuning->lock);
  return fact != NULL;
}

bool mica__tuning_is_bad(mica_engine *engine, const char *choice) {
  pthread_mutex_lock(&engine->tuning->lock);
  load_once(engine);
  bool bad = find(engine->tuning, true, choice) != NULL;
  pthread_mutex_unlock(&engine->tuning->lock);
  return bad;
}

static mica_status learn(mica_engine *engine, bool bad, const char *subject, const char *text, double seconds,
                         bool lasting) {
  mica__tuning_fact fact = {.bad = bad, .seconds = seconds};
  copy_field(fact.subject, subject, strlen(subject));
  copy_field(fact.text, text, strlen(text));
  pthread_mutex_lock(&engine->tuning->lock);
  load_once(engine);
  mica_status status = put(engine->tuning, &fact);
  if (status == MICA_OK && lasting) status = store(engine, &fact, false);
  pthread_mutex_unlock(&engine->tuning->lock);
  return status;
}

mica_status mica__tuning_keep(mica_engine *engine, const char *problem, const char *choice, double seconds) {
  return learn(engine, false, problem, choice, seconds, true);
}

mica_status mica__tuning_quarantine(mica_engine *engine, const char *choice, const char *reason) {
  return learn(engine, true, choice, reason, 0, true);
}

mica_status mica__tuning_avoid(mica_engine *engine, const char *choice, const char *reason) {
  return learn(engine, true, choice, reason, 0, false);
}

mica_status mica__tuning_unquarantine(mica_engine *engine, const char *choice) {
  pthread_mutex_lock(&engine->tuning->lock);
  load_once(engine);
  mica__tuning_fact *fact = find(engine->tuning, true, choice);
  mica_status status = MICA_OK;
  if (fact) {
    mica__tuning_fact gone = *fact;
    *fact = engine->tuning->facts[--engine->tuning->count];
    status = store(engine, &gone, true);
  }
  pthread_mutex_unlock(&engine->tuning->lock);
  return status;
}

bool mica__engine_tunes(const mica_engine *engine) { return engine->tunes; }
