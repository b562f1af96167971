/* The number of classes of pixels, which pixels.c and pixels_show.c both need: pixels.c refers to pixels_show.c, so the
 * latter must not refer back. */
#include "run/fields.h"
#include "task/head/pixels.h"

MICA__FACTS(pixels, PIXELS_FACTS, 3);

int64_t mica__pixels_classes(const mica_run *run) { return (int64_t)facts_of(run).classes.count; }
