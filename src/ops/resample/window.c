#include "ops/resample/window.h"

#include "base/error.h"

/* Far above any real window, and small enough for the sums below not to overflow. */
#define MOST ((int64_t)1 << 40)

static bool is_sane(int64_t value, int64_t least) { return value >= least && value < MOST; }

mica_status mica__resample_window_of(const mica_pool_config *config, int32_t k, mica__resample_window *window) {
  int64_t pad_end = 0;
  /* If the sum overflows, pad or pad_more is out of range, which the loop reports before pad_end. */
  (void)__builtin_add_overflow(config->pad[k], config->pad_more[k], &pad_end);
  *window = (mica__resample_window){.size = config->size[k],
                                    .stride = config->stride[k] ? config->stride[k] : config->size[k],
                                    .pad = config->pad[k],
                                    .pad_end = pad_end,
                                    .dilation = config->dilation[k] ? config->dilation[k] : 1,
                                    .ceil_mode = config->ceil_mode};
  const struct {
    const char *name;
    int64_t value, least;
  } numbers[] = {{"size", window->size, 1},
                 {"stride", window->stride, 1},
                 {"dilation", window->dilation, 1},
                 {"the padding before the axis", window->pad, 0},
                 {"pad_more", config->pad_more[k], 1 - MOST},
                 {"the padding after the axis", window->pad_end, 0}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!is_sane(numbers[i].value, numbers[i].least))
      return mica__fail(MICA_E_INVALID, "%s is %lld along spatial axis %d, but must be at least %lld and below 2^40",
                        numbers[i].name, (long long)numbers[i].value, (int)k, (long long)numbers[i].least);
  if (window->size < MOST / window->dilation) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "size times dilation is %lld times %lld along spatial axis %d, but must be below 2^40",
                    (long long)window->size, (long long)window->dilation, (int)k);
}

mica_status mica__resample_window_outputs(const mica__resample_window *window, int64_t n, int64_t *outputs) {
  int64_t room = n + window->pad + window->pad_end - window->dilation * (window->size - 1) - 1;
  *outputs = window->outputs;
  if (window->outputs > 0) return MICA_OK;
  if (room < 0)
    return mica__fail(MICA_E_SHAPE,
                      "an axis of %lld elements with padding of %lld and %lld is shorter than a window of %lld with "
                      "dilation %lld",
                      (long long)n, (long long)window->pad, (long long)window->pad_end, (long long)window->size,
                      (long long)window->dilation);
  *outputs = (room + (window->ceil_mode ? window->stride - 1 : 0)) / window->stride + 1;
  if (window->ceil_mode && (*outputs - 1) * window->stride >= n + window->pad) --*outputs;
  return MICA_OK;
}

/* Returns the number of elements of begin, begin + step, ... before end. */
static int64_t count_steps(int64_t begin, int64_t end, int64_t step) {
  return end > begin ? (end - begin + step - 1) / step : 0;
}

mica__resample_window_taps mica__resample_window_at(const mica__resample_window *window, int64_t n, int64_t outputs,
                                                    int64_t o) {
  mica__resample_window_taps taps = {.step = 1};
  if (window->outputs > 0) {
    taps.first = o * n / outputs;
    taps.count = taps.padded = ((o + 1) * n + outputs - 1) / outputs - taps.first;
    return taps;
  }
  int64_t begin = o * window->stride - window->pad, end = begin + window->size * window->dilation;
  int64_t before = count_steps(begin, 0, window->dilation), padded_end = n + window->pad_end;
  if (before > window->size) before = window->size;
  taps.step = window->dilation;
  taps.first = begin + before * taps.step;
  taps.count = count_steps(taps.first, end < n ? end : n, taps.step);
  taps.padded = count_steps(begin, end < padded_end ? end : padded_end, taps.step);
  return taps;
}
