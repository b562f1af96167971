/* data/annotation/depth_errors.h: how far depths are from the true ones. */
#ifndef MICA_DATA_ANNOTATION_DEPTH_ERRORS_H
#define MICA_DATA_ANNOTATION_DEPTH_ERRORS_H

#include <stddef.h>

/* Two depths are close if their quotient is less than this (Eigen et al. 2014). */
#define MICA__DEPTH_CLOSE 1.25

/* The errors of depths over the pixels whose depth is known. */
typedef struct mica__depth_errors {
  double relative, squares, close, pixels; /* sums, and the number of pixels */
} mica__depth_errors;
void mica__depth_errors_add(mica__depth_errors *errors, const float *depths, const float *truth, size_t pixels);
/* absrel, rmse and delta1, in this order; NaN if no pixel is known. */
void mica__depth_errors_score(const mica__depth_errors *errors, double scores[3]);

#endif
