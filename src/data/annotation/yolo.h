/* data/annotation/yolo.h: reads the files of the YOLO layout: boxes, and names of classes. */
#ifndef MICA_DATA_ANNOTATION_YOLO_H
#define MICA_DATA_ANNOTATION_YOLO_H

#include "data/annotation/boxed.h"

/* The classes that the numbers in files of boxes stand for: number i has the name names[i]. */
typedef struct mica__yolo_names {
  char *file;   /* the file with the names; NULL: classes are named by number */
  char **names; /* NULL: the number has no name yet */
  size_t count, capacity;
  long stated;      /* "nc" in the file; -1: not given */
  int32_t *classes; /* by number: the class index from mica__boxed_class */
} mica__yolo_names;

/* Sets the name of class `index`: `length` bytes, without a NUL. MICA_E_FORMAT: the class has a name already, the name
 * is empty, or the index is 10000 or more. */
mica_status mica__yolo_name(mica__yolo_names *names, size_t index, const char *name, size_t length, const char *where);
void mica__yolo_names_free(mica__yolo_names *names);

/* Reads "names" (a list, or a map from numbers to names; as a block or in brackets) and "nc" from a data.yaml. Other
 * keys are skipped. The content must end with a NUL and is modified. */
mica_status mica__yolo_parse_yaml(const char *path, char *content, mica__yolo_names *names);

/* Adds the boxes in a file of labels to the picture begun last, which has this size. Lines hold a class and x, y, width
 * and height of a box, or a class and the points of an outline, as fractions of the picture. The content must end with
 * a NUL and is modified. */
mica_status mica__yolo_parse(const char *path, char *content, const double size[2], mica__yolo_names *names,
                             mica__boxed *b);

#endif
