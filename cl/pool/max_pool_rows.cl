/* pool/max_pool_rows.cl: max pooling of planes with stride 2 along rows, without indices:
 *
 *   values[n, p, q] = the largest of x[n, STRIDE1 p - PAD1 + i, 2 q - PAD2 + j], 0 <= i < SIZE1, 0 <= j < SIZE2,
 *                     over the elements inside the plane
 *
 * A NaN counts as larger than all numbers. Between +0 and -0 the result may be either. A window without elements gives
 * -infinity, or for bytes the lowest byte. x is (planes, height, width), values (planes, p_count, q_count).
 *
 * A work-item computes `per` rows of outputs: ceil(rows / per) work-items in groups of one, rows = planes p_count. It
 * processes TOGETHER rows at a time: first the maximum of each column of their windows, in local memory, and then the
 * maximum of each window. With one row at a time, the second step would have to wait for the stores of the first.
 * `lines` has TOGETHER PITCH elements of type LINE; PITCH is at least 2 (q_count - 1) + SIZE2 + 1.
 *
 *   X_T   type of x and values: f32, f16, bf16, i8 or u8
 *   CW    columns per vector, at most min(width, 2 (q_count - 1) + SIZE2 - PAD2); 16 for bytes
 *   VW    outputs per vector, at most q_count; 8 for bytes */
#include "common/fields.clh"
#include "common/group.clh"
#include "common/simd.clh"
#include "pool/every_other.clh"
#include "pool/fields.clh"

#define TOGETHER 4
#define LOWEST MICA_PASTE(mica_lowest_, X_T)
#define mica_lowest_f32 (-INFINITY)
#define mica_lowest_f16 (-INFINITY)
#define mica_lowest_bf16 (-INFINITY)
#define mica_lowest_i8 (-128)
#define mica_lowest_u8 0
#define mica_is_byte_f32 0
#define mica_is_byte_f16 0
#define mica_is_byte_bf16 0
#define mica_is_byte_i8 1
#define mica_is_byte_u8 1

#if MICA_PASTE(mica_is_byte_, X_T)
#define LINE STORAGE(X_T)
#define BYTES MICA_PASTE(STORAGE(X_T), 16)
#define TAKE(best, v) best = select(best, v, v > best)

/* line[i] = the largest of column i in rows h to h_end - 1 of the plane, or LOWEST if there are no such rows. */
static inline void largest_of_columns(__global const STORAGE(X_T) * plane, const int h, const int h_end,
                                      const int width, const int reached, __local LINE *line) {
  for (int begin = 0; begin < reached; begin += CW) {
    const int i = min(begin, reached - CW);
    BYTES best = LOWEST;
    for (int row = h; row < h_end; row++) TAKE(best, vload16(0, plane + (long)row * width + i));
    MICA_PASTE(mica_store_, BYTES)(best, line + i);
  }
}

/* values[q] = the largest of line[2 q + k] for k < size. It computes the windows that begin at odd elements, too, and
 * does not store them. */
static inline void largest_of_windows(__local const LINE *line, const int size, const int q_count,
                                      __global STORAGE(X_T) * values) {
  for (int begin = 0; begin < q_count; begin += VW) {
    const int q = min(begin, q_count - VW);
    BYTES best = vload16(0, line + 2 * q);
    for (int k = 1; k < size; k++) TAKE(best, vload16(0, line + 2 * q + k));
    mica_store_uchar8(convert_uchar8(as_ushort8(best) & (ushort8)(255)), (__global uchar *)values + q);
  }
}
#else
#define LINE float
#define COLUMNS MICA_PASTE(float, CW)
#define COLUMN_MASKS MICA_PASTE(int, CW)

/* best becomes the larger of best and v, lane by lane, and nan becomes -1 in lanes in which v is NaN. A NaN never
 * replaces `best`. */
#define TAKE(best, nan, masks, v)                                                                                      \
  do {                                                                                                                 \
    best = select(best, v, v > best);                                                                                  \
    nan |= (masks)(v != v);                                                                                            \
  } while (0)

/* line[i] = the largest of column i in rows h to h_end - 1 of the plane, or -infinity if there are no such rows. */
static inline void largest_of_columns(__global const STORAGE(X_T) * plane, const int h, const int h_end,
                                      const int width, const int reached, __local float *line) {
  for (int begin = 0; begin < reached; begin += CW) {
    const int i = min(begin, reached - CW);
    COLUMNS best = -INFINITY;
    COLUMN_MASKS nan = 0;
    for (int row = h; row < h_end; row++) {
      const COLUMNS v = LOADV(X_T, CW, plane, (long)row * width + i);
      TAKE(best, nan, COLUMN_MASKS, v);
    }
    STOREV(f32, CW, select(best, (COLUMNS)(NAN), nan), line, i);
  }
}

/* values[q] = the largest of line[2 q + k] for k < size. It computes the windows that begin at odd elements, too, and
 * does not store them. If it selected the even elements right after each load, compilers would split the vectors. */
static inline void largest_of_windows(__local const float *line, const int size, const int q_count,
                                      __global STORAGE(X_T) * values) {
  for (int begin = 0; begin < q_count; begin += VW) {
    const int q = min(begin, q_count - VW);
    FLOATS low = -INFINITY, high = -INFINITY;
    POSITIONS low_nan = 0, high_nan = 0;
    for (int k = 0; k < size; k++) {
      const FLOATS a = LOADV(f32, VW, line, 2 * q + k), b = LOADV(f32, VW, line, 2 * q + k + VW);
      TAKE(low, low_nan, POSITIONS, a);
      TAKE(high, high_nan, POSITIONS, b);
    }
    low = select(low, (FLOATS)(NAN), low_nan);
    high = select(high, (FLOATS)(NAN), high_nan);
    STOREV(X_T, VW, IN_ORDER(EVEN(low, high)), values, q);
  }
}
#endif

APART void pool_rows(__global const STORAGE(X_T) * x, __global STORAGE(X_T) * values, const long first, const long last,
                     const int8 plane, const int8 window, __local LINE *lines) {
  UNPACK_INTS(POOL_ROWS, plane);
  UNPACK_INTS(POOL_ROWS_WINDOW, window);
  const int reached = min(width, 2 * (q_count - 1) + SIZE2 - PAD2);
  for (int i = 0; i < TOGETHER * PITCH; i++) lines[i] = LOWEST;
  for (long row = first; row < last; row += TOGETHER) {
    const int count = (int)min((long)TOGETHER, last - row);
    for (int r = 0; r < count; r++) {
      const int top = (int)((row + r) % p_count) * STRIDE1 - PAD1;
      largest_of_columns(x + (row + r) / p_count * height * width, max(top, 0), min(top + SIZE1, height), width,
                         reached, lines + r * PITCH + PAD2);
    }
    for (int r = 0; r < count; r++) largest_of_windows(lines + r * PITCH, SIZE2, q_count, values + (row + r) * q_count);
  }
}

CPU_KERNEL max_pool_rows(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values,
                         const long values_at, const long rows, const int per, const int8 plane, const int8 window,
                         __local LINE *lines) {
  const long first = get_global_id(0) * (long)per;
  pool_rows(x + x_at, values + values_at, first, min(first + per, rows), plane, window, lines);
}
