/* hf_folder_fuzz.c - a Hugging Face folder in which one file is any bytes: an error of one line, or
 * a model. The first byte chooses the file; the others are those of a small model of the tests. */
#include "fuzz_help.h"
#include "pronk.h"

#define MODEL "tests/data/models/marian-gelu-separate"
static const char *const file[] = { "config.json",           "generation_config.json",
                                    "tokenizer_config.json", "vocab.json",
                                    "target_vocab.json",     "source.spm" };
enum { N_FILES = sizeof file / sizeof *file };

static void prepare(void) {
    static bool done;
    if (done) return;
    for (int i = 0; i < N_FILES; i++) fuzz_link(MODEL, file[i]);
    fuzz_link(MODEL, "target.spm");
    fuzz_link(MODEL, "model.safetensors"); /* checkpoints have fuzz targets of their own */
    done = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_model *m;
    if (size == 0) return 0;
    prepare();
    const char *name = file[data[0] % N_FILES];
    fuzz_file(name, data + 1, size - 1);
    const pk_status status = pk_model_open(fuzz_folder(), NULL, &m);
    pk_model_close(m);
    fuzz_link(MODEL, name);
    fuzz_check_end(status);
    return 0;
}
