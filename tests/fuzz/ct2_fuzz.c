/* ct2_fuzz.c - any bytes as CTranslate2's model.bin: an error, or tensors inside the file. */
#include "checkpoint/ct2.h"
#include "fuzz_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_stored       s;
    pk_ct2_header   header;
    volatile float  sum = 0;
    const pk_status status = pk_ct2_read(data, size, &header, &s);
    if (status == PK_OK)
        for (size_t i = 0; i < s.n; i++) {
            const pk_stored_tensor *t = &s.tensor[i];
            const size_t            n = t->bytes / pk_stored_type_bytes(t->type);
            for (size_t k = 0; k < n; k++) sum = sum + pk_stored_get(t, k);
            LAW(pk_stored_find(&s, t->name) == t);
        }
    pk_stored_close(&s);
    fuzz_check_end(status);
    return 0;
}
