/* cli/onnx_feeds.h: values for the inputs of a model in ONNX: from files, or random. */
#ifndef MICA_CLI_ONNX_FEEDS_H
#define MICA_CLI_ONNX_FEEDS_H

#include "cli/command.h"

#include <mica/onnx.h>

#define CLI_ONNX_INPUTS 256

typedef struct cli_onnx_feeds {
  mica_onnx_feed feeds[CLI_ONNX_INPUTS];
  void *owned[CLI_ONNX_INPUTS];
  size_t count;
} cli_onnx_feeds;

/* For every input of the model the file of a word NAME=FILE (.npy, or .pb with a TensorProto), or else random values:
 * in [0, 1) of floating types, of those of 16 bits in [0.5, 1), 0 and 1 of others, in the declared shape, open
 * dimensions as a list NAME=2x3x224x224,NAME=1x5 says (NULL for none), or 1, and a second of the input "sound" of a
 * model whose metadata say its "rate". The same seed gives the same values. CLI_OK
 * or an exit status: CLI_USAGE for a word that names no input or no shape, or an input once more. */
int cli_onnx_feeds_make(cli_onnx_feeds *feeds, const cli_command *self, const mica_onnx *model, cli_words files,
                        const char *shape, uint64_t seed);
/* The first input with an open dimension after the first; NULL: there is none. */
const char *cli_onnx_open_input(const mica_onnx *model);
void cli_onnx_feeds_free(cli_onnx_feeds *feeds);

#endif
