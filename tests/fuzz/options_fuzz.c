/* options_fuzz.c - any text as a decoding strategy with options: an error of one line, or a
 * strategy and its state; the same text gives the same state. */
#include "decode/strategy.h"
#include "fuzz_help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const pk_strategy *strategy, *again;
    void              *state = NULL, *second = NULL;
    char              *text;
    LAW(pk_memory_copy_text((const char *)data, size, &text) == PK_OK);
    const pk_status status = pk_strategy_parse(text, &strategy, &state);
    LAW(pk_strategy_parse(text, &again, &second) == status);
    if (status == PK_OK) {
        LAW(strategy == again && state && second);
        LAW(memcmp(state, second, strategy->state_size) == 0);
    }
    pk_memory_give(state);
    pk_memory_give(second);
    pk_memory_give(text);
    fuzz_check_end(status);
    return 0;
}
