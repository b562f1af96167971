/* nn/init.h: initial values of parameters. */
#ifndef MICA_NN_INIT_H
#define MICA_NN_INIT_H

#include "base/error.h"

#include <mica/nn.h>

/* Fills `count` elements of a parameter of this shape. Each parameter needs its own seed. */
mica_status mica__init_fill(const mica_init_config *init, mica_shape shape, uint64_t seed, float *data, size_t count);

#endif
