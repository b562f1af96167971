/* labels: device
 *
 * A conversation with a published language model: ./23_chat MODEL "What to ask". MODEL is a GGUF file or a folder with
 * config.json. Without arguments it talks with the tests' small model, whose answers are random letters. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

static bool print_piece(void *user, const mica_decoder_event *event) {
  (void)user;
  fwrite(event->text, 1, event->bytes, stdout);
  fflush(stdout);
  return true;
}

int main(int count, char **words) {
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[1000];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/chat", root ? root : ".");
  const char *name = count > 1 ? words[1] : path, *question = count > 2 ? words[2] : "Name three colours.";
  const mica_sampler_config sampling = {.temperature = 0.7, .seed = 1};
  const mica_chat_config config = {.most_tokens = 200, .sampling = &sampling};
  mica_engine *engine = NULL;
  mica_foundation *model = NULL;
  mica_decoder *decoder = NULL;
  mica_chat *chat = NULL;
  mica_finish finish = MICA_FINISH_NONE;

  mica_status status = mica_engine_create(NULL, &engine);
  if (status == MICA_OK) status = mica_foundation_open(name, NULL, &model);
  if (status == MICA_OK) status = mica_decoder_create(engine, model, NULL, &decoder);
  if (status == MICA_OK) status = mica_chat_create(decoder, &config, &chat);
  if (status == MICA_OK) status = mica_chat_send(chat, question, print_piece, NULL, &finish);
  if (status == MICA_OK)
    printf("\n[%s]\n", mica_finish_name(finish));
  else
    fprintf(stderr, "%s\n", mica_error_message());
  mica_chat_destroy(chat);
  mica_decoder_destroy(decoder);
  mica_foundation_close(model);
  mica_engine_destroy(engine);
  return status != MICA_OK;
}
