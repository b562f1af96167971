/* io/crc32c.h: the checksum of TensorFlow's records, which is a masked CRC-32C (Castagnoli). */
#ifndef MICA_IO_CRC32C_H
#define MICA_IO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t mica__crc32c(const void *data, size_t bytes) {
  /* of_bits[i] is the CRC of the 4 bits i: 4 steps of the reflected polynomial 0x82f63b78. */
  static const uint32_t of_bits[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
  const unsigned char *at = data;
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= at[i];
    crc = crc >> 4 ^ of_bits[crc & 15];
    crc = crc >> 4 ^ of_bits[crc & 15];
  }
  return ~crc;
}

/* Masks the checksum as TensorFlow does. A record may contain other records with their checksums, and the CRC of data
 * that contains its own CRC says little about the data. */
static inline uint32_t mica__crc32c_masked(const void *data, size_t bytes) {
  const uint32_t crc = mica__crc32c(data, bytes);
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

#endif
