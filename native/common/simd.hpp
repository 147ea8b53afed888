// Vector versions of hot loops. Only this file depends on the processor.
//
// RANKGROVE_X86 is 1 if code may use instructions of x86-64, and 0 on other processors and with
// -DRANKGROVE_PLAIN. Code that tests it has a plain version that gives the same bits.
//
// A function marked RANKGROVE_SIMD is compiled for AVX2 and for the plain instruction set, and the
// loader picks one. Both give the same bits as long as the loop has no floating-point reduction
// that the compiler could reorder; where a sum over a vector is needed, Lanes says how.
#pragma once

#include <cstring>

#if defined(__x86_64__) && !defined(RANKGROVE_PLAIN)
#define RANKGROVE_X86 1
#include <immintrin.h>
#else
#define RANKGROVE_X86 0
#endif

#if RANKGROVE_X86 && defined(__linux__)
#define RANKGROVE_SIMD __attribute__((target_clones("avx2", "default")))
#else
#define RANKGROVE_SIMD
#endif
#define RANKGROVE_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define RANKGROVE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2")))
#define RANKGROVE_INLINE inline __attribute__((always_inline))

namespace rankgrove {

// Tells the processor that this thread waits for another.
inline void cpu_pause() {
#if RANKGROVE_X86
  _mm_pause();
#endif
}

#if RANKGROVE_X86
// Whether functions marked RANKGROVE_AVX2 can be called.
inline bool has_avx2() {
  static const bool kAvailable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                                 __builtin_cpu_supports("popcnt");
  return kAvailable;
}

// Whether functions marked RANKGROVE_AVX512 can be called: processors with its later parts (VBMI2:
// Ice Lake, Zen 4 and newer) keep their clock.
inline bool has_avx512() {
  static const bool kAvailable = __builtin_cpu_supports("avx512vbmi2");
  return kAvailable;
}
#endif

// Eight floats that are added lane by lane: on a machine with narrower registers the compiler uses
// two of them, and every lane still sees the same additions in the same order.
typedef float Lanes __attribute__((vector_size(32)));
typedef int LaneMask __attribute__((vector_size(32)));
constexpr int kLanes = 8;

// Four doubles, likewise.
typedef double Lanes64 __attribute__((vector_size(32)));
typedef long long LaneMask64 __attribute__((vector_size(32)));
constexpr int kLanes64 = 4;

// By reference, since a vector returned by value has a different calling convention in each clone.
template <typename Vector, typename T>
RANKGROVE_INLINE void load(Vector& lanes, const T* from) {
  std::memcpy(&lanes, from, sizeof lanes);
}

template <typename Vector, typename T>
RANKGROVE_INLINE void store(T* to, const Vector& lanes) {
  std::memcpy(to, &lanes, sizeof lanes);
}

// Lanes number I... of the whole numbers a and then b, which count from 0 to twice their lanes.
template <int... I, typename Vector>
RANKGROVE_INLINE void shuffle(const Vector& a, const Vector& b, Vector& result) {
#if __has_builtin(__builtin_shufflevector)
  result = __builtin_shufflevector(a, b, I...);
#else  // GCC before version 12
  result = __builtin_shuffle(a, b, Vector{I...});
#endif
}

RANKGROVE_INLINE float sum_lanes(const Lanes& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

RANKGROVE_INLINE double sum_lanes(const Lanes64& v) { return (v[0] + v[2]) + (v[1] + v[3]); }

}  // namespace rankgrove
