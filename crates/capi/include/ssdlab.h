/*
 * ssdlab: a solid-state drive inside another simulator. docs/reference/c.md has the rules of the clock, of threads and of
 * a drive's life, and examples/c a program.
 *
 * Times are in nanoseconds since the drive's time 0, sizes and offsets in bytes. Texts are UTF-8 and end with a zero
 * byte. Every function that can fail returns a status; ssdlab_last_error() then has a text for people. A function that
 * fails changes nothing, unless it says otherwise.
 */
#ifndef SSDLAB_H
#define SSDLAB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. It is raised when a program must be compiled anew, or changed. */
#define SSDLAB_ABI_VERSION 2

/* An instant later than any other. */
#define SSDLAB_FOREVER UINT64_MAX

/* Values of ssdlab_options.flags, to be added. */
#define SSDLAB_CAUSES 1    /* completions have latencies by cause */
#define SSDLAB_HISTORY 2   /* the physical history has a digest */
#define SSDLAB_OPEN_LOOP 4 /* the host submits at instants of its own; the summary says whether the drive was saturated */
#define SSDLAB_POWER_LOSSES 8 /* the drive is prepared for ssdlab_cut() and ssdlab_recover() */

/* Values of ssdlab_command.op. */
#define SSDLAB_READ 0
#define SSDLAB_WRITE 1
#define SSDLAB_TRIM 2
#define SSDLAB_FLUSH 3
#define SSDLAB_APPEND 4 /* on drives with zones: write at the write pointer of the zone that begins at offset */
#define SSDLAB_ZONE 5   /* on drives with zones: an action on the zone that begins at offset; length 0 */

/* Value of ssdlab_command.flags: the write completes once its data is programmed. */
#define SSDLAB_FUA 1

/* Values of ssdlab_command.flags of SSDLAB_ZONE: one action, and whether it is for all zones for which it is valid. */
#define SSDLAB_ZONE_CLOSE 0x10
#define SSDLAB_ZONE_FINISH 0x20
#define SSDLAB_ZONE_OPEN 0x30
#define SSDLAB_ZONE_RESET 0x40
#define SSDLAB_ZONE_OFFLINE 0x50
#define SSDLAB_ALL_ZONES 2

typedef enum ssdlab_status {
    SSDLAB_OK = 0,               /* the call has done what it says */
    SSDLAB_ERR_NULL = 1,         /* a pointer that the call needs is NULL, or is not aligned */
    SSDLAB_ERR_ABI = 2,          /* the program was compiled for another version of the interface */
    SSDLAB_ERR_HANDLE = 3,       /* the pointer is not that of a drive, or the drive was destroyed */
    SSDLAB_ERR_POISONED = 4,     /* the engine failed in this call or an earlier one; the drive can only be destroyed */
    SSDLAB_ERR_IN_USE = 5,       /* another call on the same drive is under way */
    SSDLAB_ERR_DESCRIPTION = 6,  /* the description, an override or an option has errors: one line each */
    SSDLAB_ERR_ARGUMENT = 7,     /* an argument has a value that is not valid */
    SSDLAB_ERR_OP = 8,           /* the operation is unknown */
    SSDLAB_ERR_RANGE = 9,        /* the range is not in the drive, is empty, or is not a multiple of 512 bytes */
    SSDLAB_ERR_TIME = 10,        /* an instant lies in the past, or beyond the end of the clock (280 years) */
    SSDLAB_ERR_IN_FLIGHT = 11,   /* the call needs a drive without commands in flight */
    SSDLAB_ERR_WORN_OUT = 12,    /* worn out, and long without a completion: it may never come; time has passed */
    SSDLAB_ERR_FAILED = 13,      /* the translation layer cannot go on; time has passed */
    SSDLAB_ERR_UNSUPPORTED = 14, /* the drive lacks what the call needs */
    SSDLAB_ERR_FILE = 15,        /* a file cannot be read or written */
    SSDLAB_ERR_SAVED = 16,       /* the saved drive cannot be loaded */
    SSDLAB_ERR_POWER_LOST = 17,  /* the drive has lost power, and must recover first */
    SSDLAB_ERR_FULL = 18,        /* the contents of the drive would take more than their limit */
    SSDLAB_ERR_MEDIA_ERROR = 19, /* some of the data read is lost; time has passed */
    SSDLAB_ERR_REFUSED = 20      /* the drive has become read-only, or refuses the command otherwise; time has passed */
} ssdlab_status;

/* A drive. */
typedef struct ssdlab_drive ssdlab_drive;

/* What a drive is made from. Begin with SSDLAB_OPTIONS_INIT, and give exactly one of preset, path and description. */
typedef struct ssdlab_options {
    uint64_t size;                /* sizeof(ssdlab_options) */
    uint32_t abi;                 /* SSDLAB_ABI_VERSION */
    uint32_t flags;               /* SSDLAB_CAUSES, SSDLAB_HISTORY, SSDLAB_OPEN_LOOP, SSDLAB_POWER_LOSSES */
    uint64_t seed;                /* of all random streams */
    const char *preset;           /* name of a preset */
    const char *path;             /* file with a description (TOML) */
    const char *description;      /* text of a description (TOML) */
    const char *name;             /* name of path or description in messages and results; or NULL. The files that a
                                     description names are relative to the folder of path, or of this name. */
    const char *policy;           /* mode policy; NULL: that of the description */
    const char *precondition;     /* none, fill, random or steady; NULL: that of the description */
    const char *host;             /* name of the source of the commands in the summary; NULL: host */
    const char *const *overrides; /* KEY=VALUE, such as flash.channels=16 */
    uint64_t override_count;
    const char *const *streams; /* names of the streams; two or more are measured apart in the summary */
    uint64_t stream_count;
    uint64_t contents; /* most bytes of contents; 0: the drive keeps none, and data cannot be read or written */
    const char *contents_folder; /* folder of a file without a name for the contents; null: they are in memory */
} ssdlab_options;

#define SSDLAB_OPTIONS_INIT { sizeof(ssdlab_options), SSDLAB_ABI_VERSION, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* A command. Offset and length are multiples of 512; a flush and an action on a zone have length 0. */
typedef struct ssdlab_command {
    uint64_t offset;
    uint64_t length;
    uint32_t tag;    /* chosen by the host; the completion returns it */
    uint16_t queue;  /* submission queue, below ssdlab_queue_count() */
    uint16_t stream; /* stream of the host's commands, for the summary */
    uint8_t op;      /* SSDLAB_READ, SSDLAB_WRITE, SSDLAB_TRIM, SSDLAB_FLUSH, SSDLAB_APPEND, SSDLAB_ZONE */
    uint8_t flags;   /* 0 or SSDLAB_FUA; of SSDLAB_ZONE, SSDLAB_ZONE_... */
    uint8_t reserved[6]; /* 0 */
} ssdlab_command;

/* A completed command. */
typedef struct ssdlab_completion {
    uint64_t submitted; /* instant of the arrival */
    uint64_t completed; /* instant of the completion */
    uint64_t offset;    /* of the command; of an append, where its data is */
    uint64_t length;
    uint32_t tag;
    uint16_t queue;
    uint16_t stream;
    uint8_t op;
    uint8_t flags;
    uint8_t media_error; /* 1: some of the data read is lost; otherwise 0 */
    uint8_t reserved[3]; /* 0 */
    uint16_t status;     /* 0, or status code type (bits 8 to 10) and status code (bits 0 to 7) of NVMe */
} ssdlab_completion;

/* Figures of a recovery from a loss of power. */
typedef struct ssdlab_recovery {
    uint64_t recovery;       /* time that it took */
    uint64_t recovery_reads; /* reads of the flash for it */
    uint64_t durable_lost;   /* mapping units whose durable data was lost */
    uint64_t volatile_lost;  /* mapping units that the write buffer held */
    uint64_t torn_pages;     /* pages of interrupted programs */
} ssdlab_recovery;

/* A zone. Zone N begins at N times the distance of two starts. */
typedef struct ssdlab_zone {
    uint64_t start;         /* first byte */
    uint64_t capacity;      /* bytes that can be written, from start on */
    uint64_t write_pointer; /* first byte that is not written */
    uint8_t state;          /* 1 empty, 2 implicitly open, 3 explicitly open, 4 closed, 13 read-only, 14 full, 15 offline */
    uint8_t reserved[7];    /* 0 */
} ssdlab_zone;

/* A chunk of a drive with physical addresses. */
typedef struct ssdlab_chunk {
    uint64_t start;         /* first byte */
    uint64_t write_pointer; /* first byte that is not written */
    uint32_t erases;
    uint8_t state;          /* 1 free, 2 closed, 4 open, 8 offline */
    uint8_t reserved[3];    /* 0 */
} ssdlab_chunk;

/* Sizes and limits of a drive with physical addresses; of chunks and writes, in units of unit_bytes. The address of a
   unit is ((group * dies_per_group + die) * chunks_per_die + chunk) * chunk_units + place, times unit_bytes. */
typedef struct ssdlab_geometry {
    uint32_t groups;           /* channels */
    uint32_t dies_per_group;   /* parallel units of a group */
    uint32_t chunks_per_die;
    uint32_t chunk_units;
    uint32_t unit_bytes;
    uint32_t ws_min;           /* every write to a chunk is a multiple of it */
    uint32_t ws_opt;
    uint32_t mw_cunits;        /* units before the write pointer of an open chunk that cannot be read */
    uint32_t max_open;         /* open chunks; 0: no limit */
    uint32_t max_open_per_die;
} ssdlab_geometry;

/* Bytes that the library has allocated, followed by a zero byte that is not counted. Release them by ssdlab_free(). */
typedef struct ssdlab_bytes {
    char *data;
    uint64_t size;
} ssdlab_bytes;

/* Returns the version of the interface of the library: SSDLAB_ABI_VERSION of its header. */
uint32_t ssdlab_abi_version(void);

/* Returns the version of the engine and a hash of its sources, such as 0.2.0+3f2a9c5d1e07. */
const char *ssdlab_version(void);

/* Returns a short text for a status. */
const char *ssdlab_status_text(int32_t status);

/* Returns the number of causes of latency, and the name of each; NULL for a number that no cause has. */
uint32_t ssdlab_cause_count(void);
const char *ssdlab_cause_name(uint32_t cause);

/*
 * Creates a drive in the starting state of its description; this may take seconds. On an error, *drive is NULL and
 * *error, unless error is NULL, has its text: one line for each problem.
 */
ssdlab_status ssdlab_create(const ssdlab_options *options, ssdlab_drive **drive, ssdlab_bytes *error);

/*
 * Creates a drive in the state of a saved one, from memory or from a file. Under the same description, policy and seed
 * it continues exactly; otherwise it adopts the saved data, and ssdlab_notes() gives the reason.
 */
ssdlab_status ssdlab_load(const ssdlab_options *options, const void *data, uint64_t size, ssdlab_drive **drive, ssdlab_bytes *error);
ssdlab_status ssdlab_load_file(const ssdlab_options *options, const char *path, ssdlab_drive **drive, ssdlab_bytes *error);

/* Destroys a drive, in whatever state, and sets *drive to NULL. A drive that is NULL already is no error. */
ssdlab_status ssdlab_destroy(ssdlab_drive **drive);

/* Returns the text of the last error of a drive; valid until the next call on it that fails. */
const char *ssdlab_last_error(const ssdlab_drive *drive);

/* Releases bytes that the library has allocated, and sets the record to zero. */
void ssdlab_free(ssdlab_bytes *bytes);

/*
 * Submits a command that arrives at an instant: now, or later. Commands that arrive at the same instant arrive in the
 * order of their submission.
 */
ssdlab_status ssdlab_submit(ssdlab_drive *drive, const ssdlab_command *submitted, uint64_t at);

/*
 * Submits a vectored command to a drive with physical addresses: a read or a write of one unit at each of 1 to 64
 * addresses, or a trim, which resets the chunk that begins at each. offset and length of the command have no meaning;
 * those of its completion lie beyond the user capacity.
 */
ssdlab_status ssdlab_submit_vector(ssdlab_drive *drive, const ssdlab_command *submitted, const uint64_t *addresses, uint64_t count, uint64_t at);

/*
 * Read, write, flush and trim on a drive with contents, without commands in flight: each submits a command now, lets time
 * pass until it completes, and returns. Offset and length are multiples of 512. flags: 0 or SSDLAB_FUA. *latency, unless
 * NULL, becomes the time that the command took, and causes, unless NULL, its ssdlab_cause_count() parts; the drive then
 * needs SSDLAB_CAUSES. The program's own time passes by ssdlab_advance().
 */
ssdlab_status ssdlab_read(ssdlab_drive *drive, uint64_t offset, void *data, uint64_t length, uint64_t *latency, uint64_t *causes);
ssdlab_status ssdlab_write(ssdlab_drive *drive, uint64_t offset, const void *data, uint64_t length, uint32_t flags, uint64_t *latency, uint64_t *causes);
ssdlab_status ssdlab_flush(ssdlab_drive *drive, uint64_t *latency, uint64_t *causes);
ssdlab_status ssdlab_trim(ssdlab_drive *drive, uint64_t offset, uint64_t length, uint64_t *latency, uint64_t *causes);

/*
 * Has the drive lose power once it has handled so many further events; 0: now. The call in which that happens, and all
 * later ones, fail with SSDLAB_ERR_POWER_LOST until ssdlab_recover(). Needs SSDLAB_POWER_LOSSES.
 */
ssdlab_status ssdlab_cut(ssdlab_drive *drive, uint64_t events);

/*
 * Brings power back after the time down, and cuts it first if it is not cut: the drive recovers, and simulated time
 * passes. Commands in flight are gone. *recovery, unless NULL, has the figures. Needs SSDLAB_POWER_LOSSES.
 */
ssdlab_status ssdlab_recover(ssdlab_drive *drive, uint64_t down, ssdlab_recovery *recovery);

/*
 * Loads the tables that commands need which the host submits soon, 32 at a time at best; on large drives the library is
 * then faster. Changes no result: the commands need not come, and those that are not valid are passed over.
 */
ssdlab_status ssdlab_hint(ssdlab_drive *drive, const ssdlab_command *commands, uint64_t count);

/*
 * Returns the instant of the next event: now, if a command was submitted for now; SSDLAB_FOREVER, if nothing happens
 * until a command is submitted. An event need not be a completion.
 */
ssdlab_status ssdlab_next_event(ssdlab_drive *drive, uint64_t *at);

/*
 * Handles all events up to and including an instant. Returns after the first instant with a completion, or at `until`,
 * whichever is earlier; ssdlab_now() says where. *waiting, unless NULL, becomes the number of completions that wait.
 * SSDLAB_FOREVER stands for the next completion; without commands in flight nothing happens then.
 */
ssdlab_status ssdlab_advance(ssdlab_drive *drive, uint64_t until, uint64_t *waiting);

/* Completes all commands in flight, also those that arrive later. Their completions wait. */
ssdlab_status ssdlab_drain(ssdlab_drive *drive, uint64_t *waiting);

/*
 * Takes the oldest completions that wait, at most capacity, in the order of their instants. causes, unless NULL, has a
 * row of ssdlab_cause_count() latencies for each, which add up to its latency; the drive then needs SSDLAB_CAUSES.
 */
ssdlab_status ssdlab_completions(ssdlab_drive *drive, ssdlab_completion *completions, uint64_t capacity, uint64_t *causes, uint64_t *count);

/* Brings a drive without commands in flight to rest: finishes its flash operations. It can be used on. */
ssdlab_status ssdlab_rest(ssdlab_drive *drive);

/*
 * Shuts a drive without commands in flight down gracefully: programs its write buffer. The measurement ends where the
 * shutdown begins. The drive can be used on.
 */
ssdlab_status ssdlab_shut_down(ssdlab_drive *drive);

/*
 * Discards all measurements so far, and begins a new measurement and a new history. Commands in flight count when they
 * complete, with their whole latency.
 */
ssdlab_status ssdlab_restart_measurement(ssdlab_drive *drive);

/* Return the simulated time, the number of commands submitted and not completed, the user capacity, and the number of
   submission queues. */
ssdlab_status ssdlab_now(ssdlab_drive *drive, uint64_t *at);
ssdlab_status ssdlab_in_flight(ssdlab_drive *drive, uint64_t *count);
ssdlab_status ssdlab_user_bytes(ssdlab_drive *drive, uint64_t *bytes);
ssdlab_status ssdlab_queue_count(ssdlab_drive *drive, uint32_t *count);

/* Returns zones from number first on, at most capacity of them, of a drive with zones. */
ssdlab_status ssdlab_zones(ssdlab_drive *drive, uint64_t first, ssdlab_zone *zones, uint64_t capacity, uint64_t *count);

/* Return chunks from number first on, at most capacity of them, and the sizes of a drive with physical addresses. */
ssdlab_status ssdlab_chunks(ssdlab_drive *drive, uint64_t first, ssdlab_chunk *chunks, uint64_t capacity, uint64_t *count);
ssdlab_status ssdlab_physical_geometry(ssdlab_drive *drive, ssdlab_geometry *geometry);

/*
 * Returns 1 if the drive is worn out, otherwise 0: a die can spare no more blocks. It goes on working with worn-out
 * blocks; a run of `ssdlab` ends there.
 */
ssdlab_status ssdlab_is_worn_out(ssdlab_drive *drive, uint32_t *worn_out);

/* Returns the measurement up to now as JSON: the document summary.json of `ssdlab run`. */
ssdlab_status ssdlab_summary(ssdlab_drive *drive, ssdlab_bytes *text);

/* Returns the description with every field resolved, as TOML. */
ssdlab_status ssdlab_description(ssdlab_drive *drive, ssdlab_bytes *text);

/* Returns notes for people, one line each: why a loaded drive does not continue exactly, or that a drive is worn out. */
ssdlab_status ssdlab_notes(ssdlab_drive *drive, ssdlab_bytes *text);

/* Returns the length and a hash of the physical history since the measurement began; needs SSDLAB_HISTORY. */
ssdlab_status ssdlab_history(ssdlab_drive *drive, uint64_t *entries, uint64_t *hash);

/* Saves a drive without commands in flight, into memory or a file. It is brought to rest for that, and can be used on. */
ssdlab_status ssdlab_save(ssdlab_drive *drive, ssdlab_bytes *bytes);
ssdlab_status ssdlab_save_file(ssdlab_drive *drive, const char *path);

#ifdef __cplusplus
}
#endif

#endif
