/* data/interactions/titles.h: titles of items, in tables and in files without names or quotes. */
#ifndef MICA_DATA_INTERACTIONS_TITLES_H
#define MICA_DATA_INTERACTIONS_TITLES_H

#include "data/interactions/features.h"

/* What stands between the columns of a file without names or quotes, as MovieLens has some: "|" (u.item) or "::"
 * (ratings.dat, movies.dat), by its first line. CELLS: neither of them, another name than *.dat or *.item, or a file
 * that cannot be read. Cells of other tables may hold both. */
typedef enum mica__between { MICA__BETWEEN_CELLS, MICA__BETWEEN_BARS, MICA__BETWEEN_COLONS } mica__between;
mica__between mica__lines_between(const char *path);

/* Titles of items, a text each; NULL: none so far. */
typedef struct mica__titles {
  const mica__id_names *items;
  char **list;
} mica__titles;
/* The title of the item `id`, 0: of none. MICA_E_FORMAT names the line of a second one that is another. */
mica_status mica__titles_take(mica__titles *titles, const char *name, size_t line, int32_t id, const char *title);
/* Takes the titles of a text that has an item and its title first in each line, in UTF-8 or else Latin-1; a NUL ends
 * the text, which changes. Then those of a file. */
mica_status mica__titles_parse(const char *name, char *content, size_t size, mica__between between,
                               mica__titles *titles);
mica_status mica__titles_read_lines(const char *path, mica__between between, mica__titles *titles);

#endif
