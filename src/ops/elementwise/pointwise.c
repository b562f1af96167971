#include "ops/elementwise/pointwise.h"

#include "base/error.h"

#include <stdio.h>

mica_status mica__pointwise_launch(mica_queue *queue, const mica__kernel_desc *desc, const mica__variant *variant,
                                   mica_dtype x_type, mica_dtype y_type, int64_t n, mica__launch *launch) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica_engine *engine = mica__queue_engine(queue);
  if (!variant) MICA_TRY(mica__kernel_choose(engine, desc, &variant));
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "X_T", (int32_t)x_type);
  mica__kernel_set(desc, values, "Y_T", (int32_t)y_type);
  MICA_TRY(mica__kernel_get(engine, desc, values, NULL, &kernel));
  int64_t width = values[mica__kernel_param_index(desc, "VW")];
  *launch = mica__launch_of(kernel);
  mica__launch_range1(launch, n / width + (n % width != 0), MICA__RANGE_GROUP);
  return MICA_OK;
}

static mica_status check_types(mica__check *check, const mica__kernel_desc *desc, const mica__variant *variant,
                               mica_dtype x_type, mica_dtype y_type, mica__pointwise_case *run) {
  static const int64_t quick[] = {1, 17, 1000}, full[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 257, 4099};
  const int64_t *sizes = check->level != MICA__CHECK_FULL ? quick : full;
  size_t count = check->level != MICA__CHECK_FULL ? sizeof quick / sizeof *quick : sizeof full / sizeof *full;
  char cases[64];
  snprintf(cases, sizeof cases, "%s %s", mica_dtype_name(x_type), mica_dtype_name(y_type));
  mica__check_group group = mica__check_begin(check, desc->name, variant->name, cases);
  for (size_t i = 0; i < count; i++)
    if (!mica__check_note(&group, run(&group, variant, x_type, y_type, sizes[i]), "%s n=%lld", cases,
                          (long long)sizes[i]))
      break;
  return mica__check_end(&group);
}

/* Lists the choices of a type parameter and returns how many there are. If the kernel has no such parameter, f32 is the
 * only choice. */
static int type_choices(const mica__kernel_desc *desc, const char *macro, const int32_t **types) {
  static const int32_t only[] = {MICA_F32};
  int index = mica__kernel_param_index(desc, macro);
  *types = index >= 0 ? desc->params[index].choices : only;
  return index >= 0 ? desc->params[index].choice_count : 1;
}

mica_status mica__pointwise_check(mica__check *check, const mica__kernel_desc *desc, mica__pointwise_case *run) {
  const int32_t *x_types, *y_types;
  int x_count = type_choices(desc, "X_T", &x_types), y_count = type_choices(desc, "Y_T", &y_types);
  for (int v = 0; v < desc->variant_count; v++)
    for (int x = 0; x < x_count; x++)
      for (int y = 0; y < y_count; y++) {
        mica_dtype x_type = (mica_dtype)x_types[x], y_type = (mica_dtype)y_types[y];
        /* The types are equal or one of them is f32. Full checks also build every other pair, for the first variant. */
        bool near = x_type == y_type || x_type == MICA_F32 || y_type == MICA_F32;
        bool wanted = near || (check->level == MICA__CHECK_FULL && v == 0);
        if (wanted && mica__check_has_dtype(check, x_type) && mica__check_has_dtype(check, y_type))
          MICA_TRY(check_types(check, desc, &desc->variants[v], x_type, y_type, run));
      }
  return MICA_OK;
}
