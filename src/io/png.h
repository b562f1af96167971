/* io/png.h: pictures for pages. */
#ifndef MICA_IO_PNG_H
#define MICA_IO_PNG_H

#include "base/text.h"

#include <mica/shape.h>

/* Appends (C, H, W) u8 planes, C 1 or 3, as the text "data:image/png;base64,...". MICA_E_UNSUPPORTED without libpng. */
mica_status mica__png_add_uri(mica__text *text, const uint8_t *planes, mica_shape shape);

#endif
