/* A GPT against PyTorch, alternately: training steps (AdamW), and texts continued token by token with a cache of keys
 * and values. Both have the sizes that the row's name says; weights are random, as time does not depend on them. */
#include "bench/bench_sequence.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

#define VOCABULARY 256
#define PROMPT 16

typedef struct network {
  int64_t layers, width, heads, context, batch;
  int64_t tokens; /* that a step continues each sequence by; 0: it trains */
} network;

static const network networks[] = {{4, 128, 4, 64, 12, 0},
                                   {6, 384, 6, 256, 16, 0},
                                   {4, 128, 4, 256, 1, 200},
                                   {6, 384, 6, 256, 1, 200},
                                   {6, 384, 6, 256, 8, 200}};

static mica_model_config config_of(const network *n) {
  return (mica_model_config){.name = "gpt",
                             .classes = VOCABULARY,
                             .width = n->width,
                             .sequence = {.context = n->context, .layers = n->layers, .heads = n->heads}};
}

static mica_tensor *random_ids(const bench *b, mica_shape shape) {
  static int32_t ids[1 << 16];
  uint32_t state = 1;
  mica_tensor *tensor = NULL;
  for (int64_t i = 0; i < shape.dim[0] * shape.dim[1]; i++) {
    state = state * 1664525u + 1013904223u;
    ids[i] = (int32_t)(state >> 24);
  }
  bench_ok(mica_tensor_create_from(b->engine, MICA_I32, shape, ids, &tensor));
  return tensor;
}

/* Arguments of the script, in texts that it keeps. */
static const char *const *arguments_of(const network *n, mica_dtype dtype, char text[6][16], const char *arguments[8]) {
  const int64_t sizes[] = {n->layers, n->width, n->heads, n->context, n->batch, n->tokens};
  for (int k = 0; k < 6; k++) {
    snprintf(text[k], 16, "%d", (int)sizes[k]);
    arguments[k] = text[k];
  }
  arguments[6] = mica_dtype_name(dtype);
  arguments[7] = NULL;
  return arguments;
}

/* Multiply-adds of a token, forward: 2 flops for each weight of the products, and those of attention to half of the
 * context. */
static double forward_flops(const network *n) {
  const double weights = (double)(12 * n->layers * n->width * n->width + VOCABULARY * n->width);
  return 2 * weights + 2 * (double)(n->layers * n->width * n->context);
}

static void train(const bench *b, const network *n, const char *name) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  char text[6][16];
  const char *arguments[8];
  const mica_model_config config = config_of(n);
  const mica_dtype dtype = bench_dtype(b, NULL);
  bench_ok(mica_graph_create(&graph));
  bench_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .dtype = dtype}, &nn));
  mica_value tokens = mica_input(graph, "tokens", MICA_I32, MICA_SHAPE(n->batch, n->context + 1));
  mica_value logits = mica_model_build(nn, mica_slice(tokens, 1, 0, n->context, 1), &config);
  mica_value target = mica_reshape(mica_slice(tokens, 1, 1, MICA_END, 1), MICA_SHAPE(MICA_DYNAMIC));
  mica_value loss = mica_cross_entropy(mica_flatten(logits, 2), target, NULL);
  mica_optimizer_config adam = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  mica_optimize(nn, loss, &adam, NULL);
  bench_ok(mica_graph_status(graph));
  bench_ok(mica_session_create(b->engine, graph, &loss, 1, NULL, &session));
  bench_ok(mica_nn_initialise(nn, session));
  mica_tensor *ids = random_ids(b, MICA_SHAPE(n->batch, n->context + 1));
  mica_tensor *rate = NULL;
  bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SCALAR, &(float){1e-3f}, &rate));
  const mica_feed feeds[] = {{"tokens", ids}, {MICA_LEARNING_RATE, rate}};
  const sequence_row row = {.name = name,
                            .flops = 3 * forward_flops(n) * (double)(n->batch * n->context),
                            .session = session,
                            .feeds = feeds,
                            .feed_count = 2,
                            .script = "torch_gpt.py",
                            .arguments = arguments_of(n, dtype, text, arguments)};
  bench_sequence_measure(b, &row);
  mica_tensor_destroy(rate);
  mica_tensor_destroy(ids);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

/* --- generation --- */

typedef struct writer {
  const network *sizes;
  mica_generator *generator;
} writer;

static mica_value block(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *user) {
  mica_model_config config = config_of(user);
  config.sequence.cache = cache;
  config.sequence.last = true;
  return mica_model_build(nn, ids, &config);
}

/* A prompt, and the tokens behind it. */
static void write_text(void *user) {
  const writer *w = user;
  static int32_t ids[64 * PROMPT], lengths[64], next[64];
  for (int64_t b = 0; b < w->sizes->batch; b++) lengths[b] = PROMPT;
  for (int64_t i = 0; i < w->sizes->batch * PROMPT; i++) ids[i] = (int32_t)(i * 37 % VOCABULARY);
  bench_ok(mica_generator_prompt(w->generator, ids, lengths, PROMPT));
  for (int64_t i = 0; i < w->sizes->tokens; i++) bench_ok(mica_generator_next(w->generator, next));
}

/* A network with its weights, and what writes by it. */
typedef struct written {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *weights;
  writer writer;
} written;

static written make_writer(const bench *b, const network *n) {
  written w = {.writer.sizes = n};
  const mica_model_config config = config_of(n);
  bench_ok(mica_graph_create(&w.graph));
  bench_ok(mica_nn_create(w.graph, NULL, &w.nn));
  mica_value y = mica_model_build(w.nn, mica_input(w.graph, "ids", MICA_I32, MICA_SHAPE(1, MICA_DYNAMIC)), &config);
  bench_ok(mica_session_create(b->engine, w.graph, &y, 1, NULL, &w.weights));
  bench_ok(mica_nn_initialise(w.nn, w.weights));
  const mica_generator_config how = {
      .block = block, .block_config = n, .share = w.weights, .batch = n->batch, .context = n->context};
  bench_ok(mica_generator_create(b->engine, &how, &w.writer.generator));
  return w;
}

static void drop_writer(written *w) {
  mica_generator_destroy(w->writer.generator);
  mica_session_destroy(w->weights);
  mica_nn_destroy(w->nn);
  mica_graph_destroy(w->graph);
}

static void generate(const bench *b, const network *n, const char *name) {
  char text[6][16];
  const char *arguments[8];
  written w = make_writer(b, n);
  const sequence_row row = {.name = name,
                            .flops = forward_flops(n) * (double)(n->batch * (n->tokens + PROMPT)),
                            .session = mica_generator_session(w.writer.generator),
                            .step = write_text,
                            .user = &w.writer,
                            .script = "torch_gpt.py",
                            .arguments = arguments_of(n, MICA_F32, text, arguments)};
  bench_sequence_measure(b, &row);
  drop_writer(&w);
}

/* --- a token early and late in a text --- */

enum { EARLY = 32, LATE = 1000, TIMED = 16, MOST_ROUNDS = 64 };

/* A prompt that comes to TIMED / 2 tokens before a position, and one token. */
static void come_to(const writer *w, int64_t position) {
  static int32_t ids[LATE], next[1];
  const int32_t length = (int32_t)position - TIMED / 2;
  for (int32_t i = 0; i < length; i++) ids[i] = i * 37 % VOCABULARY;
  bench_ok(mica_generator_prompt(w->generator, ids, &length, length));
  bench_ok(mica_generator_next(w->generator, next));
}

/* Seconds of a token about a position. */
static double token_at(const writer *w, int64_t position) {
  int32_t next[1];
  come_to(w, position);
  const double begin = bench_now();
  for (int i = 0; i < TIMED; i++) bench_ok(mica_generator_next(w->generator, next));
  return (bench_now() - begin) / TIMED;
}

/* What a token reads: weights once, keys and values of all positions before it. */
static double bytes_at(const network *n, int64_t position) {
  return 4 *
         (double)(12 * n->layers * n->width * n->width + VOCABULARY * n->width + 2 * n->layers * n->width * position);
}

static void next_token(void *user) {
  int32_t next[1];
  bench_ok(mica_generator_next(((const writer *)user)->generator, next));
}

static void print_profile(const bench *b, writer *w, int64_t position) {
  come_to(w, position);
  fprintf(stderr, "a token about %d:\n", (int)position);
  bench_sequence_profile(b, &(sequence_row){.step = next_token, .user = w});
}

static void compare_positions(const bench *b) {
  static const network sizes = {6, 384, 6, LATE + TIMED, 1, TIMED};
  double early[MOST_ROUNDS], late[MOST_ROUNDS];
  const size_t rounds = (size_t)(b->rounds < MOST_ROUNDS ? b->rounds : MOST_ROUNDS);
  written w = make_writer(b, &sizes);
  token_at(&w.writer, EARLY);
  token_at(&w.writer, LATE);
  for (size_t r = 0; r < rounds; r++) {
    early[r] = token_at(&w.writer, EARLY);
    late[r] = token_at(&w.writer, LATE);
  }
  const double first = bench_median(early, rounds), last = bench_median(late, rounds);
  const double predicted = bytes_at(&sizes, LATE) / bytes_at(&sizes, EARLY);
  printf(b->json
             ? "{\"bench\":\"sequence\",\"name\":\"gpt_positions_6x384\",\"early_ms\":%.3f,\"late_ms\":%.3f,"
               "\"times\":%.3f,\"by_bytes\":%.3f,\"over\":%.3f}\n"
             : "gpt_positions_6x384: a token about 32 %.3f ms, about 1,000 %.3f ms: %.3f times, by bytes %.3f: %.3f of "
               "that\n",
         first * 1e3, last * 1e3, last / first, predicted, last / first / predicted);
  fflush(stdout);
  if (b->profile) {
    print_profile(b, &w.writer, EARLY);
    print_profile(b, &w.writer, LATE);
  }
  drop_writer(&w);
}

void bench_sequence_gpt(const bench *b) {
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    const network *n = &networks[i];
    char name[64];
    snprintf(name, sizeof name, "gpt_%s_%dx%d_t%d_b%d", n->tokens ? "generation" : "training", (int)n->layers,
             (int)n->width, (int)n->context, (int)n->batch);
    if (b->cases && !strstr(name, b->cases)) continue;
    if (n->tokens)
      generate(b, n, name);
    else
      train(b, n, name);
  }
  if (!b->cases || strstr("gpt_positions_6x384", b->cases)) compare_positions(b);
}
