/* cli/picture.h: small pictures in a terminal, and the files of predicted ones. */
#ifndef MICA_CLI_PICTURE_H
#define MICA_CLI_PICTURE_H

#include <mica/report.h>

#include <stdbool.h>
#include <stdint.h>

#define CLI_PICTURE_PATH 4096

/* True for a predicted picture or file, such as a mask; the input itself is not written. */
bool cli_picture_is_written(const mica_item *item);
/* The file of a sample's picture: FOLDER/NAME-ITEM.png, or with the ending of its own. False: the path is too long. */
bool cli_picture_path(char path[CLI_PICTURE_PATH], const char *folder, const char *name, const mica_item *item);

/* All predicted pictures of a report beside each other, as a picture with planes for the caller to free. Classes
 * that come in turn have a column each, others make a square. False: sizes differ, or memory is short. */
bool cli_picture_grid(const mica_report *prediction, mica_item *grid, uint8_t **planes);

/* Prints `count` pictures of (channels, height, width) u8 beside each other, with a line of text under each (cut to its
 * width). On a terminal with colours two pixels share a character, in 24 bits of colour; elsewhere characters of rising
 * darkness stand for grey. channels is 1 or 3. */
void cli_picture_print(const uint8_t *const *pictures, const char *const *texts, int count, int channels, int height,
                       int width);

#endif
