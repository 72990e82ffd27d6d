/* devices.c - reads device names, and chooses what numbers they compute with.
 *
 * Whether a device is there is not known here: opening it says so. */
#include "engine/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* reads one number of the list and moves *at behind it */
static pk_status add_gpu(pk_devices *d, const char **at, const char *text) {
    char      *end;
    const long n = strtol(*at, &end, 10);
    if (end == *at || n < 0 || n > 1023 || (*end && *end != ','))
        PK_FAIL(PK_ARGUMENT, "\"%s\" names no devices: write cuda, cuda:0 or cuda:0,1", text);
    if (d->n == PK_MOST_DEVICES)
        PK_FAIL(PK_ARGUMENT, "\"%s\" names more than %d devices", text, PK_MOST_DEVICES);
    snprintf(d->name[d->n++], sizeof d->name[0], "cuda:%ld", n);
    *at = *end ? end + 1 : end;
    return *end && !*(end + 1) ? add_gpu(d, at, text) : PK_OK; /* a comma must be followed by one */
}

/* "cpu", "ref", "cuda" are one device; "cuda:0,2" lists GPUs */
pk_status pk_devices_parse(const char *text, pk_devices *out) {
    *out = (pk_devices){ 0 };
    if (!text || !*text) text = "cpu";
    out->gpu = strncmp(text, "cuda", 4) == 0;
    if (strncmp(text, "cuda:", 5) == 0) {
        const char *at = text + 5;
        do PK_TRY(add_gpu(out, &at, text));
        while (*at);
        return PK_OK;
    }
    if (strlen(text) >= sizeof out->name[0])
        PK_FAIL(PK_ARGUMENT, "there is no device \"%s\"; there are: cpu, ref, cuda, cuda:N", text);
    memcpy(out->name[out->n++], text, strlen(text) + 1);
    return PK_OK;
}

/* On a GPU, weights that are stored in 16 or 8 bits are computed with in f16: that is what its
 * matrix units do. On the CPU there is f32, or i8 by the weights' own type. */
pk_dtype pk_devices_arithmetic(const pk_devices *d, int asked, pk_dtype stored) {
    if (asked >= 0 && asked != PK_I8) return (pk_dtype)asked;
    return d->gpu && stored != PK_F32 ? PK_F16 : PK_F32;
}
