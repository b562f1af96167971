/* Pascal VOC: one XML file per picture and, if the data have parts, lists that name the pictures of the training,
 * validation and test data. Boxes count pixels from 1 and include the last one. Elements may be in any order, so a file
 * is parsed twice: for the picture's size, then for its boxes. */
#include "base/name_table.h"
#include "base/number.h"
#include "base/text.h"
#include "data/annotation/boxed.h"
#include "data/picture/image.h"
#include "data/source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of an annotation file, and of the text of one of its elements. */
#define MOST_BYTES ((size_t)1 << 24)
#define MOST_TEXT 256

#if MICA_WITH_EXPAT
#include <expat.h>

/* How deep elements may be nested, and how deep those are that are read (annotation, object, bndbox, xmin). Other
 * elements are skipped. */
#define DEPTH 64
#define LEVELS 4

typedef struct reading {
  XML_Parser parser;
  mica__boxed *boxed;
  const char *name, *folder, *stem;
  int depth;
  char path[LEVELS][24]; /* names of the open elements */
  char text[MOST_TEXT];
  size_t length;
  bool cut;               /* `text` is full, so the end of the element's text may be missing */
  bool sizing, has_class; /* sizing: the first pass, which reads only the size */
  int names, boxes;       /* of the object so far */
  char class_name[MOST_TEXT];
  double size[2], sides[4]; /* NaN: not there */
  int difficult;
  mica_status status;
} reading;

/* Ends the parse with this status. */
static void stop(reading *r, mica_status status) {
  r->status = status;
  XML_StopParser(r->parser, XML_FALSE);
}

static __attribute__((format(printf, 2, 3))) void fail(reading *r, const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  mica__vsnprintf(text, sizeof text, format, list);
  va_end(list);
  stop(r, mica__fail(MICA_E_FORMAT, "%s, line %lu: %s", r->name, (unsigned long)XML_GetCurrentLineNumber(r->parser),
                     text));
}

/* True if the parser is in the element of this path. */
static bool is_in(const reading *r, const char *const *path, int depth) {
  if (r->depth != depth) return false;
  for (int i = 0; i < depth; i++)
    if (strcmp(r->path[i], path[i]) != 0) return false;
  return true;
}
#define IN(r, ...)                                                                                                     \
  is_in(r, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static mica_status begin_picture(const reading *r, mica__boxed *b) {
  static const char *const names[] = {"width", "height"};
  mica__text path = {0};
  for (int k = 0; k < 2; k++) {
    if (isnan(r->size[k]))
      return mica__fail(MICA_E_FORMAT, "%s: the picture's size is missing: no <%s> in <size>", r->name, names[k]);
    if (!(r->size[k] > 0))
      return mica__fail(MICA_E_FORMAT, "%s: the picture's size is wrong: its %s is %g, but must be above 0", r->name,
                        names[k], r->size[k]);
  }
  mica__text_addf(&path, "%s%s", r->folder, r->stem);
  MICA_TRY(mica__text_status(&path));
  return mica__boxed_picture(b, path.data, floor(r->size[0]), floor(r->size[1]));
}

static void XMLCALL open_element(void *user, const XML_Char *name, const XML_Char **attributes) {
  reading *r = user;
  (void)attributes;
  r->length = 0;
  r->cut = false;
  if (r->depth >= DEPTH) {
    fail(r, "elements are nested deeper than %d levels", DEPTH);
    return;
  }
  if (r->depth == 0 && strcmp(name, "annotation") != 0) {
    fail(r, "the first element is \"%.40s\", but must be \"annotation\" as in Pascal VOC", name);
    return;
  }
  if (r->depth < LEVELS) {
    /* No element that is looked for has a name this long, so "?" replaces it. */
    const size_t n = strlen(name);
    memcpy(r->path[r->depth], n < sizeof r->path[0] ? name : "?", (n < sizeof r->path[0] ? n : 1) + 1);
  }
  r->depth++;
  if (r->sizing) return;
  if (IN(r, "annotation", "object", "name") && r->names++ > 0) fail(r, "an object has two names");
  if (IN(r, "annotation", "object", "bndbox") && r->boxes++ > 0) fail(r, "an object has two boxes");
  if (!IN(r, "annotation", "object")) return;
  r->has_class = false;
  r->names = r->boxes = 0;
  r->difficult = 0;
  for (int k = 0; k < 4; k++) r->sides[k] = NAN;
}

static void XMLCALL add_text(void *user, const XML_Char *text, int length) {
  reading *r = user;
  for (int i = 0; i < length && r->length + 1 < MOST_TEXT; i++) r->text[r->length++] = text[i];
  r->cut |= r->length + 1 == MOST_TEXT;
}

/* The text of the element without spaces around it. */
static const char *trimmed(reading *r) {
  char *at = r->text;
  r->text[r->length] = '\0';
  while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
  char *end = at + strlen(at);
  while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n' || end[-1] == '\r')) end--;
  *end = '\0';
  return at;
}

static double number(reading *r, const char *what) {
  const char *text = trimmed(r);
  char *end = NULL;
  const double value = mica__strtod(text, &end);
  if (end != text && !*end && isfinite(value)) return value;
  char *shown = mica__name_printable(text);
  fail(r, "%s is \"%.40s\", not a finite number", what, shown ? shown : "");
  free(shown);
  return NAN;
}

static void end_object(reading *r) {
  mica__boxed_box box = {r->sides[0] - 1,
                         r->sides[1] - 1,
                         r->sides[2],
                         r->sides[3],
                         0,
                         r->difficult ? MICA__BOX_DIFFICULT : MICA__BOX_PLAIN,
                         NAN};
  char where[600];
  if (!r->has_class) {
    fail(r, "an object has no name");
    return;
  }
  for (int k = 0; k < 4; k++)
    if (isnan(r->sides[k])) {
      fail(r, "an object has no box: xmin, ymin, xmax or ymax is missing");
      return;
    }
  mica_status status = mica__boxed_class(r->boxed, r->class_name, &box.class_index);
  snprintf(where, sizeof where, "%.500s, line %lu", r->name, (unsigned long)XML_GetCurrentLineNumber(r->parser));
  if (status == MICA_OK) status = mica__boxed_add(r->boxed, &box, where);
  if (status != MICA_OK) stop(r, status);
}

/* Closes an element of an object, or the object. */
static void close_object(reading *r) {
  static const char *const sides[] = {"xmin", "ymin", "xmax", "ymax"};
  if (IN(r, "annotation", "object", "difficult")) r->difficult = number(r, "difficult") > 0;
  if (IN(r, "annotation", "object", "name")) {
    const char *text = trimmed(r);
    if (r->cut) fail(r, "the name of a class has more than %d bytes", MOST_TEXT - 2);
    r->has_class = *text != '\0';
    memcpy(r->class_name, text, strlen(text) + 1);
  }
  for (int k = 0; k < 4; k++) {
    if (!IN(r, "annotation", "object", "bndbox", sides[k])) continue;
    if (!isnan(r->sides[k])) fail(r, "a box has two elements <%s>", sides[k]);
    if (r->status == MICA_OK) r->sides[k] = number(r, sides[k]);
  }
  if (r->status == MICA_OK && IN(r, "annotation", "object")) end_object(r);
}

static void XMLCALL close_element(void *user, const XML_Char *name) {
  reading *r = user;
  (void)name;
  if (r->sizing && IN(r, "annotation", "size", "width")) r->size[0] = number(r, "the width");
  if (r->sizing && IN(r, "annotation", "size", "height")) r->size[1] = number(r, "the height");
  if (!r->sizing) close_object(r);
  r->depth--;
  r->length = 0;
}

/* Refuses a document that declares entities: they can make a small file expand enormously, and annotations do not
 * need them. */
static void XMLCALL declare_entity(void *user, const XML_Char *name, int parameter, const XML_Char *value, int length,
                                   const XML_Char *base, const XML_Char *system, const XML_Char *public_id,
                                   const XML_Char *notation) {
  (void)name, (void)parameter, (void)value, (void)length, (void)base, (void)system, (void)public_id, (void)notation;
  fail((reading *)user, "the document declares entities; remove them, because annotations need none");
}

static mica_status parse(reading *r, const uint8_t *content, size_t size) {
  r->parser = XML_ParserCreate(NULL);
  if (!r->parser) return mica__fail_nomem("XML");
  XML_SetUserData(r->parser, r);
  XML_SetElementHandler(r->parser, open_element, close_element);
  XML_SetCharacterDataHandler(r->parser, add_text);
  XML_SetEntityDeclHandler(r->parser, declare_entity);
  const enum XML_Status parsed = XML_Parse(r->parser, (const char *)content, (int)size, 1);
  mica_status status = r->status;
  if (status == MICA_OK && parsed != XML_STATUS_OK)
    status = mica__fail(MICA_E_FORMAT, "%s, line %lu: %s", r->name, (unsigned long)XML_GetCurrentLineNumber(r->parser),
                        XML_ErrorString(XML_GetErrorCode(r->parser)));
  XML_ParserFree(r->parser);
  return status;
}

mica_status mica__voc_parse(const char *name, const char *folder, const char *stem, const uint8_t *content, size_t size,
                            mica__boxed *b) {
  reading r = {.boxed = b, .name = name, .folder = folder, .stem = stem, .size = {NAN, NAN}, .sizing = true};
  if (size > MOST_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes, but annotations of a picture may have at most %zu", name, size,
                      MOST_BYTES);
  MICA_TRY(parse(&r, content, size));
  MICA_TRY(begin_picture(&r, b));
  r.sizing = false;
  return parse(&r, content, size);
}

#else

mica_status mica__voc_parse(const char *name, const char *folder, const char *stem, const uint8_t *content, size_t size,
                            mica__boxed *b) {
  (void)folder, (void)stem, (void)content, (void)size, (void)b;
  return mica__fail_lacks(name, "expat");
}

#endif

/* --- folders --- */

static mica_status has_annotations(const char *folder, bool *found) {
  char *path = NULL;
  mica__names names = {0};
  *found = false;
  mica_status status = mica__path_join_two(folder, "Annotations", NULL, &path);
  if (status == MICA_OK) status = mica__names_look(path, &names);
  for (size_t i = 0; !*found && i < names.count; i++) *found = mica__name_ends(names.names[i], ".xml");
  mica__names_free(&names);
  free(path);
  return status;
}

/* Finds the folder that holds the dataset: `folder` itself, or, if exactly one of its subfolders holds annotations,
 * that subfolder. The caller frees the path; NULL if there is none. */
static mica_status find_root(const char *folder, char **root) {
  mica__names names;
  size_t found = 0;
  bool is = false;
  *root = NULL;
  MICA_TRY(has_annotations(folder, &is));
  if (is) return (*root = mica__strdup(folder)) ? MICA_OK : mica__fail_nomem("boxes");
  MICA_TRY(mica__names_look(folder, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *path = NULL;
    status = mica__path_join_two(folder, names.names[i], NULL, &path);
    if (status == MICA_OK) status = has_annotations(path, &is);
    found += status == MICA_OK && is;
    if (status == MICA_OK && is && !*root)
      *root = path;
    else
      free(path);
  }
  mica__names_free(&names);
  if (status == MICA_OK && found == 1) return MICA_OK;
  free(*root);
  *root = NULL;
  return status;
}

static mica_status is_folder(const char *path, bool *is) {
  char *root = NULL;
  mica_status status = find_root(path, &root);
  *is = root != NULL;
  free(root);
  return status;
}

/* The picture that belongs to an annotation: STEM.jpg, .jpeg or .png; NULL: none. */
static mica_status picture_of(const char *pictures, const char *stem, char **name) {
  static const char *const ends[] = {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"};
  mica_status status = MICA_OK;
  *name = NULL;
  for (size_t i = 0; status == MICA_OK && !*name && i < sizeof ends / sizeof *ends; i++) {
    mica__text path = {0}, own = {0};
    mica__text_addf(&path, "%s%s%s", pictures, stem, ends[i]);
    status = mica__text_status(&path);
    const bool is = status == MICA_OK && mica__is_file(path.data);
    mica__text_free(&path);
    if (!is) continue;
    mica__text_addf(&own, "%s%s", stem, ends[i]);
    status = mica__text_status(&own);
    *name = own.data;
  }
  return status;
}

/* Reads the annotation of a picture. */
static mica_status read_one(const char *root, const char *stem, mica__boxed *b) {
  mica__text file = {0}, pictures = {0};
  uint8_t *content = NULL;
  size_t size = 0;
  mica__text_addf(&file, "%s/Annotations/%s.xml", root, stem);
  mica__text_addf(&pictures, "%s/JPEGImages/", root);
  mica_status status = file.data && pictures.data ? MICA_OK : mica__fail_nomem("boxes");
  char *picture = NULL;
  if (status == MICA_OK) status = picture_of(pictures.data, stem, &picture);
  if (status == MICA_OK && !picture)
    status =
        mica__fail(MICA_E_FORMAT, "%s: there is no picture %s%s.jpg, .jpeg or .png", file.data, pictures.data, stem);
  /* A missing file is reported as MICA_E_FORMAT, because MICA_E_NOT_FOUND would mean that the whole part is missing. */
  if (status == MICA_OK && !mica__is_file(file.data))
    status = mica__fail(MICA_E_FORMAT, "%s%s has no annotations: there is no %s", pictures.data, picture, file.data);
  if (status == MICA_OK) status = mica__content_read(file.data, &content, &size);
  if (status == MICA_OK) status = mica__voc_parse(file.data, pictures.data, picture, content, size, b);
  free(content);
  free(picture);
  mica__text_free(&file);
  mica__text_free(&pictures);
  return status;
}

/* Reads the pictures of a list, one per line. A picture that is listed twice is refused. A number after the name, which
 * says whether a class occurs, is ignored. */
static mica_status read_list(const char *root, const char *path, mica__boxed *b) {
  uint8_t *content = NULL;
  size_t size = 0;
  int32_t line = 0;
  mica__name_table lines = {0};
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = MICA_OK;
  for (char *at = (char *)content, *next; status == MICA_OK && at; at = next) {
    next = strchr(at, '\n');
    if (next) *next++ = '\0';
    line++;
    const size_t n = strcspn(at, " \t\r");
    at[n] = '\0';
    if (!n) continue;
    const int32_t before = mica__name_table_find(&lines, at);
    if (strchr(at, '/') || *at == '.')
      status =
          mica__fail(MICA_E_FORMAT, "%s, line %d: the name of a picture must not contain a slash or begin with a dot",
                     path, (int)line);
    else if (before >= 0)
      status = mica__fail(MICA_E_FORMAT, "%s, line %d: the picture %s stands in line %d already", path, (int)line, at,
                          (int)before);
    else
      status = mica__name_table_add(&lines, at, line);
    if (status == MICA_OK) status = read_one(root, at, b);
  }
  mica__name_table_free(&lines);
  free(content);
  return status;
}

/* Counts the pictures without an annotation, for data without a list of the pictures to use. */
static mica_status count_left_out(const char *root, mica__boxed *b) {
  char *path = NULL;
  mica__names names;
  size_t count = 0;
  mica_status status = mica__path_join_two(root, "JPEGImages", NULL, &path);
  if (status == MICA_OK) status = mica__names_read(path, &names);
  free(path);
  MICA_TRY(status);
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    mica__text file = {0};
    if (!mica__image_is_named(names.names[i])) continue;
    const size_t stem = (size_t)(strrchr(names.names[i], '.') - names.names[i]);
    mica__text_addf(&file, "%s/Annotations/", root);
    mica__text_add_bytes(&file, names.names[i], stem);
    mica__text_add(&file, ".xml");
    status = mica__text_status(&file);
    if (status == MICA_OK) count += !mica__is_file(file.data);
    mica__text_free(&file);
  }
  mica__names_free(&names);
  mica__boxed_leave_out(b, count);
  return status;
}

static mica_status read_all(const char *root, mica__boxed *b) {
  char *path = NULL;
  mica__names names;
  mica_status status = mica__path_join_two(root, "Annotations", NULL, &path);
  if (status == MICA_OK) status = mica__names_read(path, &names);
  free(path);
  MICA_TRY(status);
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    const size_t n = strlen(names.names[i]);
    if (n < 5 || strcmp(names.names[i] + n - 4, ".xml") != 0) continue;
    names.names[i][n - 4] = '\0';
    status = read_one(root, names.names[i], b);
  }
  mica__names_free(&names);
  return status == MICA_OK ? count_left_out(root, b) : status;
}

static mica_status has_list(const char *root, const char *name, bool *is) {
  char *path = NULL;
  mica_status status = mica__path_join_two(root, "ImageSets/Main", name, &path);
  *is = status == MICA_OK && mica__is_file(path);
  free(path);
  return status;
}

/* Finds the file that lists the part; NULL: none. For the training part, trainval.txt serves if there is no
 * train.txt. */
static mica_status list_of(const char *root, mica_part part, const char **list) {
  static const char *const lists[] = {"train.txt", "val.txt", "test.txt"};
  bool is = false;
  *list = NULL;
  MICA_TRY(has_list(root, lists[part], &is));
  if (is) *list = lists[part];
  if (is || part != MICA_PART_TRAIN) return MICA_OK;
  MICA_TRY(has_list(root, "trainval.txt", &is));
  if (is) *list = "trainval.txt";
  return MICA_OK;
}

static mica_status open_root(const char *root, const mica_dataset_config *config, mica__store *store) {
  const char *list, *others[2];
  char *path = NULL;
  mica__boxed *b = NULL;
  MICA_TRY(list_of(root, config->part, &list));
  MICA_TRY(list_of(root, MICA_PART_VALIDATION, &others[0]));
  MICA_TRY(list_of(root, MICA_PART_TEST, &others[1]));
  if (!list && (others[0] || others[1] || config->part != MICA_PART_TRAIN))
    return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part: no ImageSets/Main/%s.txt", root,
                      mica_part_name(config->part),
                      config->part == MICA_PART_VALIDATION ? "val" : mica_part_name(config->part));
  MICA_TRY(mica__boxed_create(store, &b));
  if (list) MICA_TRY(mica__path_join_two(root, "ImageSets/Main", list, &path));
  mica_status status = list ? read_list(root, path, b) : read_all(root, b);
  free(path);
  MICA_TRY(status);
  mica__boxed_sort_classes(b);
  return mica__boxed_finish(b, config, store);
}

static bool is_part(mica_part part, const char *name, const char *rest) {
  (void)part, (void)name, (void)rest;
  return false;
}

static mica_status open_folder(const char *const *paths, size_t count, const mica_dataset_config *config,
                               mica__store *store) {
  char *root = NULL;
  (void)count;
  MICA_TRY(find_root(paths[0], &root));
  if (!root) return mica__fail(MICA_E_FORMAT, "the folder %s holds no Annotations/*.xml", paths[0]);
  mica_status status = open_root(root, config, store);
  free(root);
  return status;
}

const mica__source mica__source_voc = {
    .is_part = is_part, .is_folder = is_folder, .parts_itself = true, .open = open_folder};
