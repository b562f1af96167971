#include "compile/composite.h"
#include "compile/partition.h"
#include "compile/without.h"

#include <stdlib.h>

/* Maximum number of operands of a concatenation, and of parts of one composite. They are limited because each part is
 * compared with all others. */
#define MOST_OPERANDS 256
#define MOST_PARTS 512

/* A value computed into a composite. */
typedef struct part {
  int32_t id;
  int64_t begin, end; /* byte offsets from the beginning of the first concatenation's result; may be negative */
} part;

typedef struct composite {
  part *parts;
  int32_t count;
  int64_t begin, end; /* of all parts */
} composite;

typedef struct finder {
  const mica_graph *graph;
  const mica__slabs *slabs;
  mica__composites *found; /* until measure(), offsets may be negative and `bytes` is NULL */
  composite *composites;
  bool *fixed; /* by id - 1: the value must have its own memory; see find_fixed */
} finder;

/* An operand of a concatenation. base: the value in memory that the operand is a view of. at: the offset of base from
 * the start of the result, in bytes, if it is computed into the result. */
typedef struct operand {
  int32_t base;
  int64_t at;
} operand;

static mica__node *node_at(const finder *f, int32_t id) { return mica__graph_node(f->graph, id); }

/* True if the value is the only result of a step on the device, and may be computed into any memory. */
static bool is_movable(const finder *f, int32_t id) {
  const mica__node *node = node_at(f, id);
  const mica__op_kind kind = node->op->kind;
  if (f->fixed[id - 1] || mica__node_results(node) > 1 || node->op->host || node->op->begin) return false;
  return kind == MICA__OP_POINTWISE || kind == MICA__OP_REDUCE || kind == MICA__OP_LAUNCH;
}

/* Finds where operand k is in the result. False unless its elements are contiguous and in the same order in the operand
 * and in the result. */
static bool find_range(const finder *f, const mica__node *node, int32_t k, operand *out) {
  const mica_shape shape = node_at(f, node->inputs[k])->type.shape;
  const int64_t size = (int64_t)mica_dtype_size(node->type.dtype);
  mica__access steps = mica__access_row_major(node->type.shape), access;
  mica__inset window;
  double fill = 0;
  int64_t at = 0;
  if (!mica__access_is_row_major(shape, &steps)) return false;
  node->op->window(f->graph, node, k, &window, &fill);
  for (int32_t a = 0; a < shape.rank; a++) {
    if (window.step[a] != 1) return false;
    at += window.start[a] * steps.stride[a];
  }
  access = mica__partition_operand(f->graph, node, k, &out->base);
  out->at = (at - access.offset) * size;
  access.offset = 0;
  return mica__access_is_row_major(shape, &access);
}

static bool overlaps(const composite *c, int64_t begin, int64_t end) {
  for (int32_t i = 0; i < c->count; i++)
    if (begin < c->parts[i].end && end > c->parts[i].begin) return true;
  return false;
}

/* Adds a value to the composite at `begin`. False, without any change, if it cannot be there. */
static bool add_part(const finder *f, composite *c, int32_t id, int64_t begin) {
  const int64_t end = begin + (int64_t)mica__node_bytes(node_at(f, id));
  const int64_t first = c->count && c->begin < begin ? c->begin : begin, last = c->count && c->end > end ? c->end : end;
  const bool fits = c->count < MOST_PARTS && last - first <= (int64_t)(f->slabs->step - f->slabs->align);
  if (!fits || begin % (int64_t)f->slabs->align || !is_movable(f, id) || overlaps(c, begin, end)) return false;
  c->parts[c->count++] = (part){id, begin, end};
  c->begin = first;
  c->end = last;
  return true;
}

/* Puts the operands into composite number `of`, in which the result begins at `at`. Operands without memory become
 * parts. False if an operand cannot be there, or has memory elsewhere already. */
static bool add_operands(finder *f, int32_t of, int64_t at, const operand *operands, int32_t count) {
  composite *c = &f->composites[of - 1];
  for (int32_t k = 0; k < count; k++) {
    const int32_t base = operands[k].base;
    const int64_t begin = at + operands[k].at;
    if (f->found->of[base - 1] == 0 && add_part(f, c, base, begin)) {
      f->found->of[base - 1] = of;
      f->found->offset[base - 1] = begin;
    }
    if (f->found->of[base - 1] != of || f->found->offset[base - 1] != begin) return false;
  }
  return true;
}

/* Restores the composite as it was before a failed attempt. */
static void forget(finder *f, composite *c, const composite *before) {
  while (c->count > before->count) f->found->of[c->parts[--c->count].id - 1] = 0;
  *c = *before;
}

static mica_status begin_composite(finder *f, int32_t *of) {
  composite *c = &f->composites[f->found->count];
  c->parts = calloc(MOST_PARTS, sizeof *c->parts);
  if (!c->parts) return mica__fail_nomem("a session");
  *of = ++f->found->count;
  return MICA_OK;
}

/* Lists the node's operands that are not empty and returns their number; -1 if it cannot be in a composite. */
static int32_t operands_of(const finder *f, const mica__node *node, operand operands[MOST_OPERANDS]) {
  int32_t count = 0;
  if (!node->op->composes || node->input_count > MOST_OPERANDS || mica__node_count(node) == 0) return -1;
  for (int32_t k = 0; k < node->input_count; k++) {
    if (mica__node_count(node_at(f, node->inputs[k])) == 0) continue;
    if (!find_range(f, node, k, &operands[count++])) return -1;
  }
  return count;
}

static mica_status visit(finder *f, int32_t id, operand operands[MOST_OPERANDS]) {
  const int32_t count = is_movable(f, id) ? operands_of(f, node_at(f, id), operands) : -1;
  int32_t of = 0;
  int64_t at = 0;
  if (count <= 0) return MICA_OK;
  for (int32_t k = 0; k < count && !of; k++) {
    of = f->found->of[operands[k].base - 1];
    if (of) at = f->found->offset[operands[k].base - 1] - operands[k].at;
  }
  const bool is_new = of == 0;
  if (is_new) MICA_TRY(begin_composite(f, &of));
  composite *c = &f->composites[of - 1];
  const composite before = *c;
  if (add_operands(f, of, at, operands, count)) {
    f->found->of[id - 1] = of;
    f->found->offset[id - 1] = at;
    f->found->joined[id - 1] = true;
    return MICA_OK;
  }
  forget(f, c, &before);
  if (is_new) {
    free(c->parts);
    c->parts = NULL;
    f->found->count--;
  }
  return MICA_OK;
}

/* Computes the size of each composite, and offsets from its first byte. */
static mica_status measure(finder *f) {
  mica__composites *found = f->found;
  found->bytes = calloc((size_t)found->count + 1, sizeof *found->bytes);
  if (!found->bytes) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < found->count; i++) found->bytes[i] = f->composites[i].end - f->composites[i].begin;
  for (int32_t i = 0; i < f->graph->count; i++)
    if (found->of[i]) found->offset[i] -= f->composites[found->of[i] - 1].begin;
  return MICA_OK;
}

/* Finds the values that must have their own memory: outputs, assigned values, the parameters to which they are
 * assigned, and values that are computed once and are the same in every run. */
static mica_status find_fixed(finder *f, const mica__template *template) {
  bool *written = calloc((size_t)f->graph->count + 1, sizeof *written);
  if (!written) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < template->output_count; i++) written[template->outputs[i] - 1] = true;
  for (int32_t i = 0; i < template->assignment_count; i++)
    written[template->assignments[i].value - 1] = written[template->assignments[i].parameter - 1] = true;
  mica__template_find_invariant(f->graph, written, f->fixed);
  for (int32_t i = 0; i < f->graph->count; i++) f->fixed[i] = f->fixed[i] || written[i];
  free(written);
  return MICA_OK;
}

static mica_status find(finder *f, const mica__template *template) {
  operand *operands = calloc(MOST_OPERANDS, sizeof *operands);
  mica_status status = operands ? find_fixed(f, template) : mica__fail_nomem("a session");
  for (int32_t id = 1; status == MICA_OK && id <= f->graph->count; id++) status = visit(f, id, operands);
  free(operands);
  return status == MICA_OK ? measure(f) : status;
}

mica_status mica__composites_find(const mica__template *template, const mica__slabs *slabs, mica__composites *found) {
  const size_t nodes = (size_t) template->graph->count + 1;
  *found = (mica__composites){.of = calloc(nodes, sizeof *found->of),
                              .offset = calloc(nodes, sizeof *found->offset),
                              .joined = calloc(nodes, sizeof *found->joined)};
  finder f = {.graph = template->graph,
              .slabs = slabs,
              .found = found,
              .composites = calloc(nodes, sizeof *f.composites),
              .fixed = calloc(nodes, sizeof *f.fixed)};
  const bool good = found->of && found->offset && found->joined && f.composites && f.fixed;
  mica_status status = good ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK && !mica__is_without(MICA__WITHOUT_COMPOSITES)) status = find(&f, template);
  for (int32_t i = 0; f.composites && i < found->count; i++) free(f.composites[i].parts);
  free(f.composites);
  free(f.fixed);
  if (status != MICA_OK) mica__composites_free(found);
  return status;
}

void mica__composites_free(mica__composites *composites) {
  free(composites->of);
  free(composites->offset);
  free(composites->joined);
  free(composites->bytes);
  *composites = (mica__composites){0};
}
