#include <mica/blocks.h>
#include <string.h>

static const struct {
  const char *name;
  int64_t elements;
  size_t bytes;
} blocks[MICA_BLOCK_COUNT] = {
#define BLOCK_ROW(name, text, elements, bytes, number) {text, elements, bytes},
    MICA_BLOCK_LIST(BLOCK_ROW)
#undef BLOCK_ROW
};

static int is_valid(mica_block block) { return (unsigned)block < MICA_BLOCK_COUNT; }

const char *mica_block_name(mica_block block) { return is_valid(block) ? blocks[block].name : "?"; }

mica_block mica_block_named(const char *name) {
  for (int i = MICA_BLOCK_NONE + 1; name && i < MICA_BLOCK_COUNT; i++)
    if (!strcmp(blocks[i].name, name)) return (mica_block)i;
  return MICA_BLOCK_COUNT;
}

int64_t mica_block_elements(mica_block block) { return is_valid(block) ? blocks[block].elements : 0; }

size_t mica_block_bytes(mica_block block) { return is_valid(block) ? blocks[block].bytes : 0; }
