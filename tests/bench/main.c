#include "bench/bench.h"
#include "bench/peers.h"
#include "ops/select/mma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_ok(mica_status status) {
  if (status == MICA_OK) return;
  fprintf(stderr, "%s\n", mica_error_message());
  exit(1);
}

mica_dtype bench_dtype(const bench *b, bool *tf32) {
  const char *name = b->dtype ? b->dtype : "f32";
  const bool rounded = tf32 && !strcmp(name, "tf32");
  if (tf32) *tf32 = rounded;
  if (rounded || !strcmp(name, "f32")) return MICA_F32;
  if (!strcmp(name, "f16")) return MICA_F16;
  if (!strcmp(name, "bf16")) return MICA_BF16;
  if (tf32 && !strcmp(name, "i8")) return MICA_I8;
  fprintf(stderr, "mica-bench: there is no --dtype '%s'; there are f32, f16, bf16%s\n", name, tf32 ? ", tf32, i8" : "");
  exit(2);
}

void bench_peer_missing(const char *name, const char *why) {
  static char said[400];
  char text[sizeof said];
  snprintf(text, sizeof text, "%s: %s", name, why);
  if (!strcmp(text, said)) return;
  strcpy(said, text);
  fprintf(stderr, "mica-bench: nothing to compare with: no %s\n", said);
}

static bool add_name(const char **names, size_t room, const char *name) {
  while (room > 1 && *names) names++, room--;
  if (room > 1) *names = name;
  return room > 1;
}

static bool parse(int count, char **words, bench *b) {
  for (int i = 0; i < count; i++) {
    bool more = i + 1 < count;
    if (!strcmp(words[i], "--json"))
      b->json = true;
    else if (!strcmp(words[i], "--shapes") && more)
      b->shapes = words[++i];
    else if (!strcmp(words[i], "--cases") && more)
      b->cases = words[++i];
    else if (!strcmp(words[i], "--pass") && more)
      b->pass = words[++i];
    else if (!strcmp(words[i], "--leave-out") && more &&
             add_name(b->leave_out, sizeof b->leave_out / sizeof *b->leave_out, words[i + 1]))
      i++;
    else if (!strcmp(words[i], "--cold"))
      b->cold = true;
    else if (!strcmp(words[i], "--cpu-time"))
      b->cpu_time = true;
    else if (!strcmp(words[i], "--unmeasured"))
      mica__mma_take_unmeasured(true);
    else if (!strcmp(words[i], "--profile"))
      b->profile = true;
    else if (!strcmp(words[i], "--model") && more)
      b->model = words[++i];
    else if (!strcmp(words[i], "--dtype") && more)
      b->dtype = words[++i];
    else if (!strcmp(words[i], "--as") && more)
      b->as = words[++i];
    else if (!strcmp(words[i], "--sources") && more)
      b->sources = words[++i];
    else if (!strcmp(words[i], "--device") && more)
      b->device = words[++i];
    else if (!strcmp(words[i], "--net") && more)
      b->net = words[++i];
    else if (!strcmp(words[i], "--ranks") && more && (b->ranks = atoi(words[i + 1])) > 0)
      i++;
    else if (!strcmp(words[i], "--batch") && more && (b->batch = atoi(words[i + 1])) > 0)
      i++;
    else if (!strcmp(words[i], "--side") && more && (b->side = atoi(words[i + 1])) > 0)
      i++;
    else if (!strcmp(words[i], "--steps") && more && (b->steps = atoi(words[i + 1])) > 0)
      i++;
    else if (!strcmp(words[i], "--rounds") && more && (b->rounds = atoi(words[i + 1])) > 0)
      i++;
    else if (i == 0 && *words[i] != '-')
      b->model = words[i];
    else
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name, *text;
    int (*run)(const bench *b);
  } table[] = {
#define BENCH(name, text) {#name, text, bench_##name},
#include "bench/benches.def"
#undef BENCH
  };
  bench b = {.rounds = 9};
  bool understood = argc > 1 && parse(argc - 2, argv + 2, &b);
  for (size_t i = 0; understood && i < sizeof table / sizeof *table; i++) {
    if (strcmp(argv[1], table[i].name) != 0) continue;
    bench_peers_prepare(argv);
    mica_device_prepare_drivers();
    bench_ok(mica_engine_create(NULL, &b.engine));
    b.queue = mica_engine_queue(b.engine);
    int status = table[i].run(&b);
    mica_engine_destroy(b.engine);
    return status;
  }
  fprintf(stderr, "usage: mica-bench NAME [--json] [--rounds N] [OPTIONS]\n");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    fprintf(stderr, "  %-10s %s\n", table[i].name, table[i].text);
  return 2;
}
