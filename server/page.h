/* page.h - the page at /: files of server/page, which are part of the program. */
#ifndef PK_SERVER_PAGE_H
#define PK_SERVER_PAGE_H
#include <microhttpd.h>

/* what every file of the page is sent with: nothing from elsewhere, and asked for again each time */
void pk_page_headers(struct MHD_Response *r, const char *tag);
#endif
