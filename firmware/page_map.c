/* A page-mapped translation layer with greedy collection.
 *
 * The map, its inverse and the state of the blocks are in the DRAM, where the checkpoint of the starting state is. A die
 * that is free asks for its next operation: a step of its collection if it has fewer free blocks than are critical, a
 * program of host data, or a step of its collection while it has few free blocks. A collection gathers the valid units
 * of the block with the fewest, row by row, programs them elsewhere on the die, and erases the block.
 *
 * Where several cores execute it, each serves some of the dies and some of the reads and trims. The tables are shared. A
 * core holds the lock from the first change of the map for an operation until the operation is issued, so that the map
 * and the flash agree whenever another core has the lock; numbers of valid units change under the lock alone. What is
 * found without the lock, a victim and the units to be gathered from it, may be outdated, and is checked again under it.
 */
#include "hardware.h"

enum block_state { FREE = 0, OPEN = 1, CLOSED = 2, VICTIM = 3, ERASING = 4 };
enum stream { HOST = 0, MOVED = 1, STREAMS = 2 };

struct block {
    uint16_t valid;
    uint8_t state;
    uint8_t unused;
};

struct frontier {
    uint32_t block;
    uint32_t next_unit;
};

/* Free blocks of a group of planes, in the order in which they are used: a ring of the group's blocks. */
struct ring {
    uint32_t first;
    uint32_t count;
};

/* Addresses of the tables of the starting state. */
struct checkpoint {
    uint32_t *map;             /* place of each unit, or NONE */
    uint32_t *units;           /* unit at each place, or NONE */
    struct block *blocks;      /* all blocks */
    struct ring *rings;        /* by group */
    uint32_t *ring_blocks;     /* as many by group as it has blocks */
    struct frontier *frontiers; /* by die and stream */
};

#define MAX_DIES 1024u
#define MAX_GATHERED 128u

struct collector {
    uint32_t victim;
    uint32_t cursor;
    uint32_t count;
    uint8_t is_reading;
    uint32_t gathered[MAX_GATHERED];
};

static struct checkpoint at;
static uint32_t blocks_per_die, blocks_per_group, groups_per_die, units_per_block, units_per_program, units_per_row;
static uint32_t reserve, critical, low;
static uint8_t is_preemptible, is_separate, is_shared;
static uint32_t free_count[MAX_DIES];
static uint8_t has_room[MAX_DIES];
static struct collector *collectors;

static inline uint32_t min(uint32_t one, uint32_t other) { return one < other ? one : other; }

/* Waits until the core has the lock, if there are other cores. */
static inline void lock(void)
{
    if (is_shared)
        (void)LOCK;
}

static inline void unlock(void)
{
    if (is_shared)
        LOCK = 0;
}

static inline uint32_t block_of(uint32_t place) { return place / units_per_block; }

/* Returns true if a place holds the current copy of its unit. */
static inline int is_valid(uint32_t place)
{
    uint32_t unit = at.units[place];
    return unit != NONE && at.map[unit] == place;
}

static inline struct frontier *frontier_of(uint32_t die, enum stream stream) { return &at.frontiers[die * STREAMS + stream]; }

/* Tells the hardware whether a die takes host data, where that has changed. Where relocated data shares the frontier of
 * the host, the last blocks are left to it. */
static void update_room(uint32_t die)
{
    int is_open = frontier_of(die, HOST)->block != NONE;
    uint32_t free = free_count[die];
    uint8_t room = (is_open && (free > 0 || is_separate)) || free > reserve;
    if (room != has_room[die]) {
        has_room[die] = room;
        ROOM(die) = room;
    }
}

/* Takes a free block of a die, from the group of planes with the most of them. */
static uint32_t take_free(uint32_t die)
{
    uint32_t best = NONE, most = 0;
    for (uint32_t group = die * groups_per_die; group < (die + 1) * groups_per_die; group++) {
        if (at.rings[group].count > most) {
            most = at.rings[group].count;
            best = group;
        }
    }
    struct ring *ring = &at.rings[best];
    uint32_t block = at.ring_blocks[best * blocks_per_group + ring->first];
    ring->first = ring->first + 1 == blocks_per_group ? 0 : ring->first + 1;
    ring->count--;
    free_count[die]--;
    return block;
}

static void put_free(uint32_t die, uint32_t block)
{
    uint32_t group = block / blocks_per_group;
    struct ring *ring = &at.rings[group];
    uint32_t end = ring->first + ring->count;
    at.ring_blocks[group * blocks_per_group + (end < blocks_per_group ? end : end - blocks_per_group)] = block;
    ring->count++;
    at.blocks[block].state = FREE;
    free_count[die]++;
    update_room(die);
}

/* Returns the next place of a stream on a die for a program; NONE if there is none. */
static uint32_t next_place(uint32_t die, enum stream stream, int is_host)
{
    struct frontier *frontier = frontier_of(die, stream);
    if (frontier->block == NONE) {
        if (is_host ? free_count[die] <= reserve : free_count[die] == 0)
            return NONE;
        frontier->block = take_free(die);
        frontier->next_unit = 0;
        at.blocks[frontier->block].state = OPEN;
        update_room(die);
    } else if (is_host && !is_separate && free_count[die] == 0) {
        return NONE;
    }
    uint32_t place = frontier->block * units_per_block + frontier->next_unit;
    frontier->next_unit += units_per_program;
    return place;
}

static void close_if_full(uint32_t die, enum stream stream)
{
    struct frontier *frontier = frontier_of(die, stream);
    if (frontier->block != NONE && frontier->next_unit == units_per_block) {
        at.blocks[frontier->block].state = CLOSED;
        frontier->block = NONE;
        update_room(die);
    }
}

static inline void invalidate(uint32_t place) { at.blocks[block_of(place)].valid--; }

static inline void bind(uint32_t unit, uint32_t place)
{
    uint32_t old = at.map[unit];
    if (old != NONE)
        invalidate(old);
    at.map[unit] = place;
    at.units[place] = unit;
    at.blocks[block_of(place)].valid++;
}

/* Gives a die a program of the host data that waits for it. Returns false if there is none, or no room. */
static int program_host(uint32_t die)
{
    if (!has_room[die])
        return 0;
    uint32_t waiting = WAITING(die);
    if (waiting == 0)
        return 0;
    if (is_shared) {
        lock();
        waiting = WAITING(die);
    }
    uint32_t place = waiting == 0 ? NONE : next_place(die, HOST, 1);
    if (place == NONE) {
        unlock();
        return 0;
    }
    OP_PLACE = place;
    uint32_t count = min(waiting, units_per_program);
    for (uint32_t index = 0; index < count; index++)
        bind(TAKE(die), place + index);
    for (uint32_t index = count; index < units_per_program; index++)
        at.units[place + index] = NONE;
    OP_ISSUE = OP_PROGRAM_HOST;
    unlock();
    close_if_full(die, HOST);
    return 1;
}

/* Returns the first valid place from one on; NONE if there is none before an end. */
static uint32_t next_valid(uint32_t place, uint32_t end)
{
    for (; place < end; place++)
        if (is_valid(place))
            return place;
    return NONE;
}

/* Chooses the block of a die with the fewest valid units, if its collection gains space. Of equal ones, the first. */
static uint32_t choose_victim(uint32_t die)
{
    uint32_t least = units_per_block - units_per_program + 1, best = NONE;
    for (uint32_t block = die * blocks_per_die; block < (die + 1) * blocks_per_die; block++) {
        if (at.blocks[block].state == CLOSED && at.blocks[block].valid < least) {
            least = at.blocks[block].valid;
            best = block;
        }
    }
    return best;
}

/* Forgets gathered units that have been written again or trimmed since. */
static void drop_stale(struct collector *collector)
{
    uint32_t kept = 0;
    for (uint32_t index = 0; index < collector->count; index++)
        if (is_valid(collector->gathered[index]))
            collector->gathered[kept++] = collector->gathered[index];
    collector->count = kept;
}

/* Gives a die a program of gathered units, and gives the lock back. */
static int program_gathered(uint32_t die, struct collector *collector)
{
    enum stream stream = is_separate ? MOVED : HOST;
    uint32_t place = next_place(die, stream, 0);
    if (place == NONE) {
        /* The last free block was opened by the other stream: its room holds all that this collection moves. */
        stream = stream == HOST ? MOVED : HOST;
        place = frontier_of(die, stream)->block == NONE ? NONE : next_place(die, stream, 0);
    }
    if (place == NONE) {
        PANIC = 1;
        return 0;
    }
    uint32_t count = min(collector->count, units_per_program);
    OP_PLACE = place;
    for (uint32_t index = 0; index < count; index++) {
        uint32_t from = collector->gathered[index];
        OP_UNIT = from;
        bind(at.units[from], place + index);
    }
    for (uint32_t index = count; index < units_per_program; index++)
        at.units[place + index] = NONE;
    for (uint32_t index = count; index < collector->count; index++)
        collector->gathered[index - count] = collector->gathered[index];
    collector->count -= count;
    OP_ISSUE = OP_PROGRAM_MOVED;
    unlock();
    close_if_full(die, stream);
    return 1;
}

/* Gives a die a read of all valid units in the row of a place. */
static int gather(struct collector *collector, uint32_t place)
{
    uint32_t end = place - place % units_per_row + units_per_row;
    for (; place != NONE; place = next_valid(place + 1, end)) {
        OP_UNIT = place;
        collector->gathered[collector->count++] = place;
    }
    collector->cursor = end;
    collector->is_reading = 1;
    OP_ISSUE = OP_GATHER;
    return 1;
}

/* Gives a die the next step of its collection. Returns false if there is none now. */
static int collect(uint32_t die, int for_space)
{
    struct collector *collector = &collectors[die];
    if (collector->victim == NONE) {
        if (!for_space || (collector->victim = choose_victim(die)) == NONE)
            return 0;
        at.blocks[collector->victim].state = VICTIM;
        collector->cursor = collector->victim * units_per_block;
    }
    if (collector->is_reading)
        return 0;
    uint32_t end = (collector->victim + 1) * units_per_block;
    for (;;) {
        uint32_t next = next_valid(collector->cursor, end);
        if (collector->count >= units_per_program || (next == NONE && collector->count > 0)) {
            lock();
            drop_stale(collector);
            if (collector->count >= units_per_program || (next == NONE && collector->count > 0))
                return program_gathered(die, collector);
            unlock();
            continue;
        }
        if (next != NONE)
            return gather(collector, next);
        lock();
        BLOCK_USES = collector->victim;
        int is_used = at.blocks[collector->victim].valid > 0 || BLOCK_USES > 0;
        unlock();
        if (is_used)
            return 0;
        at.blocks[collector->victim].state = ERASING;
        OP_PLACE = collector->victim * units_per_block;
        OP_ISSUE = OP_ERASE;
        return 1;
    }
}

/* Gives a free die its next operation, if there is one. */
static void serve_die(uint32_t die)
{
    struct collector *collector = &collectors[die];
    uint32_t free = HAS_WRITTEN ? free_count[die] : NONE;
    if ((free < critical || (!is_preemptible && collector->victim != NONE)) && collect(die, free < low))
        return;
    if (program_host(die))
        return;
    if (free < low || (collector->victim != NONE && free != NONE))
        collect(die, free < low);
}

static void serve_read(uint32_t first, uint32_t count)
{
    lock();
    for (uint32_t unit = first; unit < first + count; unit++)
        READ_PLACE = at.map[unit];
    unlock();
}

static void serve_trim(uint32_t first, uint32_t count)
{
    lock();
    for (uint32_t unit = first; unit < first + count; unit++) {
        uint32_t place = at.map[unit];
        if (place == NONE)
            continue;
        at.map[unit] = NONE;
        invalidate(place);
        if (at.blocks[block_of(place)].state == VICTIM)
            ASK_AGAIN = block_of(place) / blocks_per_die;
    }
    TRIM_DONE = 1;
    unlock();
}

static void erased(uint32_t die, uint32_t block)
{
    collectors[die].victim = NONE;
    put_free(die, block);
}

static void begin(void)
{
    at = *(struct checkpoint *)CHECKPOINT;
    uint32_t dies = DIES;
    blocks_per_die = BLOCKS_PER_DIE;
    groups_per_die = GROUPS_PER_DIE;
    blocks_per_group = blocks_per_die / groups_per_die;
    units_per_block = UNITS_PER_BLOCK;
    units_per_program = UNITS_PER_PROGRAM;
    units_per_row = UNITS_PER_ROW;
    reserve = RESERVE_BLOCKS;
    critical = CRITICAL_BLOCKS;
    low = LOW_BLOCKS;
    is_preemptible = IS_PREEMPTIBLE;
    is_separate = IS_SEPARATE;
    is_shared = CORES > 1;
    if (dies > MAX_DIES || units_per_row + units_per_program > MAX_GATHERED)
        PANIC = 2;
    /* Behind the checkpoint, which says where that ends. */
    collectors = (struct collector *)(at.frontiers + dies * STREAMS);
    for (uint32_t die = 0; die < dies; die++) {
        collectors[die].victim = NONE;
        collectors[die].count = 0;
        collectors[die].is_reading = 0;
        for (uint32_t group = die * groups_per_die; group < (die + 1) * groups_per_die; group++)
            free_count[die] += at.rings[group].count;
        /* A block that was being emptied is emptied on. */
        for (uint32_t block = die * blocks_per_die; block < (die + 1) * blocks_per_die; block++) {
            if (at.blocks[block].state == VICTIM) {
                collectors[die].victim = block;
                collectors[die].cursor = block * units_per_block;
            }
        }
        /* The hardware takes it that a die has room. */
        has_room[die] = 1;
        update_room(die);
    }
}

void firmware(void)
{
    begin();
    for (;;) {
        switch (EVENT) {
        case EVENT_READ:
            serve_read(EVENT_B, EVENT_C);
            break;
        case EVENT_TRIM:
            serve_trim(EVENT_B, EVENT_C);
            break;
        case EVENT_IDLE:
            serve_die(EVENT_A);
            break;
        case EVENT_GATHERED:
            collectors[EVENT_A].is_reading = 0;
            break;
        case EVENT_ERASED:
            erased(EVENT_A, EVENT_B);
            break;
        default:
            wait_for_event();
        }
    }
}
