/* Reads text models, from ARPA files or plain texts, and scores labels. A label stands for a letter. If a model scores
 * words, letters are joined into words. */
#include "base/signature.h"
#include "base/utf8.h"
#include "text/arpa.h"
#include "text/unicode.h"

#include <mica/speech.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS_OF_PLAIN_TEXT 6
/* Maximum number of letters that are read per word of the context. */
#define LETTERS_OF_WORD 40

struct mica_text_model {
  int32_t *letters; /* ascending; label k is letters[k - 1] */
  int64_t count;
  int32_t space;     /* label of the space; -1: none */
  mica__arpa *arpa;  /* NULL: the model is an n-gram model of counts */
  bool by_words;     /* arpa has words, not letters */
  uint64_t spelling; /* in a model of letters: hash of the word for a space, as in "<space>"; 0: none */
  mica_ngram *ngram;
  int64_t context;
};

static int ascending(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* Label of a character; 0: none. */
static int32_t label_of(const mica_text_model *m, uint32_t character) {
  const int32_t letter = (int32_t)character;
  const int32_t *found = bsearch(&letter, m->letters, (size_t)m->count, sizeof *m->letters, ascending);
  return found ? (int32_t)(found - m->letters) + 1 : 0;
}

/* --- reading --- */

/* Statistics of a model's words. */
typedef struct vocabulary {
  mica_text_model *m;
  size_t count, spelled, longer; /* spelled: words with known letters only; longer: words of several letters */
} vocabulary;

static void note_word(void *user, const char *word, size_t bytes) {
  static const char *const spaces[] = {"<space>", "|", "\xe2\x96\x81"}, *const marks[] = {"<s>", "</s>", "<unk>",
                                                                                          "<UNK>"};
  vocabulary *w = user;
  uint64_t key = MICA__ARPA_WORD;
  size_t letters = 0;
  bool known = true;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (bytes == strlen(marks[i]) && !memcmp(word, marks[i], bytes)) return;
  for (size_t i = 0, n = 1; i < bytes; i += n, letters++) {
    const uint32_t c = mica__utf8_at(word + i, &n);
    key = mica__arpa_mix(key, c);
    known = known && label_of(w->m, c) > 0;
  }
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (!known && bytes == strlen(spaces[i]) && !memcmp(word, spaces[i], bytes)) {
      w->m->spelling = key;
      return;
    }
  w->count++;
  w->spelled += known;
  w->longer += letters > 1;
}

static mica_status read_arpa(mica_text_model *m, const char *name, const char *content, size_t size) {
  vocabulary w = {.m = m};
  MICA_TRY(mica__arpa_read(name, content, size, note_word, &w, &m->arpa));
  if (!w.spelled)
    return mica__fail(MICA_E_FORMAT,
                      "%s: none of the model's %zu words consists of letters that the network recognises", name,
                      w.count);
  m->by_words = w.longer > 0 || (m->space > 0 && !m->spelling);
  const int64_t order = mica__arpa_order(m->arpa);
  m->context = m->by_words ? LETTERS_OF_WORD * order : order - 1;
  /* A context of 0 would mean all labels. */
  if (!m->context) m->context = 1;
  return MICA_OK;
}

/* Counts the labels of a line. An unknown character counts as a space or, if no label is a space, is left out. Repeated
 * spaces are counted once, and spaces at both ends are dropped. */
static mica_status count_line(mica_text_model *m, const char *line, size_t bytes, int32_t *labels, uint64_t *known) {
  int64_t count = 0;
  for (size_t i = 0, n = 1; i < bytes; i += n) {
    int32_t label = label_of(m, mica__utf8_at(line + i, &n));
    *known += label > 0 && label != m->space;
    if (!label) label = m->space;
    if (label > 0 && (label != m->space || (count && labels[count - 1] != m->space))) labels[count++] = label;
  }
  if (count && labels[count - 1] == m->space) count--;
  return count ? mica_ngram_add(m->ngram, labels, count) : MICA_OK;
}

static mica_status read_plain(mica_text_model *m, const char *name, const char *content, size_t size, int32_t order) {
  int32_t *labels = malloc((size + 1) * sizeof *labels);
  const size_t valid = mica__utf8_prefix(content, size);
  uint64_t known = 0;
  mica_status status = labels ? mica_ngram_create(order, (int32_t)m->count, &m->ngram) : mica__fail_nomem(name);
  if (status == MICA_OK && valid < size)
    status = mica__fail(MICA_E_FORMAT, "%s is not an ARPA model, and as a text it is not UTF-8 at byte %zu", name,
                        valid + 1);
  for (size_t at = 0; status == MICA_OK && at < size;) {
    const char *stop = memchr(content + at, '\n', size - at);
    const size_t bytes = stop ? (size_t)(stop - content) - at : size - at;
    status = count_line(m, content + at, bytes, labels, &known);
    at += bytes + 1;
  }
  free(labels);
  if (status == MICA_OK && !known)
    status = mica__fail(MICA_E_FORMAT, "%s has no letter that the network recognises, so the model cannot score texts",
                        name);
  m->context = order > 1 ? order - 1 : 1;
  return status;
}

mica_status mica_text_model_read(const char *name, const char *content, size_t size, const mica_text_model_config *c,
                                 mica_text_model **out) {
  if (!name || (size && !content) || !c || !out || !c->letters)
    return mica__fail(MICA_E_INVALID, "mica_text_model_read: name, content, config, its letters or model is NULL");
  if (c->count < 1 || c->count >= INT32_MAX)
    return mica__fail(MICA_E_INVALID, "mica_text_model_read: the number of letters is %lld, but must be 1 to 2^31 - 2",
                      (long long)c->count);
  if (c->order < 0 || c->order > MICA__ARPA_ORDER)
    return mica__fail(MICA_E_INVALID, "mica_text_model_read: the order is %lld, but must be 0 to %d",
                      (long long)c->order, MICA__ARPA_ORDER);
  mica_text_model *m = calloc(1, sizeof *m);
  if (!m) return mica__fail_nomem("a text model");
  m->count = c->count;
  m->letters = malloc((size_t)c->count * sizeof *m->letters);
  mica_status status = m->letters ? MICA_OK : mica__fail_nomem("a text model");
  if (status == MICA_OK) memcpy(m->letters, c->letters, (size_t)c->count * sizeof *m->letters);
  for (int64_t i = 1; status == MICA_OK && i < c->count; i++)
    if (c->letters[i] <= c->letters[i - 1])
      status = mica__fail(
          MICA_E_INVALID,
          "mica_text_model_read: letters must be in ascending order, but letters[%lld] is not above the one before",
          (long long)i);
  if (status == MICA_OK) {
    m->space = label_of(m, ' ') ? label_of(m, ' ') : -1;
    status = mica__arpa_is(content, size)
                 ? read_arpa(m, name, content, size)
                 : read_plain(m, name, content, size, c->order ? c->order : LETTERS_OF_PLAIN_TEXT);
  }
  if (status == MICA_OK)
    *out = m;
  else
    mica_text_model_destroy(m);
  return status;
}

mica_status mica_text_model_open(const char *path, const mica_text_model_config *config, mica_text_model **model) {
  unsigned char *content = NULL;
  size_t size = 0;
  if (!path) return mica__fail(MICA_E_INVALID, "mica_text_model_open: path is NULL");
  MICA_TRY(mica__file_read_signed(path, &content, &size));
  const mica_status status = mica_text_model_read(path, (const char *)content, size, config, model);
  free(content);
  return status;
}

void mica_text_model_destroy(mica_text_model *m) {
  if (!m) return;
  free(m->letters);
  mica__arpa_free(m->arpa);
  mica_ngram_destroy(m->ngram);
  free(m);
}

int64_t mica_text_model_context(const mica_text_model *m) { return m ? m->context : 0; }

/* --- scores --- */

/* Writes the hashes of the last words of labels, at most `most`, to `out`, and returns their number. If there are fewer
 * labels than the model's context, they begin a text, and <s> precedes its first word. Otherwise a partial first word
 * is omitted. */
static int32_t last_words(const mica_text_model *m, const int32_t *labels, int64_t count, int32_t most, uint64_t *out) {
  const bool whole = count < m->context;
  int32_t found = 0;
  int64_t end = count;
  while (found < most) {
    while (end > 0 && labels[end - 1] == m->space) end--;
    int64_t begin = end;
    while (begin > 0 && labels[begin - 1] != m->space) begin--;
    if (begin == end || (!begin && !whole)) break;
    uint64_t key = MICA__ARPA_WORD;
    for (int64_t i = begin; i < end; i++) key = mica__arpa_mix(key, (uint32_t)m->letters[labels[i] - 1]);
    out[most - ++found] = key;
    end = begin;
  }
  if (found < most && whole) out[most - ++found] = mica__arpa_begin();
  memmove(out, out + most - found, (size_t)found * sizeof *out);
  return found;
}

static double score_words(const mica_text_model *m, const int32_t *labels, int64_t count, int32_t label) {
  uint64_t words[MICA__ARPA_ORDER + 2];
  double p = 0;
  if (label >= 0 && label != m->space) return 0;
  const bool ends = count && labels[count - 1] != m->space;
  int32_t found = last_words(m, labels, count, mica__arpa_order(m->arpa) + 1, words);
  if (ends && found) p = mica__arpa_score(m->arpa, words, found - 1, words[found - 1]);
  return label < 0 ? p + mica__arpa_score(m->arpa, words, found, mica__arpa_end()) : p;
}

static uint64_t letter_word(const mica_text_model *m, int32_t label) {
  if (label < 0) return mica__arpa_end();
  if (label == m->space && m->spelling) return m->spelling;
  return mica__arpa_mix(MICA__ARPA_WORD, (uint32_t)m->letters[label - 1]);
}

static double score_letters(const mica_text_model *m, const int32_t *labels, int64_t count, int32_t label) {
  uint64_t list[MICA__ARPA_ORDER];
  const int64_t most = mica__arpa_order(m->arpa) - 1;
  int32_t found = 0;
  if (count < most) list[found++] = mica__arpa_begin();
  for (int64_t i = count < most ? 0 : count - most; i < count; i++) list[found++] = letter_word(m, labels[i]);
  return mica__arpa_score(m->arpa, list, found, letter_word(m, label));
}

double mica_text_model_score(void *user, const int32_t *labels, int64_t count, int32_t label) {
  mica_text_model *m = user;
  /* A space at the beginning or after another space scores 0. */
  if (label == m->space && (!count || labels[count - 1] == m->space)) return 0;
  if (m->ngram) return mica_ngram_score(m->ngram, labels, count, label);
  return m->by_words ? score_words(m, labels, count, label) : score_letters(m, labels, count, label);
}
