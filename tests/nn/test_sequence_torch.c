/* labels: device slow oracle
 *
 * Layers and networks of sequences beside PyTorch's with the same weights: results and gradients of all weights and
 * inputs, compared by sequence_torch.py. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define B 3
#define T 7
#define C 16
#define S 5
#define V 11

/* What a case builds from: x (B, T, C) or ids (B, T), memory (B, S, C), lengths (B) and (B). */
typedef struct operands {
  mica_value x, ids, memory, source, lengths, memory_lengths;
} operands;

static const mica_model_config gpt = {
    .name = "gpt", .classes = V, .width = C, .sequence = {.context = T + 2, .layers = 2, .heads = 4, .hidden = 24}};

static mica_value attention(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 4, .key_lengths = o->lengths};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value grouped(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 4, .groups = 2, .causal = true, .no_bias = true};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value rotary(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 4, .causal = true, .positions = MICA_POSITIONS_KIND_ROTARY};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value rotary_in_part(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 2,
                                      .causal = true,
                                      .positions = MICA_POSITIONS_KIND_ROTARY,
                                      .rotary = {.base = 100, .rotated = 4, .interleave = true}};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

/* The documents of documents() in sequence_torch.py. */
static mica_value documents(mica_nn *nn, const operands *o) {
  static const int32_t starts[B * T] = {0, 0, 0, 3, 3, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6};
  const mica_nn_attention_config c = {
      .heads = 4, .causal = true, .starts = mica_constant(mica_nn_graph(nn), MICA_I32, MICA_SHAPE(B, T), starts)};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value sinks(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 4, .groups = 2, .causal = true, .window = 3, .sinks = true};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value alibi(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 4, .causal = true, .positions = MICA_POSITIONS_KIND_ALIBI};
  return mica_nn_attention(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value cross(mica_nn *nn, const operands *o) {
  const mica_nn_attention_config c = {.heads = 4, .key_lengths = o->memory_lengths};
  return mica_nn_attention(nn, "layer", o->x, o->memory, &c);
}

static mica_value encoder_layer(mica_nn *nn, const operands *o) {
  const mica_transformer_config c = {
      .self = {.heads = 4}, .hidden = 24, .post_norm = true, .feed_forward = MICA_FEED_FORWARD_RELU};
  return mica_nn_transformer(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value decoder_layer(mica_nn *nn, const operands *o) {
  const mica_transformer_config c = {
      .self = {.heads = 4, .causal = true}, .cross = {.key_lengths = o->memory_lengths}, .hidden = 24};
  return mica_nn_transformer(nn, "layer", o->x, o->memory, &c);
}

static mica_value llama_layer(mica_nn *nn, const operands *o) {
  const mica_transformer_config c = {
      .self = {.heads = 4, .causal = true, .no_bias = true, .positions = MICA_POSITIONS_KIND_ROTARY},
      .rms_norm = true,
      .hidden = 24,
      .feed_forward = MICA_FEED_FORWARD_SWIGLU};
  return mica_nn_transformer(nn, "layer", o->x, (mica_value){0}, &c);
}

static mica_value conformer(mica_nn *nn, const operands *o) {
  return mica_nn_conformer(nn, "layer", o->x,
                           &(mica_conformer_config){.self = {.heads = 4}, .hidden = 24, .kernel = 5});
}

static mica_value causal_conformer(mica_nn *nn, const operands *o) {
  const mica_conformer_config c = {
      .self = {.heads = 4, .causal = true, .window = 3, .positions = MICA_POSITIONS_KIND_ROTARY},
      .hidden = 24,
      .kernel = 4};
  return mica_nn_conformer(nn, "layer", o->x, &c);
}

static mica_value lstm(mica_nn *nn, const operands *o) {
  const mica_nn_rnn_config c = {
      .kind = MICA_RNN_KIND_LSTM, .layers = 2, .direction = MICA_RNN_DIRECTION_BOTH, .lengths = o->lengths};
  return mica_nn_rnn(nn, "layer", o->x, 6, &c).y;
}

static mica_value gru(mica_nn *nn, const operands *o) {
  return mica_nn_rnn(nn, "layer", o->x, 6, &(mica_nn_rnn_config){.kind = MICA_RNN_KIND_GRU, .layers = 2}).y;
}

static mica_value sinusoids(mica_nn *nn, const operands *o) {
  return mica_nn_positions(nn, "layer", o->x, mica_positions(o->x, (mica_value){0}), 0, MICA_POSITIONS_KIND_SINUSOIDAL);
}

static mica_value gpt_network(mica_nn *nn, const operands *o) { return mica_model_build(nn, o->ids, &gpt); }

static mica_value encoder_network(mica_nn *nn, const operands *o) {
  mica_model_config c = gpt;
  c.name = "encoder";
  c.sequence.pooled = true;
  c.sequence.lengths = o->lengths;
  return mica_model_build(nn, o->ids, &c);
}

static mica_value tcn_network(mica_nn *nn, const operands *o) {
  const mica_model_config c = {.name = "tcn", .classes = 4, .width = 6, .sequence = {.layers = 2, .kernel = 3}};
  return mica_model_build(nn, o->x, &c);
}

static mica_value tagger_network(mica_nn *nn, const operands *o) {
  const mica_model_config c = {
      .name = "tagger", .classes = 4, .width = 6, .sequence = {.layers = 1, .vocabulary = V, .pooled = true}};
  return mica_model_build(nn, o->ids, &c);
}

static mica_value cnn_gru_network(mica_nn *nn, const operands *o) {
  const mica_model_config c = {.name = "cnn_gru",
                               .classes = 4,
                               .width = 6,
                               .sequence = {.layers = 2, .heads = 3, .pooled = true, .lengths = o->lengths}};
  return mica_model_build(nn, o->x, &c);
}

static mica_value cnn_gru_of_positions(mica_nn *nn, const operands *o) {
  const mica_model_config c = {
      .name = "cnn_gru", .classes = 4, .width = 6, .sequence = {.heads = 2, .kernel = 5, .vocabulary = V}};
  return mica_model_build(nn, o->ids, &c);
}

static mica_value translator(mica_nn *nn, const operands *o) {
  mica_model_config c = gpt;
  c.sequence.post_norm = true;
  c.sequence.vocabulary = V;
  c.sequence.positions = MICA_POSITIONS_KIND_SINUSOIDAL;
  c.sequence.feed_forward = MICA_FEED_FORWARD_RELU;
  c.sequence.lengths = o->memory_lengths;
  mica_value memory = mica_translator_encode(nn, o->source, &c);
  c.sequence.lengths = (mica_value){0};
  return mica_translator_decode(nn, o->ids, memory, o->memory_lengths, &c);
}

static const struct {
  const char *name;
  mica_value (*build)(mica_nn *nn, const operands *o);
} cases[] = {
    {"attention", attention},
    {"grouped", grouped},
    {"rotary", rotary},
    {"rotary_in_part", rotary_in_part},
    {"documents", documents},
    {"sinks", sinks},
    {"alibi", alibi},
    {"cross", cross},
    {"encoder_layer", encoder_layer},
    {"decoder_layer", decoder_layer},
    {"llama_layer", llama_layer},
    {"conformer", conformer},
    {"causal_conformer", causal_conformer},
    {"lstm", lstm},
    {"gru", gru},
    {"sinusoids", sinusoids},
    {"gpt", gpt_network},
    {"encoder", encoder_network},
    {"tcn", tcn_network},
    {"tagger", tagger_network},
    {"cnn_gru", cnn_gru_network},
    {"cnn_gru_of_positions", cnn_gru_of_positions},
    {"translator", translator},
};
#define CASES (sizeof cases / sizeof *cases)

/* --- a case is run, and all that it was made of and came to is written down --- */

#define MOST 96

static double noise(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 33) * 0x1p-30 - 1;
}

/* A tensor of the shape: numbers in [-1, 1), or the integers given. */
static mica_tensor *tensor_of(mica_shape shape, const int32_t *integers, uint64_t *state) {
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create(test_engine(), integers ? MICA_I32 : MICA_F32, shape, &tensor));
  const size_t bytes = mica_tensor_bytes(tensor);
  float *numbers = malloc(bytes + 1);
  ck_assert(numbers);
  for (size_t i = 0; i < bytes / 4; i++) numbers[i] = (float)noise(state);
  ck_ok(mica_tensor_upload(test_queue(), tensor, integers ? (const void *)integers : numbers, bytes));
  free(numbers);
  return tensor;
}

typedef struct fed {
  const char *name;
  mica_shape shape;
  const int32_t *integers;
} fed;

static const int32_t ids[B * T] = {1, 4, 9, 0, 10, 3, 3, 7, 7, 2, 5, 1, 8, 6, 0, 2, 4, 6, 8, 10, 5};
static const int32_t source[B * S] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9};
static const int32_t lengths[B] = {7, 1, 4}, memory_lengths[B] = {2, 5, 3};
static const fed feds[] = {{"x", {3, {B, T, C}}, NULL},      {"ids", {2, {B, T}}, ids},
                           {"memory", {3, {B, S, C}}, NULL}, {"source", {2, {B, S}}, source},
                           {"lengths", {1, {B}}, lengths},   {"memory_lengths", {1, {B}}, memory_lengths}};
#define FEDS (sizeof feds / sizeof *feds)

/* Returns the path of what was written. open: B and T are known to the session alone. */
static const char *run_case(size_t which, bool open, const char *file) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value in[FEDS], wrt[MOST], grads[MOST];
  mica_tensor *tensors[FEDS + 1];
  mica_feed feeds[FEDS + 1];
  oracle_values values = {0};
  uint64_t state = which + 1;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  for (size_t i = 0; i < FEDS; i++) {
    mica_shape shape = feds[i].shape;
    if (open) shape.dim[0] = MICA_DYNAMIC;
    if (open && shape.rank > 1) shape.dim[1] = MICA_DYNAMIC;
    in[i] = mica_input(graph, feds[i].name, feds[i].integers ? MICA_I32 : MICA_F32, shape);
    tensors[i] = tensor_of(feds[i].shape, feds[i].integers, &state);
    feeds[i] = (mica_feed){feds[i].name, tensors[i]};
  }
  const operands o = {in[0], in[1], in[2], in[3], in[4], in[5]};
  mica_value y = cases[which].build(nn, &o);
  mica_shape shape = mica_value_shape(y);
  mica_value g = mica_input(graph, "g", MICA_F32, shape);
  if (shape.dim[0] == MICA_DYNAMIC) shape.dim[0] = B;
  if (shape.rank > 2 && shape.dim[1] == MICA_DYNAMIC) shape.dim[1] = T;
  tensors[FEDS] = tensor_of(shape, NULL, &state);
  feeds[FEDS] = (mica_feed){"g", tensors[FEDS]};
  mica_value loss = mica_sum(mica_mul(y, g), MICA_ALL_AXES, false);
  size_t count = 0;
  wrt[count++] = o.x;
  wrt[count++] = o.memory;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) wrt[count++] = mica_nn_parameter_at(nn, i)->value;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", cases[which].name, mica_graph_message(graph));
  ck_ok(mica_gradients(loss, wrt, count, grads));
  grads[count] = y;
  /* Inputs that no case needs must not be missed. */
  for (size_t i = 0; i < FEDS; i++) loss = mica_add(loss, mica_cast(mica_sum(in[i], MICA_ALL_AXES, false), MICA_F32));
  grads[count + 1] = loss;
  ck_ok(mica_session_create(test_engine(), graph, grads, count + 2, NULL, &session));
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    mica_tensor *p = mica_session_parameter(session, mica_nn_parameter_at(nn, i)->name);
    mica_tensor *drawn = tensor_of(mica_tensor_shape(p), NULL, &state);
    float *copy = malloc(mica_tensor_bytes(p) + 1);
    ck_assert(copy);
    ck_ok(mica_tensor_download(test_queue(), drawn, copy, mica_tensor_bytes(p)));
    /* A variance is above 0. */
    for (size_t k = 0; strstr(mica_nn_parameter_at(nn, i)->name, "running_var") && k < mica_tensor_bytes(p) / 4; k++)
      copy[k] = 1.5f + copy[k];
    ck_ok(mica_tensor_upload(test_queue(), p, copy, mica_tensor_bytes(p)));
    free(copy);
    mica_tensor_destroy(drawn);
    oracle_add_tensor(&values, "p.", mica_nn_parameter_at(nn, i)->name, p);
  }
  ck_ok(mica_session_run(session, test_queue(), feeds, FEDS + 1));
  for (size_t i = 0; i <= FEDS; i++) oracle_add_tensor(&values, "in.", feeds[i].name, tensors[i]);
  oracle_add_tensor(&values, "d.", "x", mica_session_output(session, 0));
  oracle_add_tensor(&values, "d.", "memory", mica_session_output(session, 1));
  for (size_t i = 2; i < count; i++)
    oracle_add_tensor(&values, "d.", mica_nn_parameter_at(nn, i - 2)->name, mica_session_output(session, i));
  oracle_add_tensor(&values, "", "y", mica_session_output(session, count));
  const char *path = oracle_write(&values, file);
  for (size_t i = 0; i <= FEDS; i++) mica_tensor_destroy(tensors[i]);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return path;
}

/* Each case with sizes that are known and with open ones. */
START_TEST(layers_and_networks) {
  mica__text arguments = {0};
  for (size_t i = 0; i < 2 * CASES; i++) {
    char file[64];
    snprintf(file, sizeof file, "%zu.safetensors", i);
    mica__text_addf(&arguments, " %s %s", cases[i / 2].name, run_case(i / 2, i % 2, file));
  }
  ck_ok(mica__text_status(&arguments));
  oracle_run("nn/sequence_torch.py", arguments.data);
  mica__text_free(&arguments);
}
END_TEST

/* --- training --- */

enum { STEPS = 100, ROWS = 8, CONTEXT = 16 };

/* STEPS batches of contexts, cut from a text where a fixed series says. */
static void make_batches(int32_t *batches) {
  static const char text[] = "The king was in his counting house, counting out his money; the queen was in the "
                             "parlour, eating bread and honey; the maid was in the garden, hanging out the clothes.";
  for (size_t i = 0; i < STEPS * ROWS; i++)
    for (size_t k = 0; k <= CONTEXT; k++)
      batches[i * (CONTEXT + 1) + k] = (unsigned char)text[i * 7919 % (sizeof text - CONTEXT - 2) + k] % 128;
}

static mica_session *make_training(mica_graph *graph, mica_nn *nn) {
  const mica_model_config config = {
      .name = "gpt", .classes = 128, .width = 32, .sequence = {.context = CONTEXT, .layers = 2, .heads = 4}};
  mica_session *session = NULL;
  mica_value tokens = mica_input(graph, "tokens", MICA_I32, MICA_SHAPE(ROWS, CONTEXT + 1));
  mica_value logits = mica_model_build(nn, mica_slice(tokens, 1, 0, CONTEXT, 1), &config);
  mica_value target = mica_reshape(mica_slice(tokens, 1, 1, MICA_END, 1), MICA_SHAPE(MICA_DYNAMIC));
  mica_value loss = mica_cross_entropy(mica_flatten(logits, 2), target, NULL);
  mica_optimizer_config adam = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  adam.weight_decay = 0.1;
  adam.clip_norm = 1;
  mica_optimize(nn, loss, &adam, NULL);
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  return session;
}

/* The losses of AdamW's steps from the same weights on the same batches; and a step that has run before waits for
 * nothing, builds nothing and allocates nothing. */
START_TEST(a_loss_curve) {
  static int32_t batches[STEPS * ROWS * (CONTEXT + 1)];
  static float losses[STEPS];
  const float rate = 3e-3f;
  const size_t bytes = sizeof batches / STEPS;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_tensor *tokens = NULL, *rates = NULL;
  oracle_values values = {0};
  make_batches(batches);
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 3}, &nn));
  mica_session *session = make_training(graph, nn);
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(ROWS, CONTEXT + 1), &tokens));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &rate, &rates));
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_WEIGHT)
      oracle_add_tensor(&values, "p.", info->name, mica_session_parameter(session, info->name));
  }
  const mica_feed feeds[] = {{"tokens", tokens}, {MICA_LEARNING_RATE, rates}};
  for (size_t i = 0; i < STEPS; i++) {
    ck_ok(mica_tensor_upload(test_queue(), tokens, batches + i * (bytes / sizeof *batches), bytes));
    ck_ok(mica_queue_finish(test_queue()));
    const mica_stats before = mica_engine_stats(test_engine());
    ck_ok(mica_session_run(session, test_queue(), feeds, 2));
    const mica_stats after = mica_engine_stats(test_engine());
    if (i > 2) {
      ck_assert_uint_eq(after.host_waits, before.host_waits);
      ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
      ck_assert_uint_eq(after.allocations, before.allocations);
    }
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &losses[i], sizeof losses[i]));
  }
  oracle_add(&values, "", "ids", MICA_I32, MICA_SHAPE(STEPS, ROWS, CONTEXT + 1), batches);
  oracle_add(&values, "", "losses", MICA_F32, MICA_SHAPE(STEPS), losses);
  oracle_run("nn/curve_torch.py", oracle_write(&values, "curve.safetensors"));
  mica_tensor_destroy(rates);
  mica_tensor_destroy(tokens);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("torch, safetensors")), NULL, NULL, layers_and_networks, a_loss_curve)
