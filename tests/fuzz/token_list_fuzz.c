/* token_list_fuzz.c - any bytes as a list of tokens: refused with one line, or every name is found
 * again, at its own id or an earlier one of the same name. */
#include "fuzz_help.h"
#include "vocab/token_list.h"

static void check_names(const pk_token_list *list) {
    for (int32_t id = 0; id < list->n; id++) {
        const char   *name = pk_token_list_name(list, id);
        const int32_t found = pk_token_list_find(list, name, strlen(name));
        if (!*name) continue; /* nobody's */
        LAW(found >= 0 && found <= id && strcmp(pk_token_list_name(list, found), name) == 0);
    }
    LAW(pk_token_list_name(list, list->n)[0] == '?' && pk_token_list_name(list, -1)[0] == '?');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_token_list   list;
    const pk_status status = pk_token_list_open((const char *)data, size, &list);
    if (status == PK_OK) check_names(&list);
    pk_token_list_close(&list);
    fuzz_check_end(status);
    return 0;
}
