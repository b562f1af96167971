#include "text/arpa.h"

#include "base/number.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1024
#define LN10 2.302585092994046
#define LONGEST_NUMBER 63
/* If the file lacks <unk>, an unknown word is a tenth as likely as the rarest word: its log10 probability is lower
 * by this much. */
#define RARER 1.0
/* Lower than the log10 probability of any word of a text. <s>, which no model predicts, has about -99. */
#define NEVER (-90.0)

/* p: log10 probability of a sequence's last word after the others; backoff: log10 back-off weight of the sequence. */
typedef struct entry {
  uint64_t key; /* 0: none */
  float p, backoff;
} entry;

struct mica__arpa {
  int32_t order;
  entry *entries; /* hash table with `room` slots, a power of two */
  size_t count, room;
  uint64_t unknown; /* the word <unk>; 0: none */
  double rarest;
};

typedef struct reader {
  const char *name, *at, *end;
  size_t line;
  mica__arpa *a;
  mica__arpa_word *each;
  void *user;
  uint64_t told[MICA__ARPA_ORDER]; /* number of n-grams per length, from the header */
} reader;

/* A part of a line. */
typedef struct span {
  const char *text;
  size_t bytes;
} span;

static uint64_t hash_word(const char *word, size_t bytes) {
  uint64_t key = MICA__ARPA_WORD;
  for (size_t i = 0, n = 1; i < bytes; i += n) key = mica__arpa_mix(key, mica__utf8_at(word + i, &n));
  return key;
}

uint64_t mica__arpa_begin(void) { return hash_word("<s>", 3); }
uint64_t mica__arpa_end(void) { return hash_word("</s>", 4); }
int32_t mica__arpa_order(const mica__arpa *a) { return a->order; }

void mica__arpa_free(mica__arpa *a) {
  if (!a) return;
  free(a->entries);
  free(a);
}

/* --- the table --- */

static entry *slot_of(const mica__arpa *a, uint64_t key) {
  size_t at = (size_t)(key >> 20) & (a->room - 1);
  while (a->entries[at].key && a->entries[at].key != key) at = (at + 1) & (a->room - 1);
  return &a->entries[at];
}

static mica_status grow(mica__arpa *a) {
  mica__arpa larger = {.room = 2 * a->room, .entries = calloc(2 * a->room, sizeof(entry))};
  if (!larger.entries) return mica__fail_nomem("a text model");
  for (size_t i = 0; i < a->room; i++)
    if (a->entries[i].key) *slot_of(&larger, a->entries[i].key) = a->entries[i];
  free(a->entries);
  a->entries = larger.entries;
  a->room = larger.room;
  return MICA_OK;
}

static const entry *find(const mica__arpa *a, const uint64_t *words, int32_t count, const uint64_t *last) {
  uint64_t key = 1;
  for (int32_t i = 0; i < count; i++) key = mica__arpa_mix(key, words[i]);
  if (last) key = mica__arpa_mix(key, *last);
  const entry *e = slot_of(a, key);
  return e->key ? e : NULL;
}

/* --- lines --- */

static bool next_line(reader *r, span *line) {
  if (r->at == r->end) return false;
  const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
  *line = (span){r->at, (size_t)((stop ? stop : r->end) - r->at)};
  r->at = stop ? stop + 1 : r->end;
  r->line++;
  while (line->bytes && (line->text[line->bytes - 1] == '\r' || line->text[line->bytes - 1] == ' ')) line->bytes--;
  return true;
}

/* Finds the next line that is not empty. */
static bool next_full(reader *r, span *line) {
  while (next_line(r, line))
    if (line->bytes) return true;
  return false;
}

static bool is(span line, const char *text) {
  return line.bytes == strlen(text) && !memcmp(line.text, text, line.bytes);
}

/* The next word of a line; words are separated by spaces and tabs. Empty at the end. */
static span next_part(span *line) {
  while (line->bytes && (*line->text == ' ' || *line->text == '\t')) line->text++, line->bytes--;
  span part = {line->text, 0};
  while (part.bytes < line->bytes && part.text[part.bytes] != ' ' && part.text[part.bytes] != '\t') part.bytes++;
  line->text += part.bytes;
  line->bytes -= part.bytes;
  return part;
}

static mica_status wrong(const reader *r, const char *what) {
  return mica__fail(MICA_E_FORMAT, "%s:%zu: %s", r->name, r->line, what);
}

static bool read_number(span part, double *number) {
  char text[LONGEST_NUMBER + 1] = {0}, *end = text;
  if (!part.bytes || part.bytes > LONGEST_NUMBER || memchr(part.text, '\0', part.bytes)) return false;
  memcpy(text, part.text, part.bytes);
  *number = mica__strtod(text, &end);
  return !*end && isfinite(*number);
}

bool mica__arpa_is(const char *content, size_t size) {
  reader r = {.at = content, .end = content + size};
  for (span line; next_line(&r, &line);)
    if (is(line, "\\data\\")) return true;
  return false;
}

/* --- the parts of a file --- */

/* Reads the lines "ngram N=COUNT"; *line becomes the first line after them. */
static mica_status read_head(reader *r, span *line) {
  do
    if (!next_full(r, line)) return wrong(r, "an ARPA model must begin with the line \\data\\, which is missing");
  while (!is(*line, "\\data\\"));
  for (;;) {
    if (!next_full(r, line)) return wrong(r, "the model ends before its first list of n-grams");
    if (*line->text == '\\') break;
    double length = 0, count = 0;
    span rest = *line, word = next_part(&rest), what = next_part(&rest);
    const char *equal = memchr(what.text, '=', what.bytes);
    if (!is(word, "ngram") || !equal || !read_number((span){what.text, (size_t)(equal - what.text)}, &length) ||
        !read_number((span){equal + 1, (size_t)(what.text + what.bytes - equal - 1)}, &count) || count < 0 ||
        count > 1e12)
      return wrong(r, "a line of the head must look like ngram 2=1000, with a count from 0 to 10^12");
    if (length != r->a->order + 1)
      return mica__fail(MICA_E_FORMAT, "%s:%zu: expected ngram %d=COUNT, but found ngram %g=COUNT", r->name, r->line,
                        (int)r->a->order + 1, length);
    if (length > MICA__ARPA_ORDER)
      return mica__fail(MICA_E_FORMAT, "%s:%zu: n may be at most %d, but the head counts %g-grams", r->name, r->line,
                        MICA__ARPA_ORDER, length);
    r->told[r->a->order++] = (uint64_t)count;
  }
  return r->a->order ? MICA_OK : wrong(r, "the head must count n-grams, as in ngram 1=1000");
}

/* Reads a word of a line; *out receives its hash. */
static mica_status read_word(const reader *r, span word, uint64_t *out) {
  if (mica__utf8_prefix(word.text, word.bytes) < word.bytes) return wrong(r, "a word is not UTF-8");
  *out = hash_word(word.text, word.bytes);
  return MICA_OK;
}

/* Reads a line "P WORD... [BACKOFF]" of n words. */
static mica_status read_entry(reader *r, span line, int32_t n) {
  mica__arpa *a = r->a;
  double p = 0, backoff = 0;
  uint64_t key = 1, hash = 0;
  span word = {0};
  if (!read_number(next_part(&line), &p) || p > 1e-6)
    return wrong(r, "a line must begin with the log10 of a probability, which is 0 or below");
  for (int32_t i = 0; i < n; i++) {
    word = next_part(&line);
    if (!word.bytes)
      return mica__fail(MICA_E_FORMAT, "%s:%zu: the line has too few words: %d instead of %d", r->name, r->line, (int)i,
                        (int)n);
    MICA_TRY(read_word(r, word, &hash));
    key = mica__arpa_mix(key, hash);
  }
  const span last = next_part(&line);
  if ((last.bytes && !read_number(last, &backoff)) || next_part(&line).bytes)
    return mica__fail(
        MICA_E_FORMAT,
        "%s:%zu: the number of words after the probability must be %d, with at most one number after them", r->name,
        r->line, (int)n);
  if (2 * a->count >= a->room) MICA_TRY(grow(a));
  entry *e = slot_of(a, key);
  if (e->key) return wrong(r, "these words are listed twice");
  *e = (entry){key, (float)p, (float)backoff};
  a->count++;
  if (n > 1) return MICA_OK;
  if (is(word, "<unk>") || is(word, "<UNK>")) a->unknown = hash;
  if (p > NEVER && p < a->rarest) a->rarest = p;
  if (r->each) r->each(r->user, word.text, word.bytes);
  return MICA_OK;
}

/* Reads the n-grams of n words. On entry, *line is their title, as in "\2-grams:". On return, *line is the first line
 * after them. */
static mica_status read_section(reader *r, span *line, int32_t n) {
  char title[24] = {0};
  uint64_t count = 0;
  snprintf(title, sizeof title, "\\%d-grams:", (int)n);
  if (!is(*line, title)) return mica__fail(MICA_E_FORMAT, "%s:%zu must be the line %s", r->name, r->line, title);
  for (;; count++) {
    if (!next_full(r, line)) return wrong(r, "the model ends without the line \\end\\");
    /* A line that begins with a backslash is not an n-gram. */
    if (*line->text == '\\') break;
    MICA_TRY(read_entry(r, *line, n));
  }
  if (count == r->told[n - 1]) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s:%zu: there are %llu %d-grams, but the head says %llu", r->name, r->line,
                    (unsigned long long)count, (int)n, (unsigned long long)r->told[n - 1]);
}

mica_status mica__arpa_read(const char *name, const char *content, size_t size, mica__arpa_word *each, void *user,
                            mica__arpa **out) {
  mica__arpa *a = calloc(1, sizeof *a);
  reader r = {.name = name, .at = content, .end = content + size, .a = a, .each = each, .user = user};
  span line = {0};
  if (a) *a = (mica__arpa){.room = ROOM, .entries = calloc(ROOM, sizeof(entry))};
  mica_status status = a && a->entries ? read_head(&r, &line) : mica__fail_nomem("a text model");
  for (int32_t n = 1; status == MICA_OK && n <= a->order; n++) status = read_section(&r, &line, n);
  if (status == MICA_OK && !is(line, "\\end\\")) status = wrong(&r, "the line must be \\end\\");
  if (status == MICA_OK)
    *out = a;
  else
    mica__arpa_free(a);
  return status;
}

/* --- scores --- */

double mica__arpa_score(const mica__arpa *a, const uint64_t *given, int32_t count, uint64_t word) {
  uint64_t words[MICA__ARPA_ORDER];
  double p = 0;
  if (count >= a->order) given += count - (a->order - 1), count = a->order - 1;
  for (int32_t i = 0; i < count; i++) words[i] = find(a, NULL, 0, &given[i]) ? given[i] : a->unknown;
  if (!find(a, NULL, 0, &word)) word = a->unknown;
  for (int32_t from = 0; from <= count; from++) {
    const entry *whole = find(a, words + from, count - from, &word);
    if (whole) return LN10 * (p + (double)whole->p);
    const entry *context = from < count ? find(a, words + from, count - from, NULL) : NULL;
    if (context) p += (double)context->backoff;
  }
  return LN10 * (p + a->rarest - RARER);
}
