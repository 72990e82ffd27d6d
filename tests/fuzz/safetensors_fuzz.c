/* safetensors_fuzz.c - any bytes as a safetensors file: an error or tensors that can be read whole.
 */
#include "fuzz_stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_stored       s;
    const pk_status status = pk_safetensors_read(data, size, &s);
    fuzz_check_stored(&s, status);
    return 0;
}
