/* cli/onnx_feeds.h: values for the inputs of an ONNX model: from files, or random. */
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

/* Makes values for every input of the model: from the file of a word NAME=FILE (.npy, or .pb with a TensorProto), else
 * random: floating types in [0, 1), 16-bit ones in [0.5, 1), others 0 or 1. Random values have the declared shape; open
 * dimensions come from shape, a list NAME=2x3x224x224,NAME=1x5 or NULL, else they are 1, or one second for the input
 * "sound" of a model whose metadata have a "rate". The same seed gives the same values. Returns CLI_OK or an exit
 * status: CLI_USAGE if a word names no input, has no valid shape, or names an input again. */
int cli_onnx_feeds_make(cli_onnx_feeds *feeds, const cli_command *self, const mica_onnx *model, cli_words files,
                        const char *shape, uint64_t seed);
/* The first input with an open dimension other than dimension 0; NULL: none. */
const char *cli_onnx_open_input(const mica_onnx *model);
void cli_onnx_feeds_free(cli_onnx_feeds *feeds);

#endif
