/* ops/layout/views.h: brings a value into the shape of another value, which may have open extents (MICA_DYNAMIC). */
#ifndef MICA_OPS_LAYOUT_VIEWS_H
#define MICA_OPS_LAYOUT_VIEWS_H

#include <mica/graph.h>

/* Returns value summed over the axes along which `like` was broadcast to value's shape: the gradient of
 * broadcasting. Null if value is null, or if `like` has no gradient (its type is not floating). */
mica_value mica__sum_to(mica_value value, mica_value like);

/* Returns value reshaped to the shape of `like`, which may have open extents and has the same number of elements. */
mica_value mica__reshape_like(mica_value value, mica_value like);
/* Returns value broadcast to the shape of `like`, which may have open extents. */
mica_value mica__expand_like(mica_value value, mica_value like);

#endif
