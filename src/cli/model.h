/* cli/model.h: published models in the command: opening, and texts that they continue. */
#ifndef MICA_CLI_MODEL_H
#define MICA_CLI_MODEL_H

#include "cli/command.h"

#include <mica/chat.h>

/* The task of published models that write texts, as --task and JSON have it. */
#define CLI_MODEL_TASK "language"

/* A model with the engine that it runs on. */
typedef struct cli_model {
  mica_engine *engine;
  mica_foundation *model;
  mica_adapter *adapter; /* NULL: none */
} cli_model;

/* Opens both, and an adapter if its path is not NULL; cli_model_close closes them after a failure too. Returns an exit
 * status, after an error message on failure. context: positions to use, 0 for the default. */
int cli_model_open(const cli_command *self, const char *path, const char *adapter, const char *device, int64_t context,
                   cli_model *opened);
void cli_model_close(cli_model *opened);

/* --cache of commands that write texts: a mica_cache_form, -1 if it is not given. */
extern const cli_choice cli_cache_forms[];
#define CLI_CACHE_ROW(type, field)                                                                                     \
  CLI_ROW("cache", type, field, .value = "FORM", .choices = cli_cache_forms,                                           \
          .help = "how keys and values of a text are kept (default f32)")
mica_cache_form cli_cache_form(int choice);

/* Writes a model as a GGUF file with matrices of this type, NULL: as they are. adapter: merged into the matrices, or
 * NULL. force: also over a file. */
int cli_model_write(const cli_command *self, const char *from, const char *adapter, const char *to, const char *type,
                    bool force, bool json);

/* Continues the prompts of texts, as mica_run_generate does: texts->text gets the pieces. schema: a file with
 * a JSON schema, or NULL. */
int cli_model_continue(const cli_command *self, const char *path, const char *adapter, const char *device,
                       const char *schema, mica_cache_form cache, const mica_run_texts *texts);

#endif
