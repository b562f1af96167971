/* BLEU as sacrebleu computes it: the tokenisation 13a of mteval, the counts of n-grams, and the score of the counts
 * summed over all sentences. */
#include "base/text.h"
#include "text/unicode.h"
#include "text/words.h"

#include <math.h>
#include <mica/metric.h>
#include <stdlib.h>
#include <string.h>

#define ORDER MICA_BLEU_ORDER

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_point(char c) { return c == '.' || c == ','; }

/* True for the characters that 13a always separates: the space and all ASCII symbols except apostrophe, comma, hyphen
 * and point. */
static bool is_symbol(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* --- the tokenisation 13a --- */

/* The replacements before tokenisation, in this order. Entities are replaced only if the text has an ampersand. */
static const struct {
  const char *from, *to;
  bool entity;
} replaced[] = {{"<skipped>", "", false}, {"-\n", "", false},  {"\n", " ", false}, {"&quot;", "\"", true},
                {"&amp;", "&", true},     {"&lt;", "<", true}, {"&gt;", ">", true}};

static void replace(mica__text *text, const char *from, const char *to) {
  mica__text out = {0};
  const char *rest = text->data, *at;
  for (; rest && (at = strstr(rest, from)); rest = at + strlen(from)) {
    mica__text_add_bytes(&out, rest, (size_t)(at - rest));
    mica__text_add(&out, to);
  }
  if (rest) mica__text_add(&out, rest);
  out.failed = out.failed || text->failed;
  mica__text_free(text);
  *text = out;
}

/* A rule inserts spaces into each pair of characters that `first` and `second` accept. */
typedef struct rule {
  bool (*first)(char c), (*second)(char c);
  const char *form; /* replacement; 1 and 2 are the two characters */
} rule;

static bool is_other(char c) { return !is_digit(c); }
static bool is_hyphen(char c) { return c == '-'; }

/* A point or comma becomes a token unless it is between two digits. A hyphen becomes a token if a digit is before
 * it. */
static const rule rules[] = {{is_other, is_point, "1 2 "}, {is_point, is_other, " 1 2"}, {is_digit, is_hyphen, "1 2 "}};

/* Applies a rule to the text from left to right. Pairs do not overlap. */
static void part_pairs(mica__text *text, const rule *r) {
  mica__text out = {0};
  for (const char *s = text->data; s && *s;) {
    if (!s[1] || !r->first(s[0]) || !r->second(s[1])) {
      mica__text_add_bytes(&out, s++, 1);
      continue;
    }
    for (const char *form = r->form; *form; form++)
      mica__text_add_bytes(&out, *form == ' ' ? " " : *form == '1' ? s : s + 1, 1);
    s += 2;
  }
  out.failed = out.failed || text->failed;
  mica__text_free(text);
  *text = out;
}

static void part_symbols(mica__text *text) {
  mica__text out = {0};
  mica__text_add(&out, " ");
  for (const char *s = text->data; s && *s; s++) {
    const bool symbol = is_symbol(*s);
    if (symbol) mica__text_add(&out, " ");
    mica__text_add_bytes(&out, s, 1);
    if (symbol) mica__text_add(&out, " ");
  }
  mica__text_add(&out, " ");
  out.failed = out.failed || text->failed;
  mica__text_free(text);
  *text = out;
}

static void tokenise(mica__text *text) {
  const bool entities = text->data && strchr(text->data, '&');
  for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
    if (entities || !replaced[i].entity) replace(text, replaced[i].from, replaced[i].to);
  part_symbols(text);
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) part_pairs(text, &rules[i]);
}

/* --- sentences --- */

/* The words of a sentence. They point into `text`. */
typedef struct sentence {
  mica__text text;
  mica__word *words;
  int64_t count;
} sentence;

static void free_sentence(sentence *s) {
  mica__text_free(&s->text);
  free(s->words);
}

/* Lower-cases and tokenises the text as config says, and splits it into words. White space at its ends is dropped. The
 * caller frees s with free_sentence, even after an error. */
static mica_status make_sentence(const char *text, const mica_bleu_config *config, sentence *s) {
  int64_t count = 0;
  mica__word *characters = mica__text_parts(text, false, &count);
  if (!characters) return mica__fail_nomem("a sentence");
  mica__text_add(&s->text, "");
  for (int64_t i = 0; i < count; i++) {
    const mica__word *c = &characters[i];
    size_t bytes = 0;
    const bool stray = c->count == 1 && (unsigned char)*c->bytes >= 0x80;
    if (config->lowercase && !stray)
      mica__add_lower(&s->text, mica__utf8_at(c->bytes, &bytes));
    else
      mica__text_add_bytes(&s->text, c->bytes, c->count);
  }
  free(characters);
  if (!config->untokenised) tokenise(&s->text);
  MICA_TRY(mica__text_status(&s->text));
  s->words = mica__text_parts(s->text.data, true, &s->count);
  return s->words ? MICA_OK : mica__fail_nomem("a sentence");
}

/* --- counts --- */

/* A slot is used to number words: a word, and the variable that receives its number.
 * A gram is an n-gram: the numbers of its words, filled up with -1, and the text that contains it. text is 0 for the
 * hypothesis and i (from 1) for reference i. */
typedef struct slot {
  mica__word word;
  int32_t *id;
} slot;

typedef struct gram {
  int32_t ids[ORDER], text;
} gram;

static int compare_slots(const void *a, const void *b) {
  const mica__word *x = &((const slot *)a)->word, *y = &((const slot *)b)->word;
  const size_t least = x->count < y->count ? x->count : y->count;
  const int order = memcmp(x->bytes, y->bytes, least);
  return order ? order : (x->count > y->count) - (x->count < y->count);
}

static int compare_grams(const void *a, const void *b) {
  const gram *x = a, *y = b;
  for (int i = 0; i < ORDER; i++)
    if (x->ids[i] != y->ids[i]) return x->ids[i] < y->ids[i] ? -1 : 1;
  return (x->text > y->text) - (x->text < y->text);
}

/* Numbers the `all` words of n sentences: ids[i] becomes the number of word i, counted through all sentences. Equal
 * words get the same number. */
static mica_status number_words(const sentence *sentences, size_t n, int64_t all, int32_t *ids) {
  slot *slots = malloc(((size_t)all + 1) * sizeof *slots);
  if (!slots) return mica__fail_nomem("n-grams");
  int64_t at = 0;
  for (size_t s = 0; s < n; s++)
    for (int64_t i = 0; i < sentences[s].count; i++, at++) slots[at] = (slot){sentences[s].words[i], &ids[at]};
  qsort(slots, (size_t)all, sizeof *slots, compare_slots);
  int32_t id = 0;
  for (int64_t i = 0; i < all; i++) {
    if (i && compare_slots(&slots[i - 1], &slots[i])) id++;
    *slots[i].id = id;
  }
  free(slots);
  return MICA_OK;
}

static bool same_ids(const gram *a, const gram *b) { return memcmp(a->ids, b->ids, sizeof a->ids) == 0; }

/* Counts the n-grams that the hypothesis shares with its references. An n-gram counts as often as the hypothesis has
 * it, but at most as often as the reference that has it most often. grams is sorted by compare_grams. */
static int64_t count_shared(const gram *grams, int64_t count) {
  int64_t shared = 0;
  for (int64_t from = 0, to; from < count; from = to) {
    int64_t own = 0, most = 0, run = 0;
    for (to = from; to < count && same_ids(&grams[from], &grams[to]); to++) {
      run = to > from && grams[to].text == grams[to - 1].text ? run + 1 : 1;
      if (grams[to].text == 0)
        own = run;
      else if (run > most)
        most = run;
    }
    shared += own < most ? own : most;
  }
  return shared;
}

static void count_grams(const sentence *sentences, size_t n, const int32_t *ids, gram *grams, mica_bleu *sums) {
  for (int order = 1; order <= ORDER; order++) {
    const int32_t *own = ids;
    int64_t count = 0;
    for (size_t s = 0; s < n; own += sentences[s++].count)
      for (int64_t i = 0; i + order <= sentences[s].count; i++, count++)
        for (int k = 0; k < ORDER; k++) {
          grams[count].text = (int32_t)s;
          grams[count].ids[k] = k < order ? own[i + k] : -1;
        }
    qsort(grams, (size_t)count, sizeof *grams, compare_grams);
    sums->counts[order - 1] += count_shared(grams, count);
    sums->totals[order - 1] += sentences[0].count < order ? 0 : sentences[0].count - order + 1;
  }
}

static mica_status add_counts(const sentence *sentences, size_t n, mica_bleu *sums) {
  int64_t all = 0, closest = -1;
  for (size_t s = 0; s < n; s++) all += sentences[s].count;
  if (all > INT32_MAX)
    return mica__fail(MICA_E_OVERFLOW, "a sentence and its references have %lld words, but may have at most %d",
                      (long long)all, INT32_MAX);
  for (size_t s = 1; s < n; s++) {
    const int64_t length = sentences[s].count, off = llabs(length - sentences[0].count);
    const int64_t best = llabs(closest - sentences[0].count);
    if (closest < 0 || off < best || (off == best && length < closest)) closest = length;
  }
  int32_t *ids = malloc(((size_t)all + 1) * sizeof *ids);
  gram *grams = malloc(((size_t)all + 1) * sizeof *grams);
  mica_status status = ids && grams ? number_words(sentences, n, all, ids) : mica__fail_nomem("n-grams");
  if (status == MICA_OK) {
    count_grams(sentences, n, ids, grams, sums);
    sums->length += sentences[0].count;
    sums->reference_length += closest;
  }
  free(ids);
  free(grams);
  return status;
}

mica_status mica_bleu_add(mica_bleu *sums, const char *hypothesis, const char *const *references, size_t n,
                          const mica_bleu_config *config) {
  static const mica_bleu_config usual = {.lowercase = false};
  if (!sums || !hypothesis || !references)
    return mica__fail(MICA_E_INVALID, "mica_bleu_add: sums, hypothesis or references is NULL");
  if (!n || n >= INT32_MAX)
    return mica__fail(MICA_E_INVALID, "mica_bleu_add: there are %zu references, but 1 to %d are allowed", n,
                      INT32_MAX - 1);
  if (!config) config = &usual;
  if (config->lowercase) MICA_TRY(mica__unicode_need("lower case"));
  sentence *sentences = calloc(n + 1, sizeof *sentences);
  mica_status status = sentences ? make_sentence(hypothesis, config, &sentences[0]) : mica__fail_nomem("a sentence");
  for (size_t i = 0; status == MICA_OK && i < n; i++) {
    if (!references[i]) status = mica__fail(MICA_E_INVALID, "mica_bleu_add: references[%zu] is NULL", i);
    if (status == MICA_OK) status = make_sentence(references[i], config, &sentences[i + 1]);
  }
  if (status == MICA_OK) status = add_counts(sentences, n + 1, sums);
  for (size_t i = 0; sentences && i <= n; i++) free_sentence(&sentences[i]);
  free(sentences);
  return status;
}

/* --- the score --- */

double mica_bleu_brevity(const mica_bleu *sums) {
  if (sums->length >= sums->reference_length) return 1;
  return sums->length > 0 ? exp(1 - (double)sums->reference_length / (double)sums->length) : 0;
}

/* Smoothing constants (Chen and Cherry 2014) with sacrebleu's values: FLOOR replaces a count of 0; ADDED is added to
 * counts and totals of n-grams with n > 1. */
#define FLOOR 0.1
#define ADDED 1

/* Computes the precisions, in percent, and returns how many of them the score uses: all ORDER or, with effective_order,
 * those before the first order whose total (after smoothing) is 0. Precisions from that order on are 0. */
static int find_precisions(const mica_bleu *sums, const mica_bleu_config *config, double precisions[ORDER]) {
  double halves = 1;
  int orders = ORDER;
  for (int i = 0; i < ORDER; i++) precisions[i] = 0;
  for (int i = 0; i < ORDER; i++) {
    const double added = config->smoothing == MICA_BLEU_SMOOTHING_ADD && i > 0 ? ADDED : 0;
    const double count = (double)sums->counts[i] + added, total = (double)sums->totals[i] + added;
    if (total == 0) break;
    if (config->effective_order) orders = i + 1;
    if (count > 0)
      precisions[i] = 100 * count / total;
    else if (config->smoothing == MICA_BLEU_SMOOTHING_EXPONENTIAL)
      precisions[i] = 100 / ((halves *= 2) * total);
    else if (config->smoothing == MICA_BLEU_SMOOTHING_FLOOR)
      precisions[i] = 100 * FLOOR / total;
  }
  return orders;
}

double mica_bleu_score(const mica_bleu *sums, const mica_bleu_config *config, double *precisions) {
  static const mica_bleu_config usual = {.lowercase = false};
  double own[ORDER] = {0}, logs = 0;
  int64_t any = 0;
  if (!sums) return NAN;
  for (int i = 0; i < ORDER; i++) any += sums->counts[i];
  const int orders = any ? find_precisions(sums, config ? config : &usual, own) : 1;
  if (precisions) memcpy(precisions, own, sizeof own);
  if (!any) return 0;
  for (int i = 0; i < orders; i++) {
    if (own[i] == 0) return 0;
    logs += log(own[i]);
  }
  return mica_bleu_brevity(sums) * exp(logs / orders);
}
