/* Registers of the controller, as the firmware sees them. All are words of 32 bits. */
#ifndef HARDWARE_H
#define HARDWARE_H

#include <stdint.h>

#define DEVICES 0x40000000u
#define REGISTER(offset) (*(volatile uint32_t *)(DEVICES + (offset)))
#define OF_DIE(offset, die) REGISTER((offset) + 4u * (die))

/* No unit, no place, no block. */
#define NONE 0xffffffffu

/* The event queue of the core that reads. The description of the drive says which core gets an event; all events of a
 * die go to one. EVENT takes the next event and returns its kind, 0 if there is none; EVENT_A to EVENT_C are its
 * fields. */
#define EVENT REGISTER(0x000)
#define EVENT_A REGISTER(0x004)
#define EVENT_B REGISTER(0x008)
#define EVENT_C REGISTER(0x00c)

enum event {
    NO_EVENT = 0,
    /* A host read: A is the command, B the first unit that is not in the write buffer, C the number of units. */
    EVENT_READ = 1,
    /* A host trim: A is the command, B the first unit, C the number of units. */
    EVENT_TRIM = 2,
    /* Die A is free and asks for an operation. */
    EVENT_IDLE = 3,
    /* The gathering of die A has ended. */
    EVENT_GATHERED = 4,
    /* The erase of block B on die A has ended. */
    EVENT_ERASED = 5,
};

/* The answer to the read or trim that the core took last: for each unit of a read, in order, its place or NONE; for a
 * trim, that it has been handled. */
#define READ_PLACE REGISTER(0x020)
#define TRIM_DONE REGISTER(0x024)

/* The operation that the core composes. */
#define OP_PLACE REGISTER(0x040) /* first place of a program, or of the block to be erased */
#define OP_UNIT REGISTER(0x044)  /* place of a unit to be gathered, or from which a unit of a program is moved */
#define OP_ISSUE REGISTER(0x048) /* gives the operation of this kind to the die that asked last */

enum operation {
    OP_PROGRAM_HOST = 1,
    OP_PROGRAM_MOVED = 2,
    OP_GATHER = 3,
    OP_ERASE = 4,
};

/* Number of reads of a block that are outstanding, and of programs under way whose data supersedes some of it: write
 * the block, then read. */
#define BLOCK_USES REGISTER(0x050)

/* Asks a die again, although it is idle: write the die. */
#define ASK_AGAIN REGISTER(0x054)

/* The lock of the cores. A load returns once the core has it, in the order in which cores ask; a store gives it back. A
 * core that has it must not wait for an event. */
#define LOCK REGISTER(0x060)

/* Ends the run: the firmware has found an inconsistency with this code. */
#define PANIC REGISTER(0x07c)

/* The drive. */
#define DIES REGISTER(0x100)
#define BLOCKS_PER_DIE REGISTER(0x104)
#define GROUPS_PER_DIE REGISTER(0x108)
#define UNITS_PER_BLOCK REGISTER(0x10c)
#define UNITS_PER_PROGRAM REGISTER(0x110)
#define UNITS_PER_ROW REGISTER(0x114)
#define USER_UNITS REGISTER(0x118)
#define RESERVE_BLOCKS REGISTER(0x11c)
#define CRITICAL_BLOCKS REGISTER(0x120)
#define LOW_BLOCKS REGISTER(0x124)
#define IS_PREEMPTIBLE REGISTER(0x128)
#define IS_SEPARATE REGISTER(0x12c)
#define STARTS_EARLY REGISTER(0x130)
/* Address of the checkpoint that the drive starts from. */
#define CHECKPOINT REGISTER(0x138)
/* 1 once the host has written. */
#define HAS_WRITTEN REGISTER(0x13c)
/* Number of cores that execute the image, each with its own event queue and operation. */
#define CORES REGISTER(0x140)

/* By die: number of host units that may be programmed there now; the next of them, which is appended to the operation
 * (NONE if there is none); whether host data may be written there. */
#define WAITING(die) OF_DIE(0x1000, die)
#define TAKE(die) OF_DIE(0x2000, die)
#define ROOM(die) OF_DIE(0x3000, die)

static inline void wait_for_event(void) { __asm__ volatile("wfi"); }

#endif
