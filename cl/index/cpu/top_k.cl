/* index/cpu/top_k.cl: index/top_k.cl for long rows on CPUs, one work-item per row. An element is appended to the array
 * `kept` if it precedes the element that was the k-th at the last sort; before the first sort, all are appended. When
 * `room` elements are in it, they are sorted, and only the first k stay. In a random row of n elements about k log(n /
 * k) elements are appended; the others are only compared once.
 *
 * x, values and indices are the same as in index/top_k.cl. kept (outer * inner, room) is workspace; room > k.
 *
 *   X_T        type of x and values, of at most 4 bytes
 *   KIND       0: the smallest, 1: the largest
 *   VALUES     1: values are written
 *   INDICES    1: indices are written
 *
 * One dimension of outer * inner work-items, groups of one. */
#include "common/group.clh"
#include "sort/key.clh"

#define BLOCK 32 /* elements that are compared together, by a loop that the compiler vectorizes */
#define PACK(key, j) ((ulong)(key) << 32 | (uint)(j))

/* Restores the heap of a[0 .. n - 1] below root: moves a[root] down until neither of its children is larger. */
static inline void sift(__global ulong *a, int root, const int n) {
  const ulong moved = a[root];
  for (int child = 2 * root + 1; child < n; child = 2 * root + 1) {
    if (child + 1 < n && a[child + 1] > a[child]) child++;
    if (a[child] <= moved) break;
    a[root] = a[child];
    root = child;
  }
  a[root] = moved;
}

static inline void sort_rising(__global ulong *a, const int n) {
  for (int root = n / 2 - 1; root >= 0; root--) sift(a, root, n);
  for (int last = n - 1; last > 0; last--) {
    const ulong top = a[0];
    a[0] = a[last];
    a[last] = top;
    sift(a, 0, last);
  }
}

CPU_KERNEL top_k_cpu(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values,
                     const long values_at, __global long *indices, const long indices_at, __global ulong *kept,
                     const long kept_at, const int n, const int k, const int inner, const int room) {
  const long row = get_global_id(0), o = row / inner, i = row % inner;
  const long first = o * k * inner + i;
  int count = 0;
  uint last = 0;     /* key of the k-th element at the last sort */
  bool full = false; /* elements have been sorted once, so `last` is set */
  x += x_at + o * n * inner + i;
  kept += kept_at + row * room;
  for (int from = 0; from < n; from += BLOCK) {
    const int size = min(BLOCK, n - from);
    bool any = !full;
    for (int l = 0; l < size; l++) any |= KEY(x, (long)(from + l) * inner) < last;
    if (!any) continue;
    for (int j = from; j < from + size; j++) {
      const uint key = KEY(x, (long)j * inner);
      if (full && key >= last) continue;
      kept[count++] = PACK(key, j);
      if (count < room) continue;
      sort_rising(kept, room);
      count = k;
      last = (uint)(kept[k - 1] >> 32);
      full = true;
    }
  }
  sort_rising(kept, count);
  for (int r = 0; r < k; r++) {
    const long j = (uint)kept[r];
#if VALUES
    STORE(X_T, LOAD(X_T, x, j * inner), values, values_at + first + (long)r * inner);
#endif
#if INDICES
    indices[indices_at + first + (long)r * inner] = j;
#endif
  }
}
