#include "base/content.h"

#if MICA_WITH_SODIUM
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock;
  bool asked, on;
  mica__content *list;
  size_t count, room;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mica__content_hash(const mica__bytes *pieces, size_t count, mica__content *content) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof content->hash);
  for (size_t i = 0; i < count; i++) crypto_generichash_update(&state, pieces[i].data, pieces[i].size);
  crypto_generichash_final(&state, content->hash, sizeof content->hash);
}

void mica__content_watch(bool on) {
  pthread_mutex_lock(&known.lock);
  free(known.list);
  known.list = NULL;
  known.count = known.room = 0;
  known.asked = true;
  known.on = on;
  pthread_mutex_unlock(&known.lock);
}

/* True if hashes are remembered, which is the case while a key is required. Called with the lock held. */
static bool is_on(void) {
  const char *key = known.asked ? NULL : getenv(MICA__REQUIRE_KEY);
  if (!known.asked) known.on = key && *key;
  known.asked = true;
  return known.on;
}

static bool has(const mica__content *content) {
  for (size_t i = 0; i < known.count; i++)
    if (!memcmp(known.list[i].hash, content->hash, sizeof content->hash)) return true;
  return false;
}

void mica__content_remember(const mica__content *content) {
  pthread_mutex_lock(&known.lock);
  if (is_on() && !has(content)) {
    const size_t room = known.room ? 2 * known.room : 16;
    mica__content *grown = known.count < known.room ? known.list : realloc(known.list, room * sizeof *grown);
    if (grown && known.count == known.room) known.room = room;
    /* Without memory the hash is not remembered; the file then needs a valid signature when it is opened. */
    if (grown) (known.list = grown)[known.count++] = *content;
  }
  pthread_mutex_unlock(&known.lock);
}

bool mica__content_is_known(const mica__content *content) {
  pthread_mutex_lock(&known.lock);
  const bool is = has(content);
  pthread_mutex_unlock(&known.lock);
  return is;
}

void mica__content_wrote(const mica__bytes *pieces, size_t count) {
  mica__content content;
  pthread_mutex_lock(&known.lock);
  const bool on = is_on();
  pthread_mutex_unlock(&known.lock);
  if (!on) return;
  mica__content_hash(pieces, count, &content);
  mica__content_remember(&content);
}

#else
void mica__content_wrote(const mica__bytes *pieces, size_t count) { (void)pieces, (void)count; }
#endif
