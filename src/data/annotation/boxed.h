/* data/annotation/boxed.h: datasets of pictures with boxes: what readers of their annotations fill (voc.c, coco.c,
 * yolo.c), and pictures brought to one size. */
#ifndef MICA_DATA_ANNOTATION_BOXED_H
#define MICA_DATA_ANNOTATION_BOXED_H

#include "data/dataset.h"

/* Pictures and boxes in the order in which they are added; a store owns them. */
typedef struct mica__boxed mica__boxed;

typedef enum mica__box_state { MICA__BOX_PLAIN, MICA__BOX_CROWD, MICA__BOX_DIFFICULT } mica__box_state;

typedef struct mica__boxed_box {
  double x0, y0, x1, y1; /* in pixels of the file's picture */
  int32_t class_index;
  mica__box_state state;
  double area; /* of the object; NaN or below 0: that of the box */
} mica__boxed_box;

mica_status mica__boxed_create(mica__store *store, mica__boxed **boxed);
/* Begins a picture, whose file's path is taken over (also on failure). Sides are 1 to 32768. */
mica_status mica__boxed_picture(mica__boxed *b, char *path, double width, double height);
/* Adds a box of the picture begun last. One that sticks out by up to a pixel is cut; one without area, or further out,
 * is MICA_E_FORMAT: "WHERE: the box ...". */
mica_status mica__boxed_add(mica__boxed *b, const mica__boxed_box *box, const char *where);
/* Counts a box that is left out since it has no area; the summary says how many there were. */
void mica__boxed_count_flat(mica__boxed *b);
/* Counts a category that has the name of another one, whose class it is; the summary says how many there were. */
void mica__boxed_count_merged(mica__boxed *b);
/* Counts a picture that has no file of boxes, and so none; the summary says how many there were. */
void mica__boxed_count_bare(mica__boxed *b);
/* The class of a name, which is a new one where it has not come before. */
mica_status mica__boxed_class(mica__boxed *b, const char *name, int32_t *class_index);
/* Pictures that are there, and were left out for they have no annotations: the summary says so. */
void mica__boxed_leave_out(mica__boxed *b, size_t count);
/* Sorts classes by their names. */
void mica__boxed_sort_classes(mica__boxed *b);
/* Adds the columns of data.h to the store. With config->like classes are taken by their names, and one that it lacks is
 * MICA_E_FORMAT. */
mica_status mica__boxed_finish(mica__boxed *b, const mica_dataset_config *config, mica__store *store);

/* The position of a picture of this size in height x width: from (left, top) on, with a horizontal and a vertical
 * scale. These differ because the sides are rounded to whole pixels. */
typedef struct mica__placement {
  double scale[2];
  int32_t left, top, width, height;
} mica__placement;
mica__placement mica__placement_of(int64_t from_width, int64_t from_height, int64_t width, int64_t height);

/* Reads a picture file and puts it into planes (C, H, W); *from_width and *from_height get the file's own size. */
mica_status mica__boxed_read(const char *path, int32_t channels, int32_t height, int32_t width, uint8_t *planes,
                             int32_t *from_width, int32_t *from_height);

/* Readers of contents, for the fuzzers. The picture's path begins with `folder`. The content of a COCO file is written
 * to, and a NUL ends it. */
mica_status mica__voc_parse(const char *name, const char *folder, const char *stem, const uint8_t *content, size_t size,
                            mica__boxed *b);
mica_status mica__coco_parse(const char *name, const char *folder, char *content, size_t size, mica__boxed *b);

#endif
