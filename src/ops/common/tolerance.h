/* ops/common/tolerance.h: how far a result may lie from the reference. Tolerances are defined here only; nothing else
 * loosens them. */
#ifndef MICA_OPS_COMMON_TOLERANCE_H
#define MICA_OPS_COMMON_TOLERANCE_H

#include <mica/dtype.h>

/* The bound on the error of a sum of `terms` products or values whose magnitudes add up to `magnitude`, made in the
 * arithmetic of `compute` and stored as `stored`, where the exact result is `exact`:
 *
 *   u_compute (4 + 2 sqrt(terms)) magnitude + u_stored |exact| + the smallest positive number of `stored`
 *
 * The smallest number is a normal one in f32 and bf16, because devices may flush their subnormals to zero; for
 * integers it is 0. Rounding errors behave like independent random numbers, so that they grow with sqrt(terms)
 * rather than with terms (N. J. Higham, T. Mary: A new approach to probabilistic rounding error analysis, SIAM J.
 * Sci. Comput. 41, 2019; their constant of about 2 to 4 is the 2). The 4 covers a chain of scalings and an
 * activation after the sum. */
double mica__tolerance_sum(mica_dtype compute, mica_dtype stored, double terms, double magnitude, double exact);

/* The bound on the error of a function that is computed to `ulps` units in the last place of `compute` and stored as
 * `stored`, where the exact result is `exact`. */
double mica__tolerance_ulps(mica_dtype compute, mica_dtype stored, double ulps, double exact);

#endif
