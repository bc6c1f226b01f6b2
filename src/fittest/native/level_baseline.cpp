// The trial for any processor.
#include "headers.hpp"

#define LEVEL baseline
#define VECTOR_BYTES 16
#include "kernels.hpp"
