/* text_reader_fuzz.c - any bytes as a text file, plain or compressed: an error of one line, or lines
 * without newlines. A plain file's lines are as many as its newlines say. */
#include "base/decompress.h"
#include "base/text_reader.h"
#include "fuzz_help.h"

enum { MOST = 1 << 20 }; /* bytes that are read: a small file can stand for gigabytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_text_reader *r;
    const char     *line;
    size_t          n, n_lines = 0, read = 0, wanted = size && data[size - 1] != '\n';
    pk_status       status = pk_text_reader_open(fuzz_file("text", data, size), &r);
    while (status == PK_OK && read < MOST) {
        status = pk_text_reader_next(r, &line, &n);
        if (status != PK_OK || !line) break;
        LAW(n <= 2 * (size_t)PK_LONGEST_LINE && !memchr(line, '\n', n));
        read += n + 1;
        n_lines++;
    }
    pk_text_reader_close(r);
    fuzz_check_end(status);
    const bool plain = size && ((data[0] >= 'a' && data[0] <= 'z') || data[0] == '\n');
    for (size_t i = 0; i < size; i++) wanted += data[i] == '\n';
    if (plain && read < MOST) LAW(status == PK_OK && n_lines == wanted);
    return 0;
}
