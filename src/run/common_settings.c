/* Names of choices that several tasks have. */
#include "run/common_settings.h"

#include <mica/sequence.h>

#define TEXT_OF(name, text) text,

const char *mica__positions_at(size_t i) {
  static const char *const names[] = {MICA_POSITIONS_LIST(TEXT_OF) NULL};
  return names[i];
}

const char *mica__feed_forward_at(size_t i) {
  static const char *const names[] = {MICA_FEED_FORWARD_LIST(TEXT_OF) NULL};
  return names[i];
}
