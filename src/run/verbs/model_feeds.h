/* run/verbs/model_feeds.h: samples for a model in ONNX that no run is: from a dataset, or from an array an input. */
#ifndef MICA_RUN_VERBS_MODEL_FEEDS_H
#define MICA_RUN_VERBS_MODEL_FEEDS_H

#include <mica/onnx.h>
#include <mica/run_convert.h>

typedef struct mica__model_feeds mica__model_feeds;

/* Opens config->data for the model's inputs: a folder with NAME.npy for each, samples along the first axis, or else a
 * dataset whose column of numbers or pictures is its one input. MICA_E_FORMAT: samples of another shape or dtype, or
 * fewer than the model takes at once. */
mica_status mica__model_feeds_open(mica_engine *engine, const mica_onnx *model, const mica_onnx_quantize_config *config,
                                   mica__model_feeds **feeds);
/* The next values of all inputs, valid until the next call; *count 0 after the last samples that are wanted. */
mica_status mica__model_feeds_next(mica__model_feeds *feeds, const mica_onnx_feed **list, size_t *count);
/* NULL is a no-op. */
void mica__model_feeds_close(mica__model_feeds *feeds);

#endif
