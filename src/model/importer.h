/* importer.h - the kinds of path that a model can be opened from, listed once.
 *
 * An importer is one file that fills one pk_importer, and one line in the list. Each one first
 * decides, from names of files alone, whether a path is of its kind. So a path that is of no kind
 * (a pipe, an empty folder) is never opened, and the error can list the kinds there are. */
#ifndef PK_MODEL_IMPORTER_H
#define PK_MODEL_IMPORTER_H
#include "model/model_file.h"

/* in the order in which they are asked: what knows its kind by more signs comes first */
#define PK_IMPORTER_MAP(X)                                                \
    X(training) /* import_training.c: the output folder of pronk train */ \
    X(argos)    /* import_argos.c: an .argosmodel package */              \
    X(ct2)      /* import_ct2.c: a CTranslate2 folder */                  \
    X(hf)       /* import_hf.c: a Hugging Face folder */                  \
    X(pronk)    /* model_file.c: a .pronk file, or any other file */

typedef struct pk_importer {
    const char *what; /* for errors: "a .pronk file" */
    /* looks at what is there by name; opens nothing */
    bool (*recognises)(const char *path);
    /* type: as for pk_model_data_open(); on failure *out is closed */
    pk_status (*open)(const char *path, int type, pk_model_data *out);
} pk_importer;

#define PK_IMPORTER_DECLARE(name) extern const pk_importer pk_importer_##name;
PK_IMPORTER_MAP(PK_IMPORTER_DECLARE)
#endif
