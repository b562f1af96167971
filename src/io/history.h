/* io/history.h: parses a history in memory. */
#ifndef MICA_IO_HISTORY_H
#define MICA_IO_HISTORY_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/history.h>

/* The most columns of a history; further ones in a file are ignored. */
#define MICA__HISTORY_MAX_COLUMNS 256

/* mica_history_read for a NUL-terminated text. */
mica_status mica__history_parse(const char *name, const char *text, mica_history **history);

/* Finds the first row whose epoch is missing or larger than `epoch`, and drops this row and all later ones. */
MICA__SHARED void mica__history_cut(mica_history *history, double epoch);

/* Returns the path of the file that is written. */
MICA__SHARED const char *mica__events_path(const mica_events *events);

#endif
