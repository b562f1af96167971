/* An all-reduce or reduce-scatter divides the data into one part per rank. In the first round, each rank receives its
 * part from all ranks and adds the copies pairwise, in a binary tree. An all-reduce has a second round, in which each
 * rank sends the sum of its part to all ranks.
 *
 * Over both rounds each of n ranks sends 2 (n - 1) / n of the data. The order in which the ranks' values of one
 * element are added does not depend on how the data are divided. */
#include "dist/collective.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/large.h"
#include "dist/wire.h"

#include <stdlib.h>
#include <string.h>

/* Parts begin at multiples of this number of elements, unless the transfer gives offsets. Buffers begin at multiples of
 * the same number of bytes. */
#define PART_UNIT 64

static int64_t lesser(int64_t x, int64_t y) { return x < y ? x : y; }

void mica_rank_part(int64_t count, int32_t ranks, int32_t rank, int64_t *first, int64_t *length) {
  const int64_t units = count / PART_UNIT + (count % PART_UNIT != 0), share = units / ranks, rest = units % ranks;
  const int64_t begin = lesser(count, (share * rank + lesser(rest, rank)) * PART_UNIT);
  const int64_t end = lesser(count, (share * (rank + 1) + lesser(rest, rank + 1)) * PART_UNIT);
  *first = begin;
  *length = end - begin;
}

static bool sums(const mica_transfer *t) {
  return t->kind == MICA_COLLECTIVE_ALL_REDUCE || t->kind == MICA_COLLECTIVE_REDUCE_SCATTER;
}

static bool has_parts(const mica_transfer *t) { return sums(t) || t->kind == MICA_COLLECTIVE_ALL_GATHER; }

static bool can_add(mica_dtype dtype) {
  return dtype == MICA_F32 || dtype == MICA_F64 || dtype == MICA_F16 || dtype == MICA_BF16 || dtype == MICA_I32 ||
         dtype == MICA_I64;
}

static void part_of(const mica_transfer *t, int32_t ranks, int32_t rank, int64_t *first, int64_t *length) {
  if (!t->offsets) {
    mica_rank_part(t->count, ranks, rank, first, length);
    return;
  }
  *first = t->offsets[rank];
  *length = t->offsets[rank + 1] - t->offsets[rank];
}

static mica_status check_offsets(const mica_transfer *t, int32_t ranks) {
  bool right = t->offsets[0] == 0 && t->offsets[ranks] == t->count;
  for (int32_t i = 0; right && i < ranks; i++) right = t->offsets[i] <= t->offsets[i + 1];
  return right ? MICA_OK
               : mica__fail(MICA_E_INVALID, "%s: the offsets must begin with 0, never fall, and end with %lld",
                            mica_collective_name(t->kind), (long long)t->count);
}

mica_status mica__collective_check(const mica_transfer *t, int32_t rank, int32_t ranks) {
  const char *name = mica_collective_name(t->kind);
  size_t bytes;
  if (t->kind < MICA_COLLECTIVE_ALL_REDUCE || t->kind > MICA_COLLECTIVE_RECEIVE)
    return mica__fail(MICA_E_INVALID, "mica_communicator_begin: %d is not a collective", (int)t->kind);
  if (t->count < 0 || (t->count > 0 && !t->data))
    return mica__fail(MICA_E_INVALID,
                      "%s: the count (%lld) must be 0 or above, and the address (%p) not NULL unless the count is 0",
                      name, (long long)t->count, t->data);
  if (!mica_dtype_is_valid(t->dtype)) return mica__fail(MICA_E_DTYPE, "%s: %d is not a dtype", name, (int)t->dtype);
  if (sums(t) && !can_add(t->dtype))
    return mica__fail(MICA_E_DTYPE, "%s: elements of type %s cannot be added", name, mica_dtype_name(t->dtype));
  if (!mica__mul_size((uint64_t)t->count, mica_dtype_size(t->dtype) * ((uint64_t)ranks + 2), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "%s: %lld elements are too many", name, (long long)t->count);
  if (t->channel < 0 || t->channel >= MICA_CHANNELS)
    return mica__fail(MICA_E_INVALID, "%s: the channel is %d, but must be 0 to %d", name, (int)t->channel,
                      MICA_CHANNELS - 1);
  if (!has_parts(t) && (t->peer < 0 || t->peer >= ranks))
    return mica__fail(MICA_E_INVALID, "%s: there is no rank %d; the communicator has %d ranks, counted from 0", name,
                      (int)t->peer, (int)ranks);
  if (!has_parts(t) && t->kind != MICA_COLLECTIVE_BROADCAST && t->peer == rank)
    return mica__fail(MICA_E_INVALID, "%s: rank %d cannot send to itself or receive from itself", name, (int)rank);
  if ((size_t)t->compression > MICA_COMPRESSION_U8)
    return mica__fail(MICA_E_INVALID, "%s: %d is not a mica_compression", name, (int)t->compression);
  if (t->compression && (!sums(t) || t->dtype != MICA_F32))
    return mica__fail(MICA_E_INVALID, "%s: compression needs a sum of f32 (all_reduce or reduce_scatter)", name);
  return has_parts(t) && t->offsets ? check_offsets(t, ranks) : MICA_OK;
}

mica_status mica__collective_prepare(mica__collective *c, const mica_transfer *t, int32_t rank, int32_t ranks) {
  const size_t n = (size_t)ranks;
  *c = (mica__collective){.transfer = *t};
  if (!c->transfer.source) c->transfer.source = t->data;
  if (has_parts(t)) part_of(t, ranks, rank, &c->first, &c->length);
  const size_t piece = mica__round_up((size_t)c->length * mica_dtype_size(t->dtype), PART_UNIT);
  const size_t own = mica__round_up(mica__wire_bytes(t->compression, t->dtype, c->length), PART_UNIT);
  const size_t all = mica__wire_bytes(t->compression, t->dtype, t->count) + n * (PART_UNIT + sizeof(float));
  /* Size of the buffer for received data, and of the one for sent data. Each holds either every rank's compressed copy
   * of this rank's part, or all compressed parts, whichever is larger. */
  const size_t inward = mica__round_up(n * own > all ? n * own : all, PART_UNIT);
  const bool compressed = sums(t) && t->compression;
  const size_t bytes = (sums(t) ? n * piece : 0) + (compressed ? 2 * inward : 0);
  c->messages = calloc(2 * n + 1, sizeof *c->messages);
  c->pieces = calloc(n, sizeof *c->pieces);
  c->scratch = mica__alloc_aligned(PART_UNIT, bytes + PART_UNIT);
  if (!c->messages || !c->pieces || !c->scratch) return mica__fail_nomem("a collective");
  for (size_t i = 0; sums(t) && i < n; i++) c->pieces[i] = (char *)c->scratch + i * piece;
  if (compressed) {
    c->received = (char *)c->scratch + n * piece;
    c->encoded = c->received + inward;
  }
  return MICA_OK;
}

/* --- messages --- */

static int32_t tag_of(const mica_transfer *t) {
  const bool single = t->kind == MICA_COLLECTIVE_SEND || t->kind == MICA_COLLECTIVE_RECEIVE;
  return 2 * t->channel + single;
}

static mica_status post(mica__collective *c, const mica_transport *transport, bool sends, int32_t peer, void *data,
                        size_t bytes) {
  mica__message *m = &c->messages[c->message_count];
  if (bytes == 0) return MICA_OK;
  *m = (mica__message){.peer = peer, .sends = sends};
  const int32_t tag = tag_of(&c->transfer);
  if (sends)
    MICA_TRY(transport->calls->send(transport->user, peer, tag, data, bytes, &m->request));
  else
    MICA_TRY(transport->calls->receive(transport->user, peer, tag, data, bytes, &m->request));
  c->message_count++;
  if (sends) {
    c->bytes_sent += bytes;
    c->sent_messages++;
  } else
    c->bytes_received += bytes;
  return MICA_OK;
}

static void *element(const mica_transfer *t, const void *data, int64_t i) {
  return (char *)data + (size_t)i * mica_dtype_size(t->dtype);
}

/* Offset of a compressed part; each part begins at a multiple of 64 bytes. */
static size_t wire_offset(const mica__collective *c, int32_t ranks, int32_t part) {
  size_t offset = 0;
  for (int32_t i = 0; i < part; i++) {
    int64_t first, length;
    part_of(&c->transfer, ranks, i, &first, &length);
    offset += mica__round_up(mica__wire_bytes(c->transfer.compression, MICA_F32, length), PART_UNIT);
  }
  return offset;
}

/* Sends every other rank its part, and receives this rank's own part from each. */
static mica_status scatter(mica__collective *c, const mica_transport *transport) {
  const mica_transfer *t = &c->transfer;
  const size_t own = mica__wire_bytes(t->compression, t->dtype, c->length);
  for (int32_t i = 0; i < transport->ranks; i++) {
    int64_t first, length;
    part_of(t, transport->ranks, i, &first, &length);
    void *source = element(t, t->source, first);
    if (i == transport->rank) {
      if (length) memcpy(c->pieces[i], source, (size_t)length * mica_dtype_size(t->dtype));
      continue;
    }
    void *to = t->compression ? c->received + (size_t)i * mica__round_up(own, PART_UNIT) : c->pieces[i];
    MICA_TRY(post(c, transport, false, i, to, own));
    if (t->compression) {
      void *encoded = c->encoded + wire_offset(c, transport->ranks, i);
      mica__wire_encode(t->compression, source, c->residual ? c->residual + first : NULL, length, encoded);
      source = encoded;
    }
    MICA_TRY(post(c, transport, true, i, source, mica__wire_bytes(t->compression, t->dtype, length)));
  }
  return MICA_OK;
}

static void add_up(mica__collective *c, const mica_transport *transport) {
  const mica_transfer *t = &c->transfer;
  const size_t own = mica__round_up(mica__wire_bytes(t->compression, t->dtype, c->length), PART_UNIT);
  for (int32_t i = 0; t->compression && i < transport->ranks; i++)
    if (i != transport->rank) mica__wire_decode(t->compression, c->received + (size_t)i * own, c->length, c->pieces[i]);
  mica__sum_tree(t->dtype, c->pieces, transport->ranks, c->length);
  if (c->length) memcpy(element(t, t->data, c->first), c->pieces[0], (size_t)c->length * mica_dtype_size(t->dtype));
}

/* Sends this rank's part of `data` to all ranks, and receives their parts. In compressed sums the sender also
 * replaces its own values by the decoded ones, so all ranks have equal values. */
static mica_status gather(mica__collective *c, const mica_transport *transport) {
  const mica_transfer *t = &c->transfer;
  void *own = element(t, t->data, c->first);
  if (t->kind == MICA_COLLECTIVE_ALL_GATHER && t->source != t->data && c->length)
    memcpy(own, element(t, t->source, c->first), (size_t)c->length * mica_dtype_size(t->dtype));
  if (t->compression) {
    void *encoded = c->encoded + wire_offset(c, transport->ranks, transport->rank);
    mica__wire_encode(t->compression, own, c->residual ? c->residual + c->first : NULL, c->length, encoded);
    mica__wire_decode(t->compression, encoded, c->length, own);
    own = encoded;
  }
  const size_t bytes = mica__wire_bytes(t->compression, t->dtype, c->length);
  for (int32_t i = 0; i < transport->ranks; i++) {
    int64_t first, length;
    if (i == transport->rank) continue;
    part_of(t, transport->ranks, i, &first, &length);
    void *to = t->compression ? c->received + wire_offset(c, transport->ranks, i) : element(t, t->data, first);
    MICA_TRY(post(c, transport, false, i, to, mica__wire_bytes(t->compression, t->dtype, length)));
    MICA_TRY(post(c, transport, true, i, own, bytes));
  }
  return MICA_OK;
}

static void decode_all(const mica__collective *c, const mica_transport *transport) {
  const mica_transfer *t = &c->transfer;
  for (int32_t i = 0; t->compression && i < transport->ranks; i++) {
    int64_t first, length;
    if (i == transport->rank) continue;
    part_of(t, transport->ranks, i, &first, &length);
    mica__wire_decode(t->compression, c->received + wire_offset(c, transport->ranks, i), length,
                      element(t, t->data, first));
  }
}

/* Binomial tree, with ranks counted from the root: rank k receives from the rank k minus its lowest set bit, and sends
 * to k plus each power of two below that bit. The root (rank 0) sends to all powers of two. */
static mica_status broadcast(mica__collective *c, const mica_transport *transport) {
  const mica_transfer *t = &c->transfer;
  const int32_t n = transport->ranks, own = (int32_t)(((int64_t)transport->rank - t->peer + n) % n);
  const size_t bytes = (size_t)t->count * mica_dtype_size(t->dtype);
  if (c->round == 0) {
    if (own == 0 && bytes && t->source != t->data) memcpy(t->data, t->source, bytes);
    if (own == 0) return MICA_OK;
    return post(c, transport, false, (int32_t)(((int64_t)(own & (own - 1)) + t->peer) % n), t->data, bytes);
  }
  for (int64_t bit = 1; own + bit < n && !(own & bit); bit *= 2)
    MICA_TRY(post(c, transport, true, (int32_t)((own + bit + t->peer) % n), t->data, bytes));
  return MICA_OK;
}

/* --- rounds --- */

static int32_t rounds_of(mica_collective kind) {
  return kind == MICA_COLLECTIVE_ALL_REDUCE || kind == MICA_COLLECTIVE_BROADCAST ? 2 : 1;
}

static mica_status begin_round(mica__collective *c, const mica_transport *transport) {
  const mica_transfer *t = &c->transfer;
  const size_t bytes = (size_t)t->count * mica_dtype_size(t->dtype);
  switch (t->kind) {
  case MICA_COLLECTIVE_ALL_REDUCE: return c->round == 0 ? scatter(c, transport) : gather(c, transport);
  case MICA_COLLECTIVE_REDUCE_SCATTER: return scatter(c, transport);
  case MICA_COLLECTIVE_ALL_GATHER: return gather(c, transport);
  case MICA_COLLECTIVE_BROADCAST: return broadcast(c, transport);
  case MICA_COLLECTIVE_SEND: return post(c, transport, true, t->peer, (void *)t->source, bytes);
  default: return post(c, transport, false, t->peer, t->data, bytes);
  }
}

static void end_round(mica__collective *c, const mica_transport *transport) {
  if (sums(&c->transfer) && c->round == 0)
    add_up(c, transport);
  else if (sums(&c->transfer))
    decode_all(c, transport);
}

/* Polls the messages of the round. Sets *moved if a message has completed, and *open if one is still pending. */
static mica_status test_messages(mica__collective *c, const mica_transport *transport, bool *moved, bool *open) {
  for (int32_t i = 0; i < c->message_count; i++) {
    mica__message *m = &c->messages[i];
    bool done = false;
    if (!m->request) continue;
    MICA_TRY(transport->calls->test(transport->user, m->request, &done));
    if (done) m->request = NULL;
    *moved = *moved || done;
    *open = *open || !done;
  }
  return MICA_OK;
}

mica_status mica__collective_advance(mica__collective *c, const mica_transport *transport, bool *moved, bool *done) {
  while (c->round < rounds_of(c->transfer.kind)) {
    bool open = false;
    if (!c->started) {
      c->message_count = 0;
      c->started = *moved = true;
      MICA_TRY(begin_round(c, transport));
    }
    MICA_TRY(test_messages(c, transport, moved, &open));
    if (open) return MICA_OK;
    end_round(c, transport);
    c->round++;
    c->started = false;
  }
  *done = true;
  return MICA_OK;
}

int32_t mica__collective_misses(const mica__collective *c) {
  int32_t found = -1;
  for (int32_t i = c->started ? c->message_count - 1 : -1; i >= 0; i--)
    if (c->messages[i].request && (found < 0 || !c->messages[i].sends || c->messages[found].sends)) found = i;
  return found < 0 ? -1 : c->messages[found].peer;
}

void mica__collective_release(mica__collective *c, const mica_transport *transport) {
  for (int32_t i = 0; i < c->message_count; i++)
    if (c->messages[i].request) transport->calls->cancel(transport->user, c->messages[i].request);
  free(c->messages);
  free(c->pieces);
  mica__free_aligned(c->scratch);
  *c = (mica__collective){0};
}
