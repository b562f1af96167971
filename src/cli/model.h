/* cli/model.h: published models in commands: opens them, continues texts with them, and writes them as GGUF files. */
#ifndef MICA_CLI_MODEL_H
#define MICA_CLI_MODEL_H

#include "cli/command.h"

#include <mica/chat.h>

/* The task of published models that write texts, as in --task and JSON. */
#define CLI_MODEL_TASK "language"

/* A model, and the engine on which it runs. */
typedef struct cli_model {
  mica_engine *engine;
  mica_foundation *model;
  mica_adapter *adapter; /* NULL: none */
} cli_model;

/* Opens the engine and the model, and an adapter if its path is not NULL; call cli_model_close also after a failure.
 * Returns an exit status, after an error message on failure. context: positions to use, 0 for the default. */
int cli_model_open(const cli_command *self, const char *path, const char *adapter, const char *device, int64_t context,
                   cli_model *opened);
void cli_model_close(cli_model *opened);

/* The option --cache of commands that write texts. Its field is an index of cli_cache_forms, or -1 if it was not given;
 * cli_cache_form converts the index. */
extern const cli_choice cli_cache_forms[];
#define CLI_CACHE_ROW(type, field)                                                                                     \
  CLI_ROW("cache", type, field, .value = "FORM", .choices = cli_cache_forms,                                           \
          .help = "type of cached keys and values, for published models (default f32)")
mica_cache_form cli_cache_form(int choice);

/* Writes a model as a GGUF file and prints what was written. type: new type of the matrices; NULL: unchanged. adapter:
 * path of an adapter to merge into the matrices; NULL: none. force: overwrite an existing file. json: print JSON.
 * Returns an exit status. */
int cli_model_write(const cli_command *self, const char *from, const char *adapter, const char *to, const char *type,
                    bool force, bool json);

/* Continues the prompts in texts, as mica_run_generate does, and passes pieces to texts->text. adapter: the path of an
 * adapter, or NULL. schema: the path of a JSON Schema that the texts must match, or NULL. Returns an exit status. */
int cli_model_continue(const cli_command *self, const char *path, const char *adapter, const char *device,
                       const char *schema, mica_cache_form cache, const mica_run_texts *texts);

#endif
