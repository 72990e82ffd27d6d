/* safetensors_fuzz.c - any bytes as a safetensors file: an error or tensors that can be read whole.
 */
#include "base/memory.h"
#include "checkpoint/stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_stored      s;
    volatile float sum = 0;
    if (pk_safetensors_read(data, size, &s) == PK_OK)
        for (size_t i = 0; i < s.n; i++) {
            const pk_stored_tensor *t = &s.tensor[i];
            const size_t            n = t->bytes / pk_stored_type_bytes(t->type);
            for (size_t k = 0; k < n; k++) sum = sum + pk_stored_get(t, k);
            if (pk_stored_find(&s, t->name) != t) __builtin_trap();
        }
    pk_stored_close(&s);
    if (pk_memory_alive() != 0) __builtin_trap();
    return 0;
}
