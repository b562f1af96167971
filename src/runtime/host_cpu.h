/* runtime/host_cpu.h: instructions of the processor that runs this program. The functions tell whether kernels on a
 * device may use them. They may only if the device is that processor (PoCL) and, except for mica__host_vectors_of, if
 * its platform accepts inline assembly. */
#ifndef MICA_RUNTIME_HOST_CPU_H
#define MICA_RUNTIME_HOST_CPU_H

#include <mica/device.h>

#include <stdbool.h>

/* Vector instructions that the processor has, but that the platform's compiler does not use unless a function asks for
 * them (cl/common/simd.clh); otherwise MICA__VECTORS_KNOWN. The case is PoCL in 32 bits on x86: it compiles for an
 * i686, which keeps floats on a stack of eight registers. */
typedef enum mica__host_vectors { MICA__VECTORS_KNOWN, MICA__VECTORS_AVX2, MICA__VECTORS_AVX512 } mica__host_vectors;
mica__host_vectors mica__host_vectors_of(const mica_device_info *device);
/* True if the processor has vpdpbusd on vectors of 64 bytes. */
bool mica__host_has_vnni(const mica_device_info *device);
/* True if the processor has the encoding of vpdpbusd for vectors of 32 bytes that does not need AVX-512 (AVX-VNNI),
 * a child process multiplied with it correctly, and the platform's assembler knows it. */
bool mica__host_has_avx_vnni(const mica_device_info *device);
/* True if the processor has vpmaddubsw on vectors of 32 bytes (avx2) or of 64 bytes (avx512bw). */
bool mica__host_has_avx2(const mica_device_info *device);
bool mica__host_has_avx512bw(const mica_device_info *device);
/* True if the processor has a matrix unit (AMX) that multiplies bytes and bf16, a child process multiplied tiles of
 * both types correctly, and MICA_AMX=0 in the environment does not forbid the unit.
 *
 * A process must ask the system for permission to use the unit. The first call asks, so call this only if a product
 * would use the unit. The permission cannot be returned. From then on, the system refuses the process alternate signal
 * stacks below 12 KiB. It refuses the permission while a thread has such a stack. */
bool mica__host_has_tiles(const mica_device_info *device);
/* Runs `trial`, which may make system calls only, in a child process; false if trial returned false, if the child died,
 * or if no child could be made. The program's own children, handlers and signals are not affected. */
bool mica__host_try(bool (*trial)(void));
/* For tests that run the instructions on a processor without them: makes mica__host_has_tiles return true for devices
 * of PoCL or, if `there` is false, what it found. Call it while no other thread uses the library. */
void mica__host_assume_tiles(bool there);

#endif
