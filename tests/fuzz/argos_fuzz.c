/* argos_fuzz.c - any bytes as an .argosmodel package: an error of one line, or a model. Checksums
 * count for nothing here, so that what is inside the archive is reached. */
#include "fuzz_help.h"
#include "pronk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_model       *m;
    const pk_status status = pk_model_open(fuzz_file("p.argosmodel", data, size), NULL, &m);
    pk_model_close(m);
    fuzz_check_end(status);
    return 0;
}
