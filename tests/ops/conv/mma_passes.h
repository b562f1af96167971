/* ops/conv/mma_passes.h: the passes of a convolution on matrix units. */
#ifndef MICA_TESTS_OPS_CONV_MMA_PASSES_H
#define MICA_TESTS_OPS_CONV_MMA_PASSES_H

#include "ops/conv/all_types.h"

static const impl_pass mma_passes[] = {{&mica__conv_gpu_mma, MICA__CONV_FWD},
                                       {&mica__conv_gpu_mma, MICA__CONV_BWD_DATA},
                                       {&mica__conv_gpu_wgrad_mma, MICA__CONV_BWD_FILTER}};
#define MMA_PASSES (sizeof mma_passes / sizeof *mma_passes)

#endif
