/* memory_use.h - how much memory this process has, and how much it may have. */
#ifndef PK_SERVER_MEMORY_USE_H
#define PK_SERVER_MEMORY_USE_H
#include <stdint.h>

uint64_t pk_memory_used(void);  /* bytes that are resident now; 0: unknown */
uint64_t pk_memory_there(void); /* of the machine, or of the container where that has less */
#endif
