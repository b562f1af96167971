/* data/annotation/yolo.h: what files of the YOLO layout hold. */
#ifndef MICA_DATA_ANNOTATION_YOLO_H
#define MICA_DATA_ANNOTATION_YOLO_H

#include "data/annotation/boxed.h"

/* Classes by their numbers. */
typedef struct mica__yolo_names {
  char *file;   /* that names them; NULL: names are the numbers */
  char **names; /* NULL if a number has no name yet */
  size_t count, capacity;
  long stated;      /* "nc" of the file; -1: none */
  int32_t *classes; /* of the boxes, by number */
} mica__yolo_names;

/* Names number `index`; the name need not end in NUL. MICA_E_FORMAT: it has a name, or there are too many. */
mica_status mica__yolo_name(mica__yolo_names *names, size_t index, const char *name, size_t length, const char *where);
void mica__yolo_names_free(mica__yolo_names *names);

/* Reads "names" and "nc" of a data.yaml: a list or a map of numbers, in a block or in brackets. Other keys are passed
 * over. The content is written to, and a NUL ends it. */
mica_status mica__yolo_parse_yaml(const char *path, char *content, mica__yolo_names *names);

/* Adds the boxes of a file of labels to the picture begun last, of this size: lines of a class and x, y, width and
 * height of the box, or of a class and the points of an outline, as shares of the picture. The content is written to,
 * and a NUL ends it. */
mica_status mica__yolo_parse(const char *path, char *content, const double size[2], mica__yolo_names *names,
                             mica__boxed *b);

#endif
