/* runtime/program_bundle.h: one device's compiled programs in one file (mica/bundle.h). The file has, in this order:
 *
 *   a header with a checksum of its later fields and of the next three parts
 *   the first lines of the programs' keys (MICA__DEVICE_LINES)
 *   the text of the tuning file (tuning.h)
 *   the key and the size of each program
 *   the programs, each as a file of the disk cache (program_file.h) */
#ifndef MICA_RUNTIME_PROGRAM_BUNDLE_H
#define MICA_RUNTIME_PROGRAM_BUNDLE_H

#include "base/hash.h"

#include <mica/bundle.h>

typedef struct mica__program_bundle mica__program_bundle;

/* Reads a bundle.
 *   MICA_E_NOT_FOUND  there is no such file
 *   MICA_E_FORMAT     the file is damaged, or does not match its signature
 *   MICA_E_STATE      others could have written the file, or a required signature is missing or made with another key
 *   MICA_E_IO         the file cannot be read
 *   MICA_E_NOMEM      memory is short */
mica_status mica__program_bundle_open(const char *path, mica__program_bundle **bundle);
/* Makes a bundle from the content of a file. The bundle takes over `data`, and also frees it if this fails. */
mica_status mica__program_bundle_parse(const char *path, unsigned char *data, size_t size,
                                       mica__program_bundle **bundle);
void mica__program_bundle_close(mica__program_bundle *bundle);

/* Checks that the bundle is for this version of Mica and for this device and driver. If not, MICA_E_STATE with a
 * message that names what the bundle is for, and what is here. */
mica_status mica__program_bundle_fits(const mica__program_bundle *bundle, const mica_device_info *device);
const char *mica__program_bundle_path(const mica__program_bundle *bundle);
/* Copies the device's name, which can be used as a selector. */
void mica__program_bundle_device(const mica__program_bundle *bundle, char device[MICA_DEVICE_TEXT]);
/* The bundle's text of a tuning file; "" if it has none. Sets *bytes to the text's length. */
const char *mica__program_bundle_facts(const mica__program_bundle *bundle, size_t *bytes);

/* Finds the file of a program by its key; false if the bundle lacks it. bundle may be NULL. */
bool mica__program_bundle_find(const mica__program_bundle *bundle, mica__hash key, unsigned char **file, size_t *size);
/* Finds the key of a program that offers the kernel; false if there is none. bundle may be NULL. */
bool mica__program_bundle_holder(const mica__program_bundle *bundle, mica__hash kernel, mica__hash *key);

/* A program: its key, and the content of its file in the disk cache. */
typedef struct mica__bundle_member {
  mica__hash key;
  unsigned char *file;
  size_t size;
} mica__bundle_member;

/* Sets *members to all programs of a bundle, in a list that the bundle owns, and returns their number. */
size_t mica__program_bundle_members(const mica__program_bundle *bundle, const mica__bundle_member **members);
/* Writes a bundle of at least one program. `facts` is the text of the tuning file. */
mica_status mica__program_bundle_write(const char *path, const mica_device_info *device, const char *facts,
                                       const mica__bundle_member *members, size_t count);

/* The lines of a program's key that state where its binary may be used. */
#define MICA__DEVICE_LINES "mica: %s\nplatform: %s\nplatform version: %s\ndevice: %s\ndriver: %s\nlanguage: %s\n"

#endif
