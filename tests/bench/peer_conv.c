#include "bench/peer_conv.h"

#include "base/large.h"

#include <stdlib.h>

#ifdef BENCH_WITH_DNNL
#include <dnnl.h>

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
  const dnnl_memory_desc_t *own = NULL;
  TRY(dnnl_memory_get_memory_desc(o->memory, &own));
  TRY(dnnl_memory_create(&plain, &o->plain, run->engine, host));
  const dnnl_memory_desc_t *from = back ? own : &o->plain, *to = back ? &o->plain : own;
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

static bool describe(peer_conv_run *run, const peer_conv *c, peer_conv_pass pass) {
  int cg = c->c / c->groups, kg = c->k / c->groups, rank = c->groups > 1 ? 5 : 4;
  const dnnl_dims_t x = {c->n, c->c, c->h, c->h}, y = {c->n, c->k, c->p, c->p};
  const dnnl_dims_t w4 = {c->k, cg, c->r, c->r}, w5 = {c->groups, kg, cg, c->r, c->r};
  const dnnl_dims_t stride = {c->stride, c->stride}, dilation = {c->dilation - 1, c->dilation - 1};
  int more = (c->p - 1) * c->stride + (c->r - 1) * c->dilation + 1 - c->h - c->pad;
  const dnnl_dims_t before = {c->pad, c->pad}, after = {more, more};
  const dnnl_dim_t *w = rank == 5 ? w5 : w4;
  dnnl_memory_desc_t any[3];
  dnnl_convolution_desc_t forward, conv;
  TRY(dnnl_memory_desc_init_by_tag(&run->operands[0].plain, 4, x, dnnl_f32, dnnl_nchw));
  TRY(dnnl_memory_desc_init_by_tag(&run->operands[1].plain, rank, w, dnnl_f32, rank == 5 ? dnnl_goihw : dnnl_oihw));
  TRY(dnnl_memory_desc_init_by_tag(&run->operands[2].plain, 4, y, dnnl_f32, dnnl_nchw));
  TRY(dnnl_memory_desc_init_by_tag(&any[0], 4, x, dnnl_f32, dnnl_format_tag_any));
  TRY(dnnl_memory_desc_init_by_tag(&any[1], rank, w, dnnl_f32, dnnl_format_tag_any));
  TRY(dnnl_memory_desc_init_by_tag(&any[2], 4, y, dnnl_f32, dnnl_format_tag_any));
  TRY(dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_auto, &any[0],
                                                 &any[1], NULL, &any[2], stride, dilation, before, after));
  dnnl_primitive_desc_t hint = NULL;
  TRY(dnnl_primitive_desc_create(&hint, &forward, NULL, run->engine, NULL));
  if (pass == PEER_CONV_FWD) {
    run->description = hint;
    return true;
  }
  dnnl_status_t status =
      pass == PEER_CONV_BWD_DATA
          ? dnnl_dilated_convolution_backward_data_desc_init(&conv, dnnl_convolution_auto, &any[0], &any[1], &any[2],
                                                             stride, dilation, before, after)
          : dnnl_dilated_convolution_backward_weights_desc_init(&conv, dnnl_convolution_auto, &any[0], &any[1], NULL,
                                                                &any[2], stride, dilation, before, after);
  if (status == dnnl_success) status = dnnl_primitive_desc_create(&run->description, &conv, NULL, run->engine, hint);
  dnnl_primitive_desc_destroy(hint);
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
    const dnnl_memory_desc_t *own = dnnl_primitive_desc_query_md(run->description, kinds[pass][i].query, 0);
    /* Of the kind that Mica's own buffers have: pages are not what is compared. */
    o->block = mica__alloc_large(dnnl_memory_desc_get_size(own));
    if (!o->block) return false;
    TRY(dnnl_memory_create(&o->memory, own, run->engine, o->block));
    if (!reorder(run, o, (float *)hosts[i], false)) return false;
  }
  return true;
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
  float *host = malloc(dnnl_memory_desc_get_size(&o->plain));
  if (host && peer_conv_execute(run) && peer_conv_wait(run) && reorder(run, o, host, true)) return host;
  free(host);
  return NULL;
}

void peer_conv_destroy(peer_conv_run *run) {
  if (!run) return;
  for (int i = 0; i < 3; i++) {
    dnnl_memory_destroy(run->operands[i].memory);
    free(run->operands[i].block);
  }
  dnnl_primitive_destroy(run->primitive);
  dnnl_primitive_desc_destroy(run->description);
  dnnl_stream_destroy(run->stream);
  dnnl_engine_destroy(run->engine);
  free(run);
}
#else
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
