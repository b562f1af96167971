/* A file of the program cache. Inputs get a right checksum before they are read, or no mutation would come past it. */
#include "fuzz/fuzz.h"
#include "runtime/program_file.h"

#include <mica/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file's header is 8 bytes magic, 16 key, then 8 each for the bytes of key text, source and binary and for
 * use, 16 checksum. */
#define KEY_BYTES_AT 24
#define SOURCE_BYTES_AT 32
#define CHECKSUM_AT 56
#define BODY_AT 72

static const mica__hash key = {.low = 1, .high = 2};
static const mica__hash kernel = {.low = 3, .high = 4};
static const char key_text[] = "program: fuzz\nkernel 00000000000000040000000000000003: k\n";

static void repair_checksum(uint8_t *data, size_t size) {
  uint64_t text_bytes, source_bytes;
  if (size < BODY_AT) return;
  memcpy(&text_bytes, data + KEY_BYTES_AT, sizeof text_bytes);
  memcpy(&source_bytes, data + SOURCE_BYTES_AT, sizeof source_bytes);
  if (text_bytes > size - BODY_AT || source_bytes > size - BODY_AT - text_bytes) return;
  const uint8_t *source = data + BODY_AT + text_bytes, *binary = source + source_bytes;
  mica__hash sum = mica__hash_bytes((mica__hash){0}, data, CHECKSUM_AT);
  sum = mica__hash_bytes(sum, data + BODY_AT, (size_t)text_bytes);
  sum = mica__hash_bytes(sum, source, (size_t)source_bytes);
  sum = mica__hash_bytes(sum, binary, (size_t)(data + size - binary));
  memcpy(data + CHECKSUM_AT, &sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *file = malloc(size ? size : 1);
  if (!file) return 0;
  memcpy(file, data, size);
  repair_checksum(file, size);
  mica__program_binary binary;
  if (mica__program_file_parse(file, size, key, key_text, &binary) == MICA_OK && binary.size > 0) {
    /* Whatever is accepted lies inside the file. */
    if (binary.data < file || (size_t)(binary.data - file) + binary.size > size) abort();
  }
  mica__program_found found;
  if (mica__program_file_parse_holder(file, size, key, kernel, &found) == MICA_OK) {
    char entry[40];
    const unsigned char *source = (const unsigned char *)found.binary.source;
    if (found.binary.data < file || (size_t)(found.binary.data - file) + found.binary.size > size) abort();
    if (source && (source < file || source + strlen(found.binary.source) >= file + size)) abort();
    if (!mica__program_file_entry(found.key_text, kernel, entry, sizeof entry)) abort();
  }
  free(file);
  return 0;
}

static void append_file(const char *path, mica__text *out) {
  char piece[512];
  FILE *file = fopen(path, "rb");
  if (!file) return;
  for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) mica__text_add_bytes(out, piece, n);
  fclose(file);
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static unsigned char content[] = "the driver's binary";
  char folder[] = "/tmp/mica-fuzz-XXXXXX", programs[64], path[128], name[MICA__HASH_TEXT];
  if (index >= 3 || !mkdtemp(folder)) return false;
  mica__program_binary binary = {.data = content, .size = index == 0 ? sizeof content : 0, .used = index};
  if (index == 2) binary.source = "source";
  snprintf(programs, sizeof programs, "%s/programs", folder);
  snprintf(path, sizeof path, "%s/%s.bin", programs, mica__hash_format(key, name));
  mica_status status = mica__program_file_store(folder, key, key_text, &binary, 1 << 20);
  append_file(path, seed);
  size_t cleared;
  if (mica_cache_clear(folder, &cleared) != MICA_OK) status = MICA_E_IO;
  rmdir(programs);
  rmdir(folder);
  /* Repaired or not, a seed is a file that is accepted; else the offsets above are out of date. */
  repair_checksum((uint8_t *)seed->data, seed->length);
  return status == MICA_OK &&
         mica__program_file_parse((unsigned char *)seed->data, seed->length, key, key_text, &binary) == MICA_OK;
}
