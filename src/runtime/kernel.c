#include "runtime/kernel.h"

#include "base/error.h"
#include "runtime/compiler.h"
#include "runtime/kernel_source.h"
#include "runtime/kernel_table.h"
#include "runtime/objects.h"
#include "runtime/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mica__variant_is_bad(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant) {
  char name[MICA__TUNING_TEXT];
  snprintf(name, sizeof name, "%s.%s", desc->name, variant->name);
  return mica__tuning_is_bad(engine, name);
}

mica_status mica__kernel_choose(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant **variant) {
  const mica_device_info *device = &engine->device.info;
  bool bad = false;
  for (int any_class = 0; any_class < 2; any_class++)
    for (int i = 0; i < desc->variant_count; i++) {
      mica__variant v = desc->variants[i];
      if (any_class && v.classes) v.classes = MICA__ON_ANY; /* emulations, which are for no class, stay excluded */
      if (v.unmeasured || !mica__variant_fits(desc, &v, device)) continue;
      if (mica__variant_is_bad(engine, desc, &v)) {
        bad = true;
        continue;
      }
      *variant = &desc->variants[i];
      return MICA_OK;
    }
  if (!bad) return mica__fail(MICA_E_UNSUPPORTED, "kernel %s has no variant for %s", desc->name, device->name);
  return mica__fail(MICA_E_UNSUPPORTED,
                    "no variant of kernel %s computed correctly on %s; test it again with `mica doctor %s`", desc->name,
                    device->name, desc->name);
}

void mica__kernels_imitate_gpu(mica_engine *engine, bool on) {
  engine->imitates_gpu = on && mica__kernel_class(&engine->device.info) == MICA__ON_CPU;
}

static bool is_variant(const mica__kernel_desc *desc, const mica__variant *variant, const int32_t *values) {
  for (int i = 0; i < desc->param_count; i++)
    if (desc->params[i].kind == MICA__PARAM_INT && values[i] != variant->values[i]) return false;
  return true;
}

static bool is_for_gpus(const mica__kernel_desc *desc, const int32_t *values) {
  bool found = false;
  for (int v = 0; v < desc->variant_count; v++) {
    if (!is_variant(desc, &desc->variants[v], values)) continue;
    if (desc->variants[v].classes & MICA__ON_CPU) return false;
    found = true;
  }
  return found;
}

mica_status mica__kernel_get(mica_engine *engine, const mica__kernel_desc *desc, const int32_t *values,
                             const char *prelude, mica__kernel **kernel) {
  MICA_TRY(mica__kernel_check_values(desc, values));
  mica__hash key = mica__hash_text(mica__hash_text((mica__hash){0}, desc->name), desc->file);
  if (desc->options) key = mica__hash_text(key, desc->options);
  key = mica__hash_bytes(key, values, (size_t)desc->param_count * sizeof *values);
  if (prelude) key = mica__hash_text(key, prelude);
  const bool unoptimised =
      engine->imitates_gpu && is_for_gpus(desc, values) && mica__compiler_takes_unoptimised(&engine->device.info);
  if (unoptimised) key = mica__hash_text(key, MICA__UNOPTIMISED);
  /* Most launches find the kernel here. Building the text of the options would take longer than the rest of the
   * launch, so it comes later. */
  if ((*kernel = mica__kernel_find_key(engine, key))) return MICA_OK;
  char *options = mica__kernel_options(desc, values, unoptimised);
  if (!options) return mica__fail_nomem("the options of a kernel");
  mica_status status = mica__kernel_find(engine, key, desc->name, desc->file, desc->file, prelude, options, kernel);
  free(options);
  return status;
}

mica_status mica__kernel_get_source(mica_engine *engine, const char *name, const char *source, const char *options,
                                    mica__kernel **kernel) {
  if (!options) options = "";
  mica__hash key = mica__hash_text(mica__hash_text(mica__hash_text((mica__hash){0}, name), source), options);
  return mica__kernel_find(engine, key, name, name, NULL, source, options, kernel);
}

size_t mica__kernel_max_group(const mica__kernel *kernel) { return kernel->max_group; }
const char *mica__kernel_name(const mica__kernel *kernel) { return kernel->name; }

mica_status mica__kernel_text(const mica__kernel *kernel, mica__text *text) {
  mica__text_addf(text, "/* kernel %s, built with: %s */\n", kernel->name, kernel->options);
  if (kernel->generated)
    return mica__kernel_source_expand_text(kernel->name, kernel->prelude, strlen(kernel->prelude), text);
  if (kernel->prelude) mica__text_add(text, kernel->prelude);
  if (kernel->file) MICA_TRY(mica__kernel_source_expand(kernel->file, text));
  return mica__text_status(text);
}
