#include "bench/peer_conv.h"

#include "base/large.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef BENCH_WITH_ONEDNN
#include "bench/onednn.h"

/* An operand in the format of the primitive. */
typedef struct operand {
  dnnl_memory_desc_t plain; /* as the caller has it */
  dnnl_memory_t memory;
  void *block; /* behind memory */
  int argument;
  dnnl_query_t query;
} operand;

struct peer_conv_run {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_desc_t description;
  dnnl_primitive_t primitive;
  operand operands[3]; /* x, w, y */
  int result;
};

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    if ((call) != dnnl_success) return false;                                                                          \
  } while (0)

/* Copies between host memory in the plain format and the operand. */
static bool reorder(peer_conv_run *run, const operand *o, float *host, bool back) {
  dnnl_memory_t plain = NULL;
  dnnl_primitive_desc_t description = NULL;
  dnnl_primitive_t primitive = NULL;
  const_dnnl_memory_desc_t own = NULL;
  TRY(dnnl_memory_get_memory_desc(o->memory, &own));
  TRY(dnnl_memory_create(&plain, o->plain, run->engine, host));
  const_dnnl_memory_desc_t from = back ? own : o->plain, to = back ? o->plain : own;
  bool right =
      dnnl_reorder_primitive_desc_create(&description, from, run->engine, to, run->engine, NULL) == dnnl_success &&
      dnnl_primitive_create(&primitive, description) == dnnl_success;
  if (right) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, back ? o->memory : plain}, {DNNL_ARG_TO, back ? plain : o->memory}};
    right = dnnl_primitive_execute(primitive, run->stream, 2, args) == dnnl_success &&
            dnnl_stream_wait(run->stream) == dnnl_success;
  }
  dnnl_primitive_destroy(primitive);
  dnnl_primitive_desc_destroy(description);
  dnnl_memory_destroy(plain);
  return right;
}

/* Descriptors of a pass; `any` are those of operands whose formats oneDNN chooses. */
static dnnl_status_t describe_pass(peer_conv_run *run, const peer_conv *c, peer_conv_pass pass,
                                   const dnnl_memory_desc_t any[3]) {
  const dnnl_dims_t stride = {c->stride, c->stride}, dilation = {c->dilation - 1, c->dilation - 1};
  int more = (c->p - 1) * c->stride + (c->r - 1) * c->dilation + 1 - c->h - c->pad;
  const dnnl_dims_t before = {c->pad, c->pad}, after = {more, more};
  dnnl_primitive_desc_t forward = NULL;
  dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(&forward, run->engine, dnnl_forward_training,
                                                                        dnnl_convolution_auto, any[0], any[1], NULL,
                                                                        any[2], stride, dilation, before, after, NULL);
  if (pass == PEER_CONV_FWD || status != dnnl_success) {
    run->description = forward;
    return status;
  }
  if (pass == PEER_CONV_BWD_DATA)
    status = dnnl_convolution_backward_data_primitive_desc_create(&run->description, run->engine, dnnl_convolution_auto,
                                                                  any[0], any[1], any[2], stride, dilation, before,
                                                                  after, forward, NULL);
  else
    status = dnnl_convolution_backward_weights_primitive_desc_create(
        &run->description, run->engine, dnnl_convolution_auto, any[0], any[1], NULL, any[2], stride, dilation, before,
        after, forward, NULL);
  dnnl_primitive_desc_destroy(forward);
  return status;
}

static bool describe(peer_conv_run *run, const peer_conv *c, peer_conv_pass pass) {
  int cg = c->c / c->groups, kg = c->k / c->groups, rank = c->groups > 1 ? 5 : 4;
  const dnnl_dims_t x = {c->n, c->c, c->h, c->h}, y = {c->n, c->k, c->p, c->p};
  const dnnl_dims_t w4 = {c->k, cg, c->r, c->r}, w5 = {c->groups, kg, cg, c->r, c->r};
  const dnnl_dim_t *dims[3] = {x, rank == 5 ? w5 : w4, y};
  const dnnl_format_tag_t tags[3] = {dnnl_nchw, rank == 5 ? dnnl_goihw : dnnl_oihw, dnnl_nchw};
  dnnl_memory_desc_t any[3] = {NULL};
  dnnl_status_t status = dnnl_success;
  for (int i = 0; status == dnnl_success && i < 3; i++) {
    int r = i == 1 ? rank : 4;
    status = dnnl_memory_desc_create_with_tag(&run->operands[i].plain, r, dims[i], dnnl_f32, tags[i]);
    if (status == dnnl_success)
      status = dnnl_memory_desc_create_with_tag(&any[i], r, dims[i], dnnl_f32, dnnl_format_tag_any);
  }
  if (status == dnnl_success) status = describe_pass(run, c, pass, any);
  for (int i = 0; i < 3; i++) dnnl_memory_desc_destroy(any[i]);
  return status == dnnl_success;
}

static bool prepare(peer_conv_run *run, const peer_conv *c, peer_conv_pass pass) {
  static const struct {
    int argument;
    dnnl_query_t query;
  } kinds[PEER_CONV_PASSES][3] = {
      {{DNNL_ARG_SRC, dnnl_query_src_md}, {DNNL_ARG_WEIGHTS, dnnl_query_weights_md}, {DNNL_ARG_DST, dnnl_query_dst_md}},
      {{DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md},
       {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
       {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md}},
      {{DNNL_ARG_SRC, dnnl_query_src_md},
       {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md},
       {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md}},
  };
  TRY(dnnl_engine_create(&run->engine, dnnl_cpu, 0));
  TRY(dnnl_stream_create(&run->stream, run->engine, dnnl_stream_default_flags));
  if (!describe(run, c, pass)) return false;
  TRY(dnnl_primitive_create(&run->primitive, run->description));
  const float *const hosts[3] = {c->x, c->w, c->y};
  run->result = pass == PEER_CONV_FWD ? 2 : pass == PEER_CONV_BWD_DATA ? 0 : 1;
  for (int i = 0; i < 3; i++) {
    operand *o = &run->operands[i];
    o->argument = kinds[pass][i].argument;
    const_dnnl_memory_desc_t own = dnnl_primitive_desc_query_md(run->description, kinds[pass][i].query, 0);
    /* Pages like those of Mica's own buffers, since pages are not what is compared. */
    o->block = mica__alloc_large(dnnl_memory_desc_get_size(own));
    if (!o->block) return false;
    TRY(dnnl_memory_create(&o->memory, own, run->engine, o->block));
    if (!reorder(run, o, (float *)hosts[i], false)) return false;
  }
  return true;
}

const char *peer_conv_version(void) {
  static char text[32];
  const dnnl_version_t *v = dnnl_version();
  snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
  return text;
}

peer_conv_run *peer_conv_create(const peer_conv *conv, peer_conv_pass pass) {
  peer_conv_run *run = calloc(1, sizeof *run);
  if (!run || prepare(run, conv, pass)) return run;
  peer_conv_destroy(run);
  return NULL;
}

bool peer_conv_execute(peer_conv_run *run) {
  dnnl_exec_arg_t args[3];
  for (int i = 0; i < 3; i++) args[i] = (dnnl_exec_arg_t){run->operands[i].argument, run->operands[i].memory};
  return dnnl_primitive_execute(run->primitive, run->stream, 3, args) == dnnl_success;
}

bool peer_conv_wait(peer_conv_run *run) { return dnnl_stream_wait(run->stream) == dnnl_success; }

float *peer_conv_result(peer_conv_run *run) {
  const operand *o = &run->operands[run->result];
  float *host = malloc(dnnl_memory_desc_get_size(o->plain));
  if (host && peer_conv_execute(run) && peer_conv_wait(run) && reorder(run, o, host, true)) return host;
  free(host);
  return NULL;
}

void peer_conv_destroy(peer_conv_run *run) {
  if (!run) return;
  for (int i = 0; i < 3; i++) {
    dnnl_memory_destroy(run->operands[i].memory);
    dnnl_memory_desc_destroy(run->operands[i].plain);
    free(run->operands[i].block);
  }
  dnnl_primitive_destroy(run->primitive);
  dnnl_primitive_desc_destroy(run->description);
  dnnl_stream_destroy(run->stream);
  dnnl_engine_destroy(run->engine);
  free(run);
}
#else
const char *peer_conv_version(void) { return NULL; }
peer_conv_run *peer_conv_create(const peer_conv *conv, peer_conv_pass pass) {
  (void)conv, (void)pass;
  return NULL;
}
bool peer_conv_execute(peer_conv_run *run) { return run != NULL; }
bool peer_conv_wait(peer_conv_run *run) { return run != NULL; }
float *peer_conv_result(peer_conv_run *run) {
  (void)run;
  return NULL;
}
void peer_conv_destroy(peer_conv_run *run) { (void)run; }
#endif
