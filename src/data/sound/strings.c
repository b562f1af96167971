/* Recordings with their texts as samples: single ones, or strings of several recordings with silence between them and
 * noise over all. */
#include "data/sound/strings.h"
#include "data/dataset.h"
#include "data/sound/letters.h"
#include "data/sound/transcripts.h"
#include "data/source.h"
#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPEAKER "speaker"
#define CODE_POINTS 0x110000

/* A string has fewer words than this. */
#define MOST_WORDS 1000
/* The signal-to-noise ratio of strings ranges over this many decibels above its lowest value. */
#define NOISE_RANGE 20.0

/* Strings of recordings: string i consists of words[first[i]] to words[first[i + 1] - 1], with silence of the lengths
 * that gap_of gives. */
typedef struct strings {
  int64_t *first;
  uint32_t *words;
} strings;

/* A dataset of recordings, and how samples are made of it. */
typedef struct view {
  mica_dataset *base;
  size_t sound;
  int64_t tail, gap; /* samples; gap: the longest */
  bool between;      /* gaps are only between words, all of the same length */
  double noise;      /* decibels; 0: none */
  uint64_t seed;
  strings strings;    /* first NULL: each recording is a sample */
  const char **files; /* the file of each sample; NULL: samples have no files */
  int64_t *offsets;   /* where each sample's letters begin */
  int32_t *letters;
  int32_t *speakers; /* one per sample; NULL: not wanted */
} view;

static void release(void *object) {
  view *v = object;
  mica_dataset_destroy(v->base);
  free(v->strings.first);
  free(v->strings.words);
  free(v->files);
  free(v->offsets);
  free(v->letters);
  free(v->speakers);
  free(v);
}

/* A random number that depends on the seed, the string and the number's purpose `what` (see the enum below). */
static uint32_t draw(const view *v, uint64_t string, uint32_t what) {
  uint32_t words[4] = {what, UINT32_C(0x776f7264), (uint32_t)string, (uint32_t)(string >> 32)};
  mica__philox(words, (uint32_t)v->seed, (uint32_t)(v->seed >> 32));
  return words[0];
}

/* Numbers that tell the random numbers of a string apart. COUNT is for the number of its words, LOUDNESS for the
 * strength of its noise, WORD for its speaker, WORD + 1 + k for word k, GAP + k for the gap before word k, and NOISE +
 * k for samples 4 k to 4 k + 3 of its noise. */
enum { COUNT, LOUDNESS, WORD = 16, GAP = WORD + MOST_WORDS, NOISE = 2 * GAP };

/* The length of the silence before word k of a string with `words` words, or after the last one. */
static int64_t gap_of(const view *v, uint64_t string, int64_t k, int64_t words) {
  if (v->between) return k > 0 && k < words ? v->gap : 0;
  return (int64_t)((double)draw(v, string, (uint32_t)(GAP + k)) * 0x1p-32 * (double)(v->gap + 1));
}

/* --- texts --- */

/* The text of a recording, freed by the caller: the one in the column "text" or, without such a column, the name of its
 * class. */
static mica_status text_of(const mica_dataset *data, uint64_t i, char **text) {
  const size_t column = mica_dataset_column_index(data, "text");
  if (column == mica_dataset_column_count(data)) {
    const char *name = mica_dataset_class_name(data, mica_dataset_label(data, i));
    *text = mica__strdup(name ? name : "");
    return *text ? MICA_OK : mica__fail_nomem("texts");
  }
  int64_t size = 0;
  MICA_TRY(mica_dataset_length(data, column, i, &size));
  if (!(*text = calloc((size_t)size + 1, 1))) return mica__fail_nomem("texts");
  mica_status status = mica_dataset_read(data, column, i, *text, (size_t)size);
  if (status == MICA_OK) return status;
  free(*text);
  *text = NULL;
  return status;
}

/* Texts that are assembled from letters. */
typedef struct spelling {
  int32_t *letters;
  size_t count, room;
} spelling;

static mica_status spell(spelling *s, const char *text) {
  const size_t size = strlen(text);
  if (s->count + size + 1 > s->room) {
    const size_t room = 2 * (s->count + size + 64);
    int32_t *more = realloc(s->letters, room * sizeof *more);
    if (!more) return mica__fail_nomem("texts");
    s->letters = more;
    s->room = room;
  }
  for (size_t at = 0, bytes = 0; at < size; at += bytes) {
    const int32_t letter = mica__letter_at(text + at, size - at, &bytes);
    if (letter < 0) return mica__fail(MICA_E_FORMAT, "the text '%s' is not UTF-8", text);
    s->letters[s->count++] = letter;
  }
  return MICA_OK;
}

static mica_status spell_word(const mica_dataset *data, uint64_t i, spelling *s) {
  char *text = NULL;
  MICA_TRY(text_of(data, i, &text));
  mica_status status = spell(s, text);
  free(text);
  return status;
}

static mica_status spell_all(view *v, uint64_t count) {
  spelling s = {0};
  mica_status status = MICA_OK;
  if (!(v->offsets = calloc((size_t)count + 1, sizeof *v->offsets))) return mica__fail_nomem("texts");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    const int64_t from = v->strings.first ? v->strings.first[i] : (int64_t)i;
    const int64_t to = v->strings.first ? v->strings.first[i + 1] : from + 1;
    for (int64_t k = from; status == MICA_OK && k < to; k++) {
      if (k > from) status = spell(&s, " ");
      if (status == MICA_OK) status = spell_word(v->base, v->strings.first ? v->strings.words[k] : i, &s);
    }
    v->offsets[i + 1] = (int64_t)s.count;
  }
  v->letters = s.letters;
  if (status == MICA_OK && !v->letters) status = mica__fail_nomem("texts");
  return status;
}

/* Marks the letters of all texts, by code point. */
static mica_status mark_letters(const mica_dataset *data, uint8_t *known) {
  spelling s = {0};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data); i++) status = spell_word(data, i, &s);
  for (size_t k = 0; status == MICA_OK && k < s.count; k++) known[s.letters[k]] = 1;
  free(s.letters);
  return status;
}

/* Sets *all to 1 if all letters of the sample's text are known, else to 0. */
static mica_status is_spelled_by(const uint8_t *known, const mica_dataset *data, uint64_t i, uint8_t *all) {
  spelling s = {0};
  mica_status status = spell_word(data, i, &s);
  *all = 1;
  for (size_t k = 0; k < s.count; k++) *all = *all && known[s.letters[k]];
  free(s.letters);
  return status;
}

mica_status mica__strings_know(const mica_dataset *rest, mica_dataset **part) {
  const uint64_t count = mica_dataset_count(*part);
  uint8_t *known = calloc(CODE_POINTS, 1), *chosen = calloc((size_t)count + 1, 1);
  mica_dataset *left = NULL;
  uint64_t kept = 0;
  mica_status status = known && chosen ? mark_letters(rest, known) : mica__fail_nomem("texts");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    status = is_spelled_by(known, *part, i, &chosen[i]);
    kept += chosen[i];
  }
  if (status == MICA_OK && !kept)
    status = mica__fail(MICA_E_FORMAT, "each text of the validation part has a letter that no training text has; "
                                       "choose another seed, or a larger share with --validation");
  if (status == MICA_OK && kept < count) status = mica__dataset_pick(*part, chosen, &left);
  if (status == MICA_OK && left) {
    mica_dataset_destroy(*part);
    *part = left;
  }
  free(known);
  free(chosen);
  return status;
}

/* --- strings --- */

/* Recordings sorted by speaker; the first of speaker s is order[first[s]]. */
typedef struct speakers {
  uint32_t *order;
  uint64_t *first;
  int32_t *of;
} speakers;

static void free_speakers(speakers *s) {
  free(s->order);
  free(s->first);
  free(s->of);
}

static mica_status find_speakers(const mica_dataset *data, speakers *s) {
  const size_t column = mica_dataset_column_index(data, "speaker");
  const uint64_t count = mica_dataset_count(data);
  const bool known = column < mica_dataset_column_count(data);
  const size_t many = known ? (size_t)mica_dataset_column(data, column)->classes : 1;
  s->order = calloc((size_t)count, sizeof *s->order);
  s->of = calloc((size_t)count, sizeof *s->of);
  s->first = calloc(many + 2, sizeof *s->first);
  if (!s->order || !s->of || !s->first) return mica__fail_nomem("speakers");
  for (uint64_t i = 0; known && i < count; i++) MICA_TRY(mica_dataset_read(data, column, i, &s->of[i], sizeof *s->of));
  for (uint64_t i = 0; i < count; i++) {
    if (s->of[i] < 0 || (size_t)s->of[i] >= many) s->of[i] = 0;
    s->first[s->of[i] + 2]++;
  }
  for (size_t k = 2; k < many + 2; k++) s->first[k] += s->first[k - 1];
  for (uint64_t i = 0; i < count; i++) s->order[s->first[s->of[i] + 1]++] = (uint32_t)i;
  return MICA_OK;
}

/* Draws `count` strings of `low` to `high` recordings, each of a single speaker; speakers are as frequent as in the
 * data. */
static mica_status draw_strings(view *v, uint64_t count, int64_t low, int64_t high) {
  speakers s = {0};
  const uint64_t all = mica_dataset_count(v->base);
  int64_t at = 0;
  mica_status status = find_speakers(v->base, &s);
  v->strings.first = calloc((size_t)count + 1, sizeof *v->strings.first);
  v->strings.words = calloc((size_t)count * (size_t)high, sizeof *v->strings.words);
  if (status == MICA_OK && (!v->strings.first || !v->strings.words)) status = mica__fail_nomem("strings of recordings");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    const int64_t words = low + draw(v, i, COUNT) % (high - low + 1);
    const int32_t speaker = s.of[draw(v, i, WORD) % all];
    const uint64_t from = s.first[speaker], to = s.first[speaker + 1];
    for (int64_t k = 0; k < words; k++)
      v->strings.words[at++] = s.order[from + draw(v, i, (uint32_t)(WORD + 1 + k)) % (to - from)];
    v->strings.first[i + 1] = at;
  }
  free_speakers(&s);
  return status;
}

/* Reads a range of numbers such as "3-7", or one number such as "5". */
static mica_status parse_join(const char *text, int64_t *low, int64_t *high) {
  char *end = NULL;
  *low = strtoll(text, &end, 10);
  *high = *end == '-' ? strtoll(end + 1, &end, 10) : *low;
  if (end != text && !*end && *low >= 1 && *high >= *low && *high < MOST_WORDS) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "join must be a range of 1 to %d recordings per string, such as 3-7, not '%s'",
                    MOST_WORDS - 1, text);
}

/* --- sound --- */

static mica_status length_of(void *user, uint64_t i, int64_t *length) {
  const view *v = user;
  int64_t sum = v->tail, one = 0;
  const int64_t from = v->strings.first ? v->strings.first[i] : 0;
  const int64_t words = v->strings.first ? v->strings.first[i + 1] - from : 1;
  for (int64_t k = 0; k < words; k++) {
    MICA_TRY(mica_dataset_length(v->base, v->sound, v->strings.first ? v->strings.words[from + k] : i, &one));
    sum += one + (v->strings.first ? gap_of(v, i, k, words) : 0);
  }
  *length = sum + (v->strings.first ? gap_of(v, i, words, words) : 0);
  return MICA_OK;
}

/* Adds white noise to a string whose speech has the mean power `power`. The noise is v->noise decibels below that, plus
 * up to NOISE_RANGE more, drawn per string. */
static void add_noise(const view *v, uint64_t string, double power, float *samples, int64_t count) {
  const double ratio = v->noise + draw(v, string, LOUDNESS) * 0x1p-32 * NOISE_RANGE;
  /* Uniform numbers in [-a, a) have the power a^2 / 3. */
  const double a = sqrt(3 * power * pow(10, -ratio / 10)) * 0x1p-31;
  for (int64_t at = 0; at < count; at += 4) {
    uint32_t words[4] = {(uint32_t)(NOISE + at / 4), UINT32_C(0x776f7264), (uint32_t)string, (uint32_t)(string >> 32)};
    mica__philox(words, (uint32_t)v->seed, (uint32_t)(v->seed >> 32));
    for (int64_t k = 0; k < 4 && at + k < count; k++) samples[at + k] += (float)((double)(int32_t)words[k] * a);
  }
}

static mica_status read_sound(void *user, uint64_t i, void *data, size_t bytes) {
  const view *v = user;
  float *samples = data;
  const int64_t all = (int64_t)(bytes / sizeof *samples);
  int64_t at = 0, one = 0;
  double energy = 0;
  memset(samples, 0, bytes);
  if (!v->strings.first)
    return mica_dataset_read(v->base, v->sound, i, samples, bytes - (size_t)v->tail * sizeof *samples);
  const int64_t from = v->strings.first[i], words = v->strings.first[i + 1] - from;
  int64_t spoken = 0;
  for (int64_t k = 0; k < words; k++, at += one) {
    const uint32_t word = v->strings.words[from + k];
    at += gap_of(v, i, k, words);
    MICA_TRY(mica_dataset_length(v->base, v->sound, word, &one));
    if (one > all - at) return mica__fail(MICA_E_STATE, "%s changed while it was read", mica_dataset_name(v->base));
    MICA_TRY(mica_dataset_read(v->base, v->sound, word, samples + at, (size_t)one * sizeof *samples));
    for (int64_t t = 0; t < one; t++) energy += (double)samples[at + t] * (double)samples[at + t];
    spoken += one;
  }
  if (v->noise > 0 && spoken) add_noise(v, i, energy / (double)spoken, samples, all);
  return MICA_OK;
}

/* --- opening --- */

/* Sets *any to whether the folder has a list of any part, and *list to the path of the list of this part, which the
 * caller frees; NULL: there is none. */
static mica_status find_list(const char *path, mica_part part, bool *any, char **list) {
  *any = false;
  *list = NULL;
  for (int k = 0; k < 3; k++) {
    char *file = NULL;
    MICA_TRY(mica__part_find_file(path, (mica_part)k, ".tsv", &file));
    *any = *any || file;
    if (k == (int)part)
      *list = file;
    else
      free(file);
  }
  return MICA_OK;
}

mica_status mica__strings_open_files(int32_t rate, const char *path, mica_part part, mica_dataset **data) {
  char *list = NULL;
  bool listed = false;
  const mica_dataset_config config = {.part = part, .rate = rate};
  mica_status status = find_list(path, part, &listed, &list);
  if (status == MICA_OK && listed && !list)
    status = mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(part));
  else if (status == MICA_OK && listed)
    status = mica__speech_list_open(list, config.rate, data);
  else if (status == MICA_OK && mica__name_ends(path, ".tsv") && !mica__is_folder(path))
    status = part == MICA_PART_TRAIN ? mica__speech_list_open(path, config.rate, data)
                                     : mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(part));
  else if (status == MICA_OK)
    status = mica_dataset_open(path, &config, data);
  free(list);
  return status;
}

/* If recordings are samples, they keep the names of their files. */
static mica_status name_files(view *v, uint64_t count) {
  if (!count || !mica_dataset_file(v->base, 0)) return MICA_OK;
  v->files = calloc((size_t)count, sizeof *v->files);
  for (uint64_t i = 0; v->files && i < count; i++) v->files[i] = mica_dataset_file(v->base, i);
  return v->files ? MICA_OK : mica__fail_nomem("the names of recordings");
}

/* The name of a speaker; "" if the data have no such column. */
static const char *name_of(const mica_dataset *data, size_t column, int32_t speaker) {
  const char *name = NULL;
  if (column < mica_dataset_column_count(data)) name = mica_dataset_column_class(data, column, speaker);
  return name ? name : "";
}

/* Sets v->speakers to the number of each sample's speaker: its index in `names`, the speakers of the run, or, if
 * `known` is 0, its number in the data. */
static mica_status number_speakers(const char *const *names, size_t known, view *v, uint64_t count) {
  const size_t column = mica_dataset_column_index(v->base, SPEAKER);
  speakers s = {0};
  mica_status status = find_speakers(v->base, &s);
  v->speakers = calloc((size_t)count + 1, sizeof *v->speakers);
  if (status == MICA_OK && !v->speakers) status = mica__fail_nomem("speakers");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    const int32_t speaker = s.of[v->strings.first ? v->strings.words[v->strings.first[i]] : i];
    const char *name = name_of(v->base, column, speaker);
    size_t k = 0;
    while (k < known && strcmp(names[k], name) != 0) k++;
    v->speakers[i] = known ? (int32_t)k : speaker;
    if (known && k == known && !*name)
      status =
          mica__fail(MICA_E_FORMAT, "%s: these recordings have no speakers, but the run has speakers such as \"%s\"",
                     mica_dataset_name(v->base), names[0]);
    else if (known && k == known)
      status = mica__fail(MICA_E_FORMAT, "%s: the run has no speaker \"%s\"", mica_dataset_name(v->base), name);
  }
  free_speakers(&s);
  return status;
}

/* Decides whether the view makes strings or single recordings. */
static mica_status set_out(const char *task, mica_part part, const mica__strings_form *settings, view *v,
                           uint64_t *count) {
  const double rate = (double)mica_dataset_rate(v->base);
  const uint64_t all = mica_dataset_count(v->base), wanted = (uint64_t)settings->strings;
  int64_t low = 0, high = 0;
  v->sound = mica_dataset_column_index(v->base, "sound");
  v->tail = (int64_t)(rate * settings->tail);
  v->gap = (int64_t)(rate * settings->gap);
  v->between = settings->between;
  v->noise = settings->noise;
  v->seed = settings->seed * 4 + (uint64_t)part;
  *count = all;
  if (v->sound == mica_dataset_column_count(v->base))
    return mica__fail(MICA_E_FORMAT, "%s has no recordings, but the task %s needs recordings and their texts",
                      mica_dataset_name(v->base), task);
  if (mica_dataset_column_index(v->base, "text") == mica_dataset_column_count(v->base) &&
      mica_dataset_column_index(v->base, "label") == mica_dataset_column_count(v->base))
    return mica__fail(MICA_E_FORMAT, "%s has no texts for its recordings", mica_dataset_name(v->base));
  if (*settings->join) {
    MICA_TRY(parse_join(settings->join, &low, &high));
    *count = part != MICA_PART_TRAIN ? all : wanted ? wanted : 2 * all;
    MICA_TRY(draw_strings(v, *count, low, high));
  } else {
    MICA_TRY(name_files(v, all));
  }
  if (settings->speakers) MICA_TRY(number_speakers(settings->known, settings->known_count, v, *count));
  return spell_all(v, *count);
}

const char **mica__strings_speakers(const mica_dataset *data, int32_t *count) {
  const size_t column = mica_dataset_column_index(data, SPEAKER);
  *count = 1;
  if (column < mica_dataset_column_count(data)) *count = mica_dataset_column(data, column)->classes;
  const char **names = calloc((size_t)*count + 1, sizeof *names);
  for (int32_t i = 0; names && i < *count; i++) names[i] = name_of(data, column, i);
  return names;
}

mica_status mica__strings_make(mica_dataset *base, const char *task, mica_part part, const mica__strings_form *form,
                               mica_dataset **data) {
  const mica_shape open = {1, {MICA_DYNAMIC}};
  view *v = calloc(1, sizeof *v);
  mica_dataset *made = NULL;
  uint64_t count = 0;
  const char **own = NULL;
  int32_t voices = (int32_t)form->known_count;
  if (!v) {
    mica_dataset_destroy(base);
    return mica__fail_nomem("recordings");
  }
  v->base = base;
  mica_status status = set_out(task, part, form, v, &count);
  if (status == MICA_OK && !voices && !(own = mica__strings_speakers(v->base, &voices)))
    status = mica__fail_nomem("speakers");
  if (status == MICA_OK) {
    const mica_column_data columns[] = {
        {.column = {"sound", MICA_COLUMN_KIND_SOUND, MICA_F32, open, 0},
         .user = v,
         .read = read_sound,
         .length = length_of},
        {.column = {"tokens", MICA_COLUMN_KIND_TOKENS, MICA_I32, open, 0}, .data = v->letters, .offsets = v->offsets},
        {.column = {SPEAKER, MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, voices},
         .data = v->speakers,
         .class_names = own ? own : form->known}};
    status = mica_dataset_create(mica_dataset_name(v->base), count, columns, form->speakers ? 3 : 2, &made);
  }
  free(own);
  if (status != MICA_OK) {
    release(v);
    return status;
  }
  made->store->rate = mica_dataset_rate(v->base);
  made->store->columns[0].files = v->files;
  status = mica__store_own(made->store, v, release);
  if (status == MICA_OK)
    *data = made;
  else
    mica_dataset_destroy(made);
  return status;
}

/* --- checks --- */

int64_t mica__strings_steps(const mica__strings_time *t, int64_t samples) {
  return samples < t->reach ? 0 : 1 + (samples - t->reach) / t->stride;
}

static bool is_known(const int32_t *letters, int64_t count, int32_t letter) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (letters[middle] < letter)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && letters[low] == letter;
}

/* The name of a sample in messages: the line in its list if it has one. */
static mica_status name_sample(const mica_dataset *data, uint64_t i, mica__text *name) {
  const size_t column = mica_dataset_column_index(data, "line");
  int32_t line = 0;
  if (column < mica_dataset_column_count(data)) {
    MICA_TRY(mica_dataset_read(data, column, i, &line, sizeof line));
    mica__text_addf(name, "%s:%d", mica_dataset_name(data), (int)line);
  } else {
    mica__text_addf(name, "%s, recording %llu", mica_dataset_name(data), (unsigned long long)i);
  }
  return mica__text_status(name);
}

static mica_status check_letters(const mica_dataset *named, uint64_t i, const int32_t *tokens, int64_t n,
                                 const int32_t *letters, int64_t count) {
  mica__text name = {0}, letter = {0};
  mica_status status = MICA_OK;
  for (int64_t k = 0; status == MICA_OK && k < n; k++) {
    if (is_known(letters, count, tokens[k])) continue;
    status = name_sample(named, i, &name);
    mica__text_add(&letter, "'");
    mica__letter_add(&letter, tokens[k]);
    if (status == MICA_OK) status = mica__text_status(&letter);
    if (status == MICA_OK)
      status = mica__fail(MICA_E_FORMAT, "%s: the letter %s' (U+%04X) is in no text of the training part", name.data,
                          letter.data, (unsigned)tokens[k]);
  }
  mica__text_free(&name);
  mica__text_free(&letter);
  return status;
}

/* Checks that the sound is long enough for its text, otherwise MICA_E_FORMAT. CTC needs a step for each letter, and one
 * more between equal letters. */
static mica_status check_length(const mica__strings_time *time, const mica_dataset *named, uint64_t i,
                                const int32_t *tokens, int64_t n, int64_t samples) {
  const int64_t steps = mica__strings_steps(time, samples);
  int64_t needed = n;
  mica__text name = {0};
  for (int64_t k = 1; k < n; k++) needed += tokens[k] == tokens[k - 1];
  if (needed <= steps) return MICA_OK;
  mica_status status = name_sample(named, i, &name);
  if (status == MICA_OK)
    status = mica__fail(
        MICA_E_FORMAT,
        "%s: a text of %lld letters needs %lld steps of the network, but its sound of %.2f s has only %lld", name.data,
        (long long)n, (long long)needed, (double)(samples - time->tail) / time->rate, (long long)steps);
  mica__text_free(&name);
  return status;
}

/* Checks the letters of the recordings from which `count` strings are made, so that a message can name their line. */
static mica_status check_words(const view *v, uint64_t count, const int32_t *letters, int64_t known) {
  mica_status status = MICA_OK;
  const int32_t space = ' ';
  for (int64_t i = 0; status == MICA_OK && i < v->strings.first[count]; i++) {
    const uint32_t word = v->strings.words[i];
    spelling s = {0};
    status = spell_word(v->base, word, &s);
    if (status == MICA_OK) status = check_letters(v->base, word, s.letters, (int64_t)s.count, letters, known);
    free(s.letters);
  }
  return status == MICA_OK ? check_letters(v->base, 0, &space, v->strings.first[1] > 1, letters, known) : status;
}

mica_status mica__strings_check(const mica__strings_time *time, const mica_dataset *data, const int32_t *letters,
                                int64_t count) {
  const size_t sound = mica_dataset_column_index(data, "sound"), tokens = mica_dataset_column_index(data, "tokens");
  const mica__column *column = mica__store_find(data->store, "sound");
  const view *v = column && column->read == read_sound ? column->user : NULL;
  const bool joined = v && v->strings.first;
  const mica_dataset *named = v && !joined ? v->base : data;
  if (joined) MICA_TRY(check_words(v, mica_dataset_count(data), letters, count));
  for (uint64_t i = 0; i < mica_dataset_count(data); i++) {
    int64_t samples = 0, n = 0;
    MICA_TRY(mica_dataset_length(data, sound, i, &samples));
    MICA_TRY(mica_dataset_length(data, tokens, i, &n));
    int32_t *list = malloc((size_t)n * sizeof *list + 1);
    mica_status status = list ? MICA_OK : mica__fail_nomem("texts");
    if (status == MICA_OK) status = mica_dataset_read(data, tokens, i, list, (size_t)n * sizeof *list);
    if (status == MICA_OK && !joined) status = check_letters(named, i, list, n, letters, count);
    if (status == MICA_OK) status = check_length(time, named, i, list, n, samples);
    free(list);
    MICA_TRY(status);
  }
  return MICA_OK;
}
