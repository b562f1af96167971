#include "support/small_vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXTS(name, ...)                                                                                               \
  static const char *const name##_texts[] = {__VA_ARGS__};                                                             \
  static mica_gguf_text name[sizeof name##_texts / sizeof *name##_texts];

TEXTS(byte_tokens, "<|x|>", "a", "b", "1", "2", "\xc4\xa0", "ab",
      "\xc4\xa0"
      "ab",
      "12", "<y z>")
TEXTS(byte_merges, "a b", "\xc4\xa0 ab", "1 2")
TEXTS(piece_tokens, "<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "\xe2\x96\x81", "a", "b",
      "\xe2\x96\x81"
      "a",
      "ab", "  ", "<go>")
TEXTS(names, "llama", "gemma3", "gpt2", "llama", "t5", "smollm", "default", "bert")

static const int32_t byte_types[] = {3, 1, 1, 1, 1, 1, 1, 1, 1, 4};
static const int32_t piece_types[] = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 4, 3};
static const float piece_scores[] = {0, 0, 0, 0, 0, 0, -9, -8, -7, -6, -5, -4, 0};
static const uint32_t ids[] = {0, 1, 2};
static const uint8_t flags[] = {0, 1};

/* A charsmap whose trie has no leaf, and no texts. */
static const uint8_t charsmap[] = {4, 0, 0, 0, 0, 4, 0, 0};

static void fill(mica_gguf_text *to, const char *const *from, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = (mica_gguf_text){from[i], strlen(from[i])};
}
#define FILL(name) fill(name, name##_texts, sizeof name / sizeof *name)
#define LIST(of) .array = true, .count = sizeof(of) / sizeof *(of), .data = (of)
#define ONE(of) .count = 1, .data = (of)

static void byte_level_keys(mica_gguf_value *keys, size_t *count) {
  const mica_gguf_value all[] = {
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, ONE(&names[0])},
      {.key = "tokenizer.ggml.model", .kind = MICA_GGUF_KIND_TEXT, ONE(&names[2])},
      {.key = "tokenizer.ggml.pre", .kind = MICA_GGUF_KIND_TEXT, ONE(&names[5])},
      {.key = "tokenizer.ggml.tokens", .kind = MICA_GGUF_KIND_TEXT, LIST(byte_tokens)},
      {.key = "tokenizer.ggml.token_type", .kind = MICA_GGUF_KIND_I32, LIST(byte_types)},
      {.key = "tokenizer.ggml.merges", .kind = MICA_GGUF_KIND_TEXT, LIST(byte_merges)},
      {.key = "tokenizer.ggml.bos_token_id", .kind = MICA_GGUF_KIND_U32, ONE(&ids[0])},
      {.key = "tokenizer.ggml.add_bos_token", .kind = MICA_GGUF_KIND_BOOL, ONE(&flags[0])},
  };
  memcpy(keys, all, sizeof all);
  *count = sizeof all / sizeof *all;
}

static void piece_keys(size_t architecture, size_t model, mica_gguf_value *keys, size_t *count) {
  const mica_gguf_value all[] = {
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, ONE(&names[architecture])},
      {.key = "tokenizer.ggml.model", .kind = MICA_GGUF_KIND_TEXT, ONE(&names[model])},
      {.key = "tokenizer.ggml.tokens", .kind = MICA_GGUF_KIND_TEXT, LIST(piece_tokens)},
      {.key = "tokenizer.ggml.scores", .kind = MICA_GGUF_KIND_F32, LIST(piece_scores)},
      {.key = "tokenizer.ggml.token_type", .kind = MICA_GGUF_KIND_I32, LIST(piece_types)},
      {.key = "tokenizer.ggml.bos_token_id", .kind = MICA_GGUF_KIND_U32, ONE(&ids[1])},
      {.key = "tokenizer.ggml.eos_token_id", .kind = MICA_GGUF_KIND_U32, ONE(&ids[2])},
      {.key = "tokenizer.ggml.unknown_token_id", .kind = MICA_GGUF_KIND_U32, ONE(&ids[0])},
      {.key = "tokenizer.ggml.add_space_prefix", .kind = MICA_GGUF_KIND_BOOL, ONE(&flags[architecture == 0])},
  };
  memcpy(keys, all, sizeof all);
  *count = sizeof all / sizeof *all;
}

void small_vocabulary_keys(small_vocabulary which, mica_gguf_value keys[12], size_t *count) {
  FILL(byte_tokens);
  FILL(byte_merges);
  FILL(piece_tokens);
  FILL(names);
  switch (which) {
  case SMALL_BYTE_LEVEL: byte_level_keys(keys, count); break;
  case SMALL_WORDPIECE: piece_keys(0, 7, keys, count); break;
  case SMALL_GEMMA: piece_keys(1, 3, keys, count); break;
  case SMALL_UNIGRAM:
    piece_keys(0, 4, keys, count);
    keys[(*count)++] =
        (mica_gguf_value){.key = "tokenizer.ggml.precompiled_charsmap", .kind = MICA_GGUF_KIND_U8, LIST(charsmap)};
    break;
  default: piece_keys(0, 3, keys, count); break;
  }
}

bool small_vocabulary_write(const mica_gguf_value *keys, size_t count, mica__text *file) {
  char path[] = "/tmp/mica-vocabulary-XXXXXX", piece[4096];
  const int handle = mkstemp(path);
  if (handle < 0) return false;
  close(handle);
  FILE *written = mica_gguf_write(path, keys, count, NULL, 0) == MICA_OK ? fopen(path, "rb") : NULL;
  for (size_t n; written && (n = fread(piece, 1, sizeof piece, written)) > 0;) mica__text_add_bytes(file, piece, n);
  if (written) fclose(written);
  unlink(path);
  return written && !file->failed && file->length > 0;
}

const char small_charsmap_base64[] =
    "AAQAAAAAAQBBDQAABQAAgIodAAAKAACAzAgCAIEFAAANAACAgCgCAIsNAAAAAACAoB0AAAMAAICADAIAgAUAAAEAAICsAAIAgQ0A"
    "AAcAAIASAAAAFQAAABQAAAAXAAAAFgAAABkAAACRyAIAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUA"
    "AABlsAMAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2"
    "AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAA"
    "SwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAA"
    "AFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAAAAbwAAAG4A"
    "AABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACD"
    "AAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAA"
    "lAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAOKoAADjuAAApQAAAKQAAACnAAAApgAA"
    "AKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAADvTAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsA"
    "AAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADM"
    "AAAAzBwBAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA"
    "4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8wAA"
    "APIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIAAxAGEAZmkAw4UAw6kA";

void small_charsmap(mica__text *bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  for (size_t i = 0; small_charsmap_base64[i] && small_charsmap_base64[i] != '='; i++) {
    bits = bits << 6 | (uint32_t)(strchr(digits, small_charsmap_base64[i]) - digits);
    if (i % 4 > 0) mica__text_add_bytes(bytes, &(char){(char)(bits >> (6 - 2 * (i % 4)))}, 1);
  }
}
