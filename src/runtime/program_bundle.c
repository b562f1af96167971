#include "runtime/program_bundle.h"

#include "base/signature.h"
#include "base/text.h"
#include "runtime/program_file.h"

#include <mica/version.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "MICABND1";

typedef struct header {
  char magic[8];
  mica__hash checksum; /* of what follows, except the programs, which have their own */
  uint64_t text_bytes; /* the device's lines, with the terminator */
  uint64_t fact_bytes; /* the text of the tuning file (tuning.h), with the terminator */
  uint64_t programs;
} header;

typedef struct row {
  mica__hash key;
  uint64_t bytes;
} row;

typedef mica__bundle_member member;

typedef struct offer {
  mica__hash kernel, program;
} offer;

struct mica__program_bundle {
  char *path;
  unsigned char *data;
  size_t size;
  const char *text, *facts;
  size_t fact_bytes;
  member *members; /* sorted by key */
  size_t count;
  offer *offers; /* sorted by kernel */
  size_t offer_count, offer_room;
};

/* Compares two members or two offers. Both structs begin with the hash to sort by. */
static int by_hash(const void *a, const void *b) {
  const mica__hash *x = a, *y = b;
  if (x->high != y->high) return x->high < y->high ? -1 : 1;
  return x->low < y->low ? -1 : x->low > y->low;
}

void mica__program_bundle_close(mica__program_bundle *bundle) {
  if (!bundle) return;
  free(bundle->offers);
  free(bundle->members);
  free(bundle->data);
  free(bundle->path);
  free(bundle);
}

/* The checksum of the header's fields after the checksum, of both texts, and of the rows. */
static mica__hash checksum_of(const header *h, const void *texts, const void *rows) {
  const size_t after = offsetof(header, checksum) + sizeof h->checksum;
  mica__hash sum = mica__hash_bytes((mica__hash){0}, (const char *)h + after, sizeof *h - after);
  sum = mica__hash_bytes(sum, texts, (size_t)(h->text_bytes + h->fact_bytes));
  return mica__hash_bytes(sum, rows, (size_t)h->programs * sizeof(row));
}

/* --- reading --- */

static mica_status damaged(const mica__program_bundle *b, const char *what) {
  return mica__fail(MICA_E_FORMAT, "%s is not an intact bundle of compiled kernels: %s", b->path, what);
}

static mica_status add_offers(mica__program_bundle *b, const char *key_text, mica__hash key) {
  mica__hash kernel;
  for (const char *line = key_text; mica__program_file_next_kernel(&line, &kernel);) {
    if (b->offer_count == b->offer_room) {
      const size_t room = b->offer_room ? 2 * b->offer_room : 64;
      offer *grown = realloc(b->offers, room * sizeof *grown);
      if (!grown) return mica__fail_nomem("the kernels of a bundle");
      b->offers = grown;
      b->offer_room = room;
    }
    b->offers[b->offer_count++] = (offer){kernel, key};
  }
  return MICA_OK;
}

/* Reads the members. Each program has a checksum of its own too: it is a file of the disk cache. */
static mica_status read_members(mica__program_bundle *b, const unsigned char *rows, unsigned char *files) {
  size_t left = b->size - (size_t)(files - b->data);
  for (size_t i = 0; i < b->count; i++) {
    row r;
    mica__hash key;
    mica__program_found found;
    memcpy(&r, rows + i * sizeof r, sizeof r);
    if (r.bytes > left) return damaged(b, "its programs are cut off");
    if (mica__program_file_parse_any(files, (size_t)r.bytes, &key, &found) || !mica__hash_equal(key, r.key))
      return damaged(b, "a program in it is damaged");
    if (strncmp(found.key_text, b->text, strlen(b->text)) != 0)
      return damaged(b, "a program in it is for another device");
    b->members[i] = (member){key, files, (size_t)r.bytes};
    MICA_TRY(add_offers(b, found.key_text, key));
    files += r.bytes;
    left -= (size_t)r.bytes;
  }
  if (left) return damaged(b, "there are bytes after its programs");
  qsort(b->members, b->count, sizeof *b->members, by_hash);
  if (b->offer_count) qsort(b->offers, b->offer_count, sizeof *b->offers, by_hash);
  return MICA_OK;
}

static mica_status read_bundle(mica__program_bundle *b) {
  header h;
  if (b->size < sizeof h) return damaged(b, "it is too short");
  memcpy(&h, b->data, sizeof h);
  if (memcmp(h.magic, magic, sizeof magic) != 0) return damaged(b, "it does not begin like a bundle");
  const size_t rest = b->size - sizeof h;
  if (h.text_bytes == 0 || h.text_bytes > rest || h.fact_bytes == 0 || h.fact_bytes > rest - h.text_bytes ||
      h.programs > (rest - h.text_bytes - h.fact_bytes) / sizeof(row))
    return damaged(b, "it has the wrong size");
  b->text = (const char *)b->data + sizeof h;
  b->facts = b->text + h.text_bytes;
  const unsigned char *rows = (const unsigned char *)b->facts + h.fact_bytes;
  if (!mica__hash_equal(h.checksum, checksum_of(&h, b->text, rows)))
    return damaged(b, "its content does not match its checksum");
  if (b->facts[-1] || strlen(b->text) + 1 != h.text_bytes || rows[-1])
    return damaged(b, "a text in it does not end with a zero byte");
  b->fact_bytes = (size_t)h.fact_bytes - 1;
  b->count = (size_t)h.programs;
  b->members = calloc(b->count + 1, sizeof *b->members);
  if (!b->members) return mica__fail_nomem("the programs of a bundle");
  return read_members(b, rows, b->data + (rows - b->data) + b->count * sizeof(row));
}

mica_status mica__program_bundle_parse(const char *path, unsigned char *data, size_t size,
                                       mica__program_bundle **bundle) {
  mica__program_bundle *b = calloc(1, sizeof *b);
  mica_status status = MICA_OK;
  if (b) b->path = mica__strdup(path);
  if (!b || !b->path) {
    free(b);
    free(data);
    return mica__fail_nomem("a bundle");
  }
  b->data = data;
  b->size = size;
  status = read_bundle(b);
  if (status == MICA_OK)
    *bundle = b;
  else
    mica__program_bundle_close(b);
  return status;
}

mica_status mica__program_bundle_open(const char *path, mica__program_bundle **bundle) {
  unsigned char *data = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_read_owned(path, &data, &size));
  mica_status status = mica__signature_demand(path, data, size);
  if (status != MICA_OK) {
    free(data);
    return status;
  }
  return mica__program_bundle_parse(path, data, size, bundle);
}

/* --- asking --- */

static void field(const mica__program_bundle *b, const char *name, char *out, size_t size) {
  mica__program_file_field(b->text, name, out, size);
}

mica_status mica__program_bundle_fits(const mica__program_bundle *b, const mica_device_info *d) {
  mica__text text = {0};
  mica__text_addf(&text, MICA__DEVICE_LINES, MICA_VERSION_STRING, d->platform, d->platform_version, d->name, d->driver,
                  d->opencl_c);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK && strcmp(text.data, b->text) != 0) {
    char version[32], device[MICA_DEVICE_TEXT], driver[MICA_DEVICE_TEXT], platform[MICA_DEVICE_TEXT];
    field(b, "mica", version, sizeof version);
    field(b, "device", device, sizeof device);
    field(b, "driver", driver, sizeof driver);
    field(b, "platform version", platform, sizeof platform);
    const bool same = !strcmp(version, MICA_VERSION_STRING) && !strcmp(device, d->name) && !strcmp(driver, d->driver) &&
                      !strcmp(platform, d->platform_version);
    status =
        mica__fail(MICA_E_STATE, "%s is for Mica %s on %s, driver %s (%s); this is Mica %s on %s, driver %s (%s)%s",
                   b->path, version, device, driver, platform, MICA_VERSION_STRING, d->name, d->driver,
                   d->platform_version, same ? ", with another platform or version of OpenCL C" : "");
  }
  mica__text_free(&text);
  return status;
}

const char *mica__program_bundle_path(const mica__program_bundle *b) { return b->path; }

void mica__program_bundle_device(const mica__program_bundle *b, char device[MICA_DEVICE_TEXT]) {
  field(b, "device", device, MICA_DEVICE_TEXT);
}

const char *mica__program_bundle_facts(const mica__program_bundle *b, size_t *bytes) {
  *bytes = b->fact_bytes;
  return b->facts;
}

bool mica__program_bundle_find(const mica__program_bundle *b, mica__hash key, unsigned char **file, size_t *size) {
  const member *found = b ? bsearch(&key, b->members, b->count, sizeof *b->members, by_hash) : NULL;
  if (found) *file = found->file, *size = found->size;
  return found != NULL;
}

size_t mica__program_bundle_members(const mica__program_bundle *b, const mica__bundle_member **members) {
  *members = b->members;
  return b->count;
}

bool mica__program_bundle_holder(const mica__program_bundle *b, mica__hash kernel, mica__hash *key) {
  const offer *found =
      b && b->offer_count ? bsearch(&kernel, b->offers, b->offer_count, sizeof *b->offers, by_hash) : NULL;
  if (found) *key = found->program;
  return found != NULL;
}

mica_status mica_bundle_describe_sized(const char *path, mica_bundle_info *info, size_t info_bytes) {
  if (!path || !info) return mica__fail(MICA_E_INVALID, "mica_bundle_describe: a pointer is NULL");
  mica__program_bundle *b = NULL;
  mica_bundle_info found = {0};
  MICA_TRY(mica__program_bundle_open(path, &b));
  field(b, "mica", found.version, sizeof found.version);
  field(b, "platform", found.platform, sizeof found.platform);
  field(b, "platform version", found.platform_version, sizeof found.platform_version);
  field(b, "device", found.device, sizeof found.device);
  field(b, "driver", found.driver, sizeof found.driver);
  found.programs = b->count;
  found.bytes = b->size;
  mica__program_bundle_close(b);
  memset(info, 0, info_bytes);
  memcpy(info, &found, info_bytes < sizeof found ? info_bytes : sizeof found);
  return MICA_OK;
}

/* --- writing --- */

mica_status mica__program_bundle_write(const char *path, const mica_device_info *d, const char *facts,
                                       const mica__bundle_member *members, size_t count) {
  mica__text texts = {0};
  header h = {.programs = count};
  row *rows = calloc(count, sizeof *rows);
  mica__bytes *pieces = calloc(count + 3, sizeof *pieces);
  mica__text_addf(&texts, MICA__DEVICE_LINES, MICA_VERSION_STRING, d->platform, d->platform_version, d->name, d->driver,
                  d->opencl_c);
  mica__text_add_bytes(&texts, "", 1);
  h.text_bytes = texts.length;
  mica__text_add_bytes(&texts, facts, strlen(facts) + 1);
  h.fact_bytes = texts.length - h.text_bytes;
  mica_status status = mica__text_status(&texts);
  if (status == MICA_OK && (!rows || !pieces)) status = mica__fail_nomem("a bundle");
  if (status == MICA_OK) {
    memcpy(h.magic, magic, sizeof magic);
    pieces[0] = (mica__bytes){&h, sizeof h};
    pieces[1] = (mica__bytes){texts.data, texts.length};
    pieces[2] = (mica__bytes){rows, count * sizeof *rows};
    for (size_t i = 0; i < count; i++) {
      rows[i] = (row){members[i].key, members[i].size};
      pieces[3 + i] = (mica__bytes){members[i].file, members[i].size};
    }
    h.checksum = checksum_of(&h, texts.data, rows);
    status = mica__file_replace(path, pieces, count + 3);
  }
  free(pieces);
  free(rows);
  mica__text_free(&texts);
  return status;
}
