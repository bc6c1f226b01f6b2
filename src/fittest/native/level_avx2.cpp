// The trial for x86-64 with AVX2 and FMA.
#include "headers.hpp"

#if defined(__x86_64__)
// After the standard headers, so that none of their functions is compiled for it.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define LEVEL avx2
#define VECTOR_BYTES 32
#include "kernels.hpp"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
