/* The reader of conversations (mica/finetune.h): lines of JSON through a chat template, as rows of tokens. */
#include "fuzz/fuzz.h"

#include <mica/finetune.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if MICA_WITH_CJSON

static const mica_foundation *small_model(void) {
  static mica_foundation *model;
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/chat", root ? root : ".");
  if (!model && mica_foundation_open(path, NULL, &model) != MICA_OK) abort();
  return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const mica_conversations_config shapes[] = {{.context = 16},
                                              {.context = 48, .loss_on_all = true, .one_per_row = true}};
  char path[64];
  snprintf(path, sizeof path, "/tmp/mica-fuzz-%ld.jsonl", (long)getpid());
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
  for (int i = 0; i < 2; i++) {
    mica_conversations *chats = NULL;
    if (mica_conversations_open(small_model(), path, &shapes[i], &chats) != MICA_OK) continue;
    const mica_conversations_info info = mica_conversations_describe(chats);
    if (info.context != shapes[i].context || info.rows < 1 || info.counted < 1 || info.counted > info.tokens ||
        info.tokens > info.rows * (info.context + 1) || (i == 1 && info.rows > info.conversations))
      abort();
    mica_conversations_close(chats);
  }
  unlink(path);
  return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)data, (void)size;
  return 0;
}
#endif

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]}\n"
      "\n{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \"a\"}, "
      "{\"role\": \"assistant\", \"content\": \"b\"}], \"tools\": []}\n",
      "{\"prompt\": \"one\", \"completion\": \" two\"}\n{\"text\": \"three\"}\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
