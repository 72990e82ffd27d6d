/* recipe_fuzz.c - any bytes as a recipe: an error of one line, or a recipe whose copy reads back
 * the same. The bytes are first taken as YAML, then as one --set. */
#include "fuzz_help.h"
#include "recipe/recipe_parts.h"

static pk_status read_yaml(const char *text, size_t size, pk_recipe *out) {
    char             folder[] = "/a";
    pk_recipe_reader r = { .recipe = out, .file = "recipe.yml", .folder = folder };
    LAW(pk_recipe_read(NULL, NULL, 0, out) == PK_OK); /* the defaults */
    const pk_status status = pk_recipe_read_yaml(&r, text, size);
    LAW(status == PK_OK || (*pk_last_error() && !strchr(pk_last_error(), '\n')));
    return status;
}

static void check_copy(const pk_recipe *r) {
    pk_recipe again;
    pk_buffer copy = { 0 }, second = { 0 };
    pk_recipe_write(r, &copy);
    LAW(read_yaml(copy.data, copy.size, &again) == PK_OK);
    LAW(pk_recipe_compatible(r, &again) == PK_OK);
    pk_recipe_write(&again, &second);
    LAW(copy.size == second.size && !memcmp(copy.data, second.data, copy.size));
    pk_recipe_check(&again);
    pk_recipe_free(&again);
    pk_buffer_free(&copy);
    pk_buffer_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pk_recipe r;
    char     *set;
    if (read_yaml((const char *)data, size, &r) == PK_OK) check_copy(&r);
    pk_recipe_free(&r);
    LAW(pk_memory_copy_text((const char *)data, size, &set) == PK_OK);
    if (pk_recipe_read(NULL, &(const char *){ set }, 1, &r) == PK_OK) {
        check_copy(&r);
        pk_recipe_free(&r);
    }
    pk_memory_give(set);
    LAW(pk_memory_alive() == 0);
    return 0;
}
