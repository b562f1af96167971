/* mica/shape.h: shapes of tensors: up to eight dimensions, row-major, outermost first. Plain values and pure
 * functions: any thread. */
#ifndef MICA_SHAPE_H
#define MICA_SHAPE_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

#define MICA_MAX_RANK 8

/* A plain value. rank 0 is a scalar of one element; a dimension may be 0. Dimensions past the rank are 0. */
typedef struct mica_shape {
  int32_t rank;
  int64_t dim[MICA_MAX_RANK];
} mica_shape;

/* MICA_SHAPE(64, 3, 32, 32): a shape literal of one to eight dimensions. MICA_SCALAR is the shape of rank 0. */
#ifdef __cplusplus
#define MICA_SHAPE(...) mica_shape_of({__VA_ARGS__})
#define MICA_SCALAR (mica_shape{})
#else
#define MICA_SHAPE(...)                                                                                                \
  ((mica_shape){.rank = (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__}})
#define MICA_SCALAR ((mica_shape){.rank = 0})
#endif

/* Checks 0 <= rank <= MICA_MAX_RANK and every dimension >= 0. */
MICA_API bool mica_shape_is_valid(mica_shape shape);
/* Same rank and dimensions; a rank that is none equals nothing. */
MICA_API bool mica_shape_equal(mica_shape a, mica_shape b);

/* *count = product of the dimensions (1 for a scalar). MICA_E_INVALID for a shape that is none, MICA_E_OVERFLOW when
 * the product does not fit int64_t. */
MICA_API MICA_CHECKED mica_status mica_shape_count(mica_shape shape, int64_t *count);

/* Writes "(64, 3, 32, 32)" and returns text; the whole always fits MICA_SHAPE_TEXT bytes. Never fails. */
#define MICA_SHAPE_TEXT 200
MICA_API const char *mica_shape_format(mica_shape shape, char text[MICA_SHAPE_TEXT]);

/* NumPy's broadcasting: shapes are aligned at their last dimensions, and each pair must be equal or hold a 1.
 * MICA_E_SHAPE, naming both shapes, when they cannot be. */
MICA_API MICA_CHECKED mica_status mica_shape_broadcast(mica_shape a, mica_shape b, mica_shape *out);

MICA_END_DECLS

#ifdef __cplusplus
#include <initializer_list>
/* What MICA_SHAPE is in C++, which has no compound literals; more dimensions than MICA_MAX_RANK are an invalid shape.
 * */
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
