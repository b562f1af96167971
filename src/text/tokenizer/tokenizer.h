/* text/tokenizer/tokenizer.h: the parts of a tokeniser. Each part has one or more files, which read its object of
 * tokenizer.json and run it. */
#ifndef MICA_TEXT_TOKENIZER_TOKENIZER_H
#define MICA_TEXT_TOKENIZER_TOKENIZER_H

#include "text/byte_trie.h"
#include "text/tokenizer/json.h"
#include "text/tokenizer/pieces.h"
#include "text/tokenizer/precompiled.h"
#include "text/tokenizer/vocab.h"

#include <mica/tokenizer.h>

/* --- normalisers (normalize.c) --- */

typedef enum mica__normal_kind {
  MICA__NORMAL_FORM, /* .form */
  MICA__NORMAL_LOWERCASE,
  MICA__NORMAL_STRIP,
  MICA__NORMAL_STRIP_ACCENTS,
  MICA__NORMAL_BERT,
  MICA__NORMAL_NMT,
  MICA__NORMAL_REPLACE,
  MICA__NORMAL_PREPEND,
  MICA__NORMAL_BYTES,
  MICA__NORMAL_PRECOMPILED,
} mica__normal_kind;

typedef struct mica__normal {
  mica__normal_kind kind;
  int form;
  bool left, right;                    /* STRIP */
  bool clean, chinese, accents, lower; /* BERT */
  mica__pattern *pattern;              /* REPLACE */
  char *text;                          /* REPLACE, PREPEND */
  mica__charsmap *charsmap;            /* PRECOMPILED */
} mica__normal;

/* Reads the member "pattern": {"String": text} or {"Regex": text}. */
mica_status mica__json_pattern(const cJSON *object, mica__pattern **pattern);
mica_status mica__normals_parse(const cJSON *object, mica__normal **steps, size_t *count);
void mica__normals_free(mica__normal *steps, size_t count);
/* Runs all steps on a text, which must not be in the buffers. *out is the buffer with the result. Without steps, *out
 * does not change. */
mica_status mica__normals_run(const mica__normal *steps, size_t count, mica__search *search, const char *text,
                              size_t bytes, mica__text buffers[2], const mica__text **out);
/* mica__add_byte_characters appends the characters that represent bytes in byte-level vocabularies.
 * mica__byte_of_character returns the byte that a character represents; -1: none. */
void mica__add_byte_characters(mica__text *out, const char *bytes, size_t count);
int mica__byte_of_character(uint32_t character);

/* --- pre-tokenisers (pretokenize.c) --- */

typedef enum mica__cut_kind {
  MICA__CUT_BYTE_LEVEL,
  MICA__CUT_BERT,
  MICA__CUT_CHARACTERS, /* .is */
  MICA__CUT_PATTERN,
  MICA__CUT_METASPACE,
} mica__cut_kind;

typedef struct mica__cut_step {
  mica__cut_kind kind;
  bool (*is)(uint32_t character);
  mica__behaviour behaviour;
  bool invert, prefix;    /* invert: of PATTERN; prefix: BYTE_LEVEL puts a space before the text */
  mica__pattern *pattern; /* BYTE_LEVEL: NULL if it has none; METASPACE: the mark, or NULL for no cuts */
  char *mark;             /* METASPACE */
  enum { MICA__PREPEND_ALWAYS, MICA__PREPEND_FIRST, MICA__PREPEND_NEVER } scheme;
} mica__cut_step;

mica_status mica__cuts_parse(const cJSON *object, mica__cut_step **steps, size_t *count);
void mica__cuts_free(mica__cut_step *steps, size_t count);
/* Runs all steps on pieces[from]. Pieces that are tokens do not change. *out is the element of `pieces` with the
 * result. */
mica_status mica__cuts_run(const mica__cut_step *steps, size_t count, mica__search *search, mica__pieces pieces[2],
                           size_t from, const mica__pieces **out);

/* --- models --- */

/* Two tokens that merge into a third one. */
typedef struct mica__merge {
  int32_t left, right, id;
} mica__merge;
#define MICA__NO_RANK UINT32_MAX

typedef struct mica__model {
  const char *name;
  int32_t unk; /* -1: none */
  bool byte_fallback, fuse_unk, ignore_merges;
  int32_t bytes[256];    /* with byte_fallback: tokens <0x00> to <0xFF>; -1: none */
  char *prefix, *suffix; /* NULL: none */
  mica__merge *merges;   /* by rank */
  uint32_t rank_count;
  uint32_t *ranks; /* hash table: ranks of pairs; MICA__NO_RANK: free */
  size_t ranks_size;
  bool ordered;            /* no merge makes a candidate of a lower rank */
  int64_t most_characters; /* limit of a WordPiece word */
  mica__trie trie;         /* Unigram */
  double *scores, least;   /* score of each id; the lowest score */
} mica__model;

/* --- work memory of encoding --- */

typedef struct mica__symbol {
  int32_t id, before, after; /* before, after: indices, or -1; id: -1 if merged into the one before */
} mica__symbol;
typedef struct mica__candidate {
  uint64_t key; /* rank << 32 | position */
  int32_t id;
} mica__candidate;
typedef struct mica__best {
  double score;
  uint32_t begin; /* of the last token on the best path to this byte */
  int32_t id;     /* -1: no path */
} mica__best;
/* A cached word with its ids. */
typedef struct mica__known_word {
  uint64_t hash; /* 0: free */
  uint8_t length, count;
  char text[22];
  int32_t ids[8];
} mica__known_word;
#define MICA__KNOWN_WORDS 8192

typedef struct mica__work {
  uint64_t serial; /* of the tokeniser whose words are cached */
  mica__search search;
  mica__text buffers[2], word;
  mica__pieces pieces[2];
  mica__symbol *symbols;
  mica__candidate *heap;
  mica__best *best;
  size_t symbol_room, heap_room, best_room;
  mica__known_word *known;
} mica__work;

void mica__work_free(mica__work *work);
/* Cuts a non-empty text into pieces: tokens, and texts for the model. The pieces belong to `work` and are valid until
 * the next call. */
mica_status mica__text_pieces(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                              const mica__pieces **pieces);
/* Appends an id. */
mica_status mica__encoding_add(mica_encoding *encoding, int32_t id);
/* Grows the memory of a list to at least `count` elements of `element` bytes. `list` is the address of the pointer to
 * the list. *room is the number of elements that the memory holds. */
mica_status mica__reserve(void *list, size_t *room, size_t count, size_t element);

/* Finds the name that pre.def has for a pattern that cuts texts, with these two flags. split NULL means GPT-2's
 * pattern. Returns NULL if pre.def has no such row. */
const char *mica__gguf_pre(const char *split, bool digits, bool ignore_merges);

/* --- tokenisers --- */

/* A piece of a template: a text, or ids of special tokens. */
typedef struct mica__frame_piece {
  int32_t sequence; /* 0, 1: the first, the second text; -1: ids */
  uint8_t type;
  int32_t *ids;
  size_t count;
} mica__frame_piece;
typedef struct mica__frame {
  mica__frame_piece *pieces;
  size_t count;
} mica__frame;

/* A trie that is built on the first use; NULL before. */
typedef struct mica__byte_trie_cell {
  _Atomic(mica__byte_trie *) trie;
} mica__byte_trie_cell;

struct mica_tokenizer {
  char *json; /* as it was opened */
  size_t json_bytes;
  uint64_t serial;
  mica__vocab vocab;
  mica__model model;
  mica__trie added[2];       /* [0] is searched before normalising, [1] after it */
  struct mica__added *about; /* of added tokens, by id */
  int32_t about_count;
  mica__normal *normals;
  size_t normal_count;
  mica__cut_step *cuts;
  size_t cut_count;
  struct mica__decode_step *decoders;
  size_t decoder_count;
  bool decodes, framed; /* decodes: it has a decoder; framed: it has a template */
  bool takes_bytes;
  mica__frame frames[2]; /* for one text, and for two */
  mica__byte_trie_cell *byte_trie;
};

/* Opens a tokenizer.json of `bytes` bytes, followed by a NUL. Takes over json, which comes from malloc, and frees it
 * even if opening fails. */
mica_status mica__tokenizer_open_owned(const char *name, char *json, size_t bytes, mica_tokenizer **tokenizer);

/* Rules for finding an added token. */
typedef struct mica__added {
  bool single_word, left, right;
} mica__added;

/* Reads the model's object into the vocabulary and the model (models.c, bpe.c). */
mica_status mica__model_parse(const cJSON *object, mica_tokenizer *tokenizer);
void mica__model_free(mica__model *model);
mica_status mica__merges_parse(const cJSON *object, mica_tokenizer *tokenizer);
/* Appends the ids of one piece of valid, non-empty UTF-8. */
mica_status mica__model_encode(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                               mica_encoding *out);
mica_status mica__bpe_encode(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                             mica_encoding *out);
mica_status mica__unigram_encode(const mica_tokenizer *tokenizer, mica__work *work, const char *text, size_t bytes,
                                 mica_encoding *out);

/* Added tokens (added.c). parse reads the list. cut cuts a text into tokens (`after`: those found after normalising)
 * and other pieces; a piece at the text's beginning has the id `id`. */
mica_status mica__added_parse(const cJSON *list, mica_tokenizer *tokenizer);
mica_status mica__added_cut(const mica_tokenizer *tokenizer, bool after, const char *text, size_t bytes, int32_t id,
                            mica__pieces *out);

/* Post-processors (frame.c). */
mica_status mica__frames_parse(const cJSON *object, mica_tokenizer *tokenizer);
void mica__frame_free(mica__frame *frame);

/* Decoders (decode.c). */
/* The bytes that a token adds to a text when it is not the first token. *out is the text of one of the two pieces. */
mica_status mica__token_bytes(const mica_tokenizer *tokenizer, mica__search *search, const mica__token *token,
                              mica__pieces pieces[2], const mica__text **out);
mica_status mica__decoders_parse(const cJSON *object, mica_tokenizer *tokenizer);
void mica__decoders_free(struct mica__decode_step *steps, size_t count);

#endif
