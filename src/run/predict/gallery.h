/* run/predict/gallery.h: how similar files are, for runs whose outputs are embeddings of length 1. */
#ifndef MICA_RUN_PREDICT_GALLERY_H
#define MICA_RUN_PREDICT_GALLERY_H

#include "base/error.h"

#include <mica/run.h>

/* The cosine of two embeddings. */
double mica__gallery_cosine(const float *a, const float *b, int64_t width);
/* Compares files with the first one, or looks for them in the gallery. */
mica_status mica__gallery_compare(mica_run *run, const mica_run_input *given, mica_report *prediction);

#endif
