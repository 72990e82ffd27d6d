/* torch_fuzz.c - any bytes as a PyTorch checkpoint, zip or older: an error, or tensors inside the
 * file. */
#include "fuzz_stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_stored       s;
    const pk_status status = pk_torch_read(data, size, &s);
    fuzz_check_stored(&s, status);
    return 0;
}
