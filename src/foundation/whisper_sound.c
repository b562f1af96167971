/* Whisper's features of a growing recording. A recording shorter than a window is padded with zeros to the length of a
 * window. The first and last frames reach beyond the ends of the recording, where the samples are mirrored. */
#include "foundation/whisper.h"

#include <mica/device.h>
#include <mica/nodes.h>
#include <mica/session.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples per frame, samples from one frame to the next, frames per run, samples per run. Frame f is centred on sample
 * HOP f. */
enum { FRAME = 400, HOP = 160, PART = 500, PART_SAMPLES = (PART - 1) * HOP + FRAME };

/* log10 of the smallest power. */
#define LEAST (-10.0f)

mica_status mica__whisper_sound_create(mica_engine *engine, int64_t bins, mica__whisper_sound *s) {
  mica_graph *graph = NULL;
  *s = (mica__whisper_sound){.engine = engine, .bins = bins, .loudest = LEAST};
  s->signal = calloc(PART_SAMPLES, sizeof *s->signal);
  s->computed = calloc((size_t)bins * PART, sizeof *s->computed);
  if (!s->signal || !s->computed) return mica__fail_nomem("features of sound");
  MICA_TRY(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, PART_SAMPLES), &s->part));
  MICA_TRY(mica_graph_create(&graph));
  const mica_value y = mica__whisper_log_mel(mica_input(graph, "sound", MICA_F32, MICA_SHAPE(1, PART_SAMPLES)), bins);
  const mica_status status = mica_session_create(engine, graph, &y, 1, NULL, &s->session);
  mica_graph_destroy(graph);
  return status;
}

void mica__whisper_sound_free(mica__whisper_sound *s) {
  mica_session_destroy(s->session);
  mica_tensor_destroy(s->part);
  free(s->signal);
  free(s->computed);
  free(s->samples);
  free(s->frames);
  *s = (mica__whisper_sound){0};
}

void mica__whisper_sound_reset(mica__whisper_sound *s) {
  s->first_sample = s->held = s->total = s->first_frame = s->frame_count = 0;
  s->loudest = LEAST;
}

int64_t mica__whisper_sound_frames(const mica__whisper_sound *s) { return s->first_frame + s->frame_count; }

/* Makes room for `wanted` rows of `size` numbers. */
static mica_status grow(float **numbers, int64_t *room, int64_t wanted, int64_t size) {
  int64_t more = *room ? *room : 4096;
  if (wanted <= *room) return MICA_OK;
  while (more < wanted) more *= 2;
  if (more > (int64_t)(PTRDIFF_MAX / sizeof **numbers) / size) return mica__fail_nomem("a recording");
  float *grown = realloc(*numbers, (size_t)(more * size) * sizeof **numbers);
  if (!grown) return mica__fail_nomem("a recording");
  *numbers = grown;
  *room = more;
  return MICA_OK;
}

/* Sample i of a recording of `length` samples with mirrored ends; unknown samples are 0. */
static float sample(const mica__whisper_sound *s, int64_t i, int64_t length) {
  if (i < 0) i = -i;
  if (i >= length) i = 2 * (length - 1) - i;
  i -= s->first_sample;
  return i >= 0 && i < s->held ? s->samples[i] : 0;
}

/* Computes `count` frames, at most PART, of a recording with `length` samples. */
static mica_status compute(mica__whisper_sound *s, int64_t count, int64_t length) {
  mica_queue *queue = mica_engine_queue(s->engine);
  const int64_t begin = mica__whisper_sound_frames(s) * HOP - FRAME / 2, used = (count - 1) * HOP + FRAME;
  MICA_TRY(grow(&s->frames, &s->frame_room, s->frame_count + count, s->bins));
  for (int64_t i = 0; i < PART_SAMPLES; i++) s->signal[i] = i < used ? sample(s, begin + i, length) : 0;
  MICA_TRY(mica_tensor_upload(queue, s->part, s->signal, mica_tensor_bytes(s->part)));
  MICA_TRY(mica_session_run(s->session, queue, &(mica_feed){"sound", s->part}, 1));
  const mica_tensor *y = mica_session_output(s->session, 0);
  MICA_TRY(mica_tensor_download(queue, y, s->computed, mica_tensor_bytes(y)));
  float *frame = s->frames + s->frame_count * s->bins;
  for (int64_t f = 0; f < count; f++)
    for (int64_t b = 0; b < s->bins; b++) {
      const float value = s->computed[b * PART + f];
      *frame++ = value;
      if (value > s->loudest) s->loudest = value;
    }
  s->frame_count += count;
  return MICA_OK;
}

/* Drops samples that no later frame reads. */
static void forget(mica__whisper_sound *s) {
  const int64_t begin = mica__whisper_sound_frames(s) * HOP - FRAME / 2;
  int64_t gone = begin - s->first_sample;
  /* Keeps FRAME more samples, because frames at the mirrored end also read earlier samples. */
  gone = gone > FRAME ? gone - FRAME : 0;
  if (gone > s->held) gone = s->held;
  memmove(s->samples, s->samples + gone, (size_t)(s->held - gone) * sizeof *s->samples);
  s->first_sample += gone;
  s->held -= gone;
}

mica_status mica__whisper_sound_push(mica__whisper_sound *s, const float *samples, int64_t count) {
  while (count > 0) {
    const int64_t piece = count < PART_SAMPLES ? count : PART_SAMPLES;
    MICA_TRY(grow(&s->samples, &s->sample_room, s->held + piece, 1));
    memcpy(s->samples + s->held, samples, (size_t)piece * sizeof *samples);
    s->held += piece;
    s->total += piece;
    samples += piece;
    count -= piece;
    while (s->total >= mica__whisper_sound_frames(s) * HOP - FRAME / 2 + PART_SAMPLES) {
      MICA_TRY(compute(s, PART, INT64_MAX / 4));
      forget(s);
    }
  }
  return MICA_OK;
}

mica_status mica__whisper_sound_finish(mica__whisper_sound *s, int64_t least) {
  const int64_t length = s->total > least * HOP ? s->total : least * HOP, all = length / HOP;
  while (mica__whisper_sound_frames(s) < all) {
    const int64_t left = all - mica__whisper_sound_frames(s);
    MICA_TRY(compute(s, left < PART ? left : PART, length));
  }
  return MICA_OK;
}

void mica__whisper_sound_drop(mica__whisper_sound *s, int64_t frame) {
  int64_t gone = frame - s->first_frame;
  if (gone <= 0) return;
  if (gone > s->frame_count) gone = s->frame_count;
  memmove(s->frames, s->frames + gone * s->bins, (size_t)((s->frame_count - gone) * s->bins) * sizeof *s->frames);
  s->first_frame += gone;
  s->frame_count -= gone;
}

void mica__whisper_sound_window(const mica__whisper_sound *s, int64_t from, int64_t frames, float *mel) {
  const int64_t end = mica__whisper_sound_frames(s);
  const float least = s->loudest - 8;
  for (int64_t f = 0; f < frames; f++) {
    const float *frame = from + f < end ? s->frames + (from + f - s->first_frame) * s->bins : NULL;
    for (int64_t b = 0; b < s->bins; b++)
      mel[b * frames + f] = frame ? ((frame[b] > least ? frame[b] : least) + 4) / 4 : 0;
  }
}
