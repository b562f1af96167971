/* labels: device single
 *
 * CTC loss and gradient against PyTorch's (tests/golden/ctc, whose README says how they were made).
 * MICA_CTC_CASES names a file of further cases (tests/ops/test_ctc_torch.py writes it). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLANKS = 16 };

static const char *golden(const char *name) { return golden_path("ctc", name); }

static const mica_safetensors *values;
static int number; /* of the case */

static const mica_safetensors_entry *entry(const char *part) {
  char name[64];
  snprintf(name, sizeof name, "c%03d.%.40s", number, part);
  return mica_safetensors_find(values, name);
}

/* A graph for each blank, whose sizes are all open. */
typedef struct network {
  mica_graph *graph;
  mica_session *session;
} network;
static network networks[MOST_BLANKS];

static mica_session *session_of(int64_t blank) {
  ck_assert(blank >= 0 && blank < MOST_BLANKS);
  network *n = &networks[blank];
  if (n->session) return n->session;
  ck_ok(mica_graph_create(&n->graph));
  const int64_t any = MICA_DYNAMIC;
  mica_value logits = mica_input(n->graph, "logits", MICA_F32, MICA_SHAPE(any, any, any)), outputs[2];
  outputs[0] = mica_ctc_loss(logits, mica_input(n->graph, "targets", MICA_I32, MICA_SHAPE(any, any)),
                             mica_input(n->graph, "logit_lengths", MICA_I32, MICA_SHAPE(any)),
                             mica_input(n->graph, "target_lengths", MICA_I32, MICA_SHAPE(any)),
                             &(mica_ctc_config){.reduction = MICA_LOSS_REDUCTION_NONE, .blank = blank});
  ck_ok(mica_gradients(mica_sum(outputs[0], MICA_ALL_AXES, false), &logits, 1, &outputs[1]));
  ck_ok(mica_session_create(test_engine(), n->graph, outputs, 2, NULL, &n->session));
  return n->session;
}

static void close_networks(void) {
  for (int k = 0; k < MOST_BLANKS; k++) {
    mica_session_destroy(networks[k].session);
    mica_graph_destroy(networks[k].graph);
    networks[k] = (network){NULL, NULL};
  }
}

/* What stands behind lengths is not to be read: it becomes NaN. */
static mica_tensor *upload(const char *part) {
  const mica_safetensors_entry *e = entry(part), *lengths = entry("logit_lengths");
  mica_tensor *tensor = NULL;
  ck_assert_msg(e && lengths, "case %d has no %s", number, part);
  char *copy = malloc(e->bytes + 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, e->data, e->bytes);
  if (!strcmp(part, "logits")) {
    const int64_t *d = e->shape.dim;
    for (int64_t t = 0; t < d[0]; t++)
      for (int64_t n = 0; n < d[1]; n++)
        for (int64_t c = 0; t >= ((const int32_t *)lengths->data)[n] && c < d[2]; c++)
          ((float *)copy)[(t * d[1] + n) * d[2] + c] = NAN;
  }
  ck_ok(mica_tensor_create_from(test_engine(), e->dtype, e->shape, copy, &tensor));
  free(copy);
  return tensor;
}

/* Within `within` of max(1, |value|) where relative, else of 1. */
static void compare(const mica_tensor *got, const char *part, double within, bool relative) {
  const mica_safetensors_entry *e = entry(part);
  float *data = malloc(mica_tensor_bytes(got) + 1);
  ck_assert(e && data);
  ck_assert(mica_shape_equal(e->shape, mica_tensor_shape(got)));
  ck_ok(mica_tensor_download(test_queue(), got, data, mica_tensor_bytes(got)));
  for (int64_t i = 0; i < mica_tensor_count(got); i++) {
    double want = ((const double *)e->data)[i], have = (double)data[i];
    double bound = within * (relative ? fmax(1, fabs(want)) : 1);
    ck_assert_msg(have == want || fabs(have - want) <= bound, "case %d, %s, element %d: %.9g, not %.9g", number, part,
                  (int)i, have, want);
  }
  free(data);
}

static void run_case(int64_t blank, double within) {
  static const char *const names[] = {"logits", "targets", "logit_lengths", "target_lengths"};
  mica_feed feeds[4];
  mica_tensor *fed[4];
  for (int k = 0; k < 4; k++) feeds[k] = (mica_feed){names[k], fed[k] = upload(names[k])};
  mica_session *session = session_of(blank);
  ck_ok(mica_session_run(session, test_queue(), feeds, 4));
  compare(mica_session_output(session, 0), "loss", 1e-5, true);
  compare(mica_session_output(session, 1), "gradient", within, false);
  for (int k = 0; k < 4; k++) mica_tensor_destroy(fed[k]);
}

/* The text behind "key": in the object of this case. */
static const char *setting(const char *json, const char *key) {
  char name[32];
  snprintf(name, sizeof name, "{\"case\": %d,", number);
  const char *at = strstr(json, name);
  snprintf(name, sizeof name, "\"%s\": ", key);
  at = at ? strstr(at, name) : NULL;
  ck_assert_msg(at != NULL, "case %d has no %s", number, key);
  return at + strlen(name);
}

START_TEST(losses_are_pytorchs) {
  mica_safetensors *file = NULL;
  size_t size = 0;
  char *json = (char *)files_read(golden("ctc.json"), &size);
  json = realloc(json, size + 1);
  ck_assert_ptr_nonnull(json);
  json[size] = '\0';
  ck_ok(mica_safetensors_open(golden("ctc.safetensors"), &file));
  values = file;
  for (number = 0; entry("logits"); number++) {
    bool large = strncmp(setting(json, "kind"), "\"large_logits\"", 14) == 0;
    run_case(strtoll(setting(json, "blank"), NULL, 10), large ? 1e-4 : 1e-5);
  }
  ck_assert_int_eq(number, 100);
  close_networks();
  mica_safetensors_close(file);
  free(json);
}
END_TEST

START_TEST(random_losses_are_pytorchs) {
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_open(getenv("MICA_CTC_CASES"), &file));
  values = file;
  for (number = 0; entry("logits"); number++) run_case(*(const int32_t *)entry("blank")->data, 1e-5);
  ck_assert_int_ge(number, 1000);
  close_networks();
  mica_safetensors_close(file);
}
END_TEST

/* Operands that stay give bits that stay. */
START_TEST(bits_stay) {
  enum { T = 50, N = 9, C = 30, S = 12 };
  static float logits[T * N * C], gradients[2][T * N * C];
  int32_t targets[N * S], frames[N], labels[N];
  for (int i = 0; i < T * N * C; i++) logits[i] = (float)((i * 7919) % 1000) / 200;
  for (int i = 0; i < N * S; i++) targets[i] = 1 + (i * 31) % 7;
  for (int n = 0; n < N; n++) frames[n] = T - n, labels[n] = S - n;
  mica_tensor *fed[4];
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(T, N, C), logits, &fed[0]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N, S), targets, &fed[1]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N), frames, &fed[2]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(N), labels, &fed[3]));
  const mica_feed feeds[] = {
      {"logits", fed[0]}, {"targets", fed[1]}, {"logit_lengths", fed[2]}, {"target_lengths", fed[3]}};
  for (int k = 0; k < 2; k++) {
    ck_ok(mica_session_run(session_of(0), test_queue(), feeds, 4));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session_of(0), 1), gradients[k], sizeof gradients[k]));
  }
  ck_assert_mem_eq(gradients[0], gradients[1], sizeof gradients[0]);
  close_networks();
  for (int k = 0; k < 4; k++) mica_tensor_destroy(fed[k]);
}
END_TEST

static bool further(void) { return getenv("MICA_CTC_CASES") != NULL; }

TESTS(DEVICE, NULL, NULL, further() ? random_losses_are_pytorchs : losses_are_pytorchs,
      further() ? &test_none : bits_stay)
