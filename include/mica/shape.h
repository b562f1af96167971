/* mica/shape.h: shapes of tensors: up to eight dimensions, row-major, outermost first.
 *
 * Threads: plain values and pure functions; any thread may use them. */
#ifndef MICA_SHAPE_H
#define MICA_SHAPE_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

#define MICA_MAX_RANK 8

/* A plain value. rank 0 is a scalar with one element. A dimension may be 0. Dimensions beyond the rank are 0. */
typedef struct mica_shape {
  int32_t rank;
  int64_t dim[MICA_MAX_RANK];
} mica_shape;

/* MICA_SHAPE(64, 3, 32, 32): a shape literal of one to eight dimensions. MICA_SCALAR: the shape of rank 0. */
#ifdef __cplusplus
#define MICA_SHAPE(...) mica_shape_of({__VA_ARGS__})
#define MICA_SCALAR (mica_shape{})
#else
#define MICA_SHAPE(...)                                                                                                \
  ((mica_shape){.rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__}})
#define MICA_SCALAR ((mica_shape){.rank = 0})
#endif

/* Checks 0 <= rank <= MICA_MAX_RANK and that no dimension is negative. */
MICA_API bool mica_shape_is_valid(mica_shape shape);
/* True if rank and dimensions are equal. An invalid rank equals nothing. */
MICA_API bool mica_shape_equal(mica_shape a, mica_shape b);

/* *count = product of the dimensions (1 for a scalar). MICA_E_INVALID: the shape is invalid. MICA_E_OVERFLOW: the
 * product does not fit into int64_t. */
MICA_API MICA_CHECKED mica_status mica_shape_count(mica_shape shape, int64_t *count);

/* Writes "(64, 3, 32, 32)" into text and returns text. MICA_SHAPE_TEXT bytes are always enough. Never fails. */
#define MICA_SHAPE_TEXT 200
MICA_API const char *mica_shape_format(mica_shape shape, char text[MICA_SHAPE_TEXT]);

/* Broadcasts two shapes as NumPy does: last dimensions are aligned; each pair must be equal or contain a 1.
 * MICA_E_SHAPE: the shapes do not broadcast; the message names both. MICA_E_INVALID: a shape is invalid. */
MICA_API MICA_CHECKED mica_status mica_shape_broadcast(mica_shape a, mica_shape b, mica_shape *out);

MICA_END_DECLS

#ifdef __cplusplus
#include <initializer_list>
/* MICA_SHAPE in C++, which has no compound literals. More than MICA_MAX_RANK dimensions give an invalid shape. */
static inline mica_shape mica_shape_of(std::initializer_list<int64_t> dims) {
  mica_shape shape{};
  for (int64_t dim : dims) {
    if (shape.rank < MICA_MAX_RANK) shape.dim[shape.rank] = dim;
    shape.rank++;
  }
  return shape;
}
#endif

#endif
