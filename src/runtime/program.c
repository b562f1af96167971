#include "runtime/program.h"
#include "runtime/at_exit.h"

#include "base/error.h"
#include "base/text.h"
#include "runtime/compiler.h"
#include "runtime/kernel_code.h"
#include "runtime/lost.h"
#include "runtime/program_bundle.h"
#include "runtime/program_file.h"
#include "runtime/split.h"

#include <mica/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__programs_init(mica__programs *programs) {
  *programs = (mica__programs){0};
  return pthread_mutex_init(&programs->lock, NULL) ? mica__fail_nomem("a lock") : MICA_OK;
}

static void program_free(mica_engine *engine, mica__program *program) {
  if (program->handle) engine->api->ReleaseProgram(program->handle);
  free(program->key_text);
  free(program->source);
  free(program->options);
  free(program);
}

void mica__programs_destroy(mica_engine *engine) {
  mica__programs *all = engine->programs;
  for (size_t b = 0; b < MICA__PROGRAM_BUCKETS; b++)
    for (mica__program *p = all->programs[b], *next; p; p = next) {
      next = p->next;
      program_free(engine, p);
    }
  pthread_mutex_destroy(&all->lock);
}

typedef mica__program_request request;

/* Writes the key's text. An earlier binary is used only if all lines are equal. The lines "program" and "device" are
 * also shown to people. */
static mica_status write_key(const mica_engine *engine, const request *r, mica__text *out) {
  const mica_device_info *d = &engine->device.info;
  char hash[MICA__HASH_TEXT];
  mica__text_addf(out, MICA__DEVICE_LINES, MICA_VERSION_STRING, d->platform, d->platform_version, d->name, d->driver,
                  d->opencl_c);
  mica__text_addf(out, "program: %s\noptions: %s%s\nsource: %s%s\n%s", r->label, r->options, mica__compiler_options(d),
                  mica__split_prelude(d), mica__hash_format(mica__code_hash(r->source), hash), r->kernels);
  return mica__text_status(out);
}

mica_status mica__program_key(const mica_engine *engine, const mica__program_request *r, mica__hash *key) {
  mica__text text = {0};
  mica_status status = write_key(engine, r, &text);
  if (status == MICA_OK) *key = mica__hash_text((mica__hash){0}, text.data);
  mica__text_free(&text);
  return status;
}

static mica_status fail_build(mica_engine *engine, cl_program handle, const request *r, cl_int error) {
  const mica__cl_api *api = engine->api;
  size_t size = 0;
  char *log = NULL;
  if (api->GetProgramBuildInfo(handle, engine->device.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS)
    log = calloc(1, size + 1);
  if (log && api->GetProgramBuildInfo(handle, engine->device.id, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
    log[0] = '\0';
  const char *name = mica__cl_error_name(error);
  mica__fail(MICA_E_BUILD, "kernel %s: %s does not build on %s with \"%s\" (%s)\n%s", r->name, r->label,
             engine->device.info.name, r->options, name ? name : "?", log ? log : "");
  free(log);
  return MICA_E_BUILD;
}

/* Builds the program. Some drivers print warnings to the caller's terminal; -w suppresses them unless all messages are
 * logged. */
static mica_status build(mica_engine *engine, cl_program handle, const request *r) {
  mica__text options = {0};
  mica__text_addf(&options, mica__log_wanted(MICA_LOG_LEVEL_DEBUG) ? "%s%s" : "%s%s -w", r->options,
                  mica__compiler_options(&engine->device.info));
  mica_status status = mica__text_status(&options);
  cl_int error = CL_SUCCESS;
  if (status == MICA_OK) error = engine->api->BuildProgram(handle, 1, &engine->device.id, options.data, NULL, NULL);
  mica__at_exit_renew();
  mica__text_free(&options);
  MICA_TRY(status);
  MICA_TRY(mica__engine_ask(engine, error, r->name));
  return error == CL_SUCCESS ? MICA_OK : fail_build(engine, handle, r, error);
}

/* True if the driver can make this kernel of the program. Some drivers check a binary only when a kernel is made. */
static bool has_kernel(mica_engine *engine, cl_program handle, const char *name) {
  cl_int error = CL_SUCCESS;
  cl_kernel kernel = engine->api->CreateKernel(handle, name, &error);
  if (kernel) engine->api->ReleaseKernel(kernel);
  return kernel != NULL;
}

/* Makes the program from a binary of the disk cache or a bundle. If anything fails, returns false, and the program is
 * compiled: a driver may refuse what another driver with the same name wrote. */
static bool take_stored(mica_engine *engine, mica__program *program, const mica__program_binary *binary,
                        const request *r) {
  const mica__cl_api *api = engine->api;
  cl_int error = CL_SUCCESS, each = CL_SUCCESS;
  cl_program handle = api->CreateProgramWithBinary(engine->context, 1, &engine->device.id, &binary->size,
                                                   (const unsigned char **)&binary->data, &each, &error);
  bool good = handle && error == CL_SUCCESS && each == CL_SUCCESS && build(engine, handle, r) == MICA_OK &&
              has_kernel(engine, handle, r->name);
  if (good) {
    program->handle = handle;
    program->stored = binary->used;
    program->stored_bytes = binary->size;
    atomic_fetch_add(&engine->stats.cache_hits, 1);
  } else {
    mica__log(MICA_LOG_LEVEL_INFO, "the driver refuses the cached binary of %s; compiling it anew", r->label);
    if (handle) api->ReleaseProgram(handle);
  }
  return good;
}

static bool load_binary(mica_engine *engine, mica__program *program, const request *r) {
  mica__program_binary binary;
  unsigned char *file = NULL;
  size_t size = 0;
  if (mica__program_bundle_find(engine->bundle, program->key, &file, &size) &&
      mica__program_file_parse(file, size, program->key, program->key_text, &binary) == MICA_OK &&
      take_stored(engine, program, &binary, r))
    return true;
  if (mica__program_file_load(engine->cache_dir, program->key, program->key_text, &binary) != MICA_OK) return false;
  bool good = take_stored(engine, program, &binary, r);
  free(binary.data);
  return good;
}

static mica_status build_source(mica_engine *engine, const request *r, cl_program *out) {
  cl_int error = CL_SUCCESS;
  mica__text text = {0};
  if (!engine->device.info.has_compiler)
    return mica__fail(MICA_E_UNSUPPORTED, "kernel %s of %s is not in the bundle %s, and %s has no compiler", r->name,
                      r->label, engine->bundle ? mica__program_bundle_path(engine->bundle) : "",
                      engine->device.info.name);
  mica__text_add(&text, mica__split_prelude(&engine->device.info));
  mica__text_add(&text, r->source);
  mica_status status = mica__text_status(&text);
  const char *source = text.data;
  cl_program handle = NULL;
  if (status == MICA_OK) handle = engine->api->CreateProgramWithSource(engine->context, 1, &source, NULL, &error);
  mica__text_free(&text);
  MICA_TRY(status);
  if (!handle) return mica__engine_check(engine, error ? error : CL_OUT_OF_RESOURCES, "making a program");
  status = build(engine, handle, r);
  if (status != MICA_OK) {
    engine->api->ReleaseProgram(handle);
    return status;
  }
  *out = handle;
  mica__log(MICA_LOG_LEVEL_DEBUG, "compiled %s with %s", r->label, r->options);
  return MICA_OK;
}

/* True for PoCL, which makes machine code when a kernel first runs with a group size, and keeps it beside the
 * program. */
static bool code_comes_late(const mica_engine *engine) {
  return strstr(engine->device.info.platform, MICA__POCL) != NULL;
}

static void keep_program(mica_engine *engine, mica__program *program) {
  mica__program **bucket = &engine->programs->programs[program->key.low % MICA__PROGRAM_BUCKETS];
  program->next = *bucket;
  *bucket = program;
}

void mica__program_tell(const mica_engine *engine, int programs) {
  if (engine->compiling && programs) engine->compiling(engine->compiling_user, programs);
}

static mica_status make_program(mica_engine *engine, const request *r, mica__hash key, bool tells, mica__text *key_text,
                                mica__program **out) {
  mica__program *program = calloc(1, sizeof *program);
  if (!program) return mica__fail_nomem("a program");
  program->key = key;
  program->key_text = key_text->data;
  *key_text = (mica__text){0};
  program->shared = *r->kernels != '\0';
  mica_status status = MICA_OK;
  if (code_comes_late(engine)) {
    program->source = mica__strdup(r->source);
    program->options = mica__strdup(r->options);
    if (!program->source || !program->options) status = mica__fail_nomem("the source of a program");
  }
  mica__attempt_begin();
  bool loaded = status == MICA_OK && load_binary(engine, program, r);
  mica__attempt_end();
  if (status == MICA_OK && !loaded) {
    if (tells) mica__program_tell(engine, 1);
    status = build_source(engine, r, &program->handle);
    if (tells) mica__program_tell(engine, -1);
    if (status == MICA_OK) atomic_fetch_add(&engine->stats.kernel_builds, 1);
  }
  if (status != MICA_OK) {
    program_free(engine, program);
    return status;
  }
  keep_program(engine, program);
  *out = program;
  return MICA_OK;
}

static mica__program *find_program(const mica_engine *engine, mica__hash key) {
  mica__program *program = engine->programs->programs[key.low % MICA__PROGRAM_BUCKETS];
  while (program && !mica__hash_equal(program->key, key)) program = program->next;
  return program;
}

static mica_status get_program(mica_engine *engine, const request *r, bool tells, mica__program **out) {
  mica__text key_text = {0};
  mica_status status = write_key(engine, r, &key_text);
  if (status == MICA_OK) {
    mica__hash key = mica__hash_text((mica__hash){0}, key_text.data);
    *out = find_program(engine, key);
    if (!*out) status = make_program(engine, r, key, tells, &key_text, out);
  }
  mica__text_free(&key_text);
  return status;
}

mica_status mica__program_get(mica_engine *engine, const mica__program_request *r, mica__program **out) {
  return get_program(engine, r, true, out);
}

/* Loads a program that has the kernel from the engine's bundle or the disk cache. */
static mica__program *load_with_kernel(mica_engine *engine, mica__hash key, mica__hash kernel) {
  mica__program_found found;
  char entry[MICA__MAX_ENTRY];
  unsigned char *file = NULL;
  size_t size = 0;
  const bool bundled = mica__program_bundle_find(engine->bundle, key, &file, &size);
  if (bundled ? mica__program_file_parse_holder(file, size, key, kernel, &found)
              : mica__program_file_load_holder(engine->cache_dir, key, kernel, &found))
    return NULL;
  mica__program_file_entry(found.key_text, kernel, entry, sizeof entry);
  const request r = {.name = entry, .label = entry, .source = "", .options = "", .kernels = ""};
  mica__program *program = calloc(1, sizeof *program);
  bool good = program && (program->key_text = mica__strdup(found.key_text));
  if (good && found.binary.source) {
    program->source = mica__strdup(found.binary.source);
    program->options = mica__strdup(r.options);
    good = program->source && program->options;
  }
  if (good) {
    program->key = key;
    program->shared = true;
    good = take_stored(engine, program, &found.binary, &r);
  }
  if (!bundled) free(found.file);
  if (good) {
    keep_program(engine, program);
  } else if (program) {
    program_free(engine, program);
    program = NULL;
  }
  return program;
}

mica__program *mica__program_with_kernel(mica_engine *engine, mica__hash kernel, mica__hash *refused,
                                         char entry[MICA__MAX_ENTRY]) {
  mica__hash key;
  if (!mica__program_bundle_holder(engine->bundle, kernel, &key) &&
      !mica__program_file_holder(engine->cache_dir, kernel, &key))
    return NULL;
  if (mica__hash_equal(key, *refused)) return NULL;
  mica__attempt_begin();
  mica__program *program = find_program(engine, key);
  if (!program) program = load_with_kernel(engine, key, kernel);
  mica__attempt_end();
  if (program && mica__program_file_entry(program->key_text, kernel, entry, MICA__MAX_ENTRY)) return program;
  *refused = key;
  return NULL;
}

mica_status mica__program_note(mica_engine *engine, mica__build_list *list, const mica__program_request *r) {
  mica__hash key;
  MICA_TRY(mica__program_key(engine, r, &key));
  unsigned char *file = NULL;
  size_t size = 0;
  if (mica__program_bundle_find(engine->bundle, key, &file, &size)) return MICA_OK;
  if (find_program(engine, key) || mica__program_file_exists(engine->cache_dir, key)) return MICA_OK;
  return mica__build_list_add(list, key, r);
}

/* Gets the driver's binary of a program; the caller frees binary->data, which is NULL if there is no binary. */
static void take_binary(mica_engine *engine, cl_program handle, mica__program_binary *binary) {
  const mica__cl_api *api = engine->api;
  *binary = (mica__program_binary){0};
  /* A caller's context may hold several devices, and binaries are read for all of them at once. Programs are built for
   * one device, so the sizes of the others are 0. */
  size_t sizes[16] = {0}, used = 0;
  if (api->GetProgramInfo(handle, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &used) != CL_SUCCESS) return;
  unsigned char *pointers[16] = {0};
  size_t count = used / sizeof *sizes, chosen = 0;
  if (count > 16) return;
  while (chosen < count && sizes[chosen] == 0) chosen++;
  if (chosen == count) return;
  unsigned char *data = malloc(sizes[chosen]);
  if (!data) return;
  pointers[chosen] = data;
  if (api->GetProgramInfo(handle, CL_PROGRAM_BINARIES, count * sizeof *pointers, pointers, NULL) != CL_SUCCESS) {
    free(data);
    return;
  }
  binary->data = data;
  binary->size = sizes[chosen];
}

/* PoCL keeps returning the binary that was first read from a program. A twin, built from the same source, finds machine
 * code made since then in the driver's own cache, so its binary is larger. If the driver's cache is off, the twin's
 * binary is not larger, and is not used. */
static void take_twins_binary(mica_engine *engine, const mica__program *program, mica__program_binary *binary) {
  const request r = {.name = "", .label = "", .source = program->source, .options = program->options, .kernels = ""};
  cl_program twin = NULL;
  *binary = (mica__program_binary){0};
  if (build_source(engine, &r, &twin) != MICA_OK) return;
  take_binary(engine, twin, binary);
  engine->api->ReleaseProgram(twin);
  if (binary->size > program->stored_bytes) return;
  free(binary->data);
  *binary = (mica__program_binary){0};
}

static void store_program(mica_engine *engine, mica__program *program, bool last) {
  uint64_t used = atomic_load(&program->used) | program->stored;
  bool again = program->stored_bytes > 0;
  if (used == program->stored || (again && !(last && program->source))) return;
  program->stored = used; /* set even if there is no binary, because trying again may take long */
  mica__program_binary binary;
  if (again)
    take_twins_binary(engine, program, &binary);
  else
    take_binary(engine, program->handle, &binary);
  if (!binary.data) return;
  binary.used = used;
  if (program->shared) binary.source = program->source;
  program->stored_bytes = binary.size;
  if (mica__program_file_store(engine->cache_dir, program->key, program->key_text, &binary, engine->cache_bytes) ==
      MICA_OK)
    atomic_fetch_add(&engine->stats.cache_stores, 1);
  else {
    mica__log(MICA_LOG_LEVEL_INFO, "a compiled kernel is not kept: %s", mica_error_message());
    if (!again && engine->not_kept) engine->not_kept(engine->not_kept_user, mica_error_message());
  }
  free(binary.data);
}

static bool stores_programs(const mica_engine *engine) {
  return *engine->cache_dir && engine->device.info.device_class != MICA_DEVICE_CLASS_NULL;
}

static void store_programs(mica_engine *engine, bool last) {
  if (!stores_programs(engine)) return;
  mica__attempt_begin();
  for (size_t b = 0; b < MICA__PROGRAM_BUCKETS; b++)
    for (mica__program *p = engine->programs->programs[b]; p; p = p->next) store_program(engine, p, last);
  mica__attempt_end();
}

void mica__programs_store(mica_engine *engine) {
  /* A thread that compiles holds this lock for long. Then nothing is stored now; the next call tries again. */
  if (pthread_mutex_trylock(&engine->programs->lock)) return;
  /* A queue may be running a kernel for the first time, and its machine code may appear while the binary is being read.
   * That cannot happen while there is one queue that is idle and locked; the engine's lock prevents a second queue. */
  pthread_mutex_lock(&engine->lock);
  mica_queue *queue = engine->queues;
  if (engine->queue_count == 1 && pthread_mutex_trylock(&queue->lock) == 0) {
    if (atomic_load(&queue->finished) == atomic_load(&queue->submitted)) store_programs(engine, false);
    pthread_mutex_unlock(&queue->lock);
  }
  pthread_mutex_unlock(&engine->lock);
  pthread_mutex_unlock(&engine->programs->lock);
}

void mica__programs_store_last(mica_engine *engine) { store_programs(engine, true); }

/* Reading the binary of a program that has not run makes the driver compile all its kernels. So the program is stored
 * at once. */
mica_status mica__program_make(mica_engine *engine, const mica__program_request *r) {
  mica__program *program = NULL;
  pthread_mutex_lock(&engine->programs->lock);
  mica_status status = get_program(engine, r, false, &program);
  if (status == MICA_OK && stores_programs(engine) && !program->stored_bytes) {
    atomic_store(&program->used, UINT64_MAX);
    mica__attempt_begin();
    store_program(engine, program, false);
    mica__attempt_end();
  }
  pthread_mutex_unlock(&engine->programs->lock);
  return status;
}
