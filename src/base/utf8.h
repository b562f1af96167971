/* base/utf8.h: text of others, checked before it is taken for text. */
#ifndef MICA_BASE_UTF8_H
#define MICA_BASE_UTF8_H

#include <stddef.h>

/* How many bytes from the first one on are UTF-8 (RFC 3629: nothing overlong, no surrogates, nothing past U+10FFFF, no
 * character that is cut short): all `bytes` of a text that is valid. */
size_t mica__utf8_prefix(const char *text, size_t bytes);

#endif
