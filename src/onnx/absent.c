/* mica/onnx.h in a build without protobuf-c: no model can be opened, so the others are never called with one. */
#include "base/error.h"

#include <mica/onnx.h>

static mica_status unsupported(void) {
  return mica__fail(MICA_E_UNSUPPORTED, "onnx: this build has no protobuf-c (MICA_WITH_ONNX)");
}

mica_status mica_onnx_open(const char *path, mica_onnx **model) {
  (void)path, (void)model;
  return unsupported();
}
mica_status mica_onnx_open_memory(const char *name, const void *data, size_t bytes, mica_onnx **model) {
  (void)name, (void)data, (void)bytes, (void)model;
  return unsupported();
}
mica_status mica_onnx_runner_create(mica_engine *engine, mica_onnx *model, const mica_onnx_runner_config *config,
                                    mica_onnx_runner **runner) {
  (void)engine, (void)model, (void)config, (void)runner;
  return unsupported();
}
mica_status mica_onnx_run(mica_onnx_runner *runner, mica_queue *queue, const mica_onnx_feed *feeds, size_t count) {
  (void)runner, (void)queue, (void)feeds, (void)count;
  return unsupported();
}
mica_status mica_onnx_check(mica_onnx_runner *runner, mica_queue *queue, const char *folder, double relative,
                            double absolute) {
  (void)runner, (void)queue, (void)folder, (void)relative, (void)absolute;
  return unsupported();
}
mica_status mica_onnx_tensor_read(const char *path, mica_dtype *dtype, mica_shape *shape, void **data) {
  (void)path, (void)dtype, (void)shape, (void)data;
  return unsupported();
}
void mica_onnx_close(mica_onnx *model) { (void)model; }
void mica_onnx_runner_destroy(mica_onnx_runner *runner) { (void)runner; }
const mica_onnx *mica_onnx_runner_model(const mica_onnx_runner *runner) { return (void)runner, NULL; }
size_t mica_onnx_input_count(const mica_onnx *model) { return (void)model, 0; }
size_t mica_onnx_output_count(const mica_onnx *model) { return (void)model, 0; }
mica_onnx_port mica_onnx_input(const mica_onnx *model, size_t index) {
  return (void)model, (void)index, (mica_onnx_port){0};
}
mica_onnx_port mica_onnx_output_port(const mica_onnx *model, size_t index) {
  return (void)model, (void)index, (mica_onnx_port){0};
}
size_t mica_onnx_operator_count(const mica_onnx *model) { return (void)model, 0; }
mica_onnx_operator mica_onnx_operator_at(const mica_onnx *model, size_t index) {
  return (void)model, (void)index, (mica_onnx_operator){0};
}
mica_onnx_info mica_onnx_describe(const mica_onnx *model) { return (void)model, (mica_onnx_info){0}; }
const char *mica_onnx_metadata(const mica_onnx *model, const char *key) { return (void)model, (void)key, NULL; }
const mica_tensor *mica_onnx_output(const mica_onnx_runner *runner, size_t index) {
  return (void)runner, (void)index, NULL;
}
bool mica_onnx_is_bound(const mica_onnx_runner *runner, const char *input) { return (void)runner, (void)input, false; }
size_t mica_onnx_lowering_count(const mica_onnx_runner *runner) { return (void)runner, 0; }
