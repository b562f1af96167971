#include "runtime/kernel_table.h"

#include "base/error.h"
#include "base/text.h"
#include "runtime/kernel_source.h"
#include "runtime/lost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void kernel_free(const mica__cl_api *api, mica__kernel *kernel) {
  if (kernel->handle) api->ReleaseKernel(kernel->handle);
  free(kernel->prelude);
  free(kernel->options);
  free(kernel);
}

void mica__kernels_destroy(mica_engine *engine) {
  for (size_t b = 0; b < MICA__KERNEL_BUCKETS; b++)
    for (mica__kernel *k = engine->kernels->kernels[b], *next; k; k = next) {
      next = k->next;
      pthread_mutex_destroy(&k->lock);
      kernel_free(engine->api, k);
    }
}

mica__kernel *mica__kernel_placeholder(void) {
  static mica__kernel placeholder = {.arg_count = MICA__ANY_ARGS, .max_group = SIZE_MAX, .generated = true};
  return &placeholder;
}

static mica_status keep_text(mica__kernel *kernel, const mica__kernel_origin *p) {
  kernel->file = p->file;
  kernel->prelude = mica__strdup(p->prelude);
  kernel->options = mica__strdup(p->options);
  kernel->generated = p->generated;
  return kernel->options && (!p->prelude || kernel->prelude) ? MICA_OK : mica__fail_nomem("a kernel");
}

mica_status mica__kernel_make(mica_engine *engine, mica__program *program, const mica__kernel_origin *p,
                              mica__kernel **out) {
  const mica__cl_api *api = engine->api;
  mica__kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return mica__fail_nomem("a kernel");
  cl_int error = CL_SUCCESS;
  kernel->handle = api->CreateKernel(program->handle, p->entry, &error);
  if (!kernel->handle) {
    free(kernel);
    MICA_TRY(mica__engine_ask(engine, error, p->name));
    if (mica__cl_is_memory_error(error)) return mica__cl_check(error, p->name);
    return mica__fail(MICA_E_BUILD, "kernel %s cannot be made from its program (%s)", p->name,
                      mica__cl_error_name(error) ? mica__cl_error_name(error) : "?");
  }
  mica_status status =
      mica__engine_check(engine,
                         api->GetKernelWorkGroupInfo(kernel->handle, engine->device.id, CL_KERNEL_WORK_GROUP_SIZE,
                                                     sizeof kernel->max_group, &kernel->max_group, NULL),
                         p->name);
  size_t declared[3] = {0};
  if (status == MICA_OK)
    status = mica__engine_check(engine,
                                api->GetKernelWorkGroupInfo(kernel->handle, engine->device.id,
                                                            CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof declared,
                                                            declared, NULL),
                                p->name);
  kernel->declares_group = declared[0] != 0;
  /* A kernel that declares a group size allows it, whatever the driver says: rusticl (22.3) reports 32 for every
   * kernel. */
  size_t items = declared[0] * declared[1] * declared[2];
  if (items > kernel->max_group) kernel->max_group = items;
  if (status == MICA_OK)
    status = mica__engine_check(
        engine,
        api->GetKernelInfo(kernel->handle, CL_KERNEL_NUM_ARGS, sizeof kernel->arg_count, &kernel->arg_count, NULL),
        p->name);
  if (status == MICA_OK) status = keep_text(kernel, p);
  if (status == MICA_OK && pthread_mutex_init(&kernel->lock, NULL)) status = mica__fail_nomem("a lock");
  if (status != MICA_OK) {
    kernel_free(api, kernel);
    return status;
  }
  kernel->program = program;
  kernel->key = p->key;
  snprintf(kernel->name, sizeof kernel->name, "%s", p->name);
  snprintf(kernel->entry, sizeof kernel->entry, "%s", p->entry);
  size_t bucket = p->key.low % MICA__KERNEL_BUCKETS;
  kernel->next = engine->kernels->kernels[bucket];
  engine->kernels->kernels[bucket] = kernel;
  if (out) *out = kernel;
  return MICA_OK;
}

mica__kernel *mica__kernel_lookup(const mica_engine *engine, mica__hash key) {
  mica__kernel *kernel = engine->kernels->kernels[key.low % MICA__KERNEL_BUCKETS];
  while (kernel && !mica__hash_equal(kernel->key, key)) kernel = kernel->next;
  return kernel;
}

mica__kernel *mica__kernel_find_key(mica_engine *engine, mica__hash key) {
  pthread_mutex_lock(&engine->programs->lock);
  mica__kernel *kernel = mica__kernel_lookup(engine, key);
  pthread_mutex_unlock(&engine->programs->lock);
  return kernel;
}

mica_status mica__kernel_check_name(const char *name) {
  if (strlen(name) <= MICA__MAX_KERNEL_NAME) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "the kernel name %s has more than %d characters", name, MICA__MAX_KERNEL_NAME);
}

mica_status mica__kernel_find(mica_engine *engine, mica__hash key, const char *name, const char *label,
                              const char *file, const char *prelude, const char *options, mica__kernel **out) {
  MICA_TRY(mica__kernel_check_name(name));
  pthread_mutex_lock(&engine->programs->lock);
  mica__kernel *kernel = mica__kernel_lookup(engine, key);
  mica_status status = MICA_OK;
  if (!kernel) {
    mica__text source = {0}, all_options = {0};
    mica__program *program = NULL;
    const char *option = "";
    mica__text_add(&all_options, options);
    if (file) status = mica__kernel_source_begin(&engine->device.info, &source, &option);
    mica__text_add(&all_options, option);
    if (prelude) mica__text_addf(&source, "#line 1 \"%s (prelude)\"\n%s\n", label, prelude);
    if (status == MICA_OK && file) status = mica__kernel_source_expand(file, &source);
    if (status == MICA_OK) status = mica__text_status(&source);
    if (status == MICA_OK) status = mica__text_status(&all_options);
    const mica__program_request r = {
        .name = name, .label = label, .source = source.data, .options = all_options.data, .kernels = ""};
    const mica__kernel_origin p = {
        .key = key, .name = name, .entry = name, .file = file, .prelude = prelude, .options = options};
    mica__build_list *list = mica__build_list_open();
    if (status == MICA_OK && list) {
      status = mica__program_note(engine, list, &r);
      kernel = mica__kernel_placeholder();
    } else {
      if (status == MICA_OK) status = mica__program_get(engine, &r, &program);
      if (status == MICA_OK) status = mica__kernel_make(engine, program, &p, &kernel);
    }
    mica__text_free(&source);
    mica__text_free(&all_options);
  }
  pthread_mutex_unlock(&engine->programs->lock);
  if (status == MICA_OK) *out = kernel;
  return status;
}

void mica__kernel_ran(mica__kernel *kernel, const size_t group[3]) {
  if (kernel->ran && !memcmp(kernel->last_group, group, sizeof kernel->last_group)) return;
  kernel->ran = true;
  memcpy(kernel->last_group, group, sizeof kernel->last_group);
  mica__hash pair = mica__hash_bytes(mica__hash_text((mica__hash){0}, kernel->entry), group, sizeof kernel->last_group);
  atomic_fetch_or(&kernel->program->used, (uint64_t)1 << (pair.low % 64));
}
