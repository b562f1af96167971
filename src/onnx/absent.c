/* The functions of mica/onnx.h for builds without protobuf-c. The functions that open, build, run or check a model
 * fail. Since no model can be opened, the other functions are never called with one. */
#include "base/error.h"
#include "onnx/products.h"
#include "onnx/training.h"

#include <mica/onnx.h>

static mica_status unsupported(void) { return mica__fail_lacks("ONNX", "protobuf-c"); }

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
mica_status mica__onnx_products_find(const mica_onnx *model, mica__onnx_products *products) {
  (void)model, (void)products;
  return unsupported();
}
mica_status mica__onnx_show(mica_onnx *model, const char *value) {
  (void)model, (void)value;
  return unsupported();
}
mica_status mica__onnx_write_integers(mica_onnx *model, const mica__onnx_products *products,
                                      const mica__onnx_integers *integers, const char *path) {
  (void)model, (void)products, (void)integers, (void)path;
  return unsupported();
}
void mica__onnx_products_free(mica__onnx_products *products) { (void)products; }
mica_status mica_onnx_bind_output(mica_onnx_runner *runner, size_t index, mica_tensor *tensor) {
  (void)runner, (void)index, (void)tensor;
  return unsupported();
}
mica_status mica_onnx_runner_describe(const mica_onnx_runner *runner, mica_onnx_report *report) {
  (void)runner, (void)report;
  return unsupported();
}
mica_status mica_onnx_define(mica_onnx *model, const char *domain, const char *op, mica_onnx_define_fn *define,
                             void *user) {
  (void)model, (void)domain, (void)op, (void)define, (void)user;
  return unsupported();
}
mica_status mica_onnx_build(const mica_onnx *model, mica_graph *graph, const mica_value *inputs, size_t input_count,
                            mica_value *outputs, size_t output_count, const mica_onnx_build_config *config,
                            mica_onnx_parameter **parameters, size_t *parameter_count) {
  (void)model, (void)graph, (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)config;
  (void)parameters, (void)parameter_count;
  return unsupported();
}
mica_status mica_onnx_write(const char *path, const mica_value *outputs, size_t count,
                            const mica_onnx_write_config *config) {
  (void)path, (void)outputs, (void)count, (void)config;
  return unsupported();
}
bool mica__onnx_is_statistic(const mica_onnx *model, const char *name) { return (void)model, (void)name, false; }
const char *mica__onnx_before_softmax(const mica_onnx *model) { return (void)model, NULL; }
const char *mica__onnx_before_shares(const mica_onnx *model) { return (void)model, NULL; }
bool mica__onnx_ends_in_softmax(const mica_onnx *model) { return (void)model, false; }
const char *mica__onnx_before_affine(const mica_onnx *model, double scale, double shift) {
  return (void)model, (void)scale, (void)shift, NULL;
}
bool mica__onnx_is_quantized(const mica_onnx *model) { return (void)model, false; }
mica_status mica_onnx_initial_read(const mica_onnx *model, size_t index, const char **name, mica_dtype *dtype,
                                   mica_shape *shape, void **data) {
  (void)model, (void)index, (void)name, (void)dtype, (void)shape, (void)data;
  return unsupported();
}
const char *mica_onnx_value_at(const mica_onnx *model, size_t index) { return (void)model, (void)index, NULL; }
mica_status mica_onnx_load(const mica_onnx *model, mica_queue *queue, const char *file_name, mica_tensor *tensor) {
  (void)model, (void)queue, (void)file_name, (void)tensor;
  return unsupported();
}
size_t mica_onnx_cut_count(const mica_onnx_runner *runner) { return (void)runner, 0; }
mica_onnx_cut mica_onnx_cut_at(const mica_onnx_runner *runner, size_t index) {
  return (void)runner, (void)index, (mica_onnx_cut){0};
}
/* These functions are only called by callbacks that were passed to mica_onnx_define. In this build, no such callback
 * ever runs. */
mica_graph *mica_onnx_call_graph(mica_onnx_call *call) { return (void)call, NULL; }
size_t mica_onnx_call_operand_count(const mica_onnx_call *call) { return (void)call, 0; }
mica_value mica_onnx_call_operand(mica_onnx_call *call, size_t index) {
  return (void)call, (void)index, (mica_value){0};
}
bool mica_onnx_call_integers(mica_onnx_call *call, size_t index, const int64_t **values, size_t *count) {
  return (void)call, (void)index, (void)values, (void)count, false;
}
int64_t mica_onnx_call_integer(const mica_onnx_call *call, const char *name, int64_t standard) {
  return (void)call, (void)name, standard;
}
double mica_onnx_call_real(const mica_onnx_call *call, const char *name, double standard) {
  return (void)call, (void)name, standard;
}
size_t mica_onnx_call_list(const mica_onnx_call *call, const char *name, const int64_t **values) {
  return (void)call, (void)name, (void)values, 0;
}
bool mica_onnx_call_is(const mica_onnx_call *call, const char *name, const char *text) {
  return (void)call, (void)name, (void)text, false;
}
void mica_onnx_call_result(mica_onnx_call *call, size_t index, mica_value value) {
  (void)call, (void)index, (void)value;
}
mica_status mica_onnx_call_fail(mica_onnx_call *call, mica_status status, const char *sentence) {
  (void)call, (void)sentence;
  return status;
}
void mica_onnx_close(mica_onnx *model) { (void)model; }
void mica_onnx_runner_destroy(mica_onnx_runner *runner) { (void)runner; }
const mica_onnx *mica_onnx_runner_model(const mica_onnx_runner *runner) { return (void)runner, NULL; }
size_t mica_onnx_input_count(const mica_onnx *model) { return (void)model, 0; }
size_t mica_onnx_output_count(const mica_onnx *model) { return (void)model, 0; }
mica_onnx_port mica_onnx_input(const mica_onnx *model, size_t index) {
  return (void)model, (void)index, (mica_onnx_port){0};
}
bool mica_onnx_is_text(const mica_onnx *model, size_t output) {
  (void)model, (void)output;
  return false;
}
size_t mica_onnx_class_count(const mica_onnx *model, size_t output) {
  (void)model, (void)output;
  return 0;
}
bool mica_onnx_class_name(const mica_onnx *model, size_t output, size_t index, char *text, size_t size) {
  (void)model, (void)output, (void)index, (void)text, (void)size;
  return false;
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
mica_onnx_text mica_onnx_metadata_at(const mica_onnx *model, size_t index) {
  return (void)model, (void)index, (mica_onnx_text){0};
}
const mica_tensor *mica_onnx_output(const mica_onnx_runner *runner, size_t index) {
  return (void)runner, (void)index, NULL;
}
bool mica_onnx_is_bound(const mica_onnx_runner *runner, const char *input) { return (void)runner, (void)input, false; }
size_t mica_onnx_lowering_count(const mica_onnx_runner *runner) { return (void)runner, 0; }
