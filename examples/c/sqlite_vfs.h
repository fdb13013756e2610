/*
 * A VFS of SQLite whose files are areas of a simulated drive: three of them, for a database, its rollback journal and its
 * write-ahead log. fsync is a flush of the drive. An area begins with a block that says whether the file exists, and its
 * size; the layout is that of examples/software/sqlite_on_drive.py.
 */
#ifndef SQLITE_VFS_H
#define SQLITE_VFS_H

#include <sqlite3.h>
#include <string.h>

#include "ssdlab.h"

#define VFS_BLOCK 4096
#define VFS_MAGIC "ssdlabfs"
#define VFS_AREAS 3

/* A file in a part of the drive. */
typedef struct vfs_area {
    ssdlab_drive *drive;
    uint64_t first; /* first byte of its head; the file begins a block later */
    uint64_t bytes; /* most bytes of the file */
    uint64_t size;
    int exists;
    int is_head_new; /* 1: the size has changed, and the head on the drive has not */
    uint64_t think;  /* simulated time that the program takes before each call [ns] */
} vfs_area;

/* An open file. */
typedef struct vfs_file {
    sqlite3_file base;
    vfs_area *area;
} vfs_file;

/* Passes the time of the program. */
static int vfs_spend(vfs_area *area)
{
    uint64_t now;
    if (area->think == 0)
        return SQLITE_OK;
    if (ssdlab_now(area->drive, &now) != SSDLAB_OK)
        return SQLITE_IOERR;
    return ssdlab_advance(area->drive, now + area->think, NULL) == SSDLAB_OK ? SQLITE_OK : SQLITE_IOERR;
}

static int vfs_load(vfs_area *area, uint64_t offset, void *data, uint64_t length)
{
    if (vfs_spend(area) != SQLITE_OK || ssdlab_read(area->drive, offset, data, length, NULL, NULL) != SSDLAB_OK)
        return SQLITE_IOERR_READ;
    return SQLITE_OK;
}

static int vfs_store(vfs_area *area, uint64_t offset, const void *data, uint64_t length)
{
    if (vfs_spend(area) != SQLITE_OK)
        return SQLITE_IOERR_WRITE;
    switch (ssdlab_write(area->drive, offset, data, length, 0, NULL, NULL)) {
    case SSDLAB_OK: return SQLITE_OK;
    case SSDLAB_ERR_FULL: return SQLITE_FULL;
    default: return SQLITE_IOERR_WRITE;
    }
}

static int vfs_flush(vfs_area *area)
{
    if (vfs_spend(area) != SQLITE_OK || ssdlab_flush(area->drive, NULL, NULL) != SSDLAB_OK)
        return SQLITE_IOERR_FSYNC;
    return SQLITE_OK;
}

/* Reads the head of an area. */
static int vfs_open_area(vfs_area *area)
{
    unsigned char head[VFS_BLOCK];
    int i, status = vfs_load(area, area->first, head, VFS_BLOCK);
    area->exists = area->is_head_new = 0;
    area->size = 0;
    if (status != SQLITE_OK || memcmp(head, VFS_MAGIC, 8) != 0)
        return status;
    area->exists = head[8];
    for (i = 7; i >= 0; i--)
        area->size = area->size << 8 | head[9 + i];
    return SQLITE_OK;
}

static int vfs_write_head(vfs_area *area)
{
    unsigned char head[VFS_BLOCK] = VFS_MAGIC;
    int i;
    head[8] = (unsigned char)area->exists;
    for (i = 0; i < 8; i++)
        head[9 + i] = (unsigned char)(area->size >> (8 * i));
    area->is_head_new = 0;
    return vfs_store(area, area->first, head, VFS_BLOCK);
}

/* Blocks that hold a range of a file, and the buffer for them; SQLite asks for a page of up to 64 KiB at a time. */
typedef struct vfs_span {
    uint64_t begin, end;
    unsigned char *data;
} vfs_span;

static int vfs_span_of(vfs_span *span, sqlite3_int64 offset, int amount)
{
    span->begin = (uint64_t)offset / VFS_BLOCK * VFS_BLOCK;
    span->end = ((uint64_t)offset + (uint64_t)amount + VFS_BLOCK - 1) / VFS_BLOCK * VFS_BLOCK;
    span->data = sqlite3_malloc64(span->end - span->begin);
    return span->data ? SQLITE_OK : SQLITE_IOERR_NOMEM;
}

static int vfs_read(sqlite3_file *file, void *data, int amount, sqlite3_int64 offset)
{
    vfs_area *area = ((vfs_file *)file)->area;
    vfs_span span;
    uint64_t left = (uint64_t)offset < area->size ? area->size - (uint64_t)offset : 0;
    int status, there = left < (uint64_t)amount ? (int)left : amount;
    memset((char *)data + there, 0, (size_t)(amount - there));
    if (there == 0)
        return SQLITE_IOERR_SHORT_READ;
    if ((status = vfs_span_of(&span, offset, there)) != SQLITE_OK)
        return status;
    status = vfs_load(area, area->first + VFS_BLOCK + span.begin, span.data, span.end - span.begin);
    if (status == SQLITE_OK)
        memcpy(data, span.data + ((uint64_t)offset - span.begin), (size_t)there);
    sqlite3_free(span.data);
    return status == SQLITE_OK && there < amount ? SQLITE_IOERR_SHORT_READ : status;
}

static int vfs_write(sqlite3_file *file, const void *data, int amount, sqlite3_int64 offset)
{
    vfs_area *area = ((vfs_file *)file)->area;
    vfs_span span;
    uint64_t at, end = (uint64_t)offset + (uint64_t)amount;
    int status;
    if (end > area->bytes)
        return SQLITE_FULL;
    if ((status = vfs_span_of(&span, offset, amount)) != SQLITE_OK)
        return status;
    at = area->first + VFS_BLOCK + span.begin;
    if (span.begin != (uint64_t)offset || span.end != end)
        status = vfs_load(area, at, span.data, span.end - span.begin);
    if (status == SQLITE_OK) {
        memcpy(span.data + ((uint64_t)offset - span.begin), data, (size_t)amount);
        status = vfs_store(area, at, span.data, span.end - span.begin);
    }
    sqlite3_free(span.data);
    if (status == SQLITE_OK && end > area->size) {
        area->size = end;
        area->is_head_new = 1;
    }
    return status;
}

static int vfs_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    vfs_area *area = ((vfs_file *)file)->area;
    if ((uint64_t)size != area->size) {
        area->size = (uint64_t)size;
        area->is_head_new = 1;
    }
    return SQLITE_OK;
}

/* Makes data and size durable. */
static int vfs_sync(sqlite3_file *file, int flags)
{
    vfs_area *area = ((vfs_file *)file)->area;
    int status = area->is_head_new ? vfs_write_head(area) : SQLITE_OK;
    (void)flags;
    return status == SQLITE_OK ? vfs_flush(area) : status;
}

static int vfs_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((vfs_file *)file)->area->size;
    return SQLITE_OK;
}

/* One process has the drive: locks are always had. */
static int vfs_lock(sqlite3_file *file, int level) { (void)file, (void)level; return SQLITE_OK; }
static int vfs_is_reserved(sqlite3_file *file, int *is) { (void)file; *is = 0; return SQLITE_OK; }
static int vfs_control(sqlite3_file *file, int op, void *data) { (void)file, (void)op, (void)data; return SQLITE_NOTFOUND; }
static int vfs_sector_size(sqlite3_file *file) { (void)file; return VFS_BLOCK; }
static int vfs_characteristics(sqlite3_file *file) { (void)file; return 0; }
static int vfs_close(sqlite3_file *file) { (void)file; return SQLITE_OK; }

static const sqlite3_io_methods VFS_METHODS = {
    1, vfs_close, vfs_read, vfs_write, vfs_truncate, vfs_sync, vfs_file_size, vfs_lock, vfs_lock, vfs_is_reserved,
    vfs_control, vfs_sector_size, vfs_characteristics,
    0, 0, 0, 0, /* no shared memory: one connection at a time reads a log */
    0, 0,
};

/* Returns the area of a file by the ending of its name. */
static vfs_area *vfs_area_of(sqlite3_vfs *vfs, const char *name)
{
    vfs_area *areas = vfs->pAppData;
    size_t length = name ? strlen(name) : 0;
    if (length > 8 && strcmp(name + length - 8, "-journal") == 0)
        return &areas[1];
    return length > 4 && strcmp(name + length - 4, "-wal") == 0 ? &areas[2] : &areas[0];
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *opened)
{
    vfs_area *area = vfs_area_of(vfs, name);
    int status = SQLITE_OK;
    file->pMethods = NULL;
    if (!area->exists) {
        if (!(flags & SQLITE_OPEN_CREATE))
            return SQLITE_CANTOPEN;
        area->exists = 1;
        area->size = 0;
        status = vfs_write_head(area);
    }
    if (status != SQLITE_OK)
        return status;
    ((vfs_file *)file)->area = area;
    file->pMethods = &VFS_METHODS;
    if (opened)
        *opened = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int is_durable)
{
    vfs_area *area = vfs_area_of(vfs, name);
    int status;
    area->exists = 0;
    area->size = 0;
    status = vfs_write_head(area);
    return status == SQLITE_OK && is_durable ? vfs_flush(area) : status;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *is_there)
{
    (void)flags;
    *is_there = vfs_area_of(vfs, name)->exists;
    return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int length, char *full)
{
    (void)vfs;
    sqlite3_snprintf(length, full, "%s", name);
    return SQLITE_OK;
}

/* Registers the VFS of a drive with contents, or has it look at the drive anew, after a recovery. think: simulated time
   of the program before each call. */
static int vfs_register(sqlite3_vfs *vfs, vfs_area areas[VFS_AREAS], ssdlab_drive *drive, uint64_t think)
{
    sqlite3_vfs *base = sqlite3_vfs_find(NULL);
    uint64_t bytes, share;
    int i;
    if (ssdlab_user_bytes(drive, &bytes) != SSDLAB_OK)
        return SQLITE_ERROR;
    share = bytes / VFS_AREAS / VFS_BLOCK * VFS_BLOCK;
    for (i = 0; i < VFS_AREAS; i++) {
        vfs_area area = {drive, (uint64_t)i * share, share - VFS_BLOCK, 0, 0, 0, think};
        areas[i] = area;
        if (vfs_open_area(&areas[i]) != SQLITE_OK)
            return SQLITE_IOERR_READ;
    }
    memset(vfs, 0, sizeof *vfs);
    vfs->iVersion = 1;
    vfs->szOsFile = sizeof(vfs_file);
    vfs->mxPathname = 64;
    vfs->zName = "ssdlab";
    vfs->pAppData = areas;
    vfs->xOpen = vfs_open;
    vfs->xDelete = vfs_delete;
    vfs->xAccess = vfs_access;
    vfs->xFullPathname = vfs_full_name;
    vfs->xRandomness = base->xRandomness;
    vfs->xSleep = base->xSleep;
    vfs->xCurrentTime = base->xCurrentTime;
    return sqlite3_vfs_register(vfs, 0);
}

#endif
