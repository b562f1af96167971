/* labels: null single
 *
 * Which implementation computes which attention and which product of bytes: routes.def says it for networks' layers.
 * The devices are descriptions, and need not be there. */
#include "ops/attention/attention.h"
#include "ops/quant/int8.h"
#include "ops/select/choice.h"
#include "runtime/device.h"
#include "runtime/host_cpu.h"
#include "runtime/recording.h"
#include "runtime/tuning.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

typedef struct attention {
  mica_dtype type;
  int64_t b, h, g, tq, tk, d, e;
  const char *names[3][2]; /* on each device, forward and backward */
} attention;

#define ATTENTION(type, b, h, g, tq, tk, d, e, cpu, cpu_grad, gpu, gpu_grad, cores, cores_grad)                        \
  {MICA_##type, b, h, g, tq, tk, d, e, {{#cpu, #cpu_grad}, {#gpu, #gpu_grad}, {#cores, #cores_grad}}},
#define PRODUCT(...)
static const attention attentions[] = {
#include "ops/routes.def"
};
#undef ATTENTION
#undef PRODUCT

typedef struct product {
  int64_t batches, m, n, k;
  const char *names[4];
} product;

#define ATTENTION(...)
#define PRODUCT(batches, m, n, k, cpu, tiles, gpu, cores) {batches, m, n, k, {#cpu, #tiles, #gpu, #cores}},
static const product products[] = {
#include "ops/routes.def"
};

static const mica_device_info cpu = {.device_class = MICA_DEVICE_CLASS_CPU,
                                     .compute_units = 2,
                                     .local_bytes = 1 << 20,
                                     .max_group = 4096,
                                     .vector_bytes = 32};
static const mica_device_info gpu = {.device_class = MICA_DEVICE_CLASS_GPU,
                                     .compute_units = 64,
                                     .local_bytes = 48 << 10,
                                     .local_is_fast = true,
                                     .max_group = 1024,
                                     .vector_bytes = 4};
static mica_device_info tiles, cores;
static mica_engine *engine;

static void open_engine(void) {
  tiles = cpu;
  strcpy(tiles.platform, MICA__POCL);
  tiles.vector_bytes = 64;
  cores = gpu;
  cores.vendor = MICA_VENDOR_NVIDIA;
  cores.features = MICA_FEATURE_INLINE_PTX;
  cores.compute_capability = 90;
  mica__host_assume_tiles(true);
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
}

static void close_engine(void) {
  mica_engine_destroy(engine);
  mica__host_assume_tiles(false);
}

/* Tensors of an attention and of its gradients, and the problem. */
typedef struct operands {
  mica_tensor *in[6], *out[3];
  mica__attention_attrs attrs;
  mica__exec exec;
  mica__attention problem;
} operands;

static void make(const attention *a, bool backward, operands *o) {
  const mica_dtype wide = a->type == MICA_F64 ? MICA_F64 : MICA_F32;
  const mica_shape in[] = {MICA_SHAPE(a->b, a->h, a->tq, a->d), MICA_SHAPE(a->b, a->g, a->tk, a->d),
                           MICA_SHAPE(a->b, a->g, a->tk, a->e), MICA_SHAPE(a->b, a->h, a->tq, a->e),
                           MICA_SHAPE(a->b, a->tq, a->h, a->e), MICA_SHAPE(a->b, a->h, a->tq)};
  const mica_shape gradients[] = {MICA_SHAPE(a->b, a->tq, a->h, a->d), MICA_SHAPE(a->b, a->tk, a->g, a->d),
                                  MICA_SHAPE(a->b, a->tk, a->g, a->e)};
  *o = (operands){.attrs = {.present = backward ? 63 : 7, .causal = true}};
  for (int k = 0; k < (backward ? 6 : 3); k++)
    ck_ok(mica_tensor_create(engine, k == 5 ? wide : a->type, in[k], &o->in[k]));
  for (int k = 0; k < (backward ? 3 : 2); k++)
    ck_ok(mica_tensor_create(engine, !backward && k ? wide : a->type, backward ? gradients[k] : in[4 + k], &o->out[k]));
  o->exec = (mica__exec){.queue = mica_engine_queue(engine),
                         .attrs = &o->attrs,
                         .inputs = (const mica_tensor *const *)o->in,
                         .input_count = backward ? 6 : 3,
                         .output = o->out[0],
                         .outputs = o->out};
  o->problem = mica__attention_of(&o->exec, backward);
}

static void clear(operands *o) {
  for (int k = 0; k < 6; k++) mica_tensor_destroy(o->in[k]);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(o->out[k]);
}

static const char *const devices[] = {"a CPU", "a GPU", "tensor cores"};

/* How many routes differ from the row; each is named on stderr. */
static int wrong_attentions(const attention *a) {
  const mica_device_info *const infos[] = {&cpu, &gpu, &cores};
  int wrong = 0;
  for (int pass = 0; pass < 2; pass++) {
    operands o;
    make(a, pass == 1, &o);
    for (int on = 0; on < 3; on++) {
      const mica__impl *const *list = pass ? mica__attention_grad_impls : mica__attention_impls;
      const char *name = mica__route(list, &o.problem, infos[on])->name + strlen("attention_");
      if (!strcmp(name, a->names[on][pass])) continue;
      fprintf(stderr, "%s b%d h%d g%d q%d k%d d%d e%d on %s: %s, not %s\n", mica_dtype_name(a->type), (int)a->b,
              (int)a->h, (int)a->g, (int)a->tq, (int)a->tk, (int)a->d, (int)a->e, devices[on], name,
              a->names[on][pass]);
      wrong++;
    }
    clear(&o);
  }
  return wrong;
}

START_TEST(attentions_take_their_routes) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++) wrong += wrong_attentions(&attentions[i]);
  ck_assert_int_eq(wrong, 0);
}
END_TEST

static int wrong_products(const product *p) {
  const mica_device_info *const infos[] = {&cpu, &tiles, &gpu, &cores};
  const mica__int8 problem = {.batches = p->batches, .row_batches = p->batches, .m = p->m, .n = p->n, .depth = p->k};
  int wrong = 0;
  for (int on = 0; on < 4; on++) {
    const char *name = mica__route(mica__int8_impls, &problem, infos[on])->name + strlen("int8_");
    /* The processor's own instructions decide among the others. */
    if (on == 1 && strcmp(name, "cpu_amx") != 0) name = "other";
    if (!strcmp(name, p->names[on])) continue;
    fprintf(stderr, "b%d m%d n%d k%d, device %d: %s, not %s\n", (int)p->batches, (int)p->m, (int)p->n, (int)p->k, on,
            name, p->names[on]);
    wrong++;
  }
  return wrong;
}

START_TEST(products_of_bytes_take_their_routes) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) wrong += wrong_products(&products[i]);
  ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(wrong_routes_are_found) {
  attention a = attentions[0];
  product p = products[0];
  a.names[0][1] = a.names[1][0] = "naive";
  p.names[3] = "gpu";
  ck_assert_int_eq(wrong_attentions(&a), 2);
  ck_assert_int_eq(wrong_products(&p), 1);
  ck_assert(mica__choice_leave_out("attention_cpu"));
  ck_assert_int_eq(wrong_attentions(&attentions[0]), 1);
  mica__choice_leave_out(NULL);
  ck_assert_int_eq(wrong_attentions(&attentions[0]), 0);
}
END_TEST

/* A pass that `mica doctor` found wrong is declined; the other pass is not, and a check goes on to examine it. */
START_TEST(quarantine_is_kept) {
  const mica__impl *const impls[] = {&mica__attention_gpu, &mica__attention_gpu_grad};
  const char *const lines[] = {"attention.gpu", "attention_grad.gpu"};
  for (int pass = 0; pass < 2; pass++) {
    operands o;
    make(&attentions[0], pass == 1, &o);
    const mica__task task = {.problem = &o.problem, .device = &gpu, .engine = engine};
    ck_assert_ptr_null(impls[pass]->decline(&task));
    ck_ok(mica__tuning_quarantine(engine, lines[pass], "a test"));
    ck_assert_str_eq(impls[pass]->decline(&task), "its results are wrong on this device");
    o.exec.classes = MICA__ON_GPU;
    ck_assert_ptr_null(impls[pass]->decline(&task));
    clear(&o);
  }
}
END_TEST

/* Work-items of the first launch's groups: 64 for tiles of 32 x 32, 256 for 64 x 64. */
static size_t group_of(const attention *a, bool backward) {
  const mica__impl *impl = backward ? &mica__attention_gpu_grad : &mica__attention_gpu;
  operands o;
  make(a, backward, &o);
  ck_ok(mica__recorder_create(engine, &o.exec.queue));
  const mica__task task = {.problem = &o.problem, .device = &gpu, .engine = engine};
  ck_ok(impl->launch(o.exec.queue, &task));
  mica__recording *recording = mica__recorder_end(o.exec.queue);
  const size_t last = mica__recording_count(recording) - 1; /* after the rows' products of the gradient */
  const mica__launch *launch = mica__recording_at(recording, last);
  const size_t items = launch->local[0];
  mica__recording_destroy(recording);
  clear(&o);
  return items;
}

/* The largest tiles that the rows fill by more than half; else the smallest. */
START_TEST(tiles_suit_the_rows) {
  static const int64_t rows[] = {1, 16, 17, 32, 33, 64, 65};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int pass = 0; pass < 2; pass++) {
      const attention a = {MICA_F32, 1, 2, 2, rows[i], 64, 64, 64, {{NULL}}};
      const size_t items = group_of(&a, pass == 1);
      ck_assert_msg(items == (rows[i] > 32 ? 256 : 64), "%d rows, pass %d: %zu", (int)rows[i], pass, items);
    }
}
END_TEST

TESTS(ANYWHERE, open_engine, close_engine, attentions_take_their_routes, products_of_bytes_take_their_routes,
      wrong_routes_are_found, quarantine_is_kept, tiles_suit_the_rows)
