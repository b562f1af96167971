#include "onnx/ops/table.h"

#include <string.h>

#define ONNX_ATTR(name, type, first, last)
#define ONNX_NEEDS(name, type, first, last)
#define ONNX_ONLY(name, first, last, value)
#define ONNX_NO_ATTR
#define ONNX_OP(domain, name, since, function) MICA__LOWER(function);
#include <onnx_ops.h>
#undef ONNX_OP

static const mica__onnx_op table[] = {
#define ONNX_OP(domain, name, since, function) {domain, name, since, mica__onnx_##function},
#include <onnx_ops.h>
#undef ONNX_OP
};
#define OPS (sizeof table / sizeof *table)

#undef ONNX_ATTR
#undef ONNX_NEEDS
#undef ONNX_ONLY
#undef ONNX_NO_ATTR

#define LATEST INT32_MAX
#define BEGINS INT32_MIN /* type of the row before an operator's attributes */

/* The rows of the table: the attributes of operator i follow the i-th row of type BEGINS. */
static const mica__onnx_attribute attributes[] = {
#define ONNX_OP(domain, name, since, function) {NULL, BEGINS, 0, 0, false, false, 0},
#define ONNX_ATTR(name, type, first, last) {name, MICA__ONNX_##type, first, last, false, false, 0},
#define ONNX_NEEDS(name, type, first, last) {name, MICA__ONNX_##type, first, last, true, false, 0},
#define ONNX_ONLY(name, first, last, value) {name, MICA__ONNX_INT, first, last, false, true, value},
#define ONNX_NO_ATTR {NULL, 0, 0, 0, false, false, 0},
#include <onnx_ops.h>
};
#define ATTRIBUTES (sizeof attributes / sizeof *attributes)

static const struct {
  const char *domain;
  int64_t newest;
} sets[] = {{"", 28}, {"com.microsoft", 1}, {"ai.onnx.ml", 5}, {"ai.onnx.preview", 1}, {"ai.onnx.preview.training", 1}};

const mica__onnx_op *mica__onnx_op_find(const char *domain, const char *name, int64_t version) {
  const mica__onnx_op *found = NULL;
  for (size_t i = 0; i < OPS; i++) {
    const mica__onnx_op *op = &table[i];
    if (op->since > version || (found && found->since >= op->since)) continue;
    if (!strcmp(op->name, name) && !strcmp(op->domain, domain)) found = op;
  }
  return found;
}

const mica__onnx_attribute *mica__onnx_op_attributes(const mica__onnx_op *op, int32_t *count) {
  size_t before = (size_t)(op - table) + 1, at = 0;
  while (before && at < ATTRIBUTES)
    if (attributes[at++].type == BEGINS) before--;
  for (*count = 0; at + (size_t)*count < ATTRIBUTES && attributes[at + (size_t)*count].type != BEGINS;) ++*count;
  return &attributes[at];
}

const mica__onnx_op *mica__onnx_op_at(size_t i) { return i < OPS ? &table[i] : NULL; }

int64_t mica__onnx_newest(const char *domain) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (!strcmp(sets[i].domain, domain)) return sets[i].newest;
  return 0;
}
