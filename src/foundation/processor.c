/* Reads preprocessor_config.json as transformers saves it. */
#include "foundation/processor.h"

#include "base/signature.h"
#include "foundation/model.h"

#include <inttypes.h>
#include <stdlib.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

#define MOST_SIDE 65536

/* Reads a size: one number, {"height", "width"} or {"shortest_edge"}. */
static mica_status read_size(const mica__config_source *f, bool shortest, mica__processor *p) {
  const mica__config_value one = mica__config_find(f, "size", "");
  if (one.kind == MICA__CONFIG_OBJECT && mica__config_find(f, "size.shortest_edge", "").kind != MICA__CONFIG_ABSENT) {
    if (mica__config_find(f, "size.longest_edge", "").kind != MICA__CONFIG_ABSENT)
      return mica__fail(MICA_E_UNSUPPORTED, "%s: size has a longest_edge, but Mica only resizes to a shortest_edge",
                        f->path);
    return mica__config_count(f, "shorter side", "size.shortest_edge", "", MICA__NEEDED, 1, MOST_SIDE, &p->shortest);
  }
  const bool object = one.kind == MICA__CONFIG_OBJECT;
  MICA_TRY(mica__config_count(f, "height of pictures", object ? "size.height" : "size", "", MICA__NEEDED, 1, MOST_SIDE,
                              &p->height));
  MICA_TRY(mica__config_count(f, "width of pictures", object ? "size.width" : "size", "", MICA__NEEDED, 1, MOST_SIDE,
                              &p->width));
  if (!object && shortest) p->shortest = p->height;
  return MICA_OK;
}

static mica_status read_crop(const mica__config_source *f, mica__processor *p) {
  const bool object = mica__config_find(f, "crop_size", "").kind == MICA__CONFIG_OBJECT;
  MICA_TRY(mica__config_count(f, "height of crops", object ? "crop_size.height" : "crop_size", "", MICA__NEEDED, 1,
                              MOST_SIDE, &p->crop_height));
  return mica__config_count(f, "width of crops", object ? "crop_size.width" : "crop_size", "", MICA__NEEDED, 1,
                            MOST_SIDE, &p->crop_width);
}

static mica_status read_list(const mica__config_source *f, const char *key, double low, int64_t channels,
                             double *numbers) {
  const mica__config_value list = mica__config_find(f, key, "");
  if (list.kind != MICA__CONFIG_LIST || list.count != (size_t)channels)
    return mica__fail(MICA_E_FORMAT, "%s: the key %s is not a list of %" PRId64 " numbers", f->path, key, channels);
  for (size_t c = 0; c < list.count; c++) {
    const mica__config_value one = mica__config_at(&list, c);
    if (one.kind != MICA__CONFIG_NUMBER || !(one.number >= low && one.number <= 1e6))
      return mica__fail(MICA_E_FORMAT, "%s: the key %s has a value that is not a number from %g to 1e6", f->path, key,
                        low);
    numbers[c] = one.number;
  }
  return MICA_OK;
}

static mica_status read_steps(const mica__config_source *f, const mica_foundation_info *info, mica__processor *p) {
  const bool clip = info->vision != NULL; /* CLIP's defaults differ from ViT's */
  bool resize = true, crop = clip, rescale = true, normalise = true, pad = false;
  int64_t filter = 0;
  MICA_TRY(mica__config_flag(f, "do_resize", "", true, &resize));
  MICA_TRY(mica__config_flag(f, "do_center_crop", "", clip, &crop));
  MICA_TRY(mica__config_flag(f, "do_rescale", "", true, &rescale));
  MICA_TRY(mica__config_flag(f, "do_normalize", "", true, &normalise));
  MICA_TRY(mica__config_flag(f, "do_pad", "", false, &pad));
  MICA_TRY(mica__config_count(f, "filter", "resample", "", clip ? 3 : 2, 0, 5, &filter));
  if (pad) return mica__fail(MICA_E_UNSUPPORTED, "%s: do_pad is set, but Mica does not pad pictures", f->path);
  if (resize && (filter < 1 || filter > 3))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s: resample is %" PRId64 "; Mica knows 1 (lanczos), 2 (bilinear) and 3 (bicubic)", f->path,
                      filter);
  p->filter = (mica__picture_filter)filter;
  p->factor = 1;
  for (int64_t c = 0; c < p->channels; c++) p->deviation[c] = 1;
  if (resize) MICA_TRY(read_size(f, clip, p));
  if (crop) MICA_TRY(read_crop(f, p));
  if (rescale) MICA_TRY(mica__config_real(f, "factor", "rescale_factor", "", 1.0 / 255, 1e-9, 1e9, &p->factor));
  if (!normalise) return MICA_OK;
  MICA_TRY(read_list(f, "image_mean", -1e6, p->channels, p->mean));
  return read_list(f, "image_std", 1e-6, p->channels, p->deviation);
}

mica_status mica__processor_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                 mica__processor *processor) {
  const mica_foundation_info *info = &model->info, *vision = info->vision ? info->vision : info;
  struct cJSON *root = NULL;
  *processor = (mica__processor){.channels = vision->channels};
  if (vision->channels != 1 && vision->channels != 3)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s: the model reads pictures of %" PRId64 " channels, but Mica reads only pictures of 1 or 3",
                      path, vision->channels);
  mica_status status = mica__folder_parse(path, text, bytes, &root);
  const mica__config_source facts = {.path = path, .json = root, .root = root};
  if (status == MICA_OK) status = read_steps(&facts, info, processor);
  cJSON_Delete(root);
  return status;
}
#else
mica_status mica__processor_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                 mica__processor *processor) {
  (void)text, (void)bytes, (void)model, (void)processor;
  return mica__fail_lacks(path, "cJSON");
}
#endif

mica_status mica__processor_open(const mica_foundation *model, mica__processor *processor) {
  mica__text path = {0};
  unsigned char *text = NULL;
  size_t bytes = 0;
  if (!model->info.picture && !model->info.vision)
    return mica__fail(MICA_E_INVALID, "%s: models of the family %s do not read pictures", model->path,
                      model->info.family);
  mica__text_addf(&path, "%s/preprocessor_config.json", model->path);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica__file_read_signed(path.data, &text, &bytes);
  if (status == MICA_OK) status = mica__processor_read(path.data, (const char *)text, bytes, model, processor);
  free(text);
  mica__text_free(&path);
  return status;
}

mica_status mica_foundation_picture(const mica_foundation *model, const char *path, float *pixels) {
  mica__processor processor;
  if (!model || !path || !pixels) return mica__fail(MICA_E_INVALID, "mica_foundation_picture: a pointer is NULL");
  MICA_TRY(mica__processor_open(model, &processor));
  const mica_foundation_info *vision = model->info.vision ? model->info.vision : &model->info;
  return mica__processor_apply(&processor, path, vision->picture, pixels);
}
