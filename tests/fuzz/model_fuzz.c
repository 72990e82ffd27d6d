/* model_fuzz.c - any bytes as a .pronk file: an error of one line, or a model whose description and
 * token names can be read. */
#include "fuzz_help.h"
#include "pronk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_model       *m = NULL;
    char           *json = NULL;
    const pk_status status = pk_model_open(fuzz_file("model.pronk", data, size), NULL, &m);
    LAW((status == PK_OK) == (m != NULL));
    if (m) {
        LAW(pk_model_describe(m, &json) == PK_OK && json);
        LAW(pk_model_target_token(m, 0) && pk_model_source_token(m, -1));
    }
    pk_free(json);
    pk_model_close(m);
    fuzz_check_end(status);
    return 0;
}
