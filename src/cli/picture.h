/* cli/picture.h: prints small pictures in a terminal, names the files of predicted ones, and joins them in a grid. */
#ifndef MICA_CLI_PICTURE_H
#define MICA_CLI_PICTURE_H

#include <mica/report.h>

#include <stdbool.h>
#include <stdint.h>

#define CLI_PICTURE_PATH 4096

/* True for a predicted picture or file, such as a mask. False for the input picture, which is not written again. */
bool cli_picture_is_written(const mica_item *item);
/* Makes the path of a sample's picture: FOLDER/NAME-ITEM.png, or the file's own ending. False: the path is too long. */
bool cli_picture_path(char path[CLI_PICTURE_PATH], const char *folder, const char *name, const mica_item *item);

/* Joins all predicted pictures of a report in one picture. The caller frees *planes. If the captions repeat, as in a b
 * a b, each caption gets a column; up to 16 pictures whose captions all differ form one row; other pictures form a
 * square, or rows of 16. Returns NULL, or why there is no grid: a clause for an error message. */
const char *cli_picture_grid(const mica_report *prediction, mica_item *grid, uint8_t **planes);

/* Prints `count` pictures of (channels, height, width) u8 side by side, with a line of text under each (cut to its
 * width). channels is 1 or 3. On a terminal with colours, a character shows two pixels, one above the other, in 24-bit
 * colour. Elsewhere a character shows the brightness of one pixel, from ' ' for black to '@' for white, and every other
 * row of pixels is skipped. */
void cli_picture_print(const uint8_t *const *pictures, const char *const *texts, int count, int channels, int height,
                       int width);

#endif
