/* io/crc32c.h: the checksum of TensorFlow's records: CRC-32C (Castagnoli), masked. */
#ifndef MICA_IO_CRC32C_H
#define MICA_IO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t mica__crc32c(const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= at[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
  }
  return ~crc;
}

/* Masks the checksum as TensorFlow does, because checksums of data that contain checksums are weak. */
static inline uint32_t mica__crc32c_masked(const void *data, size_t bytes) {
  const uint32_t crc = mica__crc32c(data, bytes);
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

#endif
