/* run/verbs/model_feeds.h: samples for an ONNX model that is not part of a run: from a dataset, or from one array per
 * input. */
#ifndef MICA_RUN_VERBS_MODEL_FEEDS_H
#define MICA_RUN_VERBS_MODEL_FEEDS_H

#include <mica/onnx.h>
#include <mica/run_convert.h>

typedef struct mica__model_feeds mica__model_feeds;

/* Opens config->data for the model's inputs. The data are a folder with a file NAME.npy for each input, with samples
 * along the first axis, or a dataset whose column of numbers or pictures is the model's only input. MICA_E_FORMAT if
 * samples have another shape or dtype, or are fewer than the model takes at once. */
mica_status mica__model_feeds_open(mica_engine *engine, const mica_onnx *model, const mica_onnx_quantize_config *config,
                                   mica__model_feeds **feeds);
/* The next values of all inputs, valid until the next call; *count is 0 when no wanted samples are left. */
mica_status mica__model_feeds_next(mica__model_feeds *feeds, const mica_onnx_feed **list, size_t *count);
/* NULL is a no-op. */
void mica__model_feeds_close(mica__model_feeds *feeds);

#endif
