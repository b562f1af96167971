/* Writes bundles of an engine's programs. */
#include "base/text.h"
#include "runtime/objects.h"
#include "runtime/program.h"
#include "runtime/program_bundle.h"
#include "runtime/program_file.h"
#include "runtime/tuning.h"

#include <stdlib.h>

/* The contents of a bundle to write: files of this engine's programs, and files of the bundle that it replaces. */
typedef struct parts {
  const mica__program_bundle *old; /* NULL for none */
  mica__bundle_member *members;
  bool *ours; /* true for programs whose file must be freed */
  size_t count, room;
} parts;

static void free_parts(parts *p) {
  for (size_t i = 0; i < p->count; i++)
    if (p->ours[i]) free(p->members[i].file);
  free(p->members);
  free(p->ours);
}

static bool has_part(const parts *p, mica__hash key) {
  for (size_t i = 0; i < p->count; i++)
    if (mica__hash_equal(p->members[i].key, key)) return true;
  return false;
}

static void take_part(parts *p, mica__hash key, unsigned char *file, size_t size, bool ours) {
  p->members[p->count] = (mica__bundle_member){key, file, size};
  p->ours[p->count++] = ours;
}

/* Adds one program: from the disk cache or, if it is not there, from the engine's own bundle. */
static mica_status take_program(const mica_engine *engine, parts *p, mica__hash key) {
  unsigned char *file = NULL, *copy = NULL;
  size_t size = 0;
  if (*engine->cache_dir && mica__program_file_exists(engine->cache_dir, key)) {
    MICA_TRY(mica__program_file_read(engine->cache_dir, key, &copy, &size));
    take_part(p, key, copy, size, true);
  } else if (mica__program_bundle_find(engine->bundle, key, &file, &size)) {
    take_part(p, key, file, size, false);
  } else {
    return mica__fail(
        MICA_E_STATE,
        "the cache directory %s lacks a kernel that has run: it was not written, was deleted, or exceeded "
        "the cache's size limit; run the model again, then write the bundle at once",
        engine->cache_dir);
  }
  return MICA_OK;
}

/* Takes the engine's programs that have run, and from the old bundle the programs that are not among these. Called
 * with programs.lock held. */
static mica_status take_programs(mica_engine *engine, parts *p) {
  for (size_t b = 0; b < MICA__PROGRAM_BUCKETS; b++)
    for (const mica__program *one = engine->programs->programs[b]; one; one = one->next)
      if (atomic_load(&one->used)) p->room++;
  if (!p->room) return mica__fail(MICA_E_STATE, "a bundle would be empty: no kernel of this engine has run");
  const mica__bundle_member *old = NULL;
  const size_t old_count = p->old ? mica__program_bundle_members(p->old, &old) : 0;
  p->room += old_count;
  p->members = calloc(p->room, sizeof *p->members);
  p->ours = calloc(p->room, sizeof *p->ours);
  if (!p->members || !p->ours) return mica__fail_nomem("the programs of a bundle");
  for (size_t b = 0; b < MICA__PROGRAM_BUCKETS; b++)
    for (const mica__program *one = engine->programs->programs[b]; one; one = one->next)
      if (atomic_load(&one->used)) MICA_TRY(take_program(engine, p, one->key));
  for (size_t i = 0; i < old_count; i++)
    if (!has_part(p, old[i].key)) take_part(p, old[i].key, old[i].file, old[i].size, false);
  return MICA_OK;
}

/* Opens the bundle that already exists at the path. If there is no such file, MICA_OK and *old stays NULL. */
static mica_status open_old(const mica_engine *engine, const char *path, mica__program_bundle **old) {
  mica__attempt_begin();
  mica_status status = mica__program_bundle_open(path, old);
  if (status == MICA_OK) status = mica__program_bundle_fits(*old, &engine->device.info);
  const bool none = status == MICA_E_NOT_FOUND;
  if (status == MICA_OK || none)
    mica__attempt_end();
  else
    status = mica__attempt_pass(status);
  return none ? MICA_OK : status;
}

mica_status mica_bundle_write(mica_engine *engine, const char *path) {
  if (!engine || !path) return mica__fail(MICA_E_INVALID, "mica_bundle_write: a pointer is NULL");
  if (engine->device.info.device_class == MICA_DEVICE_CLASS_NULL)
    return mica__fail(MICA_E_STATE, "a bundle would be empty: the null device runs no kernels");
  if (!*engine->cache_dir)
    return mica__fail(MICA_E_STATE, "a bundle needs the engine's cache directory, but the engine has none");
  parts p = {0};
  mica__text facts = {0};
  mica__program_bundle *old = NULL;
  mica_status status = open_old(engine, path, &old);
  p.old = old;
  if (status == MICA_OK) {
    pthread_mutex_lock(&engine->programs->lock);
    mica__programs_store_last(engine);
    status = take_programs(engine, &p);
    pthread_mutex_unlock(&engine->programs->lock);
  }
  if (status == MICA_OK) {
    mica__tuning_text(engine, &facts);
    status = mica__text_status(&facts);
  }
  if (status == MICA_OK)
    status = mica__program_bundle_write(path, &engine->device.info, facts.data ? facts.data : "", p.members, p.count);
  mica__text_free(&facts);
  free_parts(&p);
  mica__program_bundle_close(old);
  return status;
}
