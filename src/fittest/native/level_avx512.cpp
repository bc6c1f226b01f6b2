// The trial for x86-64 with AVX-512.
#include "headers.hpp"

#if defined(__x86_64__)
// After the standard headers, so that none of their functions is compiled for it.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#endif
#define LEVEL avx512
#define VECTOR_BYTES 64
#include "kernels.hpp"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
