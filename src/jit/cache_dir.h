/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of cached kernels, and whom it trusts. Code from these files runs, so a folder
 * or file that anybody but the user could have written is not believed: both must belong to
 * the effective user, nobody else may write them, and neither may be a symbolic link. The
 * folder is opened once; files are opened relative to it, so that nobody can put another
 * one in its place.
 *
 * Nothing here fails loudly: the cache is there to save time.
 */
#ifndef VP_JIT_CACHE_DIR_H
#define VP_JIT_CACHE_DIR_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "jit/cache_file.h"

typedef struct {
    int fd;
    dev_t device; /* these two say that fd is still what was opened: */
    ino_t inode;  /* programs that become daemons close what they do not know */
} vp__cache_dir;

/* Names in the folder: the key in hexadecimal and ".kernel"; files being written begin
 * with "new-". Others are left alone. */
enum { VP__CACHE_NAME = 2 * sizeof(vp__cache_key) + sizeof ".kernel" };
void vp__cache_name(const vp__cache_key *key, char out[VP__CACHE_NAME]);
bool vp__cache_name_parse(const char *name, vp__cache_key *key);
bool vp__cache_name_is_new(const char *name);

/* Opens a folder, and makes it where there is none. `own` is NULL, or a folder above it
 * that must exist and be the user's if something is to be made: root does not leave its
 * files in the home of somebody else. NULL, or why it cannot be used. */
const char *vp__cache_dir_open(const char *path, const char *own, vp__cache_dir *out);

/* Closes the folder, unless somebody did and the descriptor is another file's by now. */
void vp__cache_dir_close(vp__cache_dir *dir);

/* Is the folder still there, the same, and the user's alone? */
bool vp__cache_dir_trusted(const vp__cache_dir *dir);

/* Opens a file that can be trusted, with O_RDONLY or O_RDWR; -1 when there is none. */
int vp__cache_file_open(const vp__cache_dir *dir, const char *name, int flags,
                        struct stat *stat);

/* Writes a file: readers see all of it or what was there before. */
bool vp__cache_file_write(const vp__cache_dir *dir, const char *name, const void *bytes,
                          size_t size);

/* Would the system let this process write that many bytes to a file? Without asking, a
 * write beyond RLIMIT_FSIZE ends the process. */
bool vp__cache_may_write(size_t size);

/* A walk over the folder's names, from the start; to be closed with closedir. */
DIR *vp__cache_dir_list(const vp__cache_dir *dir);

#endif
