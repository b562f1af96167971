#include "cli/model_eval.h"

#include "cli/json.h"
#include "cli/model.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes that the tokenizer accepts. */
#define MOST_BYTES ((size_t)1 << 30)

/* Reads the whole file. The buffer grows to MOST_BYTES + 1; if it becomes full, the file is too long. The caller frees
 * *text, also after a failure. */
static int read_text(const cli_command *self, const char *path, char **text, size_t *bytes) {
  size_t room = 0, got = 1;
  errno = 0;
  if (cli_is_folder(path)) return cli_fail(self, "%s is a folder; name a text file", path);
  FILE *file = fopen(path, "rb");
  if (!file) return cli_fail(self, "%s: %s", path, strerror(errno));
  int status = CLI_OK;
  for (*bytes = 0; status == CLI_OK && got; *bytes += got) {
    if (*bytes == room) {
      const size_t next = !room ? 65536 : room < MOST_BYTES ? 2 * room : MOST_BYTES + 1;
      char *grown = room > MOST_BYTES ? NULL : realloc(*text, next);
      if (!grown)
        status =
            cli_fail(self, room > MOST_BYTES ? "%s is above 1 GiB" : "there is not enough memory to read %s", path);
      if (!grown) break;
      *text = grown;
      room = next;
    }
    got = fread(*text + *bytes, 1, room - *bytes, file);
  }
  if (status == CLI_OK && ferror(file)) status = cli_fail(self, "%s: %s", path, strerror(errno));
  fclose(file);
  return status;
}

static int print(const cli_command *self, const mica_perplexity *p, bool json) {
  const double loss = p->nll / (double)p->tokens;
  if (!json) {
    printf("\n%sperplexity %.4f%s  (loss %.4f, %" PRId64 " tokens in windows of %" PRId64 ")\n",
           cli_colour_code(CLI_BOLD), p->perplexity, cli_colour_code(CLI_PLAIN), loss, p->tokens, p->window);
    return CLI_OK;
  }
  cli_json out;
  cli_json_begin(&out);
  cli_json_text(&out, out.root, "task", CLI_MODEL_TASK);
  cJSON *metrics = cli_json_object(&out, out.root, "metrics");
  cli_json_real(&out, metrics, "loss", loss);
  cli_json_real(&out, metrics, "perplexity", p->perplexity);
  cli_json_integer(&out, out.root, "tokens", (uint64_t)p->tokens);
  cli_json_integer(&out, out.root, "window", (uint64_t)p->window);
  return cli_json_print_line(&out, self);
}

static int score(const cli_command *self, const cli_model *opened, const char *data, const mica_encoding *encoding,
                 int64_t window, bool json) {
  mica_perplexity p;
  if (encoding->count < 2)
    return cli_fail(self, "%s has %zu token%s; a perplexity needs at least two", data, encoding->count,
                    encoding->count == 1 ? "" : "s");
  if (mica_foundation_perplexity(opened->engine, opened->model, encoding->ids, encoding->count,
                                 &(mica_perplexity_config){.window = window, .adapter = opened->adapter},
                                 &p) != MICA_OK)
    return cli_fail_library(self);
  return print(self, &p, json);
}

int cli_model_eval(const cli_command *self, const char *path, const char *adapter, const char *data, const char *device,
                   int64_t window, bool json) {
  cli_model opened = {0};
  mica_tokenizer *tokenizer = NULL;
  mica_encoding encoding = {0};
  char *text = NULL;
  size_t bytes = 0;
  int status = read_text(self, data, &text, &bytes);
  if (status == CLI_OK) status = cli_model_open(self, path, adapter, device, window, &opened);
  if (status == CLI_OK &&
      (mica_foundation_tokenizer(opened.model, &tokenizer) != MICA_OK ||
       mica_tokenizer_encode(tokenizer, text, bytes, &(mica_encode_config){.special = true}, &encoding) != MICA_OK))
    status = cli_fail_library(self);
  if (status == CLI_OK) status = score(self, &opened, data, &encoding, window, json);
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(tokenizer);
  cli_model_close(&opened);
  free(text);
  return status;
}
