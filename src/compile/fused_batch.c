#include "compile/fused_batch.h"

#include "compile/fused_writer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Every OpenCL device takes 1,024 bytes of kernel arguments. A buffer and a packed value take 8 bytes each. */
#define MOST_WORDS (1024 / 8)
/* The extent for which the plan is made, large enough for all lanes; each part's own extent is an argument. */
#define ANY_EXTENT (1 << 20)
#define CPU_STEPS 8192 /* elements per work-item on a CPU; a work-item on a GPU has one vector */

static bool is_access(const mica__fused_instr *instr) {
  return instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE;
}

/* True for an access whose value is the same for all elements, and so for all parts. */
static bool is_shared(const mica__fused_instr *instr) { return is_access(instr) && instr->access.stride[0] == 0; }

/* True for a kernel over one dimension that loads and stores consecutive elements without bounds, or loads one shared
 * element, and reduces nothing. */
static bool is_plain(const mica__fused *fused) {
  if (fused->rank != 1 || fused->reduced || fused->extent[0] > INT_MAX - ANY_EXTENT) return false;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    bool good = instr->kind == MICA__FUSED_VALUE || instr->kind == MICA__FUSED_OP;
    if (is_access(instr))
      good = !instr->bounded &&
             (instr->access.stride[0] == 1 || (instr->kind == MICA__FUSED_LOAD && instr->access.stride[0] == 0));
    if (!good) return false;
  }
  return true;
}

/* True for an argument of the single kernel that is not passed once for all parts. Either each part passes its own, or
 * the batch kernel does not need it. */
static bool is_left_out(const mica__fused *fused, const mica__fused_arg *arg) {
  return arg->kind <= MICA__FUSED_ARG_EXTENT ||
         (arg->kind == MICA__FUSED_ARG_POINTER && !is_shared(&fused->instrs[arg->instr]));
}

int32_t mica__fused_batch_room(const mica__fused *fused) {
  int32_t own = 0, words = 0;
  if (!is_plain(fused)) return 1;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (is_shared(instr))
      words += 2;
    else if (is_access(instr))
      own++;
    else if (instr->kind == MICA__FUSED_VALUE)
      words++;
    else
      words += instr->op->attrs ? instr->op->attrs->count : 0;
  }
  int32_t room = (MOST_WORDS - words) / (2 * own + 1), values = (MICA__MAX_PACKED - words) / (own + 1);
  int32_t pointers = (MICA__MAX_ARGS - 1 - words) / own;
  if (values < room) room = values;
  if (pointers < room) room = pointers;
  return room < 1 ? 1 : room > MICA__BATCH_PARTS ? MICA__BATCH_PARTS : room;
}

bool mica__fused_alike(const mica__fused *a, const int32_t *a_nodes, const mica__fused *b, const int32_t *b_nodes) {
  bool same = a->count == b->count && a->operand_count == b->operand_count &&
              !memcmp(a->operand_dtype, b->operand_dtype, (size_t)a->operand_count * sizeof *a->operand_dtype);
  for (int32_t k = 0; same && k < a->count; k++) {
    const mica__fused_instr *x = &a->instrs[k], *y = &b->instrs[k];
    same = x->kind == y->kind && x->op == y->op && x->dtype == y->dtype && x->arg_count == y->arg_count;
    for (int32_t i = 0; same && i < mica__fused_arg_count(x); i++) same = x->args[i] == y->args[i];
    if (same && is_access(x)) same = x->operand == y->operand && x->access.stride[0] == y->access.stride[0];
    if (same && is_shared(x)) same = a_nodes[x->operand] == b_nodes[y->operand] && x->access.offset == y->access.offset;
    if (same && x->kind == MICA__FUSED_VALUE) same = x->value == y->value;
    if (same && x->kind == MICA__FUSED_OP) same = mica__attrs_equal(x->op->attrs, x->attrs, y->attrs);
  }
  return same;
}

mica__hash mica__fused_batch_hash(const mica__fused *fused, const int32_t *nodes) {
  mica__hash hash = {0};
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    const mica__attr_list *attrs = instr->kind == MICA__FUSED_OP ? instr->op->attrs : NULL;
    const int32_t about[] = {(int32_t)instr->kind, (int32_t)instr->dtype, is_shared(instr) ? nodes[instr->operand] : 0};
    hash = mica__hash_bytes(hash, about, sizeof about);
    hash = mica__hash_bytes(hash, instr->args, (size_t)mica__fused_arg_count(instr) * sizeof *instr->args);
    if (instr->kind == MICA__FUSED_VALUE) hash = mica__hash_bytes(hash, &instr->value, sizeof instr->value);
    hash = mica__attrs_hash(hash, attrs, instr->attrs);
  }
  return hash;
}

/* --- the text --- */

/* Reads a packed value of the launch in the type it was packed as. */
static mica__term unpacked(mica_dtype dtype, int32_t index) {
  mica__term t = {""};
  bool wide = mica_dtype_size(dtype) == 8, real = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT;
  mica__term_add(&t, "mica_unpack_%s(packed.values[%d])",
                 real   ? wide ? "f64" : "f32"
                 : wide ? "i64"
                        : "i32",
                 (int)index);
  return t;
}

/* Writes the constants and the shared operands; returns how many packed values they take. */
static int32_t write_shared(mica__fused_writer *w) {
  int32_t count = 0;
  for (int32_t i = 0; i < w->plan->arg_count; i++) {
    const mica__fused_arg *arg = &w->plan->args[i];
    const mica__fused_instr *instr = &w->fused->instrs[arg->instr];
    mica_dtype dtype = instr->dtype;
    if (is_left_out(w->fused, arg)) continue;
    if (arg->kind == MICA__FUSED_ARG_POINTER) {
      mica__write_line(w, "const long x%d_at = packed.values[%d];", (int)arg->instr, (int)count++);
      continue;
    }
    if (arg->kind == MICA__FUSED_ARG_ATTR && instr->arg_count) dtype = w->fused->instrs[instr->args[0]].dtype;
    mica__write_line(w, "const %s v%d%s%s = %s;", mica__write_type(dtype, 1), (int)arg->instr,
                     arg->kind == MICA__FUSED_ARG_ATTR ? "_" : "",
                     arg->kind == MICA__FUSED_ARG_ATTR ? instr->op->attrs->rows[arg->index].name : "",
                     unpacked(dtype, count).text);
    count++;
  }
  return count;
}

/* Writes the lines that set the length and pointers of a part, whose packed values begin at index `at`; the first part
 * also declares them. Returns the index after its values. */
static int32_t write_part(mica__fused_writer *w, int part, int32_t at) {
  mica__write_line(w, "%sn0 = (int)packed.values[%d];", part ? "" : "int ", (int)at++);
  for (int32_t k = 0; k < w->fused->count; k++) {
    const mica__fused_instr *instr = &w->fused->instrs[k];
    if (!is_access(instr) || is_shared(instr)) continue;
    if (part)
      mica__write_line(w, "x%d = x%d_%d;", (int)k, (int)k, part);
    else
      mica__write_line(w, "%s *x%d = x%d_0;", mica__write_space(w, k).text, (int)k, (int)k);
    mica__write_line(w, "%sx%d_at = packed.values[%d];", part ? "" : "long ", (int)k, (int)at++);
  }
  return at;
}

static void write_pointers(mica__fused_writer *w, int32_t parts) {
  for (int32_t k = 0; k < w->fused->count; k++)
    if (is_shared(&w->fused->instrs[k])) mica__write_line(w, "%s *x%d,", mica__write_space(w, k).text, (int)k);
  for (int32_t p = 0; p < parts; p++)
    for (int32_t k = 0; k < w->fused->count; k++)
      if (is_access(&w->fused->instrs[k]) && !is_shared(&w->fused->instrs[k]))
        mica__write_line(w, "%s *x%d_%d,", mica__write_space(w, k).text, (int)k, (int)p);
}

static int32_t value_count(const mica__fused *fused, const mica__fused_plan *plan, int32_t parts) {
  int32_t own = 1, shared = 0;
  for (int32_t k = 0; k < fused->count; k++) own += is_access(&fused->instrs[k]) && !is_shared(&fused->instrs[k]);
  for (int32_t i = 0; i < plan->arg_count; i++) shared += !is_left_out(fused, &plan->args[i]);
  return shared + own * parts;
}

static mica_status write_batch(const mica__fused *fused, const mica__fused_plan *plan, int32_t parts,
                               mica__text *source) {
  mica__fused_writer w = {.fused = fused, .plan = plan, .out = source};
  int values = (int)value_count(fused, plan, parts), steps = (int)plan->chunk, items = (int)plan->local;
  mica__write_line(&w, "#include \"common/packed.clh\"");
  mica__write_line(&w, "#ifndef MICA_PACKED_%d", values);
  mica__write_line(&w, "#define MICA_PACKED_%d", values);
  mica__write_line(&w, "typedef struct mica_packed_%d { long values[%d]; } mica_packed_%d;", values, values, values);
  mica__write_line(&w, "#endif");
  mica__write_head(&w);
  w.indent = 2;
  write_pointers(&w, parts);
  mica__write_line(&w, "const mica_packed_%d packed) {", values);
  w.indent = 1;
  int32_t at = write_shared(&w);
  mica__write_line(&w, "int group = get_group_id(0);");
  at = write_part(&w, 0, at);
  for (int p = 1; p < parts; p++) {
    mica__write_line(&w, "if (group >= (n0 + %d) / %d) {", steps * items - 1, steps * items);
    mica__write_line(&w, "group -= (n0 + %d) / %d;", steps * items - 1, steps * items);
    at = write_part(&w, p, at);
  }
  for (int p = 1; p < parts; p++) mica__write_line(&w, "}");
  mica__write_line(&w, "const int begin = (group * %d + (int)get_local_id(0)) * %d;", items, steps);
  mica__write_line(&w, "const int end = min(begin + %d, n0);", steps);
  mica__write_unit(&w, 1);
  mica__write_line(&w, "}");
  return mica__text_status(source);
}

/* --- the launch --- */

typedef struct work {
  mica__fused fused; /* the first part, simplified, with ANY_EXTENT as its extent */
  mica__fused one;   /* the part that is being examined, simplified */
  mica__fused_plan plan;
} work;

static mica_status make_plan(work *w, const mica__batch *batch, const mica_device_info *device, unsigned device_class) {
  const mica__fused_target target = {device_class, device->max_group, device->local_bytes};
  mica__fused_copy(&w->fused, batch->parts[0]);
  mica__fused_simplify(&w->fused);
  w->fused.extent[0] = ANY_EXTENT;
  MICA_TRY(mica__fused_plan_make(&w->fused, &target, &w->plan));
  w->plan.chunk = device_class == MICA__ON_CPU ? CPU_STEPS : w->plan.width;
  /* An access is aligned only if it is aligned in all parts. The field `alone` (restrict) has no effect in a batch,
   * because the kernel copies the pointers of a part to variables. */
  bool all[MICA__FUSED_INSTRS];
  memset(all, true, sizeof all);
  for (int32_t p = 0; p < batch->count; p++) {
    mica__fused_copy(&w->one, batch->parts[p]);
    mica__fused_simplify(&w->one);
    mica__fused_see_memory(&w->one, w->one.operand_count, batch->operands[p], &w->plan);
    for (int32_t k = 0; k < w->fused.count; k++) all[k] = all[k] && w->plan.aligned[k];
  }
  memcpy(w->plan.aligned, all, sizeof all);
  return MICA_OK;
}

static void push_shared(mica__launch *launch, const work *w, const mica_tensor *const *operands) {
  for (int32_t i = 0; i < w->plan.arg_count; i++)
    if (!is_left_out(&w->fused, &w->plan.args[i]))
      mica__fused_push_arg(launch, &w->fused, &w->plan, &w->plan.args[i], operands);
}

/* Adds the arguments of part w->one to the launch, and its numbers of groups and bytes to *groups and *bytes. */
static void push_part(mica__launch *launch, const work *w, const mica_tensor *const *operands, int64_t *groups,
                      double *bytes) {
  const int64_t n = w->one.extent[0], items = w->plan.chunk * w->plan.local;
  mica__launch_size(launch, n);
  for (int32_t k = 0; k < w->one.count; k++) {
    const mica__fused_arg arg = {MICA__FUSED_ARG_POINTER, k, 0};
    if (!is_access(&w->one.instrs[k]) || is_shared(&w->one.instrs[k])) continue;
    mica__fused_push_arg(launch, &w->one, &w->plan, &arg, operands);
    *bytes += (double)n * (double)mica_dtype_size(w->one.operand_dtype[w->one.instrs[k].operand]);
  }
  *groups += (n + items - 1) / items;
}

static mica_status launch_batch(work *w, mica_queue *queue, const char *name, const char *source,
                                const mica__batch *batch) {
  mica__kernel *kernel = NULL;
  int64_t groups = 0, elements = 0;
  double bytes = 0, ops = 0;
  MICA_TRY(mica__kernel_get_generated(mica__queue_engine(queue), name, source, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_pack(&launch);
  push_shared(&launch, w, batch->operands[0]);
  for (int32_t p = 0; p < batch->count; p++) {
    mica__fused_copy(&w->one, batch->parts[p]);
    mica__fused_simplify(&w->one);
    push_part(&launch, w, batch->operands[p], &groups, &bytes);
    elements += w->one.extent[0];
  }
  for (int32_t k = 0; k < w->fused.count; k++) ops += w->fused.instrs[k].kind == MICA__FUSED_OP;
  mica__launch_range1(&launch, groups * w->plan.local, (size_t)w->plan.local);
  mica__launch_cost(&launch, ops * (double)elements, bytes);
  return mica__queue_submit(queue, &launch);
}

static mica_status run(mica_engine *engine, mica_queue *queue, unsigned device_class, const mica__batch *batch,
                       mica__kernel_bundle *bundle) {
  work *w = malloc(sizeof *w);
  mica__text source = {0};
  char name[MICA__FUSED_NAME];
  if (!w) return mica__fail_nomem("a fused kernel");
  mica_status status = make_plan(w, batch, mica_engine_device(engine), device_class);
  if (status == MICA_OK) status = write_batch(&w->fused, &w->plan, batch->count, &source);
  mica__fused_name(&w->fused, name);
  if (status == MICA_OK && bundle)
    status = mica__kernel_bundle_add(bundle, name, source.data);
  else if (status == MICA_OK)
    status = launch_batch(w, queue, name, source.data, batch);
  mica__text_free(&source);
  free(w);
  return status;
}

mica_status mica__fused_batch_launch_as(mica_queue *queue, unsigned device_class, const mica__batch *batch) {
  return run(mica__queue_engine(queue), queue, device_class, batch, NULL);
}

mica_status mica__fused_batch_launch(mica_queue *queue, const mica__batch *batch) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  return mica__fused_batch_launch_as(queue, mica__kernel_class(device), batch);
}

mica_status mica__fused_batch_collect(mica_engine *engine, const mica__batch *batch, mica__kernel_bundle *bundle) {
  return run(engine, NULL, mica__kernel_class(mica_engine_device(engine)), batch, bundle);
}
