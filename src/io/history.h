/* io/history.h: parses a history in memory. */
#ifndef MICA_IO_HISTORY_H
#define MICA_IO_HISTORY_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/history.h>

/* Columns of a history at most; further ones of a file are passed over. */
#define MICA__HISTORY_MAX_COLUMNS 256

/* mica_history_read of a NUL-terminated text. */
mica_status mica__history_parse(const char *name, const char *text, mica_history **history);

/* Drops the first row whose epoch is beyond this one, or is none, and all rows after it. */
MICA__SHARED void mica__history_cut(mica_history *history, double epoch);

/* The file that is written. */
MICA__SHARED const char *mica__events_path(const mica_events *events);

#endif
