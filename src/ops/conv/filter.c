#include "ops/conv/filter.h"

#include "base/error.h"
#include "ops/conv/lines.h"

mica_status mica__conv_filter_begin(mica_queue *queue, const mica__kernel_desc *desc, const mica__conv *conv,
                                    mica__launch *launch) {
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel_values(desc, &desc->variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "FR", (int32_t)conv->dims.filter[1]);
  mica__kernel_set(desc, values, "FS", (int32_t)conv->dims.filter[2]);
  mica__conv_set_lines(desc, values, conv);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  return MICA_OK;
}
