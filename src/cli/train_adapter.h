/* cli/train_adapter.h: mica train --lora: trains an adapter of a published model on conversations. */
#ifndef MICA_CLI_TRAIN_ADAPTER_H
#define MICA_CLI_TRAIN_ADAPTER_H

#include "cli/command.h"

typedef struct cli_lora {
  const char *data, *out, *device, *devices, *task; /* as typed; the last three may be NULL */
  const char *adapter;                              /* "rank=16,alpha=32,dropout=0.05,targets=q_proj+v_proj" */
  const cli_settings *settings;                     /* init, epochs, lr, batch, context, seed, ... */
  bool resume, json, quiet;
} cli_lora;

/* Trains, and writes a folder in the format of the package peft. Returns an exit status, after an error message on
 * failure. */
int cli_train_adapter(const cli_command *self, const cli_lora *lora);

/* Help of --lora: the option, and a paragraph about its data and settings. */
#define CLI_LORA_HELP                                                                                                  \
  "fine-tune the published model --init on conversations with a low-rank adapter, as in "                              \
  "rank=16,targets=q_proj+v_proj; rslora divides alpha by the square root of the rank, recompute saves "               \
  "memory and takes longer (default in LIST: rank=8, alpha twice the rank, dropout=0, targets all "                    \
  "dense layers except the output layer)"
#define CLI_LORA_DETAILS                                                                                               \
  "\n"                                                                                                                 \
  "With --lora, DATA is a file of JSON lines, one conversation per line:\n"                                            \
  "\n"                                                                                                                 \
  "  {\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}, ...]}\n"                                            \
  "\n"                                                                                                                 \
  "Roles are system, user and assistant; the loss counts the assistant's answers.\n"                                   \
  "Settings are --init, --epochs (default 1), --lr (2e-4), --batch (4), --context\n"                                   \
  "in tokens (512, or the model's if it is shorter), --accumulate (1), --clip-norm\n"                                  \
  "(1), --weight-decay (0), --precision (f32) and --seed (0).\n"

#endif
