/* options.h - tables of named options that fill a struct: "name=value,name=value".
 *
 * One table serves parsing, range checks, help text and documentation. */
#ifndef PK_BASE_OPTIONS_H
#define PK_BASE_OPTIONS_H
#include "base/buffer.h"
#include "base/status.h"

typedef enum pk_option_kind { PK_OPTION_INT, PK_OPTION_FLOAT, PK_OPTION_CHOICE } pk_option_kind;

/* One option. INT fields are int32_t, FLOAT fields float, CHOICE fields int32_t (index into
 * choices). */
typedef struct pk_option {
    const char        *name, *help;
    pk_option_kind     kind;
    double             lowest, normal, highest; /* CHOICE: normal is the index of the default */
    const char *const *choices;                 /* CHOICE: NULL-terminated */
    size_t             offset;                  /* of the field in the struct */
} pk_option;

/* sets every field to its default */
void pk_options_defaults(const pk_option *table, void *fields);
/* parses "name=value,..." (may be empty); names `owner` in errors, and what is allowed */
pk_status pk_options_parse(const pk_option *table, const char *text, const char *owner,
                           void *fields);
/* appends one indented line per option: name, range or choices, default, help */
void pk_options_help(const pk_option *table, pk_buffer *out);
#endif
