/* mica/tokenizer.h: tokenisers in the format of Hugging Face's tokenizer.json: text to token ids and back.
 *
 * A tokeniser normalises a text, splits it into pieces, finds the tokens of each piece with its model, and adds tokens
 * that frame a text ("[CLS]", "</s>"). Ids and decoded texts are the same as in the package `tokenizers`. These parts
 * are supported:
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
 * Everything else, such as dropout, is refused with a message. Truncation and padding are saved again but not applied;
 * loaders pad batches. If the model's vocabulary has the text of an added token, the token has the vocabulary's id,
 * otherwise the id given for it in "added_tokens".
 *
 * Needs cJSON. Patterns (ByteLevel, Whitespace, Split, Replace) need PCRE2, Unicode tables need utf8proc.
 * MICA_E_UNSUPPORTED: the file needs a library that the build lacks.
 *
 * Threads: a tokeniser never changes. Any number of threads may encode and decode with it, each with its own encoding.
 */
#ifndef MICA_TOKENIZER_H
#define MICA_TOKENIZER_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

struct mica_gguf;
struct mica_gguf_keys;
typedef struct mica_tokenizer mica_tokenizer;

/* --- files --- */

/* Opens a tokenizer.json, or a GGUF file if the path ends in ".gguf". MICA_E_NOT_FOUND or MICA_E_IO: the file cannot be
 * opened or read. MICA_E_FORMAT: it is invalid JSON, or its parts contradict each other. MICA_E_UNSUPPORTED: it has a
 * part that is not in the list above. The message names the place in the file. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_open(const char *path, mica_tokenizer **tokenizer);
/* Opens a tokenizer.json in memory; its bytes are copied. Error messages use `name`. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_open_memory(const char *name, const void *data, size_t bytes,
                                                             mica_tokenizer **tokenizer);
/* Reads the tokeniser of a GGUF file: model "gpt2" (byte-level BPE), "llama" (SentencePiece BPE), "t5" (Unigram) or
 * "bert" (WordPiece). The file may be closed afterwards. MICA_E_FORMAT: keys are missing or contradict each other.
 * MICA_E_UNSUPPORTED: another model, or an unknown value of "tokenizer.ggml.pre"; the message lists the known ones. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_open_gguf(const char *name, const struct mica_gguf *file,
                                                           mica_tokenizer **tokenizer);

/* Converts a tokenizer.json to keys of a GGUF file: tokens, types, merges, scores, and the tokens that frame a text.
 * tokens is the size of the model's vocabulary; ids without a token get "[PAD<id>]". A tokeniser read from these keys
 * gives the same ids, except that NFC normalisation is dropped, because GGUF cannot express it. Error messages use
 * `name`.
 *
 * Fails like mica_tokenizer_open; also with MICA_E_FORMAT or MICA_E_UNSUPPORTED for an id outside the vocabulary, a
 * model other than byte-level BPE and BPE with byte tokens, and a word pattern that GGUF has no name for. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_gguf_keys(const char *name, const char *json, size_t bytes,
                                                           int64_t tokens, struct mica_gguf_keys *keys);
/* Writes a tokenizer.json; replaces an existing file atomically. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_save(const mica_tokenizer *tokenizer, const char *path);
/* The bytes that mica_tokenizer_save writes, followed by a NUL. The tokeniser owns them. mica_tokenizer_destroy: NULL
 * is a no-op. */
MICA_API const char *mica_tokenizer_json(const mica_tokenizer *tokenizer, size_t *bytes);
MICA_API void mica_tokenizer_destroy(mica_tokenizer *tokenizer);

/* --- training --- */

/* Enumerator, name:
 *
 *   BPE        byte-level, like GPT-2: GPT-2's pattern splits texts; the 256 bytes are the first tokens, and the most
 *              frequent pair of tokens repeatedly becomes a new one. Decoding restores all bytes exactly
 *   WORDPIECE  like BERT: words, and continuations "##ing"; lowercase also removes accents
 *   UNIGRAM    like SentencePiece: the vocabulary with the highest likelihood, pruned from frequent substrings
 *   WORD       words and punctuation, most frequent first
 *   CHARACTER  characters, most frequent first
 *   BYTE       256 tokens and the special ones; nothing is trained */
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
/* "bpe", "wordpiece", ...; "?" for any other value. */
MICA_API const char *mica_tokenizer_kind_name(mica_tokenizer_kind kind);

typedef struct mica_tokenizer_config {
  mica_tokenizer_kind kind;
  int32_t size; /* maximum number of tokens, including special ones; 0: 8,000; ignored for BYTE */
  /* BPE, WORDPIECE: pairs of tokens that occur less often do not become tokens; WORD, CHARACTER: words and characters;
   * 0: 2. The other kinds ignore it. */
  int32_t min_frequency;
  bool lowercase; /* converts texts to lower case (WORDPIECE: also without accents); decoding does not restore it */
  /* Special tokens with the ids 0, 1, ... Except for BPE and BYTE, the first one replaces unknown text. NULL:
   *
   *   BPE, BYTE   none
   *   WORDPIECE   "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"; "[CLS]" and "[SEP]" frame texts
   *   others      "<unk>", "<pad>", "<s>", "</s>" */
  const char *const *special;
  size_t special_count;
} mica_tokenizer_config;

/* Callback for the next text, valid until the next call. A NULL text ends training data. A status other than MICA_OK
 * fails the training. */
typedef mica_status mica_text_fn(void *user, const char **text, size_t *bytes);

/* Trains a tokeniser on texts. config may be NULL. The same texts give the same file: ties go to smaller ids, then to
 * smaller bytes. MICA_E_FORMAT: a text is not UTF-8 (BPE and BYTE accept any bytes). MICA_E_INVALID: a field is out of
 * range, a special token is empty or listed twice, there is no text, or size is too small for the special tokens and
 * the bytes or characters. BYTE does not call `next`, which may then be NULL. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_train(const mica_tokenizer_config *config, mica_text_fn *next,
                                                       void *user, mica_tokenizer **tokenizer);

/* --- vocabulary --- */

/* Largest id plus 1. */
MICA_API int32_t mica_tokenizer_size(const mica_tokenizer *tokenizer);
/* "BPE", "WordPiece", "Unigram" or "WordLevel". */
MICA_API const char *mica_tokenizer_model(const mica_tokenizer *tokenizer);
/* Id of a token as spelled in the file; -1 if it is unknown. */
MICA_API int32_t mica_tokenizer_id(const mica_tokenizer *tokenizer, const char *token);
/* Token of an id as spelled in the file; NULL if the id is unknown. The tokeniser owns it. */
MICA_API const char *mica_tokenizer_token(const mica_tokenizer *tokenizer, int32_t id);
/* True for a special token. */
MICA_API bool mica_tokenizer_is_special(const mica_tokenizer *tokenizer, int32_t id);
/* True if texts may be any bytes, not only UTF-8. */
MICA_API bool mica_tokenizer_takes_bytes(const mica_tokenizer *tokenizer);

/* --- encoding and decoding --- */

/* Result of encoding. Zero-initialise it, reuse it (it caches words) and free it at the end. */
typedef struct mica_encoding {
  int32_t *ids;
  uint8_t *types; /* per id: 0 for the first text, 1 for the second, or as the template says */
  size_t count;
  size_t capacity;
  void *work; /* private */
} mica_encoding;
/* Frees the arrays of an encoding, not the structure itself. NULL is a no-op. */
MICA_API void mica_encoding_free(mica_encoding *encoding);

typedef struct mica_encode_config {
  bool special;       /* frame the text with special tokens (post-processor) */
  const char *second; /* second text of a pair; NULL: none */
  size_t second_bytes;
} mica_encode_config;

/* Encodes a text of at most 1 GiB. config may be NULL. MICA_E_INVALID: the text is larger. MICA_E_FORMAT: the text is
 * not UTF-8 although the tokeniser needs that, the model has no token for unknown text, normalising makes the text too
 * large, or a pattern of the file needs too many steps. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_encode(const mica_tokenizer *tokenizer, const char *text, size_t bytes,
                                                        const mica_encode_config *config, mica_encoding *encoding);
/* Decodes ids. The caller frees *text with mica_free; a NUL follows its bytes. skip_special omits special tokens. The
 * decoder ByteLevel returns bytes unchanged; they may be invalid UTF-8. MICA_E_INVALID: an id has no token; the message
 * names it. */
MICA_API MICA_CHECKED mica_status mica_tokenizer_decode(const mica_tokenizer *tokenizer, const int32_t *ids,
                                                        size_t count, bool skip_special, char **text, size_t *bytes);

/* --- streaming --- */

/* Decodes generated tokens one by one into complete UTF-8 characters. Use it from one thread at a time. */
typedef struct mica_text_stream mica_text_stream;

typedef struct mica_text_stream_config {
  bool keep_special;        /* include special tokens in the text */
  const char *const *stops; /* texts that end the stream and are not part of it; copied */
  size_t stop_count;        /* at most 64, of 1 to 4,096 bytes each */
} mica_text_stream_config;

/* Creates a stream. config may be NULL. The tokeniser must outlive it. */
MICA_API MICA_CHECKED mica_status mica_text_stream_create(const mica_tokenizer *tokenizer,
                                                          const mica_text_stream_config *config,
                                                          mica_text_stream **stream);
/* Adds a token. *text receives the text that is final now; it may be empty and is valid until the next call. Incomplete
 * characters and possible beginnings of a stop are held back. *stopped (may be NULL) is true once a stop is complete;
 * later tokens add nothing. Invalid UTF-8 becomes U+FFFD. MICA_E_INVALID: the id has no token. */
MICA_API MICA_CHECKED mica_status mica_text_stream_add(mica_text_stream *stream, int32_t id, const char **text,
                                                       size_t *bytes, bool *stopped);
/* Returns the text that is still held back after the last token. */
MICA_API MICA_CHECKED mica_status mica_text_stream_end(mica_text_stream *stream, const char **text, size_t *bytes);
/* Starts another text. mica_text_stream_destroy: NULL is a no-op. */
MICA_API void mica_text_stream_reset(mica_text_stream *stream);
MICA_API void mica_text_stream_destroy(mica_text_stream *stream);

MICA_END_DECLS

#endif
