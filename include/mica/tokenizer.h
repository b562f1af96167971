/* mica/tokenizer.h: texts as token ids and back, by tokenisers in the form of Hugging Face's tokenizer.json.
 *
 * A tokeniser normalises a text, cuts it into pieces, finds the tokens of each piece by its model and adds what frames
 * a text ("[CLS]", "</s>"); ids and decoded texts are those of the package `tokenizers`. It reads
 *
 *   models           BPE (byte-level, byte fallback, unk, fuse_unk, prefix, suffix, ignore_merges), WordPiece, Unigram,
 *                    WordLevel
 *   normalisers      Sequence NFC NFD NFKC NFKD Lowercase Strip StripAccents BertNormalizer Nmt Replace Prepend
 *                    ByteLevel Precompiled
 *   pre-tokenisers   Sequence ByteLevel BertPreTokenizer Whitespace WhitespaceSplit Punctuation Digits Metaspace Split
 *                    CharDelimiterSplit
 *   post-processors  Sequence TemplateProcessing BertProcessing RobertaProcessing ByteLevel
 *   decoders         Sequence ByteLevel WordPiece Metaspace BPEDecoder ByteFallback Fuse Strip Replace
 *   added tokens     with lstrip, rstrip, single_word, normalized, special
 *
 * and refuses what else the file names in a sentence (dropout). Truncation
 * and padding are kept when it is saved and not applied: a loader pads its batches. An added token has the id that the
 * model gives its text, else the file's.
 *
 * Needs cJSON; PCRE2 for patterns (ByteLevel, Whitespace, Split, Replace), utf8proc for what knows Unicode's tables: a
 * file that needs what the build lacks is MICA_E_UNSUPPORTED.
 *
 * Threads: a tokeniser does not change once it is made; any number of threads encode and decode with it, each with an
 * encoding of its own. */
#ifndef MICA_TOKENIZER_H
#define MICA_TOKENIZER_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

struct mica_gguf;
typedef struct mica_tokenizer mica_tokenizer;

/* --- files --- */

/* Opens a tokenizer.json, or a GGUF file if the path ends in ".gguf". MICA_E_NOT_FOUND, MICA_E_IO; MICA_E_FORMAT where
 * it is no JSON or contradicts itself, and MICA_E_UNSUPPORTED for a part that is not known, both naming the place in
 * the file. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_open(const char *path, mica_tokenizer **tokenizer);
/* Likewise of the file's bytes, which are copied; name stands in sentences. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_open_memory(const char *name, const void *data, size_t bytes,
                                                             mica_tokenizer **tokenizer);
/* The tokeniser of a GGUF file, of the model "gpt2" (byte-level BPE), "llama" (SentencePiece's BPE) or "t5" (Unigram).
 * The file may be closed afterwards. MICA_E_FORMAT if keys are missing or contradict each other; MICA_E_UNSUPPORTED for
 * other models, and for a value of "tokenizer.ggml.pre" that is not known, with those that are. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_open_gguf(const char *name, const struct mica_gguf *file,
                                                           mica_tokenizer **tokenizer);
/* Writes what was opened or trained, replacing the file at once. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_save(const mica_tokenizer *tokenizer, const char *path);
/* The bytes that mica_tokenizer_save writes; a NUL follows them. They live as long as the tokeniser. */
MICA_API const char *mica_tokenizer_json(const mica_tokenizer *tokenizer, size_t *bytes);
MICA_API void mica_tokenizer_destroy(mica_tokenizer *tokenizer);

/* --- training --- */

/* BPE        byte-level: any bytes come back exactly. As GPT-2's: texts are cut by its pattern, 256 bytes are tokens,
 *            and the most frequent pair becomes a token, again and again
 * WORDPIECE  as BERT's: words, and their continuations "##ing"; without case and accents if lowercase is set
 * UNIGRAM    as SentencePiece's: the vocabulary under which the texts are likeliest, pruned from frequent substrings
 * WORD       words and punctuation, the most frequent first
 * CHARACTER  characters, the most frequent first
 * BYTE       256 tokens and the special ones: no training */
#define MICA_TOKENIZER_KIND_LIST(X)                                                                                    \
  X(BPE, "bpe")                                                                                                        \
  X(WORDPIECE, "wordpiece")                                                                                            \
  X(UNIGRAM, "unigram")                                                                                                \
  X(WORD, "word")                                                                                                      \
  X(CHARACTER, "character")                                                                                            \
  X(BYTE, "byte")

typedef enum mica_tokenizer_kind {
#define MICA_TOKENIZER_KIND_ENUM(name, text) MICA_TOKENIZER_KIND_##name,
  MICA_TOKENIZER_KIND_LIST(MICA_TOKENIZER_KIND_ENUM)
#undef MICA_TOKENIZER_KIND_ENUM
} mica_tokenizer_kind;
/* "bpe", "wordpiece", ...; "?" for a value that is none. */
MICA_API const char *mica_tokenizer_kind_name(mica_tokenizer_kind kind);

typedef struct mica_tokenizer_config {
  mica_tokenizer_kind kind;
  int32_t size;          /* tokens at most, special ones among them; 0: 8,000; BYTE has what it has */
  int32_t min_frequency; /* pairs, words and characters that occur less often become no tokens; 0: 2 */
  bool lowercase;        /* texts lose case (WORDPIECE: and accents) first, and do not get it back */
  /* Special tokens, whose ids are 0, 1, ...; NULL: "<unk>" (WORDPIECE: "[UNK]"; BPE and BYTE: none), "<pad>", "<s>",
   * "</s>" ("[PAD]", "[CLS]", "[SEP]", "[MASK]", which frame a text of WORDPIECE). A list of other kinds than BPE and
   * BYTE begins with the token for what is unknown. */
  const char *const *special;
  size_t special_count;
} mica_tokenizer_config;

/* Gives the next text, valid until the next call; a NULL text ends them. What is not MICA_OK fails the training. */
typedef mica_status mica_text_fn(void *user, const char **text, size_t *bytes);

/* Trains on texts; config may be NULL. The same texts give the same file: ties go to the smaller ids, then to the
 * smaller bytes. What is not UTF-8 counts for BPE and BYTE alone, else it is MICA_E_FORMAT. MICA_E_INVALID for a size
 * that does not hold bytes, characters or special tokens. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_train(const mica_tokenizer_config *config, mica_text_fn *next,
                                                       void *user, mica_tokenizer **tokenizer);

/* --- vocabulary --- */

/* One more than the largest id. */
MICA_API int32_t mica_tokenizer_size(const mica_tokenizer *tokenizer);
/* "BPE", "WordPiece", "Unigram" or "WordLevel". */
MICA_API const char *mica_tokenizer_model(const mica_tokenizer *tokenizer);
/* The id of a token as the file spells it; -1: there is none. */
MICA_API int32_t mica_tokenizer_id(const mica_tokenizer *tokenizer, const char *token);
/* The token of an id as the file spells it; NULL where there is none. Lives as long as the tokeniser. */
MICA_API const char *mica_tokenizer_token(const mica_tokenizer *tokenizer, int32_t id);
/* True for a special token. */
MICA_API bool mica_tokenizer_is_special(const mica_tokenizer *tokenizer, int32_t id);
/* True if texts need not be UTF-8: the pipeline works on bytes. */
MICA_API bool mica_tokenizer_takes_bytes(const mica_tokenizer *tokenizer);

/* --- texts --- */

/* What encoding gives; zero-initialise it, use it again and again (it remembers words), free it at the end. */
typedef struct mica_encoding {
  int32_t *ids;
  uint8_t *types; /* of each id: 0 for the first text, 1 for the second, or what the template says */
  size_t count;
  size_t capacity;
  void *work; /* the library's own */
} mica_encoding;
MICA_API void mica_encoding_free(mica_encoding *encoding);

typedef struct mica_encode_config {
  bool special;       /* frames the text as the post-processor says */
  const char *second; /* a second text that goes with the first; NULL: none */
  size_t second_bytes;
} mica_encode_config;

/* The ids of a text of at most 1 GiB; config may be NULL. MICA_E_FORMAT where it is not UTF-8 and the tokeniser wants
 * that, where its model has no token for what is unknown, and where a pattern of the file needs too many steps for it.
 * */
MICA_API MICA_CHECKED mica_status mica_tokenizer_encode(const mica_tokenizer *tokenizer, const char *text, size_t bytes,
                                                        const mica_encode_config *config, mica_encoding *encoding);
/* The text of ids, *text the caller's to mica_free; a NUL follows its bytes. skip_special leaves special tokens out.
 * The decoder ByteLevel gives bytes as they are, which need not be UTF-8. MICA_E_INVALID names an id that has no token.
 * */
MICA_API MICA_CHECKED mica_status mica_tokenizer_decode(const mica_tokenizer *tokenizer, const int32_t *ids,
                                                        size_t count, bool skip_special, char **text, size_t *bytes);

/* --- texts as their tokens come --- */

/* The text of a generator, token by token, in whole characters of UTF-8. One thread at a time. */
typedef struct mica_text_stream mica_text_stream;

typedef struct mica_text_stream_config {
  bool keep_special;        /* special tokens are part of the text */
  const char *const *stops; /* texts that end it and are not part of it; copied */
  size_t stop_count;        /* at most 64, of 1 to 4,096 bytes */
} mica_text_stream_config;

/* config may be NULL. The tokeniser must outlive the stream. */
MICA_API MICA_CHECKED mica_status mica_text_stream_create(const mica_tokenizer *tokenizer,
                                                          const mica_text_stream_config *config,
                                                          mica_text_stream **stream);
/* Adds a token. *text is the text that is certain now, perhaps empty, valid until the next call: half a character and
 * what may become a stop are held back. *stopped (may be NULL) is true from the token on that completes a stop; later
 * ones add nothing. Bytes that are not UTF-8 become U+FFFD. MICA_E_INVALID for an id without a token. */
MICA_API MICA_CHECKED mica_status mica_text_stream_add(mica_text_stream *stream, int32_t id, const char **text,
                                                       size_t *bytes, bool *stopped);
/* The text that is still held back, after the last token. */
MICA_API MICA_CHECKED mica_status mica_text_stream_end(mica_text_stream *stream, const char **text, size_t *bytes);
/* Begins another text. */
MICA_API void mica_text_stream_reset(mica_text_stream *stream);
MICA_API void mica_text_stream_destroy(mica_text_stream *stream);

MICA_END_DECLS

#endif
