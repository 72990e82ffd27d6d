/* options.h - tables of named options that fill a struct.
 *
 * Strategies and tasks ("name=value,name=value") and recipes (YAML) have such a table. It alone
 * knows names, ranges, words and defaults: values are read and checked, printed, compared and
 * explained from it. */
#ifndef PK_BASE_OPTIONS_H
#define PK_BASE_OPTIONS_H
#include "base/buffer.h"
#include "base/status.h"
#include "base/texts.h"
#include "base/words.h"

/* kinds, and the types of their fields */
typedef enum pk_option_kind {
    PK_OPTION_INT,     /* int32_t */
    PK_OPTION_LONG,    /* int64_t; its range ends within 2^53, the whole numbers of a double */
    PK_OPTION_FLOAT,   /* float */
    PK_OPTION_DOUBLE,  /* double */
    PK_OPTION_CHOICE,  /* int32_t: which of the words */
    PK_OPTION_FLAG,    /* bool */
    PK_OPTION_TEXT,    /* char *, a copy */
    PK_OPTION_PATH,    /* the same; the name of a file */
    PK_OPTION_TEXTS,   /* pk_texts: one text or several; empty by default */
    PK_OPTION_PATHS,   /* the same; names of files */
    PK_OPTION_NUMBERS, /* the same; each a number within the range */
} pk_option_kind;

/* One option; a table ends with a NULL name. A number whose default lies outside its range, and a
 * choice whose default is PK_CHOICE_AUTO, is "auto" until it is given: its owner decides then. */
typedef struct pk_option {
    const char        *name, *help;
    pk_option_kind     kind;
    double             lowest, normal, highest; /* normal: the default; CHOICE, FLAG: no range */
    const char *const *choices;                 /* CHOICE: words in the enum's order, then NULL */
    size_t             offset;                  /* of the field in the struct */
    const char        *text;                    /* TEXT, PATH: the default */
    uint64_t           only; /* CHOICE: bit i is set if word i may be chosen; 0: all may */
} pk_option;
enum { PK_CHOICE_AUTO = -1 };

/* ---- one option; option_value.c ---- */

bool pk_option_is_text(const pk_option *o); /* TEXT, PATH */
bool pk_option_is_list(const pk_option *o); /* TEXTS, PATHS, NUMBERS */
bool pk_option_is_path(const pk_option *o); /* PATH, PATHS */

/* whether the text is a value of this option, or of an item of its list */
bool pk_option_accepts(const pk_option *o, const char *value, size_t size);
/* stores a value that is accepted; lists get one more item */
pk_status pk_option_set(const pk_option *o, const char *value, size_t size, void *fields);
pk_status pk_option_set_default(const pk_option *o, void *fields); /* whatever the field holds */
/* the field of an option that is neither text nor list; for CHOICE and FLAG its number */
double pk_option_number(const pk_option *o, const void *fields);
/* that field as pk_option_accepts() takes it */
void pk_option_print_value(const pk_option *o, const void *fields, pk_buffer *out);
/* "0..32", "no|yes", "TEXT" */
void pk_option_print_range(const pk_option *o, pk_buffer *out);
/* "a whole number from 0 to 32", "one of no|yes" */
void pk_option_describe(const pk_option *o, pk_buffer *out);
/* " (4)", " (auto)"; nothing where there is no default */
void pk_option_print_default(const pk_option *o, pk_buffer *out);

/* ---- tables; options.c ---- */

/* sets every field of a zeroed struct to its default; free it also when this fails */
pk_status pk_options_defaults(const pk_option *table, void *fields);
/* gives back texts and lists, and empties them; accepts a zeroed struct */
void pk_options_free(const pk_option *table, void *fields);
/* parses "name=value,..." (may be empty); names `owner` in errors, and what is allowed */
pk_status pk_options_parse(const pk_option *table, const char *text, const char *owner,
                           void *fields);
/* a struct of so many bytes with defaults and what was parsed; pk_memory_give() it, and before that
 * pk_options_free() it where the table has texts or lists */
pk_status pk_options_make(const pk_option *table, size_t size, const char *text, const char *owner,
                          void **fields);
const pk_option *pk_options_find(const pk_option *table, const char *name); /* NULL: none */
/* appends one indented line per option: name, range or choices, default, help */
void pk_options_help(const pk_option *table, pk_buffer *out);
#endif
