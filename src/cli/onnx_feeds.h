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

/* Makes values for every input of the model, except optional ones without a file. files: words NAME=FILE (.npy, or .pb
 * with a TensorProto). Inputs without a file get random values: f32 and f64 in [0, 1), 16-bit floats in [0.5, 1), other
 * types 0 or 1. The same seed gives the same values.
 *
 * The shape of random values comes from `shape`, a list NAME=2x3x224x224,NAME=1x5 or NULL, else from the model. Open
 * dimensions are then 1; for the samples of the input "sound", if the model's metadata have a "rate", they are a second
 * of sound. Returns an exit status: CLI_USAGE if a word names no input, has no valid shape, or names an input again. */
int cli_onnx_feeds_make(cli_onnx_feeds *feeds, const cli_command *self, const mica_onnx *model, cli_words files,
                        const char *shape, uint64_t seed);
/* Name of the first input with an open dimension other than dimension 0; NULL if there is no such input. */
const char *cli_onnx_open_input(const mica_onnx *model);
void cli_onnx_feeds_free(cli_onnx_feeds *feeds);

#endif
