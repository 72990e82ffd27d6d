/* align_fuzz.c - any bytes as a saved alignment model: an error of one line, or a model that aligns a
 * pair with links inside it. Built for fuzzing, the reader does not compare hashes: nobody could
 * guess those, but who means harm can compute them. */
#include "align/align_model.h"
#include "fuzz_help.h"

static void check_pair(const pk_align_model *m) {
    static const pk_text pair[2] = { { "the small dog", 13 }, { "der kleine Hund x", 17 } };
    pk_align_use         use;
    pk_align_worker      w = { 0 };
    LAW(pk_align_model_use(m, NULL, false, &use) == PK_OK);
    LAW(pk_align_text_pair(m, use, pair, &w) == PK_OK);
    pk_align_worker_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_align_model  m;
    const pk_status status = pk_align_model_open(fuzz_file("align", data, size), &m);
    if (status == PK_OK) {
        check_pair(&m);
        pk_align_model_close(&m);
    }
    fuzz_check_end(status);
    return 0;
}
