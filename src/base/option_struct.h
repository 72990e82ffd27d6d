/* option_struct.h - the caller's struct of options as the library's own: every public call that
 * takes options copies them with PK_READ_OPTIONS and never looks at the caller's again.
 *
 * The first field of such a struct is its size, as the caller's version of pronk.h has it. A
 * shorter struct leaves defaults (zero) in what it lacks. A longer one must have zeros there:
 * anything else is an option that this library does not know. */
#ifndef PK_BASE_OPTION_STRUCT_H
#define PK_BASE_OPTION_STRUCT_H
#include "base/status.h"

/* given: may be NULL, which is all defaults; name: of the type, for the error */
pk_status pk_option_struct_read(const void *given, const char *name, void *out, size_t size);
#define PK_READ_OPTIONS(type, given, out) \
    PK_TRY(pk_option_struct_read((const type *)(given), #type, (type *)(out), sizeof(type)))
#endif
