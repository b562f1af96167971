/* tests/support/source.h: a file of tensors, as a source of weights. */
#ifndef MICA_TESTS_SUPPORT_SOURCE_H
#define MICA_TESTS_SUPPORT_SOURCE_H

#include <mica/safetensors.h>
#include <mica/weights.h>

/* A tensor whose elements are `data`. */
mica_safetensors_entry source_tensor(const char *name, mica_dtype dtype, mica_shape shape, const void *data);
/* Writes the tensors to source.safetensors in the test's folder and opens it. */
mica_weights *source_open(const mica_safetensors_entry *entries, size_t count);

#endif
