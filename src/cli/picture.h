/* cli/picture.h: small pictures in a terminal. */
#ifndef MICA_CLI_PICTURE_H
#define MICA_CLI_PICTURE_H

#include <stdint.h>

/* Prints `count` pictures of (channels, height, width) u8 beside each other, with a line of text under each (cut to its
 * width). On a terminal with colours two pixels share a character, in 24 bits of colour; elsewhere characters of rising
 * darkness stand for grey. channels is 1 or 3. */
void cli_picture_print(const uint8_t *const *pictures, const char *const *texts, int count, int channels, int height,
                       int width);

#endif
