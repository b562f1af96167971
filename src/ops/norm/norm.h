/* ops/norm/norm.h: parts of all normalisations. */
#ifndef MICA_OPS_NORM_NORM_H
#define MICA_OPS_NORM_NORM_H

#include "ops/common/build.h"

/* (x - mean) / sqrt(variance + epsilon) over the axes of a reduction that keeps them; x is no 16-bit type. *mean and
 * *variance keep the axes as 1. */
mica_value mica__standardize(mica_value x, mica_axes axes, double epsilon, mica_value *mean, mica_value *variance);

/* y scale + bias in x's type; either may be null, and they broadcast. */
mica_value mica__scaled(mica_value y, mica_value x, mica_value scale, mica_value bias);

#endif
