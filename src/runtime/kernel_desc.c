#include "runtime/kernel_desc.h"

#include "base/error.h"
#include "base/text.h"
#include "runtime/compiler.h"

#include <string.h>

unsigned mica__kernel_class(const mica_device_info *device) {
  bool gpu = device->device_class == MICA_DEVICE_CLASS_GPU || device->device_class == MICA_DEVICE_CLASS_ACCELERATOR ||
             mica__compiler_joins_items(device);
  return gpu ? MICA__ON_GPU : MICA__ON_CPU;
}

bool mica__variant_fits(const mica__kernel_desc *desc, const mica__variant *variant, const mica_device_info *device) {
  return (variant->classes & mica__kernel_class(device)) && (variant->features & ~device->features) == 0 &&
         variant->vector_bytes <= device->vector_bytes &&
         (variant->vendors == 0 || variant->vendors & 1u << device->vendor) &&
         (!variant->has_instruction || variant->has_instruction(device)) &&
         !mica__compiler_fault(device, desc, variant) && (!desc->has_room || desc->has_room(variant->values, device));
}

bool mica__variant_suits_vectors(const mica__variant *variant, uint32_t vector_bytes) {
  return (variant->vector_bytes >= MICA__LONG_VECTOR) == (vector_bytes >= MICA__LONG_VECTOR);
}

const mica__variant *mica__kernel_suited(const mica__kernel_desc *desc, uint32_t vector_bytes) {
  const mica__variant *variant = desc->variants;
  while (!mica__variant_suits_vectors(variant, vector_bytes)) variant++;
  return variant;
}

const mica__variant *mica__kernel_variant(const mica__kernel_desc *desc, const mica_device_info *device) {
  for (int i = 0; i < desc->variant_count; i++)
    if (mica__variant_fits(desc, &desc->variants[i], device)) return &desc->variants[i];
  return NULL;
}

static int choice_of(const mica__kernel_param *param, int32_t value) {
  for (int i = 0; i < param->choice_count; i++)
    if (param->choices[i] == value) return i;
  return -1;
}

mica_status mica__kernel_check_values(const mica__kernel_desc *desc, const int32_t *values) {
  for (int i = 0; i < desc->param_count; i++)
    if (choice_of(&desc->params[i], values[i]) < 0)
      return mica__fail(MICA_E_INVALID, "kernel %s: %d is not a possible value of the parameter %s (%s)", desc->name,
                        (int)values[i], desc->params[i].macro, desc->params[i].help);
  return MICA_OK;
}

int mica__kernel_param_index(const mica__kernel_desc *desc, const char *macro) {
  for (int i = 0; i < desc->param_count; i++)
    if (!strcmp(desc->params[i].macro, macro)) return i;
  return -1;
}

int mica__kernel_choice(const mica__kernel_desc *desc, const char *macro, int32_t value) {
  int index = mica__kernel_param_index(desc, macro);
  return index < 0 ? -1 : choice_of(&desc->params[index], value);
}

void mica__kernel_values(const mica__kernel_desc *desc, const mica__variant *variant,
                         int32_t values[MICA__MAX_PARAMS]) {
  memcpy(values, variant->values, (size_t)desc->param_count * sizeof *values);
}

int32_t mica__kernel_value(const mica__kernel_desc *desc, const int32_t *values, const char *macro) {
  return values[mica__kernel_param_index(desc, macro)];
}

void mica__kernel_set(const mica__kernel_desc *desc, int32_t *values, const char *macro, int32_t value) {
  int index = mica__kernel_param_index(desc, macro);
  if (index >= 0) values[index] = value;
}

char *mica__kernel_options(const mica__kernel_desc *desc, const int32_t *values, bool unoptimised) {
  mica__text text = {0};
  mica__text_add(&text, desc->options ? desc->options : "");
  for (int i = 0; i < desc->param_count; i++) {
    const mica__kernel_param *param = &desc->params[i];
    if (param->kind == MICA__PARAM_DTYPE)
      mica__text_addf(&text, "%s-D%s=%s", text.length ? " " : "", param->macro, mica_dtype_name((mica_dtype)values[i]));
    else
      mica__text_addf(&text, "%s-D%s=%d", text.length ? " " : "", param->macro, (int)values[i]);
  }
  for (int i = 0; i < desc->param_count; i++) unoptimised |= desc->params[i].kind == MICA__PARAM_EMULATED && !values[i];
  if (unoptimised) mica__text_add(&text, MICA__UNOPTIMISED);
  if (text.failed) mica__text_free(&text);
  return text.data;
}
