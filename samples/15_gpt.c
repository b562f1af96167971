/* labels: device single
 *
 * Lesson 15: a language model in a page. A GPT is a function of ids that calls layers: one graph of it is trained,
 * others continue a text, with a cache of keys and values, on the same weights. Without an argument it learns a rhyme;
 * an argument names a file to learn from (and takes longer to make sense).
 *
 *   build/bin/samples/15_gpt [FILE]
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 64, BATCH = 8, STEPS = 150, BYTES = 256, WRITTEN = 160 };

static const char rhyme[] = "The king was in his counting house, counting out his money;\n"
                            "The queen was in the parlour, eating bread and honey;\n"
                            "The maid was in the garden, hanging out the clothes,\n"
                            "When down came a blackbird and pecked off her nose.\n";

/* Logits of the byte behind each position; with a cache behind the last one alone. */
static mica_value gpt(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *config) {
  const mica_transformer_config block = {.self = {.heads = 4, .causal = true, .cache = cache}};
  const mica_embedding_config table = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.02}};
  (void)config;
  mica_value x = mica_nn_embedding(nn, "embed", ids, BYTES, 64, &table);
  mica_value positions = mica_positions(ids, cache ? cache->offset : (mica_value){0});
  x = mica_nn_positions(nn, "positions", x, positions, CONTEXT, MICA_POSITIONS_KIND_LEARNED);
  x = mica_nn_transformer(nn, "block1", x, (mica_value){0}, &block);
  x = mica_nn_transformer(nn, "block2", x, (mica_value){0}, &block);
  if (cache) x = mica_last_rows(x, cache->lengths);
  x = mica_nn_layer_norm(nn, "norm", x, NULL);
  return mica_matmul(x, mica_transpose(mica_nn_weight_of(nn, "embed.weight"), MICA_AXES(1, 0)));
}

/* The trained network. */
typedef struct model {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *tokens, *rate;
} model;

static void destroy(model *m) {
  mica_tensor_destroy(m->rate);
  mica_tensor_destroy(m->tokens);
  mica_session_destroy(m->session);
  mica_nn_destroy(m->nn);
  mica_graph_destroy(m->graph);
}

static mica_status build(mica_engine *engine, model *m) {
  const float rate = 3e-3f;
  mica_status status = mica_graph_create(&m->graph);
  if (!status) status = mica_nn_create(m->graph, &(mica_nn_config){.training = true}, &m->nn);
  if (status) return status;
  /* Each row of tokens is a context and the byte behind it. */
  mica_value tokens = mica_input(m->graph, "tokens", MICA_I32, MICA_SHAPE(BATCH, CONTEXT + 1));
  mica_value logits = gpt(m->nn, mica_slice(tokens, 1, 0, CONTEXT, 1), NULL, NULL);
  mica_value target = mica_reshape(mica_slice(tokens, 1, 1, MICA_END, 1), MICA_SHAPE(MICA_DYNAMIC));
  mica_value loss = mica_cross_entropy(mica_flatten(logits, 2), target, NULL);
  mica_optimizer_config adam = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  adam.clip_norm = 1;
  mica_optimize(m->nn, loss, &adam, NULL);
  status = mica_session_create(engine, m->graph, &loss, 1, NULL, &m->session);
  if (!status) status = mica_nn_initialise(m->nn, m->session);
  if (!status) status = mica_tensor_create(engine, MICA_I32, MICA_SHAPE(BATCH, CONTEXT + 1), &m->tokens);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &m->rate);
  return status;
}

/* Steps on contexts from anywhere in the text. */
static mica_status train(mica_engine *engine, model *m, const char *text, size_t bytes, float *loss) {
  mica_queue *queue = mica_engine_queue(engine);
  const mica_feed feeds[] = {{"tokens", m->tokens}, {MICA_LEARNING_RATE, m->rate}};
  int32_t rows[BATCH][CONTEXT + 1];
  mica_status status = MICA_OK;
  srand(1);
  for (int step = 0; !status && step < STEPS; step++) {
    for (int b = 0; b < BATCH; b++) {
      const size_t start = (size_t)rand() % (bytes - CONTEXT);
      for (int i = 0; i <= CONTEXT; i++) rows[b][i] = (unsigned char)text[start + (size_t)i];
    }
    status = mica_tensor_upload(queue, m->tokens, rows, sizeof rows);
    if (!status) status = mica_session_run(m->session, queue, feeds, 2);
    if (status || (step + 1) % 50 != 0) continue;
    status = mica_tensor_download(queue, mica_session_output(m->session, 0), loss, sizeof *loss);
    printf("step %d: loss %.3f\n", step + 1, (double)*loss);
  }
  return status;
}

/* Continues the prompt by the likeliest bytes; a text that fills the context goes on behind its last half. */
static mica_status write_text(mica_engine *engine, const model *m, const char *prompt, char *written) {
  const mica_generator_config config = {.block = gpt,
                                        .share = m->session,
                                        .context = CONTEXT,
                                        .window = CONTEXT / 2,
                                        .sampling = {.temperature = MICA_ZERO}};
  const int32_t length = (int32_t)strlen(prompt);
  int32_t ids[CONTEXT] = {0}, next = 0;
  mica_generator *generator = NULL;
  for (int32_t i = 0; i < length; i++) ids[i] = (unsigned char)prompt[i];
  mica_status status = mica_generator_create(engine, &config, &generator);
  if (!status) status = mica_generator_prompt(generator, ids, &length, CONTEXT);
  for (int i = 0; !status && i < WRITTEN; i++) {
    status = mica_generator_next(generator, &next);
    written[i] = (char)next;
  }
  mica_generator_destroy(generator);
  return status;
}

int main(int count, char **words) {
  static char file[1 << 24], written[WRITTEN + 1];
  const char *text = rhyme, *prompt = "The queen was";
  size_t bytes = sizeof rhyme - 1;
  mica_engine *engine = NULL;
  model m = {0};
  float loss = 0;
  if (count > 1) {
    FILE *stream = fopen(words[1], "rb");
    text = file;
    bytes = stream ? fread(file, 1, sizeof file, stream) : 0;
    if (stream) fclose(stream);
    if (bytes < CONTEXT + 2) return fprintf(stderr, "%s: too short, or cannot be read\n", words[1]), 1;
  }
  if (mica_engine_create(NULL, &engine)) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  mica_status status = build(engine, &m);
  if (!status) status = train(engine, &m, text, bytes, &loss);
  if (!status) status = write_text(engine, &m, prompt, written);
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("%s%s\n", prompt, written);
  const bool learned = !status && (count > 1 || !strncmp(written, " in the parlour, eating bread and honey;", 40));
  destroy(&m);
  mica_engine_destroy(engine);
  return learned ? 0 : 1;
}
