/* labels: device
 *
 * Finds the texts that are most similar to a question: ./25_search MODEL "A question" TEXT... MODEL is the folder of a
 * published encoder, such as all-MiniLM-L6-v2. Without arguments it uses the tests' small model of random weights. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEAREST = 3 };

static mica_status search(mica_embedder *embedder, const char *question, const char *const *texts, size_t count) {
  const size_t width = (size_t)mica_embedder_width(embedder), nearest = count < NEAREST ? count : NEAREST;
  float *vectors = calloc(count + 1, width * sizeof *vectors), *query = vectors + count * width;
  mica_neighbour found[NEAREST];
  if (!vectors) return MICA_E_NOMEM;
  mica_status status = mica_embedder_texts(embedder, texts, count, vectors);
  if (status == MICA_OK) status = mica_embedder_texts(embedder, &question, 1, query);
  if (status == MICA_OK) status = mica_nearest(vectors, count, (int64_t)width, query, 1, nearest, found);
  for (size_t k = 0; status == MICA_OK && k < nearest; k++)
    printf("%.4f  %s\n", (double)found[k].similarity, texts[found[k].index]);
  free(vectors);
  return status;
}

int main(int count, char **words) {
  static const char *const standard[] = {"a cat sat on a mat", "dogs bark at cats", "the price of bread", "a cat"};
  const bool given = count > 3;
  const char *root = getenv("MICA_SOURCE_DIR");
  char path[1000];
  snprintf(path, sizeof path, "%s/tests/golden/foundation/embed", root ? root : ".");
  mica_engine *engine = NULL;
  mica_foundation *model = NULL;
  mica_embedder *embedder = NULL;

  mica_status status = mica_engine_create(NULL, &engine);
  if (status == MICA_OK) status = mica_foundation_open(given ? words[1] : path, NULL, &model);
  if (status == MICA_OK) status = mica_embedder_create(engine, model, NULL, &embedder);
  if (status == MICA_OK)
    status = given ? search(embedder, words[2], (const char *const *)words + 3, (size_t)count - 3)
                   : search(embedder, "a cat", standard, sizeof standard / sizeof *standard);
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  mica_embedder_destroy(embedder);
  mica_foundation_close(model);
  mica_engine_destroy(engine);
  return status != MICA_OK;
}
