/* write_events FOLDER: an event file with one value of each kind, for test_events_oracle.sh. */
#include <math.h>
#include <mica/graph.h>
#include <mica/history.h>
#include <mica/nodes.h>
#include <stdio.h>

/* A picture of one black pixel. */
static const unsigned char png[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
                                    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
                                    0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
                                    0xda, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0xe5, 0x27, 0xde, 0xfc, 0x00,
                                    0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

static mica_status add_graph(mica_events *events) {
  mica_graph *graph = NULL;
  mica_status status = mica_graph_create(&graph);
  if (status != MICA_OK) return status;
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 8));
  mica_value w = mica_parameter(graph, "layer1.0.weight", MICA_F32, MICA_SHAPE(8, 4));
  (void)mica_relu(mica_matmul(x, w));
  status = mica_events_graph(events, graph);
  mica_graph_destroy(graph);
  return status;
}

/* Values from -1e21 to 1e21, zeros, and what is no number; the oracle computes the same. */
static mica_status add_histogram(mica_events *events) {
  static float values[2004];
  for (int i = 0; i < 1000; i++) values[2 * i] = (float)pow(10, -13 + 0.034 * i), values[2 * i + 1] = -values[2 * i];
  values[2000] = 0, values[2001] = -0.0f, values[2002] = NAN, values[2003] = INFINITY;
  mica_status status = mica_events_histogram(events, "values", 7, values, 2004);
  return status == MICA_OK ? mica_events_histogram(events, "nothing", 7, values + 2002, 2) : status;
}

static mica_status write_all(const char *folder) {
  mica_events *events = NULL;
  mica_status status = mica_events_create(folder, &events);
  if (status != MICA_OK) return status;
  const mica_events_picture picture = {.data = png, .bytes = sizeof png, .height = 1, .width = 1, .channels = 1};
  status = mica_events_scalar(events, "loss/train", 3, 0.25);
  if (status == MICA_OK) status = mica_events_text(events, "settings", 0, "| a | \xc3\xbc |\n| --- | --- |");
  if (status == MICA_OK) status = mica_events_image(events, "pixel", 5, &picture);
  if (status == MICA_OK) status = add_histogram(events);
  if (status == MICA_OK) status = add_graph(events);
  mica_events_close(events);
  return status;
}

int main(int argc, char **argv) {
  if (argc == 2 && write_all(argv[1]) == MICA_OK) return 0;
  fprintf(stderr, "%s\n", argc == 2 ? mica_error_message() : "write_events FOLDER");
  return 1;
}
