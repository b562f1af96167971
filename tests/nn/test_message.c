/* labels: device single
 *
 * Layers of message passing: results and gradients as PyTorch Geometric has them (message_pyg.py), and the mean of
 * vertices where graphs have different sizes. */
#include "data/graph/graph.h"
#include "nn/message.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { V = 5, F = 3, W = 4, HEADS = 2 };

/* What is compared: "y", the gradient of x, and the gradients of parameters in the order of their names. */
typedef struct golden {
  const char *name;
  double values[20];
} golden;

static const golden gcn[] = {
    {"y", {0.289351,  0.338866,    0.6276039, -0.114925, 0.289351,   0.338866, 0.6276038,
           -0.114925, 0.2538942,   0.4756576, 0.5249432, -0.1480609, 0.374571, 0.7298915,
           0.1475684, -0.02126245, 0.5765741, 0.7133932, -0.0377765, 0.1823771}},
    {"x",
     {-0.02787374, -0.07140709, -0.08135661, -0.02787375, -0.0714071, -0.08135663, -0.06064799, -0.04811022,
      -0.01294549, 0.04889226, 0.004397979, -0.04216473, 0.05529135, 0.07448478, 0.05864691}},
    {"bias", {0.2574454, -0.1030637, -0.3855782, -0.3762928}},
    {"lin.weight",
     {-0.411496, 0.37744, 0.3142338, -0.4587399, 0.3280117, 0.374215, -0.1588188, 0.03035109, 0.1509977, 0.2612937,
      -0.2902791, -0.1864919}},
    {NULL, {0}},
};
static const golden gat[] = {
    {"y", {-0.09821508, 0.04754454, -0.6012619,  -0.6435705, -0.07706235, 0.06435525, -0.6092701,
           -0.6379099,  0.07722785, -0.07678118, -0.6285397, -0.496542,   0.30903,    -0.3415671,
           -0.6044389,  -0.2289447, 0.3568217,   -0.6485601, -0.3656306,  -0.1848072}},
    {"x",
     {-0.03492731, 0.02078683, 0.06672457, -0.02705681, 0.01395516, 0.04840378, 0.02544085, 0.05126651, 0.05298058,
      -0.06857716, -0.07505479, -0.04623283, 0.002854116, -0.05923428, -0.09346375}},
    {"att_dst", {0.01865616, -0.03285055, 0.001955406, 0.002451821}},
    {"att_src", {0.03502584, 0.04325758, 0.004862029, -0.0001531206}},
    {"bias", {0.2574454, -0.1030637, -0.3855782, -0.3762928}},
    {"lin.weight",
     {-0.378981, 0.3153294, 0.2977241, -0.5772101, 0.4056303, 0.4726837, -0.3176947, 0.1262209, 0.285169, 0.1640957,
      -0.270233, -0.09445964}},
    {NULL, {0}},
};
static const golden gin[] = {
    {"y", {-0.4423749, 0.3523693,  -1.12611,   0.1452765, -0.4423749, 0.3523693, -1.12611,
           0.1452765,  -0.5574375, 0.4364475,  -1.169488, 0.142942,   -0.566468, 0.322086,
           -0.9449496, -0.1658268, -0.7244124, 0.4568208, -1.040905,  -0.1197385}},
    {"x",
     {0.130172, 0.0501375, -0.05347744, 0.130172, 0.0501375, -0.05347744, 0.1053776, -0.0130593, -0.1253541, 0.1160658,
      -0.001650985, -0.1185912, -0.01757404, -0.05777859, -0.07080894}},
    {"nn.0.bias", {0.06023364, -0.1247511, -0.3188175, 0.04639286}},
    {"nn.0.weight",
     {-0.02108096, -0.1189692, 0.05173798, 0.3798827, -0.3564988, -0.2880169, 0.3988235, -0.09455634, -0.3744573,
      0.0495896, -0.06482612, -0.03288463}},
    {"nn.2.bias", {0.2574454, -0.1030637, -0.3855782, -0.3762928}},
    {"nn.2.weight",
     {-0.2005721, -0.2138602, 0.7630899, -0.08089196, -0.5778872, -0.2341027, 0.2648398, -0.2857904, -0.5178691,
      -0.07718247, -0.4338367, -0.2744085, -0.06593718, 0.1381493, -0.8041934, -0.05535933}},
    {NULL, {0}},
};

static mica_graph *graph;
static mica_nn *nn;

static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
}

static void teardown(void) {
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

static mica_pattern pattern_of(const mica__adjacency *a) {
  return (mica_pattern){.rows = mica_constant(graph, MICA_I32, MICA_SHAPE(1, a->vertices, 2), a->rows),
                        .entries = mica_constant(graph, MICA_I32, MICA_SHAPE(1, a->count, 2), a->entries),
                        .columns = mica_constant(graph, MICA_I32, MICA_SHAPE(1, a->vertices, 2), a->columns),
                        .order = mica_constant(graph, MICA_I32, MICA_SHAPE(1, a->count), a->order)};
}

static void fill_parameter(mica_session *session, const char *name, size_t k) {
  float values[20];
  mica_tensor *tensor = mica_session_parameter(session, name);
  ck_assert_ptr_nonnull(tensor);
  const size_t count = mica_tensor_bytes(tensor) / sizeof *values;
  ck_assert_uint_le(count, 20);
  for (size_t i = 0; i < count; i++) values[i] = sinf((float)i * 0.7f + (float)k + 1) * 0.5f;
  ck_ok(mica_tensor_upload(test_queue(), tensor, values, count * sizeof *values));
}

static void compare(const char *layer, const golden *want, const mica_tensor *tensor) {
  float got[20];
  const size_t bytes = mica_tensor_bytes(tensor);
  ck_assert_uint_le(bytes, sizeof got);
  ck_ok(mica_tensor_download(test_queue(), tensor, got, bytes));
  for (size_t i = 0; i < bytes / sizeof *got; i++)
    ck_assert_msg(fabs((double)got[i] - want->values[i]) <= 1e-5, "%s %s[%zu]: %g, not %g", layer, want->name, i,
                  (double)got[i], want->values[i]);
}

/* Result and gradients of a layer "c". */
static void check_layer(const char *layer, mica__message_kind kind, const golden *want) {
  static const int32_t edges[][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}};
  float xs[V * F], dys[V * W];
  mica_value outputs[8], wrt[8];
  size_t count = 0;
  mica__adjacency a;
  ck_ok(mica__adjacency_make(V, edges, 5, true, kind == MICA__MESSAGE_GCN ? MICA__EDGES_NORMALISED : MICA__EDGES_EQUAL,
                             &a));
  for (int i = 0; i < V * F; i++) xs[i] = sinf((float)i * 1.7f + 0.3f);
  for (int i = 0; i < V * W; i++) dys[i] = cosf((float)i * 0.9f);
  mica_pattern pattern = pattern_of(&a);
  mica_value weights = mica_constant(graph, MICA_F32, MICA_SHAPE(1, a.count, 1), a.weights);
  wrt[0] = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(1, V, F));
  const mica__message_config config = {.kind = kind, .layers = 1, .width = W, .heads = HEADS};
  outputs[0] = mica__nn_message(nn, "c", wrt[0], weights, &pattern, &config);
  mica_value dy = mica_constant(graph, MICA_F32, MICA_SHAPE(1, V, W), dys);
  for (count = 1; want[count + 1].name; count++) {
    char name[40] = "c.";
    strcat(name, want[count + 1].name);
    wrt[count] = mica_nn_weight_of(nn, name);
  }
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_gradients(mica_sum(mica_mul(outputs[0], dy), MICA_ALL_AXES, false), wrt, count, outputs + 1));
  mica_session *session = NULL;
  ck_ok(mica_session_create(test_engine(), graph, outputs, count + 1, NULL, &session));
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "x"), xs, sizeof xs));
  for (size_t k = 1; k < count; k++) {
    char name[40] = "c.";
    strcat(name, want[k + 1].name);
    fill_parameter(session, name, k - 1);
  }
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  for (size_t k = 0; k <= count; k++) compare(layer, &want[k], mica_session_output(session, k));
  mica_session_destroy(session);
  mica__adjacency_free(&a);
}

START_TEST(gcn_is_as_in_pytorch_geometric) { check_layer("gcn", MICA__MESSAGE_GCN, gcn); }
END_TEST
START_TEST(gat_is_as_in_pytorch_geometric) { check_layer("gat", MICA__MESSAGE_GAT, gat); }
END_TEST
START_TEST(gin_is_as_in_pytorch_geometric) { check_layer("gin", MICA__MESSAGE_GIN, gin); }
END_TEST

/* The second of two samples has one vertex; zeros pad it to three. */
START_TEST(padding_is_no_vertex) {
  static const int32_t rows[] = {0, 1, 1, 2, 2, 3, 0, 1, 0, 0, 0, 0};
  static const float x[] = {1, 2, 6, 5, 100, 100};
  float got[2];
  const mica_pattern pattern = {.rows = mica_constant(graph, MICA_I32, MICA_SHAPE(2, 3, 2), rows)};
  mica_value pooled = mica__nn_pool_vertices(mica_constant(graph, MICA_F32, MICA_SHAPE(2, 3, 1), x), &pattern, false);
  mica_session *session = NULL;
  ck_ok(mica_session_create(test_engine(), graph, &pooled, 1, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
  ck_assert(got[0] == 3 && got[1] == 5);
  mica_session_destroy(session);
}
END_TEST

START_TEST(heads_share_the_width) {
  mica_pattern pattern = {{0}, {0}, {0}, {0}};
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, V, F));
  const mica__message_config config = {.kind = MICA__MESSAGE_GAT, .layers = 1, .width = 5, .heads = 2};
  ck_assert(mica_value_is_null(mica__nn_message(nn, "c", x, x, &pattern, &config)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
}
END_TEST

TESTS(DEVICE, setup, teardown, gcn_is_as_in_pytorch_geometric, gat_is_as_in_pytorch_geometric,
      gin_is_as_in_pytorch_geometric, padding_is_no_vertex, heads_share_the_width)
