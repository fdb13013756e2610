/*
 * Measures the rate of commands through the C library: one call each to submit, to advance and to take completions for
 * every command, random blocks of 4 KiB, 32 in flight, on the small ideal drive of the fixed scenarios. With `hint`, one
 * more call for every 32 commands tells the drive what comes; with `large`, the drive has 512 GiB.
 *
 *     door read|write [hint] [large]
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
#define AHEAD 32

static ssdlab_drive *drive;
static int hints;

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

/* Draws the next commands, at random blocks (xorshift64). */
static void draw(ssdlab_command *commands, uint8_t op, uint64_t blocks)
{
    static uint64_t state = 0x9E3779B97F4A7C15u;
    int index;
    memset(commands, 0, AHEAD * sizeof *commands);
    for (index = 0; index < AHEAD; index++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        commands[index].op = op;
        commands[index].offset = state % blocks * BLOCK;
        commands[index].length = BLOCK;
    }
}

/* Submits the command with a number. */
static void submit(uint64_t number, uint8_t op, uint64_t blocks, uint64_t now)
{
    static ssdlab_command commands[AHEAD];
    if (number % AHEAD == 0) {
        draw(commands, op, blocks);
        if (hints) {
            check(ssdlab_hint(drive, commands, AHEAD));
        }
    }
    check(ssdlab_submit(drive, &commands[number % AHEAD], now));
}

static int has_word(int argc, char **argv, const char *word)
{
    int index;
    for (index = 1; index < argc; index++) {
        if (strcmp(argv[index], word) == 0) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const overrides[] = {"flash.blocks_per_plane=64", "title=ideal, small"};
    ssdlab_options options = SSDLAB_OPTIONS_INIT;
    ssdlab_completion done[64];
    uint64_t submitted = 0, completed = 0, user_bytes, blocks, entries = 0;
    uint8_t op = has_word(argc, argv, "write") ? SSDLAB_WRITE : SSDLAB_READ;
    ssdlab_bytes error;
    double begin;

    options.preset = "ideal-512g";
    options.overrides = overrides;
    options.override_count = has_word(argc, argv, "large") ? 0 : 2;
    hints = has_word(argc, argv, "hint");
    if (ssdlab_create(&options, &drive, &error) != SSDLAB_OK) {
        fprintf(stderr, "door: %s\n", error.data);
        return 1;
    }
    check(ssdlab_user_bytes(drive, &user_bytes));
    blocks = user_bytes / BLOCK;
    begin = seconds();
    while (submitted < DEPTH) {
        submit(submitted++, op, blocks, 0);
    }
    while (completed < COMMANDS) {
        uint64_t count, index;
        check(ssdlab_advance(drive, SSDLAB_FOREVER, NULL));
        check(ssdlab_completions(drive, done, 64, NULL, &count));
        for (index = 0; index < count; index++) {
            if (submitted < COMMANDS) {
                submit(submitted++, op, blocks, done[index].completed);
            }
        }
        completed += count;
        entries++;
    }
    printf("{\"commands_per_s\": %.0f, \"steps\": %" PRIu64 "}\n", COMMANDS / (seconds() - begin), entries);
    check(ssdlab_destroy(&drive));
    return 0;
}
