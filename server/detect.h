/* detect.h - which of the served languages a text is in. */
#ifndef PK_SERVER_DETECT_H
#define PK_SERVER_DETECT_H
#include <stddef.h>

/* the most likely of `languages` (codes as people write them: "pt-BR"), and how sure that is (0 to 100); -1: no telling */
int detect_best(const char *text, size_t n, const char *const *languages, size_t n_languages,
                double *confidence);
#endif
