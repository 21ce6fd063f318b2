/* The checksum of the testkit (tests/support/checksum.rs), for C and C++. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum field {
    ID,
    TIME,
    PID,
    ADDRESS,
    SIZE,
    FROM,
    TO,
    PREFETCH,
    PREFERRED,
    TRIGGER,
    ERROR_CODE,
    LETTER,
    TEXT,
    FIRST,
    LAST
};

struct checksum {
    uint64_t sum;
    uint64_t lines;
};

static inline void add(struct checksum *c, enum field field, uint64_t value)
{
    c->sum += value * ((2 * (uint64_t)field + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

static inline void add_signed(struct checksum *c, enum field field, int32_t value)
{
    add(c, field, (uint32_t)value);
}

static inline void add_present(struct checksum *c, enum field field, int32_t value)
{
    add(c, field, (uint64_t)(uint32_t)value + 1);
}

static inline void add_text(struct checksum *c, const char *text, size_t length)
{
    add(c, TEXT, length + 1);
    if (length > 0) {
        add(c, FIRST, (unsigned char)text[0]);
        add(c, LAST, (unsigned char)text[length - 1]);
    }
}

static inline void end_line(struct checksum *c)
{
    c->sum = c->sum << 1 | c->sum >> 63;
    c->lines++;
}

#endif
