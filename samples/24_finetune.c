/* labels: device
 *
 * Fine-tuning of a published language model: ./24_finetune MODEL CHATS.jsonl ADAPTER [EPOCHS] trains a low-rank
 * adapter on conversations and writes it as a folder for Mica and the Python package peft. Without arguments it teaches
 * one answer to the tests' small model. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

static bool print_loss(void *user, const mica_train_progress *p) {
  (void)user;
  if (p->event == MICA_TRAIN_EVENT_EPOCH)
    printf("epoch %2d: loss %.4f, %.0f s\n", (int)p->epoch + 1, p->training.loss, p->seconds);
  fflush(stdout);
  return true;
}

/* One conversation, sixteen times. */
static void write_chats(const char *path) {
  FILE *file = fopen(path, "w");
  for (int i = 0; file && i < 16; i++)
    fprintf(file,
            "{\"messages\": [{\"role\": \"user\", \"content\": \"Name %d colours.\"}, "
            "{\"role\": \"assistant\", \"content\": \"red\"}]}\n",
            i);
  if (file) fclose(file);
}

int main(int count, char **words) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[1000];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/chat", root ? root : ".");
  const bool own = count < 4;
  const char *name = own ? path : words[1], *chats = own ? "finetune-chats.jsonl" : words[2];
  const char *folder = own ? "finetune-adapter" : words[3];
  const mica_conversations_config rows = {.context = own ? 64 : 256};
  mica_finetune_config config = {.epochs = own         ? 20
                                           : count > 4 ? atoi(words[4])
                                                       : 3,
                                 .rate = own ? 2e-2 : 2e-4,
                                 .report = print_loss};
  mica_engine *engine = NULL;
  mica_foundation *model = NULL;
  mica_conversations *data = NULL;
  mica_adapter *adapter = NULL;

  if (own) write_chats(chats);
  mica_status status = mica_engine_create(NULL, &engine);
  if (status == MICA_OK) status = mica_foundation_open(name, NULL, &model);
  if (status == MICA_OK) status = mica_conversations_open(model, chats, &rows, &data);
  if (status == MICA_OK) status = mica_adapter_create(&(mica_adapter_config){.rank = 16}, &adapter);
  if (status == MICA_OK) {
    const mica_conversations_info info = mica_conversations_describe(data);
    printf("%d conversations in %d rows, %d tokens of answers\n", (int)info.conversations, (int)info.rows,
           (int)info.counted);
    config.training = mica_conversations_source(data, engine);
    status = mica_finetune(engine, model, adapter, &config);
  }
  if (status == MICA_OK) status = mica_foundation_adapter_save(model, adapter, folder, MICA_ADAPTER_FORM_PEFT);
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  mica_adapter_destroy(adapter);
  mica_conversations_close(data);
  mica_foundation_close(model);
  mica_engine_destroy(engine);
  return status != MICA_OK;
}
