/* windows.c - the windows in which requests are counted, and how many of them each client may make. */
#include "windows.h"

#include <inttypes.h>
#include <stdio.h>

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

/* less than that many hours' worth in several hours together: each counts three quarters of the one before */
static int64_t decayed(int64_t per_hour, int64_t hours) {
    double most = (double)per_hour * (double)hours;
    for (int64_t i = 1; i < hours; i++) most *= 0.75;
    return (int64_t)most;
}

static void add(pk_windows *r, int64_t seconds, int64_t most) {
    r->seconds[r->n] = seconds;
    r->most[r->n++] = most;
}

void pk_windows_init(pk_windows *r, const pk_settings *s) {
    *r = (pk_windows){ 0 };
    add(r, MINUTE, s->req_limit);
    for (int64_t n = 1; s->hourly_limit > 0 && n <= s->hourly_decay + 1; n++)
        add(r, n * HOUR, decayed(s->hourly_limit, n));
    if (s->daily_limit > 0) add(r, DAY, s->daily_limit);
}

void pk_windows_of_key(const pk_windows *r, int64_t per_minute, int64_t most[PK_MOST_WINDOWS]) {
    for (size_t i = 0; i < r->n; i++) {
        const int64_t minutes = r->seconds[i] / MINUTE, hours = r->seconds[i] / HOUR;
        const bool    whole = r->seconds[i] == MINUTE || r->seconds[i] == DAY;
        most[i] = per_minute < 0 ? -1
                  : whole        ? per_minute * minutes
                                 : decayed(per_minute * (HOUR / MINUTE), hours);
    }
}

void pk_windows_name(const pk_windows *r, size_t window, char *out, size_t room) {
    const int64_t seconds = r->seconds[window];
    const char   *unit = seconds == MINUTE ? "minute" : seconds == DAY ? "day" : "hour";
    snprintf(out, room, "%" PRId64 " %s", seconds == MINUTE || seconds == DAY ? 1 : seconds / HOUR,
             unit);
}
