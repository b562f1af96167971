/* Texts in one folder per class: each file is a sample. Line ends at the end of a file are removed. */
#include "base/text.h"
#include "base/utf8.h"
#include "data/class_folders.h"
#include "data/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(const char *name) { return mica__name_ends(name, ".txt"); }

static const mica__class_kind kind = {is_text, "texts", "holds no texts: no file ends in .txt", NULL};

/* Appends a content as UTF-8. A content that is not UTF-8 is read as Latin-1 and counted in *latin. */
static mica_status add_content(const char *path, const char *content, size_t size, mica__text *all, uint64_t *latin) {
  const char *zero = memchr(content, '\0', size);
  size_t line = 1;
  for (const char *at = content; zero && at < zero; at++) line += *at == '\n';
  if (zero)
    return mica__fail(MICA_E_FORMAT, "%s, line %zu has a zero byte; texts must be UTF-8 or Latin-1, not UTF-16", path,
                      line);
  if (size >= 3 && !memcmp(content, "\xef\xbb\xbf", 3)) content += 3, size -= 3; /* skips a byte order mark */
  while (size > 0 && (content[size - 1] == '\n' || content[size - 1] == '\r')) size--;
  if (mica__utf8_prefix(content, size) == size) {
    mica__text_add_bytes(all, content, size);
    return mica__text_status(all);
  }
  ++*latin;
  for (size_t i = 0; i < size; i++) {
    char bytes[4];
    mica__text_add_bytes(all, bytes, mica__utf8_encode((unsigned char)content[i], bytes));
  }
  return mica__text_status(all);
}

/* Reads all files one after the other; offsets[i] is where text i begins. */
static mica_status read_texts(const mica__class_files *f, mica__text *all, int64_t *offsets, uint64_t *latin) {
  for (size_t i = 0; i < f->count; i++) {
    uint8_t *content = NULL;
    size_t size = 0;
    MICA_TRY(mica__content_read(f->files[i], &content, &size));
    mica_status status = add_content(f->files[i], (const char *)content, size, all, latin);
    free(content);
    MICA_TRY(status);
    offsets[i + 1] = (int64_t)all->length;
    if (offsets[i + 1] - offsets[i] > INT32_MAX)
      return mica__fail(MICA_E_FORMAT, "%s has %" PRId64 " bytes as UTF-8; a text may have at most %d", f->files[i],
                        offsets[i + 1] - offsets[i], INT32_MAX);
  }
  return MICA_OK;
}

static mica_status describe(const mica__class_files *f, uint64_t latin, mica__store *store) {
  mica__text text = {0};
  mica__text_addf(&text, "%zu texts in %d folders, one per class", f->count, (int)f->classes);
  if (latin) mica__text_addf(&text, "; %" PRIu64 " of them are not UTF-8 and were read as Latin-1", latin);
  mica__class_files_note(f, &kind, &text);
  store->summary = text.data;
  return mica__text_status(&text);
}

/* Adds the columns "text" and "label". The store takes over the texts and the offsets. */
static mica_status fill_store(mica__class_files *f, const mica_dataset_config *config, mica__store *store) {
  static const mica_column about = {"text", MICA_COLUMN_KIND_TEXT, MICA_U8, {1, {MICA_DYNAMIC}}, 0};
  mica__column *column = NULL;
  mica__text all = {0};
  uint64_t latin = 0;
  int64_t *offsets = calloc(f->count + 1, sizeof *offsets);
  if (!offsets) return mica__fail_nomem("texts");
  MICA_TRY(mica__store_own(store, offsets, free));
  mica__text_add(&all, ""); /* memory is needed even if all texts are empty */
  mica_status status = read_texts(f, &all, offsets, &latin);
  MICA_TRY(mica__store_own(store, all.data, free));
  MICA_TRY(status);
  MICA_TRY(mica__store_set_count(store, f->count));
  MICA_TRY(mica__store_add(store, &about, &column));
  column->data = (const uint8_t *)all.data;
  column->offsets = offsets;
  MICA_TRY(mica__class_files_label(f, config, store));
  return describe(f, latin, store);
}

static mica_status open_folder(const char *const *paths, size_t count, const mica_dataset_config *config,
                               mica__store *store) {
  mica__class_files files = {0};
  (void)count;
  mica_status status = mica__class_files_read(paths[0], config, &kind, &files);
  if (status == MICA_OK) status = fill_store(&files, config, store);
  mica__class_files_free(&files);
  return status;
}

#define MOST_DEPTH 8

/* Sets *found to true if a file in the folder or its subfolders ends in .txt, and *all to false if one does not, or if
 * folders are nested too deeply. Links that lead back are skipped, as in mica__class_files_read. */
static mica_status holds_texts(const char *path, const mica__folder_level *above, bool *all, bool *found) {
  mica__names names;
  mica__folder_level here;
  if (!mica__folder_enter(path, above, &here)) return MICA_OK;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && *all && i < names.count; i++) {
    char *folder = NULL;
    if (is_text(names.names[i])) {
      *found = true;
      continue;
    }
    status = mica__path_join(path, names.names[i], &folder);
    *all = status == MICA_OK && here.depth < MOST_DEPTH && mica__is_folder(folder);
    if (*all) status = holds_texts(folder, &here, all, found);
    free(folder);
  }
  mica__names_free(&names);
  return status;
}

/* Sets *is to whether every folder in the folder contains texts or nothing, and at least one contains texts. It is
 * false for the YOLO layout, whose folder "labels" holds texts, because its folder "images" holds pictures. */
static mica_status is_folder(const char *path, bool *is) {
  mica__names names;
  bool all = true, found = false;
  *is = false;
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && all && i < names.count; i++) {
    char *folder = NULL;
    status = mica__path_join(path, names.names[i], &folder);
    if (status == MICA_OK && mica__is_folder(folder)) status = holds_texts(folder, NULL, &all, &found);
    free(folder);
  }
  mica__names_free(&names);
  *is = status == MICA_OK && all && found;
  return status;
}

const mica__source mica__source_text_folder = {
    .is_part = mica__class_folder_is_part, .is_folder = is_folder, .open = open_folder};
