/* data/interactions/titles.h: titles of items, from tables and from files without header and quotes. */
#ifndef MICA_DATA_INTERACTIONS_TITLES_H
#define MICA_DATA_INTERACTIONS_TITLES_H

#include "data/interactions/features.h"

/* How the item and its title are separated in a line of a file of titles.
 * - BARS "|" and COLONS "::": files without header and quotes, as in MovieLens (u.item, movies.dat). The name ends in
 *   .item or .dat, and the first line's first field is followed by this separator, not by a comma, semicolon or tab.
 * - CELLS: all other files, which are read as ordinary tables, and files that cannot be opened. */
typedef enum mica__between { MICA__BETWEEN_CELLS, MICA__BETWEEN_BARS, MICA__BETWEEN_COLONS } mica__between;
mica__between mica__lines_between(const char *path);

/* Titles of items, one text each; NULL: none yet. */
typedef struct mica__titles {
  const mica__id_names *items;
  char **list;
} mica__titles;
/* Sets the title of the item `id` (0: ignored). MICA_E_FORMAT names the line of a second, different title. */
mica_status mica__titles_take(mica__titles *titles, const char *name, size_t line, int32_t id, const char *title);
/* Reads the titles from a text whose lines begin with an item and its title. The text is UTF-8, or else Latin-1; it
 * must end with a NUL and is modified. The second function reads a file. */
mica_status mica__titles_parse(const char *name, char *content, size_t size, mica__between between,
                               mica__titles *titles);
mica_status mica__titles_read_lines(const char *path, mica__between between, mica__titles *titles);

#endif
