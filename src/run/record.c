/* Records what happens in a run's training: the remarks, and why it stopped. */
#include "run/record.h"
#include "base/number.h"
#include "run/run.h"
#include "run/state/record.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__run_remark(mica_run *run, const char *format, ...) {
  char text[1024];
  va_list arguments;
  size_t i = 0;
  va_start(arguments, format);
  mica__vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  while (i < MICA__REMARKS && run->record->remarks[i] && strcmp(run->record->remarks[i], text) != 0) i++;
  if (i == MICA__REMARKS || run->record->remarks[i]) return MICA_OK;
  run->record->remarks[i] = mica__strdup(text);
  return run->record->remarks[i] ? MICA_OK : mica__fail_nomem("a run");
}

void mica__run_forget_remarks(mica_run *run, const char *path) {
  size_t kept = 0;
  for (size_t i = 0; i < MICA__REMARKS; i++) {
    char *remark = run->record->remarks[i];
    run->record->remarks[i] = NULL;
    if (remark && strstr(remark, path))
      free(remark);
    else
      run->record->remarks[kept++] = remark;
  }
}

const char *mica_run_remark(const mica_run *run, size_t i) {
  return run && i < MICA__REMARKS ? run->record->remarks[i] : NULL;
}

const char *mica_run_stopped(const mica_run *run) { return run ? run->record->stopped : NULL; }
