#include "base/error.h"
#include "base/number.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The message is thread-local, not a field of the engine: two threads on one engine must not overwrite each other's
 * message, and if an engine cannot be made there is no engine to hold it. */
#define SENTENCE_BYTES 4096
#define LEVELS 8 /* the public error, then one per nested attempt; deeper attempts share the last one */
typedef struct error {
  mica_status status;
  char sentence[SENTENCE_BYTES];
} error;

static _Thread_local error errors[LEVELS];
static _Thread_local unsigned attempts; /* nesting depth of mica__attempt_begin in this thread */

static error *current(void) { return &errors[attempts < LEVELS ? attempts : LEVELS - 1]; }

void mica__attempt_begin(void) {
  attempts++;
  if (attempts >= LEVELS) return;
  current()->status = MICA_OK;
  *current()->sentence = '\0';
}

void mica__attempt_end(void) { attempts--; }

mica_status mica__attempt_pass(mica_status status) {
  const char *sentence = current()->sentence;
  attempts--;
  return mica__fail(status, "%s", sentence);
}

const char *mica_status_name(mica_status status) {
  switch (status) {
#define MICA_STATUS_NAME(name, value, text)                                                                            \
  case MICA_##name: return "MICA_" #name;
    MICA_STATUS_LIST(MICA_STATUS_NAME)
#undef MICA_STATUS_NAME
  }
  return "MICA_E_UNKNOWN";
}

const char *mica_status_text(mica_status status) {
  switch (status) {
#define MICA_STATUS_TEXT(name, value, text)                                                                            \
  case MICA_##name: return text;
    MICA_STATUS_LIST(MICA_STATUS_TEXT)
#undef MICA_STATUS_TEXT
  }
  return "unknown status";
}

const char *mica_error_message(void) { return current()->sentence; }
mica_status mica_error_status(void) { return current()->status; }

mica_status(mica__fail)(mica_status status, const char *format, ...) {
  /* Format into a buffer first, because an argument may be the current message itself. */
  char text[SENTENCE_BYTES];
  va_list args;
  va_start(args, format);
  mica__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  memcpy(current()->sentence, text, strlen(text) + 1);
  current()->status = status;
  return status;
}

mica_status(mica__fail_in)(mica_status status, const char *where) {
  return mica__fail(status, "%s: %s", where, current()->sentence);
}

mica_status(mica__fail_nomem)(const char *what) {
  return mica__fail(MICA_E_NOMEM, "there is not enough memory for %s", what);
}

/* The name after MICA_WITH_ of CMake's option for a library; "..." if the library is not in the list. */
static const char *option_of(const char *library) {
  static const char *const list[][2] = {{"cJSON", "CJSON"},      {"expat", "EXPAT"},      {"libdeflate", "DEFLATE"},
                                        {"libjpeg", "JPEG"},     {"libpng", "PNG"},       {"libsndfile", "SNDFILE"},
                                        {"libsodium", "SODIUM"}, {"Open MPI", "MPI"},     {"PCRE2", "PCRE2"},
                                        {"protobuf-c", "ONNX"},  {"utf8proc", "UTF8PROC"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (!strcmp(list[i][0], library)) return list[i][1];
  return "...";
}

mica_status(mica__fail_lacks)(const char *subject, const char *library) {
  return mica__fail(MICA_E_UNSUPPORTED,
                    "%.200s needs %s, which this build lacks; build with cmake -DMICA_WITH_%s=ON, or on Debian with "
                    "'sh cmake/setup.sh full build'",
                    subject, library, option_of(library));
}

static struct {
  pthread_mutex_t lock;
  mica_log_level level;
  mica_log_fn *fn;
  void *user;
} logger = {.lock = PTHREAD_MUTEX_INITIALIZER, .level = MICA_LOG_LEVEL_WARNING};

void mica_log_set(mica_log_level level, mica_log_fn *fn, void *user) {
  pthread_mutex_lock(&logger.lock);
  logger.level = level;
  logger.fn = fn;
  logger.user = user;
  pthread_mutex_unlock(&logger.lock);
}

int mica__log_wanted(mica_log_level level) {
  pthread_mutex_lock(&logger.lock);
  int wanted = logger.fn && level <= logger.level;
  pthread_mutex_unlock(&logger.lock);
  return wanted;
}

void mica__log(mica_log_level level, const char *format, ...) {
  if (!mica__log_wanted(level)) return;
  char text[SENTENCE_BYTES];
  va_list args;
  va_start(args, format);
  mica__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  /* A log message is one line, but a driver's text may contain line ends. */
  for (char *at = text; (at = strchr(at, '\n'));) *at = ' ';
  pthread_mutex_lock(&logger.lock);
  if (logger.fn && level <= logger.level) logger.fn(logger.user, level, text);
  pthread_mutex_unlock(&logger.lock);
}
