/* Bundles of compiled programs. Inputs get a right checksum before they are read: else no mutation would be read. */
#include "fuzz/fuzz.h"
#include "runtime/program_bundle.h"
#include "runtime/program_file.h"

#include <mica/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The header: 8 bytes magic, 16 checksum, then 8 each for the bytes of the device's lines and of the facts, and for the
 * number of programs. A row: 16 key, 8 bytes of the program. */
#define CHECKSUM_AT 8
#define COUNTS_AT 24
#define BODY_AT 48
#define ROW 24

static const char lines[] = "mica: 1\nplatform: p\nplatform version: 1\ndevice: d\ndriver: 1\nlanguage: l\n";
static const char key_text[] = "mica: 1\nplatform: p\nplatform version: 1\ndevice: d\ndriver: 1\nlanguage: l\n"
                               "program: fuzz\nkernel 00000000000000040000000000000003: k\n";
static const mica__hash kernel = {.low = 3, .high = 4}, key = {.low = 1, .high = 2};

static void repair_checksum(uint8_t *data, size_t size) {
  uint64_t counts[3];
  if (size < BODY_AT) return;
  memcpy(counts, data + COUNTS_AT, sizeof counts);
  const size_t rest = size - BODY_AT;
  if (counts[0] > rest || counts[1] > rest - counts[0] || counts[2] > (rest - counts[0] - counts[1]) / ROW) return;
  const size_t texts = (size_t)(counts[0] + counts[1]);
  mica__hash sum = mica__hash_bytes((mica__hash){0}, data + COUNTS_AT, sizeof counts);
  sum = mica__hash_bytes(sum, data + BODY_AT, texts);
  sum = mica__hash_bytes(sum, data + BODY_AT + texts, (size_t)counts[2] * ROW);
  memcpy(data + CHECKSUM_AT, &sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  mica__program_bundle *bundle = NULL;
  if (!copy) return 0;
  memcpy(copy, data, size);
  repair_checksum(copy, size);
  if (mica__program_bundle_parse("fuzz", copy, size, &bundle) != MICA_OK) return 0;
  char device[MICA_DEVICE_TEXT];
  unsigned char *file = NULL;
  size_t bytes = 0;
  mica__hash holder = {0};
  mica__program_bundle_device(bundle, device);
  if (strlen(mica__program_bundle_facts(bundle, &bytes)) > size || bytes > size) abort();
  /* Whatever is found lies inside the file. */
  if (mica__program_bundle_find(bundle, key, &file, &bytes) && (file < copy || file + bytes > copy + size)) abort();
  if (mica__program_bundle_holder(bundle, kernel, &holder) && !mica__program_bundle_find(bundle, holder, &file, &bytes))
    abort();
  mica__program_bundle_close(bundle);
  return 0;
}

static void append_file(const char *path, mica__text *out) {
  char piece[512];
  FILE *file = fopen(path, "rb");
  if (!file) return;
  for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) mica__text_add_bytes(out, piece, n);
  fclose(file);
}

/* A program as the disk cache has it. */
static bool make_program(mica__text *out) {
  static unsigned char content[] = "the driver's binary";
  char folder[] = "/tmp/mica-fuzz-XXXXXX", programs[64], path[128], name[MICA__HASH_TEXT];
  size_t cleared;
  if (!mkdtemp(folder)) return false;
  const mica__program_binary binary = {.data = content, .size = sizeof content, .source = "source"};
  snprintf(programs, sizeof programs, "%s/programs", folder);
  snprintf(path, sizeof path, "%s/%s.bin", programs, mica__hash_format(key, name));
  mica_status status = mica__program_file_store(folder, key, key_text, &binary, 1 << 20);
  append_file(path, out);
  if (mica_cache_clear(folder, &cleared) != MICA_OK) status = MICA_E_IO;
  rmdir(programs);
  rmdir(folder);
  return status == MICA_OK;
}

/* Without a program, and with one. A seed is accepted, else the offsets above are out of date. */
bool fuzz_seed(size_t index, mica__text *seed) {
  static const char facts[] = "best\tgemm\tgemm_tile\t0.5\n";
  mica__text program = {0};
  mica__program_bundle *bundle = NULL;
  if (index >= 2 || (index && !make_program(&program))) return false;
  const uint64_t counts[3] = {sizeof lines, sizeof facts, index}, bytes = program.length;
  mica__text_add_bytes(seed, "MICABND1", 8);
  mica__text_add_bytes(seed, (const char *)&(mica__hash){0}, sizeof(mica__hash));
  mica__text_add_bytes(seed, (const char *)counts, sizeof counts);
  mica__text_add_bytes(seed, lines, sizeof lines);
  mica__text_add_bytes(seed, facts, sizeof facts);
  if (index) {
    mica__text_add_bytes(seed, (const char *)&key, sizeof key);
    mica__text_add_bytes(seed, (const char *)&bytes, sizeof bytes);
    mica__text_add_bytes(seed, program.data, program.length);
  }
  mica__text_free(&program);
  if (seed->failed) return false;
  repair_checksum((uint8_t *)seed->data, seed->length);
  unsigned char *copy = malloc(seed->length);
  if (!copy) return false;
  memcpy(copy, seed->data, seed->length);
  if (mica__program_bundle_parse("seed", copy, seed->length, &bundle) != MICA_OK) return false;
  mica__program_bundle_close(bundle);
  return true;
}
