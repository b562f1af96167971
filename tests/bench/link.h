/* bench/link.h: two ranks over a link that is slower than memory. */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <mica/dist.h>

/* Fills list[0] and list[1], for a thread each: what one sends reaches the other no sooner than over a link of so many
 * bytes a second in each direction, with so many seconds of latency. Exits where that fails. */
void bench_link(double bytes, double latency, mica_communicator **list);

/* The selector of one half of the device that MICA_DEVICE names, where it can be halved: a rank a core of two. */
void bench_half(int half, char name[64]);

#endif
