/*
 * SQLite, unchanged, on a simulated drive, with power lost in the middle of its commits.
 *
 *     sqlite_on_drive [COMMITS] [EVERY]
 *
 * For each of the journal modes DELETE and WAL: commits of a small ledger, and their simulated latency; then a drive that
 * loses power after EVERY events, one that does after twice as many, and so on until the commits end before the cut. Each
 * recovers, and the database must be whole and have every commit that was acknowledged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite_vfs.h"

#define THINK 5000 /* simulated time of the program before each call [ns] */

/* Ends the program. */
static void fail(const char *what, const char *why)
{
    fprintf(stderr, "sqlite_on_drive: %s: %s\n", what, why);
    exit(1);
}

static ssdlab_drive *create_drive(void)
{
    static const char *const overrides[] = {"buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"};
    ssdlab_options options = SSDLAB_OPTIONS_INIT;
    ssdlab_drive *drive;
    ssdlab_bytes error;
    options.preset = "tiny";
    options.overrides = overrides;
    options.override_count = 3;
    options.flags = SSDLAB_POWER_LOSSES;
    options.contents = UINT64_C(1) << 30;
    if (ssdlab_create(&options, &drive, &error) != SSDLAB_OK)
        fail("the drive", error.data);
    return drive;
}

static int execute(sqlite3 *db, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL);
}

/* Opens the database. A drive that loses power meanwhile makes it fail. */
static int open_database(sqlite3 **db, const char *journal)
{
    char text[128];
    int status = sqlite3_open_v2("ledger.db", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "ssdlab");
    if (status != SQLITE_OK)
        return status;
    /* Without shared memory a log has one connection. */
    sqlite3_snprintf(sizeof text, text, "pragma locking_mode=exclusive; pragma journal_mode=%s; pragma synchronous=full", journal);
    return execute(*db, text);
}

static int create_tables(sqlite3 *db)
{
    return execute(db, "begin;"
                       "create table if not exists account (id integer primary key, balance integer);"
                       "create table if not exists history (number integer primary key, text text);"
                       "with recursive n(i) as (select 0 union all select i + 1 from n where i < 99)"
                       " insert or ignore into account select i, 0 from n;"
                       "commit");
}

/* A transaction in the manner of TPC-B: an account changes, and a line of the history says so. */
static int commit_one(sqlite3 *db, int number)
{
    char text[320];
    sqlite3_snprintf(sizeof text, text,
                     "begin; update account set balance = balance + 1 where id = %d;"
                     " insert into history values (%d, printf('%%.*c', 64, 'x')); commit",
                     number % 100, number);
    return execute(db, text);
}

/* Returns the number that a query has as its result; -1 if it fails. */
static long long number_of(sqlite3 *db, const char *query)
{
    sqlite3_stmt *statement;
    long long number = -1;
    if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* Commits until a number, or until the drive loses power. Returns how many were acknowledged. */
static int commit_until(const char *journal, int commits, ssdlab_drive *drive, uint64_t *latencies)
{
    sqlite3 *db;
    uint64_t before = 0, now = 0;
    int done = 0;
    if (open_database(&db, journal) == SQLITE_OK && create_tables(db) == SQLITE_OK) {
        while (done < commits && ssdlab_now(drive, &before) == SSDLAB_OK && commit_one(db, done) == SQLITE_OK) {
            ssdlab_now(drive, &now);
            if (latencies)
                latencies[done] = now - before;
            done++;
        }
    }
    sqlite3_close(db);
    return done;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Measures commits. */
static void measure(const char *journal, int commits)
{
    ssdlab_drive *drive = create_drive();
    vfs_area areas[VFS_AREAS];
    sqlite3_vfs vfs;
    uint64_t *latencies = calloc((size_t)commits, sizeof *latencies), sum = 0;
    int i;
    if (!latencies || vfs_register(&vfs, areas, drive, THINK) != SQLITE_OK)
        fail(journal, "the VFS cannot be registered");
    if (commit_until(journal, commits, drive, latencies) != commits)
        fail(journal, ssdlab_last_error(drive));
    for (i = 0; i < commits; i++)
        sum += latencies[i];
    qsort(latencies, (size_t)commits, sizeof *latencies, by_size);
    printf("%s: %d commits, mean %" PRIu64 " ns, median %" PRIu64 " ns, 99 %% %" PRIu64 " ns\n", journal, commits,
           sum / (uint64_t)commits, latencies[commits / 2], latencies[commits * 99 / 100]);
    free(latencies);
    sqlite3_vfs_unregister(&vfs);
    ssdlab_destroy(&drive);
}

/* Cuts the power of a drive after some events, lets it recover, and checks the database. Returns 0 if the commits ended
   before the cut. */
static int cut(const char *journal, int commits, uint64_t events)
{
    ssdlab_drive *drive = create_drive();
    vfs_area areas[VFS_AREAS];
    sqlite3_vfs vfs;
    sqlite3 *db;
    char why[160];
    long long found, last, balance;
    int acknowledged;
    if (vfs_register(&vfs, areas, drive, THINK) != SQLITE_OK || ssdlab_cut(drive, events) != SSDLAB_OK)
        fail(journal, ssdlab_last_error(drive));
    acknowledged = commit_until(journal, commits, drive, NULL);
    sqlite3_vfs_unregister(&vfs);
    if (ssdlab_recover(drive, 1000000, NULL) != SSDLAB_OK)
        fail(journal, ssdlab_last_error(drive));
    if (vfs_register(&vfs, areas, drive, THINK) != SQLITE_OK)
        fail(journal, ssdlab_last_error(drive));
    if (open_database(&db, journal) != SQLITE_OK || create_tables(db) != SQLITE_OK)
        fail(journal, sqlite3_errmsg(db));
    found = number_of(db, "select count(*) from history");
    last = number_of(db, "select coalesce(max(number) + 1, 0) from history");
    balance = number_of(db, "select sum(balance) from account");
    if (number_of(db, "select count(*) from pragma_integrity_check where integrity_check = 'ok'") != 1)
        fail(journal, "the database is damaged");
    if (found < acknowledged || found > acknowledged + 1 || found != last || found != balance) {
        sqlite3_snprintf(sizeof why, why, "cut after %llu events: %d commits acknowledged, %lld lines, the last %lld, sum %lld",
                         (unsigned long long)events, acknowledged, found, last, balance);
        fail(journal, why);
    }
    sqlite3_close(db);
    sqlite3_vfs_unregister(&vfs);
    ssdlab_destroy(&drive);
    return acknowledged < commits;
}

int main(int count, char **words)
{
    static const char *const journals[] = {"delete", "wal"};
    int commits = count > 1 ? atoi(words[1]) : 1000, every = count > 2 ? atoi(words[2]) : 5000, i, cuts;
    if (count > 3 || commits < 1 || every < 1) {
        fputs("usage: sqlite_on_drive [COMMITS] [EVERY]: expected numbers of at least 1\n", stderr);
        return 2;
    }
    for (i = 0; i < 2; i++) {
        measure(journals[i], commits);
        for (cuts = 0; cut(journals[i], commits, (uint64_t)(cuts + 1) * (uint64_t)every); cuts++)
            ;
        printf("%s: %d cuts, nothing lost\n", journals[i], cuts);
    }
    return 0;
}
