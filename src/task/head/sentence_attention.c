/* Where a translation looks: how the decoder's last block attends to the source. */
#include "base/utf8.h"
#include "run/settings.h"
#include "run/state/networks.h"
#include "task/head/sentence.h"
#include "task/input/pairs.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Projections of the block, as they are passed to the network's hook. */
typedef struct projections {
  const mica_trainer_config *training; /* its own hook comes first: layers of a quantised run have other weights */
  char q_name[80], kv_name[80];
  mica_value q, kv; /* (1, T, C), (1, S, 2 C) */
} projections;

static mica_value note(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value) {
  projections *p = user;
  if (p->training->hook) value = p->training->hook(p->training->hook_user, nn, point, layer, value);
  if (point == MICA_NN_POINT_RESULT && !strcmp(layer, p->q_name)) p->q = value;
  if (point == MICA_NN_POINT_RESULT && !strcmp(layer, p->kv_name)) p->kv = value;
  return value;
}

/* Runs the network on a pair, and averages softmax(q k / sqrt(D)) over the heads: (T, S). */
static mica_value build(mica_nn *nn, const mica_model_config *c, const projections *p, int64_t sources,
                        int64_t targets) {
  mica_graph *graph = mica_nn_graph(nn);
  const int64_t size = c->width / c->sequence.heads;
  mica_value memory = mica_translator_encode(nn, mica_input(graph, "source", MICA_I32, MICA_SHAPE(1, sources)), c);
  mica_value target = mica_input(graph, "target", MICA_I32, MICA_SHAPE(1, targets));
  mica_value logits = mica_translator_decode(nn, target, memory, (mica_value){0}, c);
  if (mica_value_is_null(logits) || mica_value_is_null(p->q) || mica_value_is_null(p->kv)) return (mica_value){0};
  /* A pruned network has fewer heads. */
  const int64_t heads = mica_value_shape(p->q).dim[2] / size;
  mica_value q = mica_reshape(mica_cast(p->q, MICA_F32), MICA_SHAPE(targets, heads, size));
  mica_value k = mica_slice(mica_cast(p->kv, MICA_F32), 2, 0, heads * size, 1);
  k = mica_reshape(k, MICA_SHAPE(sources, heads, size));
  mica_value scores = mica_matmul(mica_transpose(q, MICA_AXES(1, 0, 2)), mica_transpose(k, MICA_AXES(1, 2, 0)));
  mica_value weights = mica_softmax(mica_affine(scores, 1 / sqrt((double)size), 0), 2);
  return mica_mean(weights, MICA_AXES(0), false);
}

static mica_status run_pair(mica_run *run, mica_session *session, const int32_t *source, int64_t sources,
                            const int32_t *target, int64_t targets, float *weights) {
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_tensor *in = NULL, *out = NULL;
  mica_status status = mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(1, sources), source, &in);
  if (status == MICA_OK) status = mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(1, targets), target, &out);
  const mica_feed feeds[] = {{"source", in}, {"target", out}};
  if (status == MICA_OK) status = mica_session_run(session, queue, feeds, 2);
  if (status == MICA_OK)
    status = mica_tensor_download(queue, mica_session_output(session, 0), weights,
                                  (size_t)(sources * targets) * sizeof *weights);
  mica_tensor_destroy(in);
  mica_tensor_destroy(out);
  return status;
}

/* weights (T, S) between the ids of a source and those that the decoder reads. */
static mica_status attend(mica_run *run, const int32_t *source, int64_t sources, const int32_t *target, int64_t targets,
                          float *weights) {
  const mica_model_config network = mica__pairs_network(run);
  const mica_session_config config = {.share = mica_trainer_test_session(run->trainer)};
  const long long last = (long long)network.sequence.layers - 1;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  projections p = {.training = &run->training};
  snprintf(p.q_name, sizeof p.q_name, "decoder.layers.%lld.multihead_attn.q_proj", last);
  snprintf(p.kv_name, sizeof p.kv_name, "decoder.layers.%lld.multihead_attn.kv_proj", last);
  const mica_nn_config how = {
      .dtype = mica__run_precision(run), .hook = note, .hook_user = &p, .like = run->networks->like};
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, &how, &nn);
  mica_value made = {0};
  if (status == MICA_OK) made = build(nn, &network, &p, sources, targets);
  if (status == MICA_OK && mica_value_is_null(made))
    status = mica__fail(MICA_E_STATE, "attention cannot be shown: %s", mica_graph_message(graph));
  if (status == MICA_OK) status = mica_session_create(run->engine, graph, &made, 1, &config, &session);
  if (status == MICA_OK) status = run_pair(run, session, source, sources, target, targets, weights);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

/* --- the report --- */

/* A token as text, or in the tokeniser's spelling if it is not a whole character. */
static mica_status name_token(const mica_run *run, int32_t id, char **name) {
  char *text = NULL;
  size_t bytes = 0;
  MICA_TRY(mica_tokenizer_decode(run->tokenizer, &id, 1, false, &text, &bytes));
  if (mica__utf8_prefix(text, bytes) == bytes) {
    *name = text;
    return MICA_OK;
  }
  mica_free(text);
  *name = mica__strdup(mica_tokenizer_token(run->tokenizer, id));
  return *name ? MICA_OK : mica__fail_nomem("a report");
}

/* ids: those of a source followed by those of its translation, each with an end token. */
static mica_status add_matrix(mica_run *run, const mica__ids *ids, int32_t *read, float *weights, char **names,
                              double *numbers, mica_report *report) {
  const int64_t sources = ids->offsets[1], targets = ids->offsets[2] - sources;
  for (int64_t i = 0; i < sources + targets; i++) MICA_TRY(name_token(run, ids->ids[i], &names[i]));
  read[0] = mica__pairs_begin(run);
  memcpy(read + 1, ids->ids + sources, (size_t)(targets - 1) * sizeof *read);
  MICA_TRY(attend(run, ids->ids, sources, read, targets, weights));
  for (int64_t i = 0; i < sources * targets; i++) numbers[i] = 100 * (double)weights[i];
  const mica_item matrix = {.kind = MICA_ITEM_KIND_MATRIX,
                            .name = "attention, in percent",
                            .rows = (size_t)targets,
                            .columns = (size_t)sources,
                            .row_names = (const char *const *)names + sources,
                            .column_names = (const char *const *)names,
                            .numbers = numbers};
  MICA_TRY(mica_report_begin(report, "Attention of a translation's tokens to its source"));
  return mica_report_add(report, &matrix);
}

mica_status mica__sentence_attention(mica_run *run, const char *source, const char *translation, mica_report *report) {
  mica_encoding work = {0};
  mica__ids ids = {0};
  mica_status status = mica__pairs_add(run, "the source", source, strlen(source), &work, &ids);
  if (status == MICA_OK)
    status = mica__pairs_add(run, "the translation", translation, strlen(translation), &work, &ids);
  mica_encoding_free(&work);
  const size_t all = status == MICA_OK ? ids.count : 0;
  int32_t *read = calloc(all + 1, sizeof *read);
  float *weights = calloc(all * all + 1, sizeof *weights);
  double *numbers = calloc(all * all + 1, sizeof *numbers);
  char **names = calloc(all + 1, sizeof *names);
  if (status == MICA_OK && (!read || !weights || !numbers || !names)) status = mica__fail_nomem("a report");
  if (status == MICA_OK) status = add_matrix(run, &ids, read, weights, names, numbers, report);
  for (size_t i = 0; names && i < all; i++) free(names[i]);
  free(read);
  free(weights);
  free(numbers);
  free(names);
  mica__ids_free(&ids);
  return status;
}
