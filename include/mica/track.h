/* mica/track.h: tracking by detection: the boxes that a detector finds in the frames of a video get ids. Tracks are
 * read and written in MOTChallenge's text format, and scored as MOTChallenge does. Runs on the host; no device is
 * needed.
 *
 *   mica_tracker_create(NULL, &tracker);
 *   for each frame: mica_tracker_step(tracker, boxes, NULL, count, ids, NULL);
 *
 * Threads: use a tracker from one thread at a time. */
#ifndef MICA_TRACK_H
#define MICA_TRACK_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL

MICA_BEGIN_DECLS

/* --- tracks from boxes --- */

/* Tracks boxes as SORT does (Bewley et al. 2016). Each track has a Kalman filter of constant velocity for the centre
 * and the area of its box; the aspect ratio is constant. In each frame, boxes are assigned to the predicted boxes of
 * the tracks so that the sum of overlaps (IoU) is largest. */
typedef struct mica_tracker mica_tracker;

typedef struct mica_tracker_config {
  double overlap;   /* smallest overlap of a box and a track's prediction; 0: 0.3 */
  int64_t max_age;  /* a track ends once it has had no box in more than this number of frames in a row; 0: 1 */
  int64_t min_hits; /* boxes in a row, after its first one, that a track needs to get an id; 0: 3; negative: 0 */
} mica_tracker_config;

/* Creates a tracker. config may be NULL. MICA_E_INVALID: overlap is not in 0 to 1, or max_age is negative. */
MICA_API MICA_CHECKED mica_status mica_tracker_create(const mica_tracker_config *config, mica_tracker **tracker);

/* Takes the boxes of the next frame: `count` times x0 y0 x1 y1. ids[i] receives the id of the track that box i belongs
 * to, 1 or more. It is 0 if the track has had fewer boxes in a row than min_hits asks for; this does not apply to the
 * first min_hits frames.
 *
 * classes (may be NULL): the class of each box; a track has boxes of one class. filtered (may be NULL) receives `count`
 * times the box that the track's filter estimates. A box that begins a track is its own estimate.
 *
 * MICA_E_INVALID: a box has a side shorter than 1e-9, or a coordinate is not a number or is beyond 1e9; the tracker
 * does not change then. MICA_E_NOMEM: only mica_tracker_reset and mica_tracker_destroy may follow. */
MICA_API MICA_CHECKED mica_status mica_tracker_step(mica_tracker *tracker, const double *boxes, const int32_t *classes,
                                                    size_t count, int64_t *ids, double *filtered);
/* Forgets all frames; ids begin at 1 again. */
MICA_API void mica_tracker_reset(mica_tracker *tracker);
MICA_API void mica_tracker_destroy(mica_tracker *tracker);

/* --- files --- */

/* A box of a frame: a line of MOTChallenge's det.txt, gt.txt or of a tracker's results. */
typedef struct mica_track_box {
  int64_t frame;       /* 1 or more in files */
  int64_t id;          /* -1: the box has no id, as in det.txt */
  double box[4];       /* x0 y0 x1 y1; the left upper corner of a picture is 0 0 */
  double score;        /* confidence; in gt.txt 0 for a box that does not count */
  int32_t class_index; /* the file's number of the class; -1: unknown, or not an integer */
} mica_track_box;

/* Reads lines `frame,id,left,top,width,height[,confidence[,class[,...]]]`. Files count pixels from 1; this subtracts 1.
 * The confidence is 1 if it is missing. Empty lines are ignored. The caller frees *boxes with mica_free. MICA_E_FORMAT:
 * a line is wrong, or two boxes of a frame have the same id (not -1) and neither has the confidence 0; the message has
 * the line. MICA_E_NOT_FOUND, MICA_E_IO, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_track_read(const char *path, mica_track_box **boxes, size_t *count);
/* Writes lines `frame,id,left,top,width,height,confidence,-1,-1,-1`, in the order given. MICA_E_IO, MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_track_write(const char *path, const mica_track_box *boxes, size_t count);

/* --- scores --- */

/* Numbers of boxes, over all frames, and scores. true_boxes excludes boxes with a score of 0.
 *
 * A true box and a found box may match if their overlap is at least the threshold. A box matches at most one other. If
 * a true track and the found track that it matched last still overlap enough, they match again. Among the remaining
 * boxes, the number of matches is made as large as possible, and then the sum of overlaps. */
typedef struct mica_track_scores {
  int64_t frames, true_boxes, found_boxes, true_tracks, found_tracks;
  int64_t matches;         /* includes switches */
  int64_t switches;        /* how often the id that a true track matches changes */
  int64_t misses;          /* true boxes without a match */
  int64_t false_positives; /* found boxes without a match */
  int64_t mostly_tracked;  /* true tracks with a match in at least 80 % of their frames */
  int64_t mostly_lost;     /* in less than 20 % */
  double mota;             /* 1 - (misses + false positives + switches) / true boxes */
  double motp;             /* mean overlap of matches; motmetrics prints 1 - motp */
  /* True and found tracks are paired one to one so that the most boxes match: F1, precision and recall of boxes. */
  double idf1, idp, idr;
} mica_track_scores;

/* Computes CLEAR MOT (Bernardin and Stiefelhagen 2008) and identity scores (Ristani et al. 2016), equal to the package
 * motmetrics. True boxes with a score of 0 are left out. Frames may come in any order; classes are not compared.
 * overlap: smallest overlap of a match; 0: 0.5. A score that would divide by 0 is NaN.
 *
 * MICA_E_INVALID: an id is negative or comes twice in a frame, a box has no area, or overlap is not in 0 to 1.
 * MICA_E_OVERFLOW: too many ids, or too many boxes in a frame. MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_track_evaluate(const mica_track_box *truths, size_t truth_count,
                                                      const mica_track_box *found, size_t found_count, double overlap,
                                                      mica_track_scores *scores);

MICA_END_DECLS

#endif
