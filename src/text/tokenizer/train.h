/* text/tokenizer/train.h: how tokenisers are trained: words are counted, a vocabulary is chosen, a tokenizer.json is
 * made of it. */
#ifndef MICA_TEXT_TOKENIZER_TRAIN_H
#define MICA_TEXT_TOKENIZER_TRAIN_H

#include "text/tokenizer/tokenizer.h"

/* A word or character and how often it occurs. */
typedef struct mica__counted {
  const char *text; /* NULL: a free entry */
  uint32_t length;
  uint64_t count;
} mica__counted;

/* Counts by bytes: open addressing over texts that lie in blocks. Zero-initialise. */
typedef struct mica__counts {
  mica__counted *entries;
  size_t size, count;
  char **blocks;
  size_t block_count, block_used, block_size;
} mica__counts;
mica_status mica__counts_add(mica__counts *counts, const char *text, size_t length, uint64_t times);
/* Leaves `count` entries, without free ones, in the order of their bytes, or the most frequent first; nothing is added
 * any more. */
void mica__counts_sort(mica__counts *counts, bool frequent);
void mica__counts_free(mica__counts *counts);
/* The characters of all words with their counts, each a text of UTF-8. */
mica_status mica__counts_characters(const mica__counts *words, mica__counts *characters);

/* What is trained: the words that the pieces of all texts are, sorted by their bytes, and the vocabulary so far. */
typedef struct mica__training {
  mica_tokenizer_config config; /* nothing is zero but what may be */
  mica__counts words;
  mica__vocab vocab; /* its model table; special tokens first */
  cJSON *merges;     /* of BPE */
  double *scores;    /* of UNIGRAM, by id */
} mica__training;

/* Appends a token unless there is one of these bytes; *id may be NULL. */
mica_status mica__training_add(mica__training *training, const char *text, size_t length, int32_t *id);
/* Adds pairs until the vocabulary is full: BPE, and WORDPIECE with the prefix "##" before what continues a word. */
mica_status mica__train_bpe(mica__training *training, const char *prefix);
/* Chooses the tokens by their share in the likelihood of the words. */
mica_status mica__train_unigram(mica__training *training);

#endif
