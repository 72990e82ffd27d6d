/* fuzz_stored.h - the law of tensors that were read from any bytes. */
#ifndef PK_TESTS_FUZZ_STORED_H
#define PK_TESTS_FUZZ_STORED_H
#include "checkpoint/stored.h"
#include "fuzz_help.h"

/* where reading worked, every tensor is found by its name and can be read whole */
static inline void fuzz_check_stored(pk_stored *s, pk_status status) {
    volatile float sum = 0;
    for (size_t i = 0; status == PK_OK && i < s->n; i++) {
        const pk_stored_tensor *t = &s->tensor[i];
        const size_t            n = t->bytes / pk_stored_type_bytes(t->type);
        for (size_t k = 0; k < n; k++) sum = sum + pk_stored_get(t, k);
        LAW(pk_stored_find(s, t->name) == t);
    }
    pk_stored_close(s);
    fuzz_check_end(status);
}
#endif
