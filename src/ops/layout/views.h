/* ops/layout/views.h: values in the shape of another, known or not. */
#ifndef MICA_OPS_LAYOUT_VIEWS_H
#define MICA_OPS_LAYOUT_VIEWS_H

#include <mica/graph.h>

/* value with its elements summed where `like` was broadcast to value's shape: the gradient of broadcasting. A null
 * value, or a `like` that has no gradient (not a floating type), gives the null value. */
mica_value mica__sum_to(mica_value value, mica_value like);

/* value as the shape of like, which may be open, with as many elements. */
mica_value mica__reshape_like(mica_value value, mica_value like);
/* value broadcast to the shape of like, which may be open. */
mica_value mica__expand_like(mica_value value, mica_value like);

#endif
