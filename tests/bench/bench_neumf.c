/* A step of NeuMF, by Adam over whole tables and over the rows that it reads, each beside PyTorch's. */
#include "bench/peer_train.h"
#include "bench/step.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Users and items of MovieLens-20M. */
#define USERS 138493
#define ITEMS 26744
enum { WIDTH = 32, BATCH = 1024, MOST = 101 };
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* The logits of pairs, (BATCH, 1): the network of the task recommend. */
static mica_value build(mica_nn *nn, mica_value users, mica_value items) {
  static const mica_embedding_config even = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.1}};
  static const mica_dense_config plain = {.no_bias = true};
  mica_value p = mica_nn_embedding(nn, "users", users, USERS, WIDTH, &even);
  mica_value q = mica_nn_embedding(nn, "items", items, ITEMS, WIDTH, &even);
  mica_value x = mica_nn_embedding(nn, "deep_users", users, USERS, WIDTH, &even);
  mica_value y = mica_nn_embedding(nn, "deep_items", items, ITEMS, WIDTH, &even);
  mica_value h =
      mica_add(mica_nn_dense(nn, "users_fc1", x, WIDTH, &plain), mica_nn_dense(nn, "items_fc1", y, WIDTH, NULL));
  h = mica_relu(mica_nn_dense(nn, "fc2", mica_relu(h), WIDTH / 2, NULL));
  mica_value products = mica_nn_dense(nn, "products", mica_mul(p, q), 1, &plain);
  return mica_add(products, mica_nn_dense(nn, "fc3", h, 1, NULL));
}

static void make_batches(const bench *b, mica_tensor **users, mica_tensor **items, mica_tensor **labels) {
  static int32_t user[BATCH], item[BATCH];
  static float label[BATCH];
  uint64_t state = 1;
  for (int k = 0; k < STEP_READY; k++) {
    for (int i = 0; i < BATCH; i++) {
      user[i] = (int32_t)(step_random(&state) % USERS);
      item[i] = (int32_t)(step_random(&state) % ITEMS);
      label[i] = (float)(step_random(&state) % 2);
    }
    bench_ok(mica_tensor_create_from(b->engine, MICA_I32, MICA_SHAPE(BATCH), user, &users[k]));
    bench_ok(mica_tensor_create_from(b->engine, MICA_I32, MICA_SHAPE(BATCH), item, &items[k]));
    bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SHAPE(BATCH), label, &labels[k]));
  }
}

static void make(const bench *b, const char *rows, step *s) {
  mica_tensor **users, **items, **labels;
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  c.rows = rows;
  step_begin(s);
  mica_value user = step_input(s, "users", MICA_I32, BATCH, &users);
  mica_value item = step_input(s, "items", MICA_I32, BATCH, &items);
  mica_value label = step_input(s, "labels", MICA_F32, BATCH, &labels);
  mica_value z = mica_squeeze(build(s->nn, user, item), MICA_AXES(1));
  mica_value loss = mica_mean(mica_sub(mica_softplus(z), mica_mul(label, z)), MICA_ALL_AXES, false);
  make_batches(b, users, items, labels);
  step_end(b, s, loss, &c, 0.001f);
}

static void measure(const bench *b, const char *name, const char *rows, const char *peer_name) {
  step s;
  peer_train peer;
  double mine[MOST], theirs[MOST];
  const char *const arguments[] = {peer_name, TEXT(USERS), TEXT(ITEMS), "32", "1024", NULL};
  const size_t rounds = (size_t)(b->rounds > 0 && b->rounds < MOST ? b->rounds : 9);
  if (b->cases && !strstr(name, b->cases)) return;
  const bool there = peer_train_start_script(&peer, "torch_neumf.py", arguments);
  make(b, rows, &s);
  step_time(b, &s, STEP_READY);
  const int count = b->steps ? b->steps : rows ? 40 : 5;
  for (size_t i = 0; i < rounds; i++) {
    if (there) theirs[i] = peer_train_steps(&peer, count) / count;
    bench_rest(0.2); /* until PyTorch's threads sleep */
    mine[i] = step_time(b, &s, count);
  }
  const double x = bench_median(mine, rounds), y = there ? bench_median(theirs, rounds) : 0;
  if (there) peer_train_end(&peer);
  step_free(&s);
  if (b->json)
    printf("{\"bench\":\"neumf\",\"case\":\"%s\",\"ms\":%.4f,\"pytorch_ms\":%.4f}\n", name, 1e3 * x, 1e3 * y);
  else if (there)
    printf("%-16s %9.3f ms; PyTorch %s %9.3f ms, ratio %.2f\n", name, 1e3 * x, peer.version, 1e3 * y, y / x);
  else
    printf("%-16s %9.3f ms\n", name, 1e3 * x);
  fflush(stdout);
}

int bench_neumf(const bench *b) {
  /* A peer that dies is noticed by what it does not answer. */
  signal(SIGPIPE, SIG_IGN);
  measure(b, "whole tables", NULL, "dense");
  measure(b, "rows", "*.weight", "sparse");
  return 0;
}
