/* text/arpa.h: n-gram models of words in ARPA format, as KenLM and SRILM write them. A model has the log10
 * probabilities of sequences of words. The probability of a sequence that it lacks follows from that of the sequence
 * without its first word and from the back-off weight of the words before the last one. */
#ifndef MICA_TEXT_ARPA_H
#define MICA_TEXT_ARPA_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA__ARPA_ORDER 12

/* Words are identified by the hash of their characters, sequences by the hash of their words. Collisions are negligible
 * even among millions of sequences. */
static inline uint64_t mica__arpa_mix(uint64_t key, uint64_t next) {
  uint64_t z = key ^ (next + 2) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) | 1;
}
/* Hash of an empty word; mix in one character after another. */
#define MICA__ARPA_WORD 1

typedef struct mica__arpa mica__arpa;
/* Called with each unigram as spelled in the file: UTF-8. */
typedef void mica__arpa_word(void *user, const char *word, size_t bytes);

/* True if a line is \data\, with which an ARPA model begins. */
bool mica__arpa_is(const char *content, size_t size);
/* Reads an ARPA model and calls `each` (may be NULL) for every unigram. `name` is the file's name in messages.
 * MICA_E_FORMAT: the message names the line. MICA_E_NOMEM. */
mica_status mica__arpa_read(const char *name, const char *content, size_t size, mica__arpa_word *each, void *user,
                            mica__arpa **out);
void mica__arpa_free(mica__arpa *a);
int32_t mica__arpa_order(const mica__arpa *a);
/* Hash of <s>, and of </s>. */
uint64_t mica__arpa_begin(void);
uint64_t mica__arpa_end(void);
/* Natural log probability of a word after `count` words. Only the last order - 1 of these words are used. A word that
 * the model lacks counts as <unk>. */
double mica__arpa_score(const mica__arpa *a, const uint64_t *words, int32_t count, uint64_t word);

#endif
