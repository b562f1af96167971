/* data/annotation/boxed.h: datasets of pictures with boxes: the store that readers of annotations fill (voc.c, coco.c,
 * yolo.c), and pictures scaled to one size. */
#ifndef MICA_DATA_ANNOTATION_BOXED_H
#define MICA_DATA_ANNOTATION_BOXED_H

#include "data/dataset.h"

/* Pictures and boxes in the order in which they were added; a store owns them. */
typedef struct mica__boxed mica__boxed;

typedef enum mica__box_state { MICA__BOX_PLAIN, MICA__BOX_CROWD, MICA__BOX_DIFFICULT } mica__box_state;

typedef struct mica__boxed_box {
  double x0, y0, x1, y1; /* in pixels of the file's picture */
  int32_t class_index;
  mica__box_state state;
  double area; /* of the object; NaN or below 0: the area of the box */
} mica__boxed_box;

mica_status mica__boxed_create(mica__store *store, mica__boxed **boxed);
/* Begins a picture and takes over the path of its file (also on failure). Sides are 1 to 32768. */
mica_status mica__boxed_picture(mica__boxed *b, char *path, double width, double height);
/* Adds a box to the picture begun last. A box that exceeds it by up to a pixel is clipped. MICA_E_FORMAT, "WHERE: the
 * box ...": the box exceeds it further, has a corner that is not finite, or has no area. */
mica_status mica__boxed_add(mica__boxed *b, const mica__boxed_box *box, const char *where);
/* Counts a box that is left out because it has no area; the summary gives their number. */
void mica__boxed_count_flat(mica__boxed *b);
/* Counts a category with the name of another one, whose class it shares; the summary gives their number. */
void mica__boxed_count_merged(mica__boxed *b);
/* Counts a picture without a file of boxes, which has no boxes; the summary gives their number. */
void mica__boxed_count_bare(mica__boxed *b);
/* The class of this name; a new one if the name has not occurred before. */
mica_status mica__boxed_class(mica__boxed *b, const char *name, int32_t *class_index);
/* Counts pictures that are left out because they have no annotations; the summary gives their number. */
void mica__boxed_leave_out(mica__boxed *b, size_t count);
/* Sorts classes by their names. */
void mica__boxed_sort_classes(mica__boxed *b);
/* Adds the columns that mica/data.h describes to the store. MICA_E_FORMAT if there is no picture or, without
 * config->like, no box. With config->like, classes are matched by name; a class that config->like does not have is
 * MICA_E_FORMAT. */
mica_status mica__boxed_finish(mica__boxed *b, const mica_dataset_config *config, mica__store *store);

/* The position of a picture of from_width x from_height pixels that is scaled to fit into width x height pixels: size
 * and top left corner in pixels, and the horizontal and vertical scale. The two scales may differ slightly, because the
 * scaled size is rounded to whole pixels. */
typedef struct mica__placement {
  double scale[2];
  int32_t left, top, width, height;
} mica__placement;
mica__placement mica__placement_of(int64_t from_width, int64_t from_height, int64_t width, int64_t height);

/* Reads a picture file, scales it to fit (mica__placement_of) and writes it with a grey border into planes (C, H, W);
 * *from_width and *from_height receive the file's own size. */
mica_status mica__boxed_read(const char *path, int32_t channels, int32_t height, int32_t width, uint8_t *planes,
                             int32_t *from_width, int32_t *from_height);

/* Parsers of contents, for the fuzzers. The picture's path begins with `folder`. The content of a COCO file must end
 * with a NUL and is modified. */
mica_status mica__voc_parse(const char *name, const char *folder, const char *stem, const uint8_t *content, size_t size,
                            mica__boxed *b);
mica_status mica__coco_parse(const char *name, const char *folder, char *content, size_t size, mica__boxed *b);

#endif
