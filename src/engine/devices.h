/* devices.h - where a translator works: "cpu", or one or several GPUs, "cuda:0,1". */
#ifndef PK_ENGINE_DEVICES_H
#define PK_ENGINE_DEVICES_H
#include "model/model_file.h"

enum { PK_MOST_DEVICES = 16 };

typedef struct pk_devices {
    int32_t n;
    bool    gpu;
    char    name[PK_MOST_DEVICES][16]; /* as backend/list.h knows them */
} pk_devices;

/* text: NULL means "cpu" */
pk_status pk_devices_parse(const char *text, pk_devices *out);
/* asked: what the user wants to compute with, or -1; stored: the type of the weights */
pk_dtype pk_devices_arithmetic(const pk_devices *d, int asked, pk_dtype stored);
#endif
