/* The reader of a model's preprocessor_config.json. What it accepts has sizes that a picture can be resized to. */
#include "foundation/model.h"
#include "foundation/processor.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>

static void look(const mica__processor *p) {
  if (p->shortest < 0 || p->height < 0 || p->width < 0 || (p->height > 0) != (p->width > 0)) abort();
  if (p->crop_height < 0 || p->crop_width < 0 || (p->crop_height > 0) != (p->crop_width > 0)) abort();
  if ((p->shortest || p->height) && (p->filter < 1 || p->filter > 3)) abort();
  if (!isfinite(p->factor)) abort();
  for (int64_t c = 0; c < p->channels; c++)
    if (!isfinite(p->mean[c]) || !(p->deviation[c] > 0)) abort();
}

/* The first byte chooses the kind of model. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_foundation_info vision = {.channels = 3, .picture = 20};
  mica_foundation model = {.info = vision};
  mica__processor processor;
  if (size == 0) return 0;
  if (data[0] % 2) model.info.vision = &vision;
  if (mica__processor_read("preprocessor_config.json", (const char *)data + 1, size - 1, &model, &processor) == MICA_OK)
    look(&processor);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "0{\"size\": {\"height\": 20, \"width\": 20}, \"resample\": 2, \"do_rescale\": true, \"rescale_factor\": 0.0039, "
      "\"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5]}",
      "1{\"size\": {\"shortest_edge\": 24}, \"crop_size\": {\"height\": 20, \"width\": 20}, \"resample\": 3, "
      "\"do_normalize\": false}",
      "1{\"size\": 15, \"crop_size\": 20, \"resample\": 1, \"image_mean\": [0.4, 0.4, 0.4], \"image_std\": [0.2, 0.2, "
      "0.2], \"do_convert_rgb\": true}",
      "0{\"do_resize\": false, \"do_normalize\": false, \"do_pad\": false}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
