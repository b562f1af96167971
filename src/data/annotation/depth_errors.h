/* data/annotation/depth_errors.h: how far depths are from the true ones. */
#ifndef MICA_DATA_ANNOTATION_DEPTH_ERRORS_H
#define MICA_DATA_ANNOTATION_DEPTH_ERRORS_H

#include <stddef.h>

/* Two depths are close if the larger one divided by the smaller one is less than this (Eigen et al. 2014). */
#define MICA__DEPTH_CLOSE 1.25

/* The errors of depths over the pixels whose depth is known. */
typedef struct mica__depth_errors {
  double relative, squares, close, pixels; /* sums, and the number of pixels */
} mica__depth_errors;
void mica__depth_errors_add(mica__depth_errors *errors, const float *depths, const float *truth, size_t pixels);
/* Sets scores[0] to the mean of |depth - truth| / truth (absrel), scores[1] to the root of the mean squared error
 * (rmse), and scores[2] to the share of pixels whose depth is close (delta1). All are NaN if the depth of no pixel is
 * known. */
void mica__depth_errors_score(const mica__depth_errors *errors, double scores[3]);

#endif
