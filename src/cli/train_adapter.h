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

#endif
