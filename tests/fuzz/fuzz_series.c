/* The reader of time series. */
#include "data/series/series.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__series s = {0};
  char text[48];
  char *content = malloc(size + 1);
  if (!content) return 0;
  memcpy(content, data, size);
  content[size] = '\0';
  const mica_status status = mica__series_read("fuzz", content, size, &(mica__series_choice){.time = ""}, &s);
  int64_t first = 0;
  if (status == MICA_OK && mica__series_irregular(&s, &first) >= s.rows) abort();
  if (status == MICA_OK && (s.rows < 1 || s.count < 1 || mica__series_season(&s) < 1)) abort();
  for (int64_t i = 0; status == MICA_OK && i < s.rows; i++)
    for (size_t k = 0; k < s.count; k++)
      if (!isfinite(mica__series_at(&s, i, k, i)) || !isfinite(mica__series_at(&s, i, k, s.rows))) abort();
  for (int64_t step = 1; status == MICA_OK && step < 1000; step *= 7) mica__series_next(&s, step, text, sizeof text);
  mica__series_free(&s);
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"time,a,b\n1999-12,1,2\n2000-01,,3\n",
                                      "2000-02-28;1\n2000-02-29;NA\n",
                                      "when\tx\n2000-12-31 23:00\t-1e3\n2001-01-01T00:00:00Z\t4\n",
                                      "year,a\n1,2\n2,3\n",
                                      "t,a\n20011229,2\n20020105,3\n",
                                      "t,a\n2024-10-27T02:00+02:00,1\n2024-10-27T02:00+01:00,2\n",
                                      "time,a\n1949.0,1\n1949.083,2\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
