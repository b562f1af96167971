// Mica from C++17: every public header together, a small network built, trained for a few steps and run, an operation on
// tensors, and the macros that C++ has other ways for. Exit status 0: right; 77: no device, or one that runs nothing.
#include <mica/mica.h>
#include <mica/opencl.h>
#include <mica/tune.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

struct Destroy {
  void operator()(mica_engine *engine) const { mica_engine_destroy(engine); }
  void operator()(mica_tensor *tensor) const { mica_tensor_destroy(tensor); }
  void operator()(mica_graph *graph) const { mica_graph_destroy(graph); }
  void operator()(mica_nn *nn) const { mica_nn_destroy(nn); }
  void operator()(mica_session *session) const { mica_session_destroy(session); }
  void operator()(char *text) const { mica_free(text); }
};
template <typename T> using owned = std::unique_ptr<T, Destroy>;

constexpr int samples = 8;

int fail(const char *what) {
  std::fprintf(stderr, "%s: %s\n", what, mica_error_message());
  return 1;
}

owned<mica_tensor> upload(mica_engine *engine, mica_shape shape, const std::vector<float> &data) {
  mica_tensor *tensor = nullptr;
  if (mica_tensor_create_from(engine, MICA_F32, shape, data.data(), &tensor) != MICA_OK) fail("a tensor");
  return owned<mica_tensor>(tensor);
}

bool download(mica_engine *engine, const mica_tensor *tensor, std::vector<float> &data) {
  return mica_tensor_download(mica_engine_queue(engine), tensor, data.data(), data.size() * sizeof(float)) == MICA_OK;
}

// The loss of a perceptron that learns x0 - x1 falls to less than half in 50 steps.
int train(mica_engine *engine) {
  mica_graph *graph = nullptr;
  mica_nn *nn = nullptr;
  mica_session *session = nullptr;
  if (mica_graph_create(&graph) != MICA_OK) return fail("a graph");
  owned<mica_graph> graph_owner(graph);
  mica_nn_config network{};
  network.training = true;
  if (mica_nn_create(graph, &network, &nn) != MICA_OK) return fail("a network");
  owned<mica_nn> nn_owner(nn);

  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(samples, 2));
  mica_value y = mica_input(graph, "y", MICA_F32, MICA_SHAPE(samples, 1));
  mica_value h = mica_tanh(mica_nn_dense(nn, "hidden", x, 8, nullptr));
  mica_value out = mica_nn_dense(nn, "out", h, 1, nullptr);
  mica_value loss = mica_mean(mica_square(mica_sub(out, y)), MICA_AXES(0, 1), false);
  mica_optimizer_config how{};
  how.optimizer = MICA_OPTIMIZER_ADAM;
  mica_optimize(nn, loss, &how, nullptr);
  if (mica_session_create(engine, graph, &loss, 1, nullptr, &session) != MICA_OK) return fail("a session");
  owned<mica_session> session_owner(session);
  if (mica_nn_initialise(nn, session) != MICA_OK) return fail("initial values");
  char *plan = nullptr;
  if (mica_session_dump(session, &plan) != MICA_OK) return fail("a plan");
  owned<char> plan_owner(plan);

  std::vector<float> xs, ys, got(1), rate{0.02f};
  for (int i = 0; i < samples; i++) {
    xs.push_back(static_cast<float>(i % 4) / 4);
    xs.push_back(static_cast<float>(i / 4));
    ys.push_back(xs[2 * static_cast<std::size_t>(i)] - xs.back());
  }
  owned<mica_tensor> tx = upload(engine, MICA_SHAPE(samples, 2), xs), ty = upload(engine, MICA_SHAPE(samples, 1), ys);
  owned<mica_tensor> tr = upload(engine, MICA_SCALAR, rate);
  const mica_feed feeds[] = {{"x", tx.get()}, {"y", ty.get()}, {MICA_LEARNING_RATE, tr.get()}};
  float first = 0;
  for (int step = 0; step < 50; step++) {
    if (mica_session_run(session, mica_engine_queue(engine), feeds, 3) != MICA_OK) return fail("a step");
    if (step > 0 && step < 49) continue;
    if (!download(engine, mica_session_output(session, 0), got)) return fail("the loss");
    if (step == 0) first = got[0];
  }
  if (!(got[0] < first / 2)) return fail("the loss does not fall");
  return 0;
}

int operate(mica_engine *engine) {
  std::vector<float> data{1, 2, 3, 4, 5, 6}, got(6);
  owned<mica_tensor> x = upload(engine, MICA_SHAPE(2, 3), data), y = upload(engine, MICA_SHAPE(2, 3), data);
  if (mica_op_softmax_fwd(mica_engine_queue(engine), -1, x.get(), y.get()) != MICA_OK) return fail("softmax");
  if (!download(engine, y.get(), got)) return fail("downloading");
  for (std::size_t i = 0; i < 6; i += 3)
    if (std::fabs(got[i] + got[i + 1] + got[i + 2] - 1) > 1e-5f) return fail("a wrong softmax");
  const char source[] = "__kernel void twice(__global float *x, long at, int n) {\n"
                        "  int i = get_global_id(0);\n"
                        "  if (i < n) x[at + i] *= 2;\n"
                        "}\n";
  mica_kernel *twice = nullptr;
  if (mica_kernel_build(engine, "twice", source, nullptr, &twice) != MICA_OK) return fail("a kernel");
  const mica_arg args[] = {MICA_ARG_TENSOR(x.get()), MICA_ARG_INT(6)};
  const std::size_t global[3] = {6, 1, 1}, local[3] = {1, 1, 1};
  if (mica_kernel_run(mica_engine_queue(engine), twice, args, 2, global, local) != MICA_OK) return fail("its run");
  if (!download(engine, x.get(), got)) return fail("downloading");
  return got[5] == 12 ? 0 : fail("a wrong product");
}

} // namespace

int main() {
  mica_engine *engine = nullptr;
  mica_status status = mica_engine_create(nullptr, &engine);
  if (status == MICA_E_NO_DEVICE) return 77;
  if (status != MICA_OK) return fail("an engine");
  owned<mica_engine> owner(engine);
  if (mica_engine_device(engine)->device_class == MICA_DEVICE_CLASS_NULL) return 77;
  int failed = train(engine);
  return failed ? failed : operate(engine);
}
