#include "runtime/kernel_bundle.h"

#include "base/error.h"
#include "runtime/kernel_source.h"
#include "runtime/kernel_table.h"
#include "runtime/objects.h"
#include "runtime/program_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica__hash key_of(const char *name, const char *text) {
  return mica__hash_text(mica__hash_text((mica__hash){0}, name), text);
}

mica_status mica__kernel_bundle_add(mica__kernel_bundle *bundle, const char *name, const char *text) {
  const mica__hash key = key_of(name, text);
  for (size_t i = 0; i < bundle->count; i++)
    if (mica__hash_equal(bundle->members[i].key, key)) return MICA_OK;
  mica__kernel_member *grown = realloc(bundle->members, (bundle->count + 1) * sizeof *grown);
  if (grown) bundle->members = grown;
  mica__kernel_member member = {mica__strdup(name), mica__strdup(text), key};
  if (!grown || !member.name || !member.text) {
    free(member.name);
    free(member.text);
    return mica__fail_nomem("a bundle of kernels");
  }
  bundle->members[bundle->count++] = member;
  return MICA_OK;
}

void mica__kernel_bundle_free(mica__kernel_bundle *bundle) {
  for (size_t i = 0; i < bundle->count; i++) {
    free(bundle->members[i].name);
    free(bundle->members[i].text);
  }
  free(bundle->members);
  *bundle = (mica__kernel_bundle){0};
}

/* The name of kernel i in the program: its own, followed by its index if an earlier kernel has the same name. */
static void entry_of(const mica__kernel_bundle *bundle, size_t i, char entry[MICA__MAX_ENTRY]) {
  const char *name = bundle->members[i].name;
  bool taken = false;
  for (size_t k = 0; k < i; k++) taken = taken || !strcmp(bundle->members[k].name, name);
  if (taken)
    snprintf(entry, MICA__MAX_ENTRY, "%s_at%zu", name, i);
  else
    snprintf(entry, MICA__MAX_ENTRY, "%s", name);
}

static mica_status bundle_source(const mica_engine *engine, const mica__kernel_bundle *bundle, mica__text *source,
                                 const char **option) {
  mica__text text = {0};
  char entry[MICA__MAX_ENTRY];
  for (size_t i = 0; i < bundle->count; i++) {
    const mica__kernel_member *member = &bundle->members[i];
    entry_of(bundle, i, entry);
    if (strcmp(entry, member->name) != 0)
      mica__text_addf(&text, "#define %s %s\n%s\n#undef %s\n", member->name, entry, member->text, member->name);
    else
      mica__text_addf(&text, "%s\n", member->text);
  }
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica__kernel_source_begin(&engine->device.info, source, option);
  if (status == MICA_OK)
    status = mica__kernel_source_expand_text(bundle->members[0].name, text.data, text.length, source);
  mica__text_free(&text);
  return status;
}

/* Computes what identifies a kernel in the disk cache: the key of a program that contains only this kernel. So a kernel
 * made from other files of cl/, or by another driver, does not match. */
static mica_status stored_key(mica_engine *engine, const mica__kernel_member *member, mica__hash *key) {
  mica__text source = {0};
  const char *option = "";
  mica_status status =
      bundle_source(engine, &(mica__kernel_bundle){(mica__kernel_member *)member, 1}, &source, &option);
  const mica__program_request r = {
      .name = member->name, .label = member->name, .source = source.data, .options = option, .kernels = ""};
  if (status == MICA_OK) status = mica__program_key(engine, &r, key);
  mica__text_free(&source);
  return status;
}

static mica_status make_member(mica_engine *engine, mica__program *program, const mica__kernel_member *member,
                               const char *entry) {
  const mica__kernel_origin p = {member->key, member->name, entry, NULL, member->text, "", true};
  return mica__kernel_make(engine, program, &p, NULL);
}

/* Skips the bundle's kernels that the engine has, and makes those that stored programs contain. Lists the others in
 * rest, and appends a MICA__KERNEL_LINE for each to lines. */
static mica_status take_stored(mica_engine *engine, const mica__kernel_bundle *bundle, mica__kernel_bundle *rest,
                               mica__text *lines) {
  mica__hash refused = {0}, stored;
  char entry[MICA__MAX_ENTRY], hash[MICA__HASH_TEXT];
  for (size_t i = 0; i < bundle->count; i++) {
    const mica__kernel_member *member = &bundle->members[i];
    if (mica__kernel_lookup(engine, member->key)) continue;
    MICA_TRY(stored_key(engine, member, &stored));
    mica__program *program = mica__program_with_kernel(engine, stored, &refused, entry);
    mica__attempt_begin();
    bool made = program && make_member(engine, program, member, entry) == MICA_OK;
    mica__attempt_end();
    if (made) continue;
    rest->members[rest->count] = *member;
    entry_of(rest, rest->count++, entry);
    mica__text_addf(lines, MICA__KERNEL_LINE, mica__hash_format(stored, hash), entry);
  }
  return mica__text_status(lines);
}

/* Makes one program of the remaining kernels. If the thread has an open build list, only adds the program to that
 * list. */
static mica_status make_rest(mica_engine *engine, const mica__kernel_bundle *rest, const char *lines) {
  mica__text source = {0};
  mica__program *program = NULL;
  const char *option = "";
  char label[MICA__MAX_KERNEL_NAME + 32], entry[MICA__MAX_ENTRY];
  const char *first = rest->members[0].name;
  int n = snprintf(label, sizeof label, "%s", first);
  if (rest->count > 1) snprintf(label + n, sizeof label - (size_t)n, " and %zu more", rest->count - 1);
  mica_status status = bundle_source(engine, rest, &source, &option);
  const mica__program_request r = {
      .name = first, .label = label, .source = source.data, .options = option, .kernels = lines};
  mica__build_list *list = mica__build_list_open();
  if (status == MICA_OK) {
    if (list)
      status = mica__program_note(engine, list, &r);
    else
      status = mica__program_get(engine, &r, &program);
  }
  for (size_t i = 0; status == MICA_OK && program && i < rest->count; i++) {
    entry_of(rest, i, entry);
    status = make_member(engine, program, &rest->members[i], entry);
  }
  mica__text_free(&source);
  return status;
}

static mica_status make_missing(mica_engine *engine, const mica__kernel_bundle *bundle) {
  mica__text lines = {0};
  mica__kernel_bundle rest = {calloc(bundle->count, sizeof *rest.members), 0};
  mica_status status =
      rest.members ? take_stored(engine, bundle, &rest, &lines) : mica__fail_nomem("a bundle of kernels");
  if (status == MICA_OK && rest.count > 0) status = make_rest(engine, &rest, lines.data);
  mica__text_free(&lines);
  free(rest.members);
  return status;
}

mica_status mica__kernel_bundle_build(mica_engine *engine, const mica__kernel_bundle *bundle) {
  bool missing = false;
  for (size_t i = 0; i < bundle->count; i++) MICA_TRY(mica__kernel_check_name(bundle->members[i].name));
  pthread_mutex_lock(&engine->programs->lock);
  for (size_t i = 0; i < bundle->count; i++) missing = missing || !mica__kernel_lookup(engine, bundle->members[i].key);
  mica_status status = missing ? make_missing(engine, bundle) : MICA_OK;
  pthread_mutex_unlock(&engine->programs->lock);
  return status;
}

mica_status mica__kernel_get_generated(mica_engine *engine, const char *name, const char *text, mica__kernel **kernel) {
  mica__kernel_bundle bundle = {0};
  mica_status status = MICA_OK;
  *kernel = mica__kernel_find_key(engine, key_of(name, text));
  if (*kernel) return MICA_OK;
  status = mica__kernel_bundle_add(&bundle, name, text);
  if (status == MICA_OK) status = mica__kernel_bundle_build(engine, &bundle);
  if (status == MICA_OK)
    *kernel =
        mica__build_list_open() ? mica__kernel_placeholder() : mica__kernel_find_key(engine, bundle.members[0].key);
  mica__kernel_bundle_free(&bundle);
  return status;
}
