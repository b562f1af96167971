/* bench/onednn.h: the C interface of oneDNN 3, also where the headers are those of oneDNN 2, whose memory descriptors
 * are structs and whose primitives are described in two steps. */
#ifndef MICA_BENCH_ONEDNN_H
#define MICA_BENCH_ONEDNN_H

#include <dnnl.h>
#if DNNL_VERSION_MAJOR < 3
#include <stdlib.h>

typedef dnnl_memory_desc_t *bench_memory_desc;
typedef const dnnl_memory_desc_t *const_dnnl_memory_desc_t;

static inline dnnl_status_t dnnl_memory_desc_create_with_tag(bench_memory_desc *out, int rank, const dnnl_dims_t dims,
                                                             dnnl_data_type_t type, dnnl_format_tag_t tag) {
  *out = malloc(sizeof **out);
  return *out ? dnnl_memory_desc_init_by_tag(*out, rank, dims, type, tag) : dnnl_out_of_memory;
}

static inline dnnl_status_t dnnl_memory_desc_destroy(bench_memory_desc desc) {
  free(desc);
  return dnnl_success;
}

static inline dnnl_status_t dnnl_convolution_forward_primitive_desc_create(
    dnnl_primitive_desc_t *out, dnnl_engine_t engine, dnnl_prop_kind_t kind, dnnl_alg_kind_t algorithm,
    const_dnnl_memory_desc_t x, const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t bias, const_dnnl_memory_desc_t y,
    const dnnl_dims_t stride, const dnnl_dims_t dilation, const dnnl_dims_t before, const dnnl_dims_t after,
    const_dnnl_primitive_attr_t attributes) {
  dnnl_convolution_desc_t d;
  dnnl_status_t status =
      dnnl_dilated_convolution_forward_desc_init(&d, kind, algorithm, x, w, bias, y, stride, dilation, before, after);
  return status == dnnl_success ? dnnl_primitive_desc_create(out, &d, attributes, engine, NULL) : status;
}

static inline dnnl_status_t dnnl_convolution_backward_data_primitive_desc_create(
    dnnl_primitive_desc_t *out, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, const_dnnl_memory_desc_t dx,
    const_dnnl_memory_desc_t w, const_dnnl_memory_desc_t dy, const dnnl_dims_t stride, const dnnl_dims_t dilation,
    const dnnl_dims_t before, const dnnl_dims_t after, const_dnnl_primitive_desc_t forward,
    const_dnnl_primitive_attr_t attributes) {
  dnnl_convolution_desc_t d;
  dnnl_status_t status =
      dnnl_dilated_convolution_backward_data_desc_init(&d, algorithm, dx, w, dy, stride, dilation, before, after);
  return status == dnnl_success ? dnnl_primitive_desc_create(out, &d, attributes, engine, forward) : status;
}

static inline dnnl_status_t dnnl_convolution_backward_weights_primitive_desc_create(
    dnnl_primitive_desc_t *out, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, const_dnnl_memory_desc_t x,
    const_dnnl_memory_desc_t dw, const_dnnl_memory_desc_t dbias, const_dnnl_memory_desc_t dy, const dnnl_dims_t stride,
    const dnnl_dims_t dilation, const dnnl_dims_t before, const dnnl_dims_t after, const_dnnl_primitive_desc_t forward,
    const_dnnl_primitive_attr_t attributes) {
  dnnl_convolution_desc_t d;
  dnnl_status_t status = dnnl_dilated_convolution_backward_weights_desc_init(&d, algorithm, x, dw, dbias, dy, stride,
                                                                             dilation, before, after);
  return status == dnnl_success ? dnnl_primitive_desc_create(out, &d, attributes, engine, forward) : status;
}

#define dnnl_memory_desc_t bench_memory_desc
#endif

#endif
