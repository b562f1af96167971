/* index/gpu/top_k.cl: index/top_k.cl for long rows on GPUs, one group per row. It finds the key of the k-th element by
 * radix selection, in digits of 8 bits, the highest digit first. If several elements have this key and not all of them
 * are among the first k, it finds the index of the k-th element in the same way. Then it sorts the first k elements in
 * local memory.
 *
 * x, values and indices are the same as in index/top_k.cl; k <= ROOM.
 *
 *   X_T        type of x and values, of at most 4 bytes
 *   KIND       0: the smallest, 1: the largest
 *   VALUES     1: values are written
 *   INDICES    1: indices are written
 *   KEY_BITS   bits of a key: 8, 16 or 32
 *   GROUP      work-items of a group
 *   ROOM       the largest number of elements that can be sorted, a power of 2
 *
 * One dimension of outer * inner * GROUP work-items. */
#include "sort/key.clh"

#define DIGITS 256
#define PACK(key, j) ((ulong)(key) << 32 | (uint)(j))

/* Finds the digit of the element with the given rank (the first is 1). counts[d] is the number of elements with digit
 * d. Sets found[0] to the digit, found[1] to the element's rank among the elements with this digit, and found[2] to the
 * number of these elements. */
static inline void find_digit(__local const int *counts, const int rank, __local int *found) {
  int before = 0, digit = 0;
  while (digit < DIGITS - 1 && before + counts[digit] < rank) before += counts[digit++];
  found[0] = digit;
  found[1] = rank - before;
  found[2] = counts[digit];
}

/* Sorts a[0] .. a[size - 1] in ascending order with a bitonic sort; size is a power of 2. All work-items of the group
 * must call it. */
static inline void sort_in_group(__local ulong *a, const int size, const int item) {
  for (int run = 2; run <= size; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      for (int e = item; e < size / 2; e += GROUP) {
        const int low = 2 * e - (e & (step - 1)), high = low + step;
        const ulong p = a[low], q = a[high];
        if ((p > q) == ((low & run) == 0)) a[low] = q, a[high] = p;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void top_k_gpu(
    __global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values, const long values_at,
    __global long *indices, const long indices_at, const int n, const int k, const int inner) {
  __local int counts[DIGITS], found[3], taken;
  __local ulong list[ROOM];
  const int item = get_local_id(0);
  const long row = get_group_id(0), o = row / inner, i = row % inner;
  const long first = o * k * inner + i;
  int rank = k;
  uint key_of = 0, index_of = 0; /* the digits found so far of the k-th element's key and index */
  x += x_at + o * n * inner + i;

  /* The loop first finds the digits of the k-th element's key. Then, with by_index, it finds the digits of its index
   * among the elements with this key. */
  bool by_index = false, done = false;
  for (int shift = KEY_BITS - 8; !done;) {
    for (int d = item; d < DIGITS; d += GROUP) counts[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint known = shift < 24 ? ~0u << (shift + 8) : 0;
    for (int j = item; j < n; j += GROUP) {
      const uint key = KEY(x, (long)j * inner), looked_at = by_index ? (uint)j : key;
      const bool takes = by_index ? key == key_of && ((uint)j & known) == index_of : (key & known) == key_of;
      if (takes) atomic_inc(&counts[looked_at >> shift & (DIGITS - 1)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) find_digit(counts, rank, found);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint digit = (uint)found[0] << shift;
    rank = found[1];
    if (by_index)
      index_of |= digit;
    else
      key_of |= digit;
    if (shift > 0) {
      shift -= 8;
    } else {
      done = by_index || rank == found[2];
      if (done && !by_index) index_of = (uint)n;
      by_index = true;
      shift = 24;
    }
  }

  int size = 1;
  while (size < k) size *= 2;
  for (int e = item; e < size; e += GROUP) list[e] = ~0ul;
  if (item == 0) taken = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = item; j < n; j += GROUP) {
    const uint key = KEY(x, (long)j * inner);
    if (key < key_of || (key == key_of && (uint)j <= index_of)) list[atomic_inc(&taken)] = PACK(key, j);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  sort_in_group(list, size, item);
  for (int r = item; r < k; r += GROUP) {
    const long j = (uint)list[r];
#if VALUES
    STORE(X_T, LOAD(X_T, x, j * inner), values, values_at + first + (long)r * inner);
#endif
#if INDICES
    indices[indices_at + first + (long)r * inner] = j;
#endif
  }
}
