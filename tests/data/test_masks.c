/* labels: null
 *
 * Folders of pictures and masks: pairs by name, values that are classes, void or neither, sizes, and tiles. */
#include "data/annotation/masks.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a grey or colour picture of H x W, planes one after another. */
static void write_png(const char *folder, const char *name, int64_t channels, int64_t H, int64_t W,
                      const uint8_t *planes) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  ck_ok(mica_png_encode(planes, MICA_SHAPE(channels, H, W), &png, &bytes));
  files_write(path, png, bytes);
  mica_free(png);
}

/* images/a.png, images/b.png of 4 x 6 and masks of them. */
static void write_pairs(const char *folder, const uint8_t masks[2][24]) {
  uint8_t pixels[24];
  for (int i = 0; i < 24; i++) pixels[i] = (uint8_t)(10 * i);
  write_png(folder, "images/a.png", 1, 4, 6, pixels);
  write_png(folder, "images/b.png", 1, 4, 6, pixels);
  write_png(folder, "masks/a.png", 1, 4, 6, masks[0]);
  write_png(folder, "masks/b_mask.png", 1, 4, 6, masks[1]);
}

static void fails(const char *folder, const char *values, mica_status status, const char *sentence) {
  mica_dataset *data = NULL;
  mica_status got = mica_dataset_open(files_path(folder), &(mica_dataset_config){.mask_values = values}, &data);
  uint8_t mask[24];
  if (got == MICA_OK) got = mica_dataset_read(data, 1, 0, mask, sizeof mask);
  if (got == MICA_OK) got = mica_dataset_read(data, 1, 1, mask, sizeof mask);
  ck_assert_int_eq(got, status);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
  mica_dataset_destroy(data);
}

START_TEST(pairs_are_found_by_name_and_values_are_classes) {
  const char *folder = "masks1";
  const uint8_t masks[2][24] = {{0, 255, 255, 0}, {255}};
  mica_dataset *data = NULL;
  uint8_t mask[24];
  write_pairs(folder, masks);
  ck_ok(mica_dataset_open(files_path(folder), NULL, &data));
  ck_assert_uint_eq(mica_dataset_count(data), 2);
  ck_assert_str_eq(mica_dataset_mask_values(data), "0,255");
  ck_assert_str_eq(mica_dataset_summary(data), "2 pictures of 6 x 4 pixels, 2 classes in their masks: 0,255");
  const mica_column *about = mica_dataset_column(data, 1);
  ck_assert_str_eq(about->name, "mask");
  ck_assert_int_eq(about->classes, 2);
  ck_assert_str_eq(mica_dataset_column_class(data, 1, 1), "255");
  ck_ok(mica_dataset_read(data, 1, 0, mask, sizeof mask));
  for (int i = 0; i < 24; i++) ck_assert_uint_eq(mask[i], i == 1 || i == 2);
  mica_dataset_destroy(data);
  /* Names, another order, and a value that is void. */
  ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.mask_values = "255=cell,7=void,0=wall"}, &data));
  ck_assert_str_eq(mica_dataset_mask_values(data), "255=cell,0=wall,7=void");
  ck_ok(mica_dataset_read(data, 1, 1, mask, sizeof mask));
  ck_assert_uint_eq(mask[0], 0);
  ck_assert_uint_eq(mask[1], 1);
  mica_dataset_destroy(data);
  /* Scaled to twice the size and cut: nearest pixels. */
  ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.height = 8, .width = 8}, &data));
  uint8_t large[64];
  ck_ok(mica_dataset_read(data, 1, 0, large, sizeof large));
  for (int i = 0; i < 8; i++) ck_assert_uint_eq(large[i], i < 4);
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(pictures_may_be_named_like_masks) {
  const char *folder = "masks12";
  const uint8_t masks[2][24] = {{0, 255}, {255}};
  const uint8_t pixels[24] = {1};
  mica_dataset *data = NULL;
  write_pairs(folder, masks);
  write_png(folder, "images/city-seg.png", 1, 4, 6, pixels);
  write_png(folder, "masks/city-seg.png", 1, 4, 6, masks[0]);
  ck_ok(mica_dataset_open(files_path(folder), NULL, &data));
  ck_assert_uint_eq(mica_dataset_count(data), 3);
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(parts_have_usual_names) {
  static const char *const folders[] = {"named/Training", "named/valid", "named/TEST", "named/other"};
  const uint8_t masks[2][24] = {{0, 255, 255, 0}, {255}};
  mica_dataset *data = NULL;
  for (size_t i = 0; i < 4; i++) write_pairs(folders[i], masks);
  for (int part = 2; part >= 0; part--) {
    ck_ok(mica_dataset_open(files_path("named"), &(mica_dataset_config){.part = (mica_part)part}, &data));
    ck_assert_uint_eq(mica_dataset_count(data), 2);
    ck_assert_ptr_nonnull(strstr(mica_dataset_file(data, 0), folders[part]));
    ck_assert_ptr_nonnull(strstr(mica_dataset_summary(data), "; 1 folder beside the parts is not used: other"));
    mica_dataset_destroy(data);
  }
}
END_TEST

START_TEST(a_255_behind_classes_that_count_up_is_void) {
  const char *folder = "masks2";
  const uint8_t masks[2][24] = {{0, 1, 2, 255}, {3}};
  mica_dataset *data = NULL;
  uint8_t mask[24];
  write_pairs(folder, masks);
  ck_ok(mica_dataset_open(files_path(folder), NULL, &data));
  ck_assert_str_eq(mica_dataset_mask_values(data), "0,1,2,3,255=void");
  ck_ok(mica_dataset_read(data, 1, 0, mask, sizeof mask));
  ck_assert_uint_eq(mask[3], 255);
  ck_assert_uint_eq(mask[2], 2);
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(colours_are_values_too) {
  const char *folder = "masks3";
  const uint8_t grey[2][24] = {{0}};
  uint8_t colour[72] = {0};
  mica_dataset *data = NULL;
  uint8_t mask[24];
  write_pairs(folder, grey);
  colour[5] = 255, colour[24 + 5] = 128;
  write_png(folder, "masks/a.png", 3, 4, 6, colour);
  ck_ok(mica_dataset_open(files_path(folder), NULL, &data));
  ck_assert_str_eq(mica_dataset_mask_values(data), "0,#ff8000");
  ck_ok(mica_dataset_read(data, 1, 0, mask, sizeof mask));
  for (int i = 0; i < 24; i++) ck_assert_uint_eq(mask[i], i == 5);
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(soft_borders_are_refused_by_the_file_unless_it_is_said_what_they_are) {
  const char *folder = "masks4";
  uint8_t masks[2][24] = {{0}}, mask[24];
  mica_dataset *data = NULL;
  memset(masks[1], 255, sizeof masks[1]);
  masks[1][3] = 200;
  write_pairs(folder, (const uint8_t(*)[24])masks);
  fails(folder, NULL, MICA_E_FORMAT, "masks/b_mask.png holds the value 200");
  fails(folder, "0,255", MICA_E_FORMAT, "masks/b_mask.png holds the value 200, which is not a class");
  ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.mask_values = "0,255,*=nearest"}, &data));
  ck_ok(mica_dataset_read(data, 1, 1, mask, sizeof mask));
  ck_assert_uint_eq(mask[3], 1);
  mica_dataset_destroy(data);
  ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.mask_values = "0,255,*=void"}, &data));
  ck_ok(mica_dataset_read(data, 1, 1, mask, sizeof mask));
  ck_assert_uint_eq(mask[3], 255);
  mica_dataset_destroy(data);
}
END_TEST

START_TEST(what_does_not_fit_is_named) {
  const char *folder = "masks5";
  const uint8_t masks[2][24] = {{0, 1}, {1}}, same[2][24] = {{7}};
  char extra[256];
  write_pairs(folder, masks);
  fails(folder, "0,1,0", MICA_E_INVALID, "twice");
  fails(folder, "0,1,x=y", MICA_E_INVALID, "\"x=y\" is not one of 0 to 255, #rrggbb and *");
  fails(folder, "0,256", MICA_E_INVALID, "\"256\"");
  fails(folder, "0,1,*=some", MICA_E_INVALID, "after * only =void or =nearest");
  fails(folder, "0", MICA_E_INVALID, "fewer than 2 classes");
  write_png(folder, "masks/a.png", 1, 6, 4, masks[0]);
  fails(folder, NULL, MICA_E_FORMAT, "masks/a.png is a mask of 4 x 6 pixels, but its picture");
  write_pairs(folder, masks);
  write_png(folder, "images/c.png", 1, 4, 6, masks[0]);
  fails(folder, NULL, MICA_E_FORMAT, "images/c.png has no mask: there is no c.png, nor c_mask.png, in");
  snprintf(extra, sizeof extra, "%s/images/c.png", folder);
  ck_assert_int_eq(remove(files_path(extra)), 0);
  write_png(folder, "masks/d.png", 1, 4, 6, masks[0]);
  fails(folder, NULL, MICA_E_FORMAT, "masks/d.png is a mask that belongs to none of the pictures");
  folder = "masks6";
  write_pairs(folder, same);
  write_png(folder, "masks/a.png", 1, 4, 6, same[1]);
  fails(folder, NULL, MICA_E_FORMAT, "hold only the value 0; there must be at least two classes");
}
END_TEST

START_TEST(a_name_stands_for_one_value) {
  const char *folder = "masks_named";
  const uint8_t masks[2][24] = {{0, 255}, {255}};
  write_pairs(folder, masks);
  fails(folder, "0=wall,255=wall", MICA_E_INVALID, "two values have the name \"wall\"");
  fails(folder, "0,255=0", MICA_E_INVALID, "two values have the name \"0\"");
  fails(folder, "0=wall,255=wall,*=void", MICA_E_INVALID, "two values have the name \"wall\"");
}
END_TEST

START_TEST(tiles_cover_every_pixel_once) {
  static const mica_tiling tilings[] = {{4, 4, 1}, {3, 5, 2}, {8, 8, 0}, {5, 4, 0}, {16, 2, 1}};
  for (size_t k = 0; k < sizeof tilings / sizeof *tilings; k++)
    for (int64_t H = 1; H < 14; H++)
      for (int64_t W = 1; W < 14; W += 2) {
        const mica_tiling *t = &tilings[k];
        uint8_t owned[14][14] = {{0}};
        const int64_t count = mica_tiling_count(t, H, W);
        for (int64_t i = 0; i < count; i++) {
          const mica_tiling_tile tile = mica_tiling_at(t, H, W, i);
          ck_assert(tile.row >= 0 && tile.column >= 0);
          ck_assert(tile.row + t->height <= H || (tile.row == 0 && H < t->height));
          ck_assert(tile.column + t->width <= W || (tile.column == 0 && W < t->width));
          ck_assert(tile.own_row >= tile.row && tile.own_row_end <= tile.row + t->height);
          ck_assert(tile.own_column >= tile.column && tile.own_column_end <= tile.column + t->width);
          for (int64_t r = tile.own_row; r < tile.own_row_end; r++)
            for (int64_t q = tile.own_column; q < tile.own_column_end; q++) owned[r][q]++;
        }
        for (int64_t r = 0; r < H; r++)
          for (int64_t q = 0; q < W; q++) ck_assert_uint_eq(owned[r][q], 1);
      }
}
END_TEST

START_TEST(tiles_of_a_dataset_hold_what_its_pictures_do) {
  const char *folder = "masks7";
  const uint8_t masks[2][24] = {{0, 255, 255, 0, 0, 255}, {255}};
  const mica_tiling tiling = {3, 4, 1};
  mica_dataset *data = NULL, *tiles = NULL;
  uint8_t pixels[12], mask[12], whole[24];
  write_pairs(folder, masks);
  ck_ok(mica_dataset_open(files_path(folder), NULL, &data));
  ck_ok(mica_dataset_tiles(data, &tiling, &tiles));
  ck_assert_uint_eq(mica_dataset_count(tiles), 2 * 4);
  ck_ok(mica_dataset_read(data, 0, 0, whole, sizeof whole));
  for (int64_t i = 0; i < 4; i++) {
    const mica_tiling_tile tile = mica_tiling_at(&tiling, 4, 6, i);
    ck_ok(mica_dataset_read(tiles, 0, (uint64_t)i, pixels, sizeof pixels));
    ck_ok(mica_dataset_read(tiles, 1, (uint64_t)i, mask, sizeof mask));
    for (int64_t r = 0; r < 3; r++)
      for (int64_t q = 0; q < 4; q++) {
        const int64_t y = tile.row + r, x = tile.column + q;
        const bool own = y >= tile.own_row && y < tile.own_row_end && x >= tile.own_column && x < tile.own_column_end;
        ck_assert_uint_eq(pixels[r * 4 + q], whole[y * 6 + x]);
        ck_assert_uint_eq(mask[r * 4 + q], own ? masks[0][y * 6 + x] == 255 : 255);
      }
  }
  mica_dataset_destroy(tiles);
  /* A picture smaller than a tile is mirrored. */
  ck_ok(mica_dataset_tiles(data, &(mica_tiling){6, 8, 0}, &tiles));
  uint8_t large[48];
  ck_assert_uint_eq(mica_dataset_count(tiles), 2);
  ck_ok(mica_dataset_read(tiles, 0, 0, large, sizeof large));
  ck_assert_uint_eq(large[6], whole[4]);
  ck_assert_uint_eq(large[7], whole[3]);
  ck_assert_uint_eq(large[4 * 8], whole[2 * 6]);
  ck_ok(mica_dataset_read(tiles, 1, 0, large, sizeof large));
  ck_assert_uint_eq(large[6], 255);
  ck_assert_int_eq(mica_dataset_tiles(data, &(mica_tiling){4, 4, 4}, &tiles), MICA_E_INVALID);
  mica_dataset_destroy(tiles);
  mica_dataset_destroy(data);
}
END_TEST

/* A picture that has other sides than when it was looked at is not cut to them. */
START_TEST(pictures_that_change_are_refused) {
  const char *folder = "masks_changed";
  const uint8_t masks[2][24] = {{0, 255}, {255}}, pixels[80] = {1, 2, 3};
  const mica_tiling tiling = {4, 4, 0};
  mica_dataset *data = NULL, *tiles = NULL;
  uint8_t tile[16];
  write_pairs(folder, masks);
  write_png(folder, "images/c.png", 1, 8, 10, pixels);
  write_png(folder, "masks/c.png", 1, 8, 10, pixels);
  ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.mask_values = "0,255,*=void"}, &data));
  ck_ok(mica_dataset_tiles(data, &tiling, &tiles));
  const uint64_t last = mica_dataset_count(tiles) - 1;
  ck_ok(mica_dataset_read(tiles, 0, last, tile, sizeof tile));
  write_png(folder, "images/c.png", 1, 10, 8, pixels);
  ck_ok(mica_dataset_read(tiles, 0, 0, tile, sizeof tile));
  ck_assert_int_eq(mica_dataset_read(tiles, 0, last, tile, sizeof tile), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "images/c.png has changed"), "%s", mica_error_message());
  mica_dataset_destroy(tiles);
  mica_dataset_destroy(data);
}
END_TEST

/* A pixel of class 255 would be one that is not labelled. */
START_TEST(the_last_byte_is_no_class) {
  static const uint8_t classes[4] = {0, 1, 254, 255};
  mica_column_data column = {.column = {"mask", MICA_COLUMN_KIND_MASK, MICA_U8, MICA_SHAPE(2, 2), 255},
                             .data = classes};
  mica_dataset *data = NULL;
  ck_ok(mica_dataset_create("most", 1, &column, 1, &data));
  mica_dataset_destroy(data);
  data = NULL;
  column.column.classes = 256;
  ck_assert_int_eq(mica_dataset_create("more", 1, &column, 1, &data), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "256 classes, but masks can have at most 255"), "%s",
                mica_error_message());
  ck_assert_ptr_null(data);
}
END_TEST

/* Columns keep their order and names; what is no tiling has no tiles. */
START_TEST(tiles_of_any_columns) {
  static const uint8_t pixels[24] = {7, 8, 9}, classes[24] = {1};
  const mica_tiling tiling = {3, 4, 1}, none = {2, 2, 2};
  mica_column_data columns[] = {
      {.column = {"truth", MICA_COLUMN_KIND_MASK, MICA_U8, MICA_SHAPE(4, 6), 2}, .data = classes},
      {.column = {"photo", MICA_COLUMN_KIND_IMAGE, MICA_U8, MICA_SHAPE(1, 4, 6), 0}, .data = pixels}};
  mica_dataset *data = NULL, *tiles = NULL;
  uint8_t tile[12];
  ck_ok(mica_dataset_create("both", 1, columns, 2, &data));
  ck_ok(mica_dataset_tiles(data, &tiling, &tiles));
  ck_assert_uint_eq(mica_dataset_column_count(tiles), 2);
  ck_assert_str_eq(mica_dataset_column(tiles, 0)->name, "truth");
  ck_assert_str_eq(mica_dataset_column(tiles, 1)->name, "photo");
  ck_ok(mica_dataset_read(tiles, 0, 0, tile, sizeof tile));
  ck_assert_uint_eq(tile[0], 1);
  ck_ok(mica_dataset_read(tiles, 1, 0, tile, sizeof tile));
  ck_assert_uint_eq(tile[1], 8);
  mica_dataset_destroy(tiles);
  mica_dataset_destroy(data);
  columns[0].column.shape = MICA_SHAPE(6, 4);
  ck_ok(mica_dataset_create("transposed", 1, columns, 2, &data));
  ck_assert_int_eq(mica_dataset_tiles(data, &tiling, &tiles), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "\"truth\" has 4 x 6 pixels, but \"photo\" has 6 x 4"));
  mica_dataset_destroy(data);
  ck_assert_int_eq(mica_tiling_count(&none, 4, 6), 0);
  ck_assert_int_eq(mica_tiling_at(&none, 4, 6, 0).own_row_end, 0);
  ck_assert_int_eq(mica_tiling_at(&tiling, 4, 6, 4).own_row_end, 0);
}
END_TEST

TESTS(NEEDS(PNG), NULL, NULL, pictures_may_be_named_like_masks, parts_have_usual_names,
      pairs_are_found_by_name_and_values_are_classes, a_255_behind_classes_that_count_up_is_void,
      colours_are_values_too, soft_borders_are_refused_by_the_file_unless_it_is_said_what_they_are,
      what_does_not_fit_is_named, a_name_stands_for_one_value, tiles_cover_every_pixel_once,
      tiles_of_a_dataset_hold_what_its_pictures_do, pictures_that_change_are_refused, the_last_byte_is_no_class,
      tiles_of_any_columns)
