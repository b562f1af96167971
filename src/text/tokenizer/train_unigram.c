/* Trains a unigram model (Kudo, Subword Regularization, 2018). It starts with frequent substrings, estimates scores by
 * expectation maximisation, and repeatedly removes the tokens whose removal lowers the likelihood least. */
#include "text/tokenizer/train.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LETTERS 1000  /* at most this many characters become tokens: the most frequent ones */
#define LONGEST_PIECE 16   /* characters of a token */
#define LONGEST_WORD 1000  /* bytes of a word that are read */
#define SEEDS_A_TOKEN 20   /* initial substrings per token */
#define ROUNDS 2           /* rounds of estimation before each removal */
#define LEAST_EXPECTED 0.5 /* a token with fewer expected uses is removed */
#define KEPT 0.75          /* share of the tokens that one round of removal keeps */

typedef struct piece {
  const char *text;
  uint32_t length;
  bool letter; /* a single character; is never removed */
  double score, expected, loss;
} piece;

typedef struct model {
  piece *pieces;
  size_t count, room;
  mica__counts runs, substrings; /* words without rare characters, and their substrings */
  mica__trie trie;
  double *forward, *backward;
  int32_t *ends;  /* the last token of the best path to a byte */
  size_t longest; /* bytes of the longest run */
} model;

static void free_model(model *m) {
  mica__counts_free(&m->runs);
  mica__counts_free(&m->substrings);
  mica__trie_free(&m->trie);
  free(m->pieces);
  free(m->forward);
  free(m->backward);
  free(m->ends);
}

static mica_status add_piece(model *m, const mica__counted *text, bool letter, double weight) {
  MICA_TRY(mica__reserve(&m->pieces, &m->room, m->count + 1, sizeof *m->pieces));
  m->pieces[m->count++] = (piece){.text = text->text, .length = text->length, .letter = letter, .score = weight};
  return MICA_OK;
}

/* --- seeds --- */

/* Cuts words at characters that are not tokens. */
static mica_status cut_words(model *m, const mica__counts *words, const mica__counts *letters) {
  mica__vocab known = {0};
  mica_status status = MICA_OK;
  for (size_t i = 0; i < letters->size && status == MICA_OK; i++)
    status = mica__vocab_set(&known, (int64_t)i, letters->entries[i].text, letters->entries[i].length, false);
  for (size_t k = 0; k < words->size; k++) {
    const mica__counted *word = &words->entries[k];
    const size_t length = word->length < LONGEST_WORD ? word->length : LONGEST_WORD;
    size_t begin = 0;
    for (size_t at = 0, n; at < length && status == MICA_OK; at += n) {
      mica__utf8_at(word->text + at, &n);
      if (at + n <= length && mica__vocab_find(&known, &known.model, word->text + at, n) >= 0) continue;
      status = mica__counts_add(&m->runs, word->text + begin, at - begin, word->count);
      begin = at + n;
    }
    if (status == MICA_OK && begin < length)
      status = mica__counts_add(&m->runs, word->text + begin, length - begin, word->count);
  }
  mica__vocab_free(&known);
  mica__counts_sort(&m->runs, false);
  for (size_t i = 0; i < m->runs.size; i++)
    if (m->runs.entries[i].length > m->longest) m->longest = m->runs.entries[i].length;
  return status;
}

static mica_status count_substrings(model *m) {
  for (size_t k = 0; k < m->runs.size; k++) {
    const mica__counted *run = &m->runs.entries[k];
    for (size_t at = 0, n; at < run->length; at += n) {
      size_t end = at, step;
      mica__utf8_at(run->text + at, &n);
      for (int characters = 0; end < run->length && characters < LONGEST_PIECE; characters++) {
        mica__utf8_at(run->text + end, &step);
        end += step;
        if (characters) MICA_TRY(mica__counts_add(&m->substrings, run->text + at, end - at, run->count));
      }
    }
  }
  return MICA_OK;
}

static int by_score(const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? 1 : -1;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static mica_status choose_seeds(model *m, const mica__counts *letters, size_t most) {
  double sum = 0;
  MICA_TRY(count_substrings(m));
  mica__counts_sort(&m->substrings, false);
  for (size_t i = 0; i < m->substrings.size; i++) {
    const mica__counted *s = &m->substrings.entries[i];
    if (s->count > 1) MICA_TRY(add_piece(m, s, false, (double)s->count * s->length));
  }
  if (m->count) qsort(m->pieces, m->count, sizeof *m->pieces, by_score);
  if (m->count > most) m->count = most;
  for (size_t i = 0; i < letters->size; i++)
    MICA_TRY(add_piece(m, &letters->entries[i], true, (double)letters->entries[i].count));
  for (size_t i = 0; i < m->count; i++) sum += m->pieces[i].score;
  for (size_t i = 0; i < m->count; i++) m->pieces[i].score = log(m->pieces[i].score / sum);
  return MICA_OK;
}

/* --- estimation --- */

static mica_status build_trie(model *m) {
  mica__trie_free(&m->trie);
  m->trie = (mica__trie){0};
  for (size_t i = 0; i < m->count; i++)
    MICA_TRY(mica__trie_add(&m->trie, m->pieces[i].text, m->pieces[i].length, (int32_t)i, true));
  return MICA_OK;
}

static double log_add(double a, double b) {
  if (a == -INFINITY) return b;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

/* Adds each token's expected number of uses in a run, over all ways to cut the run, times the run's count. Pass 0
 * computes `forward`, pass 1 `backward`, and pass 2 the expected uses. */
static void expect_run(model *m, const mica__counted *run) {
  const size_t length = run->length;
  for (size_t i = 0; i <= length; i++) m->forward[i] = m->backward[i] = -INFINITY;
  m->forward[0] = m->backward[length] = 0;
  for (int pass = 0; pass < 3; pass++)
    for (size_t i = 0; i < length; i++) {
      const size_t at = pass == 1 ? length - 1 - i : i;
      uint32_t node = 0;
      for (size_t end = at; end < length;) {
        node = mica__trie_next(&m->trie, node, (uint8_t)run->text[end++]);
        if (node == 0) break;
        if (m->trie.values[node] < 0) continue;
        piece *p = &m->pieces[m->trie.values[node]];
        if (pass == 0)
          m->forward[end] = log_add(m->forward[end], m->forward[at] + p->score);
        else if (pass == 1)
          m->backward[at] = log_add(m->backward[at], m->backward[end] + p->score);
        else
          p->expected += (double)run->count * exp(m->forward[at] + p->score + m->backward[end] - m->forward[length]);
      }
    }
}

/* The derivative of log gamma, by its recurrence and its asymptotic series. */
static double digamma(double x) {
  double sum = 0;
  for (; x < 7; x++) sum -= 1 / x;
  const double y = 1 / (x * x);
  return sum + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}

static mica_status estimate(model *m) {
  double sum = 0;
  size_t kept = 0;
  MICA_TRY(build_trie(m));
  for (size_t i = 0; i < m->count; i++) m->pieces[i].expected = 0;
  for (size_t k = 0; k < m->runs.size; k++) expect_run(m, &m->runs.entries[k]);
  for (size_t i = 0; i < m->count; i++) {
    piece p = m->pieces[i];
    if (p.expected < LEAST_EXPECTED && !p.letter) continue;
    if (p.expected < LEAST_EXPECTED) p.expected = LEAST_EXPECTED;
    sum += p.expected;
    m->pieces[kept++] = p;
  }
  m->count = kept;
  for (size_t i = 0; i < m->count; i++) m->pieces[i].score = digamma(m->pieces[i].expected) - digamma(sum);
  return MICA_OK;
}

/* --- pruning --- */

/* Finds the best path through a text without the token `without` (-1: any token is allowed); false: there is no
 * path. */
static bool best_path(model *m, const char *text, size_t length, int32_t without) {
  for (size_t i = 0; i <= length; i++) m->forward[i] = -INFINITY;
  m->forward[0] = 0;
  for (size_t at = 0; at < length; at++) {
    uint32_t node = 0;
    if (m->forward[at] == -INFINITY) continue;
    for (size_t end = at; end < length;) {
      node = mica__trie_next(&m->trie, node, (uint8_t)text[end++]);
      if (node == 0) break;
      const int32_t id = m->trie.values[node];
      if (id < 0 || id == without || m->forward[at] + m->pieces[id].score <= m->forward[end]) continue;
      m->forward[end] = m->forward[at] + m->pieces[id].score;
      m->ends[end] = id;
    }
  }
  return m->forward[length] > -INFINITY;
}

/* How much the log likelihood, divided by the number of token uses `sum`, falls if a token is removed and the best path
 * of other tokens takes over its uses. INFINITY if there is no such path. */
static double loss_without(model *m, int32_t id, double sum) {
  const piece *p = &m->pieces[id];
  double likely = 0, others = 0;
  size_t parts = 0;
  if (p->expected <= 0) return 0;
  if (!best_path(m, p->text, p->length, id)) return INFINITY;
  for (size_t at = p->length; at > 0; at -= m->pieces[m->ends[at]].length) parts++;
  const double sum_then = log(sum + p->expected * ((double)parts - 1));
  for (size_t at = p->length; at > 0; at -= m->pieces[m->ends[at]].length)
    others += log(m->pieces[m->ends[at]].expected + p->expected) - sum_then;
  likely = log(p->expected) - log(sum);
  return p->expected / sum * (likely - others);
}

static int by_loss(const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
  return by_score(a, b);
}

static mica_status prune(model *m, size_t wanted) {
  double sum = 0;
  MICA_TRY(build_trie(m));
  for (size_t i = 0; i < m->count; i++) m->pieces[i].expected = 0;
  for (size_t k = 0; k < m->runs.size; k++) {
    const mica__counted *run = &m->runs.entries[k];
    if (!best_path(m, run->text, run->length, -1)) continue;
    for (size_t at = run->length; at > 0; at -= m->pieces[m->ends[at]].length)
      m->pieces[m->ends[at]].expected += (double)run->count;
  }
  for (size_t i = 0; i < m->count; i++) sum += m->pieces[i].expected;
  for (size_t i = 0; i < m->count; i++)
    m->pieces[i].loss = m->pieces[i].letter ? INFINITY : loss_without(m, (int32_t)i, sum);
  qsort(m->pieces, m->count, sizeof *m->pieces, by_loss);
  const size_t fewer = (size_t)(KEPT * (double)m->count);
  m->count = fewer > wanted ? fewer : wanted < m->count ? wanted : m->count;
  return MICA_OK;
}

/* --- training --- */

/* Adds all letters and the likeliest of the other tokens to the vocabulary. Special tokens have the score 0. */
static mica_status finish(model *m, mica__training *t) {
  const size_t special = (size_t)t->vocab.size;
  size_t letters = 0;
  for (size_t i = 0; i < m->count; i++) letters += m->pieces[i].letter;
  qsort(m->pieces, m->count, sizeof *m->pieces, by_score);
  size_t others = (size_t)t->config.size - special - letters;
  t->scores = calloc(special + m->count + 1, sizeof *t->scores);
  if (!t->scores) return mica__fail_nomem("a vocabulary");
  for (size_t i = 0; i < m->count; i++) {
    const piece *p = &m->pieces[i];
    int32_t id = 0;
    if (!p->letter && others == 0) continue;
    others -= !p->letter;
    MICA_TRY(mica__training_add(t, p->text, p->length, &id));
    t->scores[id] = p->score;
  }
  return MICA_OK;
}

static mica_status train(model *m, mica__training *t, mica__counts *letters) {
  const size_t size = (size_t)(t->config.size - t->vocab.size);
  MICA_TRY(mica__counts_characters(&t->words, letters));
  mica__counts_sort(letters, true);
  if (letters->size > MOST_LETTERS) letters->size = letters->count = MOST_LETTERS;
  if (letters->size > size)
    return mica__fail(
        MICA_E_INVALID,
        "the vocabulary's size is %d, but must be at least %zu, the number of special tokens and characters",
        (int)t->config.size, letters->size + (size_t)t->vocab.size);
  MICA_TRY(cut_words(m, &t->words, letters));
  m->forward = malloc((m->longest + 1) * sizeof *m->forward);
  m->backward = malloc((m->longest + 1) * sizeof *m->backward);
  m->ends = malloc((m->longest + 1) * sizeof *m->ends);
  if (!m->forward || !m->backward || !m->ends) return mica__fail_nomem("words");
  MICA_TRY(choose_seeds(m, letters, SEEDS_A_TOKEN * size));
  for (;;) {
    for (int round = 0; round < ROUNDS; round++) MICA_TRY(estimate(m));
    const size_t before = m->count;
    if (m->count <= size + size / 10) break;
    MICA_TRY(prune(m, size + size / 10));
    if (m->count == before) break;
  }
  return finish(m, t);
}

mica_status mica__train_unigram(mica__training *training) {
  model m = {0};
  mica__counts letters = {0};
  const mica_status status = train(&m, training, &letters);
  free_model(&m);
  mica__counts_free(&letters);
  return status;
}
