/* option_struct.c - checks the size of a caller's struct of options, and copies it. */
#include "base/option_struct.h"

#include <string.h>

/* no struct of options comes near it; a size that was never set often lies beyond */
enum { MOST_BYTES = 4096 };

pk_status pk_option_struct_read(const void *given, const char *name, void *out, size_t size) {
    size_t its_size;
    memset(out, 0, size);
    if (!given) return PK_OK;
    memcpy(&its_size, given, sizeof its_size);
    /* a size that ends inside a field would copy half a pointer */
    if (its_size < sizeof its_size || its_size > MOST_BYTES || its_size % sizeof its_size)
        PK_FAIL(PK_ARGUMENT, "%s: size is %zu; set it to sizeof(%s), as PK_OPTIONS does", name,
                its_size, name);
    for (size_t i = size; i < its_size; i++)
        if (((const char *)given)[i])
            PK_FAIL(PK_ARGUMENT, "%s sets an option that this version of the library lacks", name);
    memcpy(out, given, its_size < size ? its_size : size);
    return PK_OK;
}
