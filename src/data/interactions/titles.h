/* data/interactions/titles.h: titles of items, from tables and from files without header and quotes. */
#ifndef MICA_DATA_INTERACTIONS_TITLES_H
#define MICA_DATA_INTERACTIONS_TITLES_H

#include "data/interactions/features.h"

/* How the lines of a file of titles are separated, judged by its first line: BARS "|" and COLONS "::" for files without
 * header and quotes, as in MovieLens (u.item, movies.dat). CELLS: the file is an ordinary table, whose cells may
 * contain both: its name does not end in .dat or .item, its first line has neither separator, or it cannot be read. */
typedef enum mica__between { MICA__BETWEEN_CELLS, MICA__BETWEEN_BARS, MICA__BETWEEN_COLONS } mica__between;
mica__between mica__lines_between(const char *path);

/* Titles of items, one text each; NULL: none yet. */
typedef struct mica__titles {
  const mica__id_names *items;
  char **list;
} mica__titles;
/* Sets the title of the item `id` (0: ignored). MICA_E_FORMAT names the line of a second, different title. */
mica_status mica__titles_take(mica__titles *titles, const char *name, size_t line, int32_t id, const char *title);
/* Reads the titles from a text with an item and its title first in each line, in UTF-8 or else Latin-1; the text must
 * end with a NUL and is modified. The second function reads a file. */
mica_status mica__titles_parse(const char *name, char *content, size_t size, mica__between between,
                               mica__titles *titles);
mica_status mica__titles_read_lines(const char *path, mica__between between, mica__titles *titles);

#endif
