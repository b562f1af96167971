/* text/tokenizer/train.h: trains tokenisers. A training counts words, chooses a vocabulary and writes a
 * tokenizer.json. */
#ifndef MICA_TEXT_TOKENIZER_TRAIN_H
#define MICA_TEXT_TOKENIZER_TRAIN_H

#include "text/tokenizer/tokenizer.h"

/* A word or a character, and its number of occurrences. */
typedef struct mica__counted {
  const char *text; /* NULL: a free entry */
  uint32_t length;
  uint64_t count;
} mica__counted;

/* Counts of texts, in a hash table with open addressing. Blocks hold the texts. Zero-initialise. */
typedef struct mica__counts {
  mica__counted *entries;
  size_t size, count;
  char **blocks;
  size_t block_count, block_used, block_size;
} mica__counts;
mica_status mica__counts_add(mica__counts *counts, const char *text, size_t length, uint64_t times);
/* Sorts the `count` entries by bytes or, if `frequent`, by descending count, and drops free entries. Nothing may be
 * added afterwards. */
void mica__counts_sort(mica__counts *counts, bool frequent);
void mica__counts_free(mica__counts *counts);
/* Counts the characters of all words; each is a text in UTF-8. */
mica_status mica__counts_characters(const mica__counts *words, mica__counts *characters);

/* A training: the words of all texts, sorted by their bytes, and the vocabulary so far. */
typedef struct mica__training {
  mica_tokenizer_config config; /* defaults filled in */
  mica__counts words;
  mica__vocab vocab; /* only its table `model` is used; special tokens come first */
  cJSON *merges;     /* of BPE */
  double *scores;    /* of UNIGRAM, by id */
} mica__training;

/* Appends a token unless the vocabulary has it; id may be NULL. */
mica_status mica__training_add(mica__training *training, const char *text, size_t length, int32_t *id);
/* Merges pairs until the vocabulary is full or no pair is frequent enough. prefix: the mark of a piece inside a word,
 * "##" for WORDPIECE; NULL for BPE. */
mica_status mica__train_bpe(mica__training *training, const char *prefix);
/* Chooses the tokens that contribute most to the likelihood of the words. */
mica_status mica__train_unigram(mica__training *training);

#endif
