/*
 * Measures the rate of commands through the C library: one call each to submit, to advance and to take completions for
 * every command, random blocks of 4 KiB, 32 in flight, on the small ideal drive of the fixed scenarios.
 *
 *     door read|write
 */
#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ssdlab.h"

#define COMMANDS 1000000
#define DEPTH 32
#define BLOCK 4096

static ssdlab_drive *drive;

static void check(ssdlab_status status)
{
    if (status != SSDLAB_OK) {
        fprintf(stderr, "door: %s: %s\n", ssdlab_status_text(status), ssdlab_last_error(drive));
        exit(1);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Submits the next command, at a random block (xorshift64). */
static void submit(uint8_t op, uint64_t blocks, uint64_t now)
{
    static uint64_t state = 0x9E3779B97F4A7C15u;
    ssdlab_command command;
    memset(&command, 0, sizeof command);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    command.op = op;
    command.offset = state % blocks * BLOCK;
    command.length = BLOCK;
    check(ssdlab_submit(drive, &command, now));
}

int main(int argc, char **argv)
{
    static const char *const overrides[] = {"flash.blocks_per_plane=64", "title=ideal, small"};
    ssdlab_options options = SSDLAB_OPTIONS_INIT;
    ssdlab_completion done[64];
    uint64_t submitted = 0, completed = 0, user_bytes, blocks, entries = 0;
    uint8_t op = argc > 1 && strcmp(argv[1], "write") == 0 ? SSDLAB_WRITE : SSDLAB_READ;
    ssdlab_bytes error;
    double begin;

    options.preset = "ideal-512g";
    options.overrides = overrides;
    options.override_count = 2;
    if (ssdlab_create(&options, &drive, &error) != SSDLAB_OK) {
        fprintf(stderr, "door: %s\n", error.data);
        return 1;
    }
    check(ssdlab_user_bytes(drive, &user_bytes));
    blocks = user_bytes / BLOCK;
    begin = seconds();
    while (submitted < DEPTH) {
        submit(op, blocks, 0);
        submitted++;
    }
    while (completed < COMMANDS) {
        uint64_t count, index;
        check(ssdlab_advance(drive, SSDLAB_FOREVER, NULL));
        check(ssdlab_completions(drive, done, 64, NULL, &count));
        for (index = 0; index < count; index++) {
            if (submitted < COMMANDS) {
                submit(op, blocks, done[index].completed);
                submitted++;
            }
        }
        completed += count;
        entries++;
    }
    printf("{\"commands_per_s\": %.0f, \"steps\": %" PRIu64 "}\n", COMMANDS / (seconds() - begin), entries);
    check(ssdlab_destroy(&drive));
    return 0;
}
