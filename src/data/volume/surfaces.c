#include "data/volume/surfaces.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Two label volumes, and the smallest box that contains all voxels of the class `of` in either volume. there[k] is true
 * if volume k has such a voxel. Voxels where `known` is 255 do not count; `known` may be NULL. */
typedef struct pair {
  const uint8_t *volumes[2], *known;
  uint8_t of;
  int64_t sides[3], from[3], box[3]; /* sides of the volumes; first voxel of the box; sides of the box */
  const double *spacing;
  bool there[2];
} pair;

static int64_t index_of(const pair *p, int64_t z, int64_t y, int64_t x) {
  return ((p->from[0] + z) * p->sides[1] + p->from[1] + y) * p->sides[2] + p->from[2] + x;
}

static bool has(const pair *p, int side, int64_t at) {
  return p->volumes[side][at] == p->of && (!p->known || p->known[at] != 255);
}

static void find_box(pair *p) {
  int64_t least[3] = {p->sides[0], p->sides[1], p->sides[2]}, most[3] = {-1, -1, -1};
  const int64_t voxels = p->sides[0] * p->sides[1] * p->sides[2];
  for (int64_t i = 0; i < voxels; i++) {
    const bool one = has(p, 0, i), other = has(p, 1, i);
    if (!one && !other) continue;
    p->there[0] = p->there[0] || one;
    p->there[1] = p->there[1] || other;
    const int64_t at[3] = {i / p->sides[2] / p->sides[1], i / p->sides[2] % p->sides[1], i % p->sides[2]};
    for (int k = 0; k < 3; k++) {
      if (at[k] < least[k]) least[k] = at[k];
      if (at[k] > most[k]) most[k] = at[k];
    }
  }
  for (int k = 0; k < 3; k++) p->from[k] = least[k], p->box[k] = most[k] - least[k] + 1;
}

/* True if this voxel of volume `side` has the class and touches, with a face, another class or the edge of the volume.
 * (z, y, x) counts from the first voxel of the box. */
static bool is_surface(const pair *p, int side, int64_t z, int64_t y, int64_t x) {
  const int64_t at[3] = {p->from[0] + z, p->from[1] + y, p->from[2] + x};
  const int64_t steps[3] = {p->sides[1] * p->sides[2], p->sides[2], 1}, i = index_of(p, z, y, x);
  if (!has(p, side, i)) return false;
  for (int k = 0; k < 3; k++)
    if (at[k] == 0 || at[k] == p->sides[k] - 1 || !has(p, side, i - steps[k]) || !has(p, side, i + steps[k]))
      return true;
  return false;
}

/* Replaces line[x] by the minimum over q of line[q] + (spacing (x - q))^2. The minimum is the lower envelope of
 * parabolas, one per q (Felzenszwalb and Huttenlocher 2012). f, z and v are scratch for n elements each: f is a copy of
 * the line, v[k] the q of the envelope's k-th parabola, and z[k] the x from which that parabola is the lowest. */
static void transform_line(double *line, int64_t n, double spacing, double *f, double *z, int64_t *v) {
  int64_t k = -1;
  const double square = spacing * spacing;
  for (int64_t q = 0; q < n; q++) {
    f[q] = line[q];
    if (isinf(f[q])) continue;
    double cut = -INFINITY;
    while (k >= 0) {
      cut = ((f[q] - f[v[k]]) / square + (double)(q * q - v[k] * v[k])) / (2.0 * (double)(q - v[k]));
      if (cut > z[k]) break;
      k--;
    }
    k++;
    v[k] = q;
    z[k] = k ? cut : -INFINITY;
  }
  for (int64_t x = 0, at = 0; k >= 0 && x < n; x++) {
    while (at < k && z[at + 1] < (double)x) at++;
    const double apart = spacing * (double)(x - v[at]);
    line[x] = f[v[at]] + apart * apart;
  }
}

/* Replaces each voxel's value by the squared distance to the nearest surface voxel. Before the call, surface voxels are
 * 0 and all others are infinite. */
static mica_status transform(const pair *p, double *squares) {
  const int64_t longest = p->box[0] > p->box[1] ? p->box[0] : p->box[1], n = longest > p->box[2] ? longest : p->box[2];
  double *room = malloc((size_t)n * 3 * sizeof *room);
  int64_t *v = malloc((size_t)n * sizeof *v);
  mica_status status = room && v ? MICA_OK : mica__fail_nomem("distances");
  for (int axis = 2; status == MICA_OK && axis >= 0; axis--) {
    const int64_t step = axis == 2 ? 1 : axis == 1 ? p->box[2] : p->box[1] * p->box[2];
    const int64_t lines = p->box[0] * p->box[1] * p->box[2] / p->box[axis];
    for (int64_t i = 0; i < lines; i++) {
      double *first = squares + i / step * step * p->box[axis] + i % step;
      for (int64_t k = 0; k < p->box[axis]; k++) room[k] = first[k * step];
      transform_line(room, p->box[axis], p->spacing[axis], room + n, room + 2 * n, v);
      for (int64_t k = 0; k < p->box[axis]; k++) first[k * step] = room[k];
    }
  }
  free(room);
  free(v);
  return status;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* For each surface voxel of volume `side`, finds the distance to the other volume's surface. Sets out->farthest to the
 * largest distance and out->most to the 95th percentile. */
static mica_status measure(const pair *p, int side, double *squares, mica__likeness *out) {
  const int64_t voxels = p->box[0] * p->box[1] * p->box[2];
  int64_t i = 0, count = 0;
  for (int64_t z = 0; z < p->box[0]; z++)
    for (int64_t y = 0; y < p->box[1]; y++)
      for (int64_t x = 0; x < p->box[2]; x++) squares[i++] = is_surface(p, !side, z, y, x) ? 0 : INFINITY;
  MICA_TRY(transform(p, squares));
  for (i = 0; i < voxels; i++) {
    const int64_t y = i / p->box[2] % p->box[1], z = i / p->box[2] / p->box[1];
    if (is_surface(p, side, z, y, i % p->box[2])) squares[count++] = sqrt(squares[i]);
  }
  qsort(squares, (size_t)count, sizeof *squares, by_size);
  const double rank = 0.95 * (double)(count - 1), below = floor(rank);
  const double low = squares[(int64_t)below], high = squares[(int64_t)ceil(rank)];
  out->farthest = squares[count - 1];
  out->most = low + (rank - below) * (high - low);
  return MICA_OK;
}

/* Sets out->farthest and out->most. Leaves them unchanged if neither volume has the class. */
static mica_status compare(const uint8_t *a, const uint8_t *b, const uint8_t *known, uint8_t of, const int64_t sides[3],
                           const double spacing[3], mica__likeness *out) {
  pair p = {.volumes = {a, b}, .known = known, .of = of, .spacing = spacing};
  mica__likeness found[2];
  double diagonal = 0;
  for (int k = 0; k < 3; k++) {
    p.sides[k] = sides[k];
    diagonal += ((double)sides[k] * spacing[k]) * ((double)sides[k] * spacing[k]);
  }
  find_box(&p);
  if (!p.there[0] && !p.there[1]) return MICA_OK;
  out->farthest = out->most = sqrt(diagonal);
  if (!p.there[0] || !p.there[1]) return MICA_OK;
  double *squares = malloc((size_t)(p.box[0] * p.box[1] * p.box[2]) * sizeof *squares);
  mica_status status = squares ? MICA_OK : mica__fail_nomem("distances");
  for (int side = 0; status == MICA_OK && side < 2; side++) status = measure(&p, side, squares, &found[side]);
  free(squares);
  MICA_TRY(status);
  out->farthest = fmax(found[0].farthest, found[1].farthest);
  out->most = fmax(found[0].most, found[1].most);
  return MICA_OK;
}

mica_status mica__labels_compare(const uint8_t *a, const uint8_t *b, const uint8_t *known, uint8_t of,
                                 const int64_t sides[3], const double spacing[3], mica__likeness *out) {
  double both = 0, all = 0;
  for (int64_t i = 0; i < sides[0] * sides[1] * sides[2]; i++) {
    if (known && known[i] == 255) continue;
    both += a[i] == of && b[i] == of;
    all += (a[i] == of) + (b[i] == of);
  }
  *out = (mica__likeness){all > 0 ? 2 * both / all : NAN, all > 0 ? both / (all - both) : NAN, NAN, NAN};
  return compare(a, b, known, of, sides, spacing, out);
}
