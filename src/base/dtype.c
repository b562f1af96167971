#include <mica/dtype.h>

static const struct {
  const char *name;
  size_t bytes;
  mica_dtype_kind kind;
} dtypes[MICA_DTYPE_COUNT] = {
#define MICA_DTYPE_ROW(name, token, bytes, kind) [MICA_##name] = {#token, bytes, MICA_DTYPE_KIND_##kind},
    MICA_DTYPE_LIST(MICA_DTYPE_ROW)
#undef MICA_DTYPE_ROW
};

bool mica_dtype_is_valid(mica_dtype dtype) { return (unsigned)dtype < MICA_DTYPE_COUNT; }

const char *mica_dtype_name(mica_dtype dtype) { return mica_dtype_is_valid(dtype) ? dtypes[dtype].name : "?"; }

size_t mica_dtype_size(mica_dtype dtype) { return mica_dtype_is_valid(dtype) ? dtypes[dtype].bytes : 0; }

mica_dtype_kind mica_dtype_kind_of(mica_dtype dtype) {
  return mica_dtype_is_valid(dtype) ? dtypes[dtype].kind : MICA_DTYPE_KIND_FLOAT;
}
