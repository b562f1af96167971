/* runtime/host_cpu.h: instructions of the processor that runs this program. Kernels may use them if the device is that
 * processor and its platform accepts inline assembly (PoCL). */
#ifndef MICA_RUNTIME_HOST_CPU_H
#define MICA_RUNTIME_HOST_CPU_H

#include <mica/device.h>

#include <stdbool.h>

/* Instructions that the processor has but the platform's compiler does not use. PoCL in 32 bits on x86 compiles for an
 * i686, whose floats go through a stack of eight registers, except in functions that name more (common/simd.clh). */
typedef enum mica__host_vectors { MICA__VECTORS_KNOWN, MICA__VECTORS_AVX2, MICA__VECTORS_AVX512 } mica__host_vectors;
mica__host_vectors mica__host_vectors_of(const mica_device_info *device);
/* True if the processor has vpdpbusd on vectors of 64 bytes. */
bool mica__host_has_vnni(const mica_device_info *device);
/* True if the processor has the encoding of vpdpbusd for vectors of 32 bytes that does not need AVX-512 (AVX-VNNI),
 * a child process multiplied with it correctly, and the platform's assembler knows it. */
bool mica__host_has_avx_vnni(const mica_device_info *device);
/* True if the processor has vpmaddubsw on vectors of 32 bytes, and of 64. */
bool mica__host_has_avx2(const mica_device_info *device);
bool mica__host_has_avx512bw(const mica_device_info *device);
/* True if the processor has a matrix unit (AMX) with products of bytes and of bf16, unless MICA_AMX=0 in the
 * environment forbids it. A process must ask the system for permission. The first call does that, so call it only if a
 * product would use the unit: the permission cannot be returned, and from then on the process is refused alternate
 * signal stacks below 12 KiB (and gets no permission while a thread has one). Before it asks, a child process
 * multiplies tiles of both types and compares; if the child is killed or wrong, the unit counts as missing. */
bool mica__host_has_tiles(const mica_device_info *device);
/* Runs `trial`, which may make system calls only, in a child process; false if trial returned false, if the child died,
 * or if no child could be made. The program's own children, handlers and signals are not affected. */
bool mica__host_try(bool (*trial)(void));
/* For tests that run the instructions on a processor without them: sets what mica__host_has_tiles returns for devices
 * of PoCL. Call it while no other thread uses the library. */
void mica__host_assume_tiles(bool there);

#endif
