/* Creating, destroying and querying engines. */
#include "base/error.h"
#include "base/text.h"
#include "runtime/at_exit.h"
#include "runtime/attachment.h"
#include "runtime/buffer.h"
#include "runtime/cl_error.h"
#include "runtime/clblast.h"
#include "runtime/derived.h"
#include "runtime/kernel_table.h"
#include "runtime/lost.h"
#include "runtime/profile.h"
#include "runtime/program.h"
#include "runtime/program_bundle.h"
#include "runtime/queue.h"
#include "runtime/tuning.h"

#include <mica/cache.h>
#include <mica/opencl.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CACHE_BYTES ((uint64_t)256 << 20)

mica_engine_config mica_engine_config_default(void) { return (mica_engine_config){0}; }

/* Chooses the directory for compiled kernels as mica_engine_config.cache_dir says; the caller frees it. */
static mica_status choose_cache_dir(const char *wanted, char **out) {
  mica__text path = {0};
  const char *from_env = getenv("MICA_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"),
             *local = getenv("LOCALAPPDATA");
  if (wanted)
    mica__text_add(&path, wanted);
  else if (from_env)
    mica__text_add(&path, from_env);
  else if (xdg && *xdg)
    mica__text_addf(&path, "%s/mica", xdg);
  else if (home && *home)
    mica__text_addf(&path, "%s/.cache/mica", home);
  else if (local && *local) /* of Windows */
    mica__text_addf(&path, "%s/mica", local);
  else
    mica__text_add(&path, "");
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK)
    *out = path.data;
  else
    mica__text_free(&path);
  return status;
}

/* An engine with its parts, so that one allocation holds them all. */
typedef struct whole {
  mica_engine engine;
  mica__pool pool;
  mica__programs programs;
  mica__kernels kernels;
  mica__profile profile;
  mica__tuning tuning;
  mica__derivations derivations;
  mica__loss loss;
} whole;

static mica_engine *engine_allocate(void) {
  whole *all = calloc(1, sizeof *all);
  if (!all) return NULL;
  mica_engine *engine = &all->engine;
  engine->pool = &all->pool;
  engine->programs = &all->programs;
  engine->kernels = &all->kernels;
  engine->profile = &all->profile;
  engine->tuning = &all->tuning;
  engine->derivations = &all->derivations;
  engine->loss = &all->loss;
  return engine;
}

static void engine_free(mica_engine *engine) {
  if (engine->context) engine->api->ReleaseContext(engine->context);
  free(engine->cache_dir);
  free(engine->builder);
  pthread_mutex_destroy(&engine->lock);
  mica__loss_destroy(engine->loss);
  mica__program_bundle_close(engine->bundle);
  free(engine);
}

/* Opens the bundle that mica_engine_config.bundle names or, if that is NULL, MICA_BUNDLE in the environment. If the
 * name is empty or not set, leaves *out as it is. */
static mica_status open_bundle(const mica_engine_config *config, mica__program_bundle **out) {
  const char *path = config && config->bundle ? config->bundle : getenv("MICA_BUNDLE");
  return path && *path ? mica__program_bundle_open(path, out) : MICA_OK;
}

static mica_status take_bundle(mica_engine *engine, mica__program_bundle *bundle) {
  engine->bundle = bundle;
  if (bundle && engine->device.info.device_class != MICA_DEVICE_CLASS_NULL)
    return mica__program_bundle_fits(bundle, &engine->device.info);
  if (engine->device.info.has_compiler) return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED,
                    "%s has no compiler; give the path of a bundle of compiled kernels in MICA_BUNDLE",
                    engine->device.info.name);
}

static void limit_memory(mica_device_info *info, uint64_t most) {
  if (most && most < info->global_bytes) info->global_bytes = most;
  if (most && most < info->max_buffer_bytes) info->max_buffer_bytes = most;
}

/* The part that both ways of making an engine share, once the device is known. context and queue may be NULL. The
 * engine takes the bundle over; after a failure it is closed. */
static mica_status engine_create(const mica__device *device, cl_context context, cl_command_queue queue,
                                 mica__program_bundle *bundle, const mica_engine_config *config, mica_engine **out) {
  mica_engine_config defaults = mica_engine_config_default();
  if (!config) config = &defaults;
  mica_engine *engine = engine_allocate();
  if (!engine) {
    mica__program_bundle_close(bundle);
    return mica__fail_nomem("an engine");
  }
  engine->api = device->api;
  engine->device = *device;
  limit_memory(&engine->device.info, config->memory_bytes);
  engine->split_limits = mica__split_limits_of(&engine->device.info);
  engine->tunes = config->tune;
  engine->compiling = config->compiling;
  engine->compiling_user = config->compiling_user;
  engine->not_kept = config->not_kept;
  engine->not_kept_user = config->not_kept_user;
  engine->cache_bytes = config->cache_bytes ? config->cache_bytes : DEFAULT_CACHE_BYTES;
  if (pthread_mutex_init(&engine->lock, NULL)) {
    mica__program_bundle_close(bundle);
    free(engine);
    return mica__fail_nomem("a lock");
  }
  mica_status status = mica__loss_init(engine->loss);
  if (status != MICA_OK) {
    pthread_mutex_destroy(&engine->lock);
    mica__program_bundle_close(bundle);
    free(engine);
    return status;
  }
  MICA_TRY_GOTO(take_bundle(engine, bundle), fail_early);
  status = choose_cache_dir(config->cache_dir, &engine->cache_dir);
  if (status != MICA_OK) goto fail_early;
  engine->builder = mica__strdup(config->builder ? config->builder : "");
  if (!engine->builder) MICA_TRY_GOTO(mica__fail_nomem("an engine"), fail_early);
  cl_int error = CL_SUCCESS;
  if (context) {
    MICA_TRY_GOTO(mica__cl_check(engine->api->RetainContext(context), "retaining the context"), fail_early);
    engine->context = context;
  } else {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform, 0};
    engine->context = engine->api->CreateContext(properties, 1, &device->id, NULL, NULL, &error);
    if (!engine->context)
      MICA_TRY_GOTO(mica__cl_check(error ? error : CL_OUT_OF_RESOURCES, "making a context"), fail_early);
  }
  MICA_TRY_GOTO(mica__pool_init(engine->pool), fail_early);
  MICA_TRY_GOTO(mica__programs_init(engine->programs), fail_pool);
  MICA_TRY_GOTO(mica__profile_init(engine->profile), fail_programs);
  MICA_TRY_GOTO(mica__tuning_init(engine->tuning), fail_profile);
  MICA_TRY_GOTO(mica__derivations_init(engine->derivations), fail_tuning);
  MICA_TRY_GOTO(mica__queue_create(engine, queue, &engine->queue), fail_derivations);
  mica__at_exit_add(engine);
  *out = engine;
  return MICA_OK;

fail_derivations:
  mica__derivations_destroy(engine->derivations);
fail_tuning:
  mica__tuning_destroy(engine->tuning);
fail_profile:
  mica__profile_destroy(engine);
fail_programs:
  mica__kernels_destroy(engine);
  mica__programs_destroy(engine);
fail_pool:
  mica__pool_destroy(engine);
fail_early:
  engine_free(engine);
  return status;
}

mica_status mica_engine_create(const mica_engine_config *config, mica_engine **engine) {
  if (!engine) return mica__fail(MICA_E_INVALID, "mica_engine_create: engine is NULL");
  mica__device device;
  mica__program_bundle *bundle = NULL;
  char of_bundle[MICA_DEVICE_TEXT];
  const char *selector = config ? config->device : NULL;
  MICA_TRY(open_bundle(config, &bundle));
  if (bundle && !selector && !getenv("MICA_DEVICE")) {
    mica__program_bundle_device(bundle, of_bundle);
    selector = of_bundle;
  }
  const mica_status status = mica__device_select(selector, &device);
  if (status == MICA_OK) return engine_create(&device, NULL, NULL, bundle, config, engine);
  mica__program_bundle_close(bundle);
  return status;
}

mica_status mica_engine_create_from_opencl(cl_context context, cl_device_id id, cl_command_queue queue,
                                           const mica_engine_config *config, mica_engine **engine) {
  if (!context || !id || !engine)
    return mica__fail(MICA_E_INVALID, "mica_engine_create_from_opencl: context, device or engine is NULL");
  const mica__cl_api *api = mica__cl_loader();
  mica__device device = {.api = api, .id = id};
  MICA_TRY(mica__cl_check(api->GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof device.platform, &device.platform, NULL),
                          "asking a device for its platform"));
  MICA_TRY(mica__device_describe(api, device.platform, id, &device.info));
  mica__program_bundle *bundle = NULL;
  MICA_TRY(open_bundle(config, &bundle));
  return engine_create(&device, context, queue, bundle, config, engine);
}

/* Writes the bundle that MICA_BUNDLE_OUT asks for, if it is set. A failure is only logged. */
static void write_wanted_bundle(mica_engine *engine) {
  const char *path = getenv("MICA_BUNDLE_OUT");
  if (!path || !*path || engine->device.info.device_class == MICA_DEVICE_CLASS_NULL) return;
  mica__attempt_begin();
  if (mica_bundle_write(engine, path) != MICA_OK)
    mica__log(MICA_LOG_LEVEL_WARNING, "the bundle %s is not written: %s", path, mica_error_message());
  mica__attempt_end();
}

void mica_engine_destroy(mica_engine *engine) {
  if (!engine) return;
  mica__at_exit_forget(engine);
  if (engine->attached) engine->detach(engine->attached);
  mica_queue_destroy(engine->queue);
  engine->queue = NULL;
  mica__programs_store_last(engine);
  write_wanted_bundle(engine);
  mica__derivations_destroy(engine->derivations);
  const unsigned long long left = atomic_load(&engine->stats.bytes_in_use);
  if (left)
    mica__log(MICA_LOG_LEVEL_WARNING,
              "an engine is destroyed while objects made on it still exist; they must not be used any more: %llu bytes "
              "of buffers are left",
              left);
  mica__tuning_destroy(engine->tuning);
  mica__profile_destroy(engine);
  mica__kernels_destroy(engine);
  mica__programs_destroy(engine);
  mica__pool_destroy(engine);
  mica__clblast_forget(engine);
  engine_free(engine);
}

mica_status mica__engine_attachment(mica_engine *engine, mica_status (*make)(void **object),
                                    void (*destroy)(void *object), void **object) {
  mica_status status = MICA_OK;
  pthread_mutex_lock(&engine->lock);
  if (!engine->attached) status = make(&engine->attached);
  engine->detach = destroy;
  *object = engine->attached;
  pthread_mutex_unlock(&engine->lock);
  return status;
}

const mica_device_info *mica_engine_device(const mica_engine *engine) { return &engine->device.info; }
mica_queue *mica_engine_queue(mica_engine *engine) { return engine->queue; }
const char *mica_engine_cache_dir(const mica_engine *engine) { return engine->cache_dir; }
cl_context mica_engine_opencl_context(const mica_engine *engine) { return engine->context; }
cl_device_id mica_engine_opencl_device(const mica_engine *engine) { return engine->device.id; }

void mica_engine_stats_sized(const mica_engine *engine, mica_stats *out, size_t bytes) {
  mica_stats stats;
#define LOAD_COUNTER(name, text) stats.name = atomic_load(&engine->stats.name);
  MICA_STATS_LIST(LOAD_COUNTER)
#undef LOAD_COUNTER
  memset(out, 0, bytes);
  memcpy(out, &stats, bytes < sizeof stats ? bytes : sizeof stats);
}

mica_status mica_cache_path(const char *cache_dir, char **path) {
  if (!path) return mica__fail(MICA_E_INVALID, "mica_cache_path: path is NULL");
  return choose_cache_dir(cache_dir, path);
}
