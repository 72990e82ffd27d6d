/* windows.h - the windows in which requests are counted, and how many of them each client may make.
 *
 * A minute always; hours and a day where the operator asks for them. A key has its own number a minute, from
 * which its other numbers follow, as in LibreTranslate. */
#ifndef PK_SERVER_WINDOWS_H
#define PK_SERVER_WINDOWS_H
#include <stddef.h>

#include "settings.h"

enum { PK_MOST_WINDOWS = 2 + PK_MOST_DECAY + 1 };

typedef struct pk_windows {
    size_t  n;
    int64_t seconds[PK_MOST_WINDOWS]; /* the shortest first */
    int64_t most[PK_MOST_WINDOWS];    /* of who has no key; -1: any number */
} pk_windows;

void pk_windows_init(pk_windows *r, const pk_settings *s);
/* the same of a key that may make so many a minute */
void pk_windows_of_key(const pk_windows *r, int64_t per_minute, int64_t most[PK_MOST_WINDOWS]);
/* "2 hour", as LibreTranslate names a window */
void pk_windows_name(const pk_windows *r, size_t window, char *out, size_t room);
#endif
