/* ops/elementwise/pointwise.h: launches and checks of kernels that process n contiguous elements one by one. Sets the
 * range of a launch, and runs a check for all variants, types and sizes. */
#ifndef MICA_OPS_ELEMENTWISE_POINTWISE_H
#define MICA_OPS_ELEMENTWISE_POINTWISE_H

#include "ops/select/check.h"
#include "runtime/launch.h"

/* VW, the last parameter of every pointwise kernel. Shipped values: wide vectors on CPUs, where a work-item is a loop
 * iteration; 16 bytes of f32 per work-item on GPUs. */
#define MICA__POINTWISE_CPU 16
#define MICA__POINTWISE_GPU 4
#define MICA__POINTWISE_VW MICA__INT("VW", "elements a work-item treats", 1, 2, 4, 8, 16)

/* Builds the kernel for a variant (NULL: the device's default) and these types (y_type is ignored if the kernel has no
 * Y_T) and sets the range and size of a launch over n elements; the caller then packs the arguments. */
mica_status mica__pointwise_launch(mica_queue *queue, const mica__kernel_desc *desc, const mica__variant *variant,
                                   mica_dtype x_type, mica_dtype y_type, int64_t n, mica__launch *launch);

/* Checks one case: n elements with these types; a type is MICA_F32 if the kernel has no parameter for it. */
typedef mica_status mica__pointwise_case(mica__check_group *group, const mica__variant *variant, mica_dtype x_type,
                                         mica_dtype y_type, int64_t n);

/* The kernel of cast.c, which converts n elements from one type to another. */
extern const mica__kernel_desc mica__cast_kernel;

/* Runs the case for all variants, for the types of X_T and Y_T that the kernel takes, and for several sizes. Both types
 * are equal, or one of them is f32. A full check takes sizes around the multiples of a vector, and all pairs of types
 * for the first variant. */
mica_status mica__pointwise_check(mica__check *check, const mica__kernel_desc *desc, mica__pointwise_case *run);

#endif
