/* ops/elementwise/pointwise.h: what the kernels that treat n contiguous elements one by one have in common: the range
 * of their launches and the grid of their checks. */
#ifndef MICA_OPS_ELEMENTWISE_POINTWISE_H
#define MICA_OPS_ELEMENTWISE_POINTWISE_H

#include "ops/select/check.h"
#include "runtime/launch.h"

/* The last parameter of every such kernel. Shipped values: wide vectors on a CPU, where a work-item is a loop
 * iteration; 16 bytes of f32 a work-item on a GPU. */
#define MICA__POINTWISE_CPU 16
#define MICA__POINTWISE_GPU 4
#define MICA__POINTWISE_VW MICA__INT("VW", "elements a work-item treats", 1, 2, 4, 8, 16)

/* Builds the kernel for a variant and these types (y_type is ignored where the table has no Y_T) and sets the range and
 * size of a launch over n elements; the caller packs the arguments. */
mica_status mica__pointwise_launch(mica_queue *queue, const mica__kernel_desc *desc, const mica__variant *variant,
                                   mica_dtype x_type, mica_dtype y_type, int64_t n, mica__launch *launch);

/* One case: n elements with these types (the second is MICA_F32 where a kernel has but one). */
typedef mica_status mica__pointwise_case(mica__check_group *group, const mica__variant *variant, mica_dtype x_type,
                                         mica_dtype y_type, int64_t n);

/* cast.c's, by which n elements of one type become those of another. */
extern const mica__kernel_desc mica__cast_kernel;

/* Runs the case over all variants, all values of the parameters X_T and Y_T (as far as the table has them), and sizes
 * around every multiple of the vector. */
mica_status mica__pointwise_check(mica__check *check, const mica__kernel_desc *desc, mica__pointwise_case *run);

#endif
