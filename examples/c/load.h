/* A load of random commands, of which 70 % are reads: the same for every program that counts them from 0. */
#ifndef LOAD_H
#define LOAD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ssdlab.h"

#define COMMANDS 20000
#define DEPTH 32
#define BLOCK 4096

/* Returns 64 random bits for a number (splitmix64). */
static uint64_t random_bits(uint64_t number)
{
    uint64_t z = (number + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns the command with a number. */
static ssdlab_command command_of(uint64_t number, uint64_t user_bytes)
{
    ssdlab_command command;
    memset(&command, 0, sizeof command);
    command.op = random_bits(2 * number) % 10 < 7 ? SSDLAB_READ : SSDLAB_WRITE;
    command.offset = random_bits(2 * number + 1) % (user_bytes / BLOCK) * BLOCK;
    command.length = BLOCK;
    command.tag = (uint32_t)number;
    return command;
}

/* Ends the program if a call has failed. */
static void check(ssdlab_status status, const ssdlab_drive *drive)
{
    if (status != SSDLAB_OK) {
        fprintf(stderr, "ssdlab: %s: %s\n", ssdlab_status_text(status), ssdlab_last_error(drive));
        exit(1);
    }
}

/* Creates the drive of the examples. */
static ssdlab_drive *create_drive(void)
{
    static const char *const overrides[] = {"flash.channels=4", "title=tiny, with 4 channels"};
    ssdlab_options options = SSDLAB_OPTIONS_INIT;
    ssdlab_drive *drive;
    ssdlab_bytes error;
    options.preset = "tiny";
    options.precondition = "steady";
    options.overrides = overrides;
    options.override_count = 2;
    options.flags = SSDLAB_CAUSES;
    if (ssdlab_create(&options, &drive, &error) != SSDLAB_OK) {
        fprintf(stderr, "ssdlab: %s\n", error.data);
        ssdlab_free(&error);
        exit(1);
    }
    return drive;
}

/* Writes the summary of the drive to a file. */
static void write_summary(ssdlab_drive *drive, const char *path)
{
    ssdlab_bytes text;
    FILE *file = fopen(path, "wb");
    check(ssdlab_summary(drive, &text), drive);
    if (file == NULL || fwrite(text.data, 1, text.size, file) != text.size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    ssdlab_free(&text);
}

#endif
