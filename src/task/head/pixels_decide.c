/* The number of classes that pixels can have. It has a file of its own because pixels.c and pixels_show.c both need it:
 * pixels.c calls pixels_show.c, so pixels_show.c must not call pixels.c. */
#include "run/fields.h"
#include "task/head/pixels.h"

MICA__FACTS(pixels, PIXELS_FACTS, 3);

int64_t mica__pixels_classes(const mica_run *run) { return (int64_t)facts_of(run).classes.count; }
