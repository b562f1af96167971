/* cli/picture.h: prints small pictures in a terminal, and names the files of predicted ones. */
#ifndef MICA_CLI_PICTURE_H
#define MICA_CLI_PICTURE_H

#include <mica/report.h>

#include <stdbool.h>
#include <stdint.h>

#define CLI_PICTURE_PATH 4096

/* True for a predicted picture or file, such as a mask; the input itself is not written again. */
bool cli_picture_is_written(const mica_item *item);
/* Makes the path of a sample's picture: FOLDER/NAME-ITEM.png, or the file's own ending. False: the path is too long. */
bool cli_picture_path(char path[CLI_PICTURE_PATH], const char *folder, const char *name, const mica_item *item);

/* Joins all predicted pictures of a report in one picture; the caller frees *planes. If captions repeat in a cycle,
 * each has a column; else the pictures form a square. False: sizes differ, or there is not enough memory. */
bool cli_picture_grid(const mica_report *prediction, mica_item *grid, uint8_t **planes);

/* Prints `count` pictures of (channels, height, width) u8 side by side, with a line of text under each (cut to its
 * width). On a terminal with colours a character shows two pixels, in 24-bit colour; elsewhere characters of increasing
 * darkness show grey. channels is 1 or 3. */
void cli_picture_print(const uint8_t *const *pictures, const char *const *texts, int count, int channels, int height,
                       int width);

#endif
