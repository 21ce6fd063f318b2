/*
 * How the profilers read the lines: the text of one read, closed by a NUL, is cut at newlines; for each line one
 * sscanf for the id and one for the fields. sscanf knows nothing of the line's end: it looks for the NUL first.
 *
 * What a kernel may leave out is told by %n, the number of bytes read so far: a value that was found behind the end
 * of the line is not one of the line.
 */
#include <stdio.h>
#include <string.h>

#include "checksum.h"

/* `begin` points to a line of `length` bytes within a longer text. Returns whether it was understood. */
static int line(struct checksum *c, const char *begin, size_t length)
{
    unsigned id, pid_x, from, to, prefetch, preferred, node;
    unsigned long address, size;
    long nanos;
    int pid, trigger, error, fields = -1, behind = -1;
    char letter;

    if (sscanf(begin, "%x ", &id) != 1)
        return 0;
    add(c, ID, id);
    switch (id) {
    case 1:
        if (sscanf(begin, "%x %x:%n", &id, &pid_x, &fields) != 2 || fields < 0)
            return 0;
        add(c, PID, pid_x);
        add_text(c, begin + fields, length - (size_t)fields);
        break;
    case 2:
        if (sscanf(begin, "%x %lx:%lx", &id, &address, &size) != 3)
            return 0;
        add(c, ADDRESS, address);
        add(c, SIZE, size);
        break;
    case 3:
    case 4:
        if (sscanf(begin, "%x %x%n", &id, &from, &fields) != 2)
            return 0;
        add(c, FROM, from);
        if ((size_t)fields < length)
            add_text(c, begin + fields + 1, length - (size_t)fields - 1);
        break;
    case 5:
        if (sscanf(begin, "%x %ld -%d @%lx(%lx) %x->%x %x:%x %d\n", &id, &nanos, &pid, &address, &size, &from,
                   &to, &prefetch, &preferred, &trigger) != 10)
            return 0;
        add(c, TIME, (uint64_t)nanos);
        add_signed(c, PID, pid);
        add(c, ADDRESS, address);
        add(c, SIZE, size);
        add(c, FROM, from);
        add(c, TO, to);
        add(c, PREFETCH, prefetch);
        add(c, PREFERRED, preferred);
        add_signed(c, TRIGGER, trigger);
        break;
    case 6:
        if (sscanf(begin, "%x %ld -%d @%lx(%lx) %x->%x %d%n %d%n\n", &id, &nanos, &pid, &address, &size, &from,
                   &to, &trigger, &fields, &error, &behind) < 8)
            return 0;
        add(c, TIME, (uint64_t)nanos);
        add_signed(c, PID, pid);
        add(c, ADDRESS, address);
        add(c, SIZE, size);
        add(c, FROM, from);
        add(c, TO, to);
        add_signed(c, TRIGGER, trigger);
        if (behind >= 0 && (size_t)behind <= length)
            add_present(c, ERROR_CODE, error);
        break;
    case 7:
    case 8:
        if (sscanf(begin, "%x %ld -%d @%lx(%x) %c\n", &id, &nanos, &pid, &address, &node, &letter) != 6)
            return 0;
        add(c, TIME, (uint64_t)nanos);
        add_signed(c, PID, pid);
        add(c, ADDRESS, address);
        add(c, FROM, node);
        add_present(c, LETTER, (unsigned char)letter);
        break;
    case 9:
        if (sscanf(begin, "%x %ld -%d %x %d\n", &id, &nanos, &pid, &node, &trigger) != 5)
            return 0;
        add(c, TIME, (uint64_t)nanos);
        add_signed(c, PID, pid);
        add(c, FROM, node);
        add_signed(c, TRIGGER, trigger);
        break;
    case 10:
        /* Not %c: it would take the next line's first byte, and it never sees the NUL of some kernels. */
        if (sscanf(begin, "%x %ld -%d %x%n", &id, &nanos, &pid, &node, &fields) != 4)
            return 0;
        add(c, TIME, (uint64_t)nanos);
        add_signed(c, PID, pid);
        add(c, FROM, node);
        if ((size_t)fields + 1 < length)
            add_present(c, LETTER, (unsigned char)begin[fields + 1]);
        break;
    case 11:
        if (sscanf(begin, "%x %ld -%d @%lx(%lx) %x %d\n", &id, &nanos, &pid, &address, &size, &node, &trigger) != 7)
            return 0;
        add(c, TIME, (uint64_t)nanos);
        add_signed(c, PID, pid);
        add(c, ADDRESS, address);
        add(c, SIZE, size);
        add(c, FROM, node);
        add_signed(c, TRIGGER, trigger);
        break;
    case 12:
    case 13:
        if (sscanf(begin, "%x %x%n", &id, &pid_x, &fields) != 2)
            return 0;
        add(c, PID, pid_x);
        add_text(c, begin + fields + 1, length - (size_t)fields - 1);
        break;
    default:
        return 0;
    }
    end_line(c);
    return 1;
}

/* `text[length]` is a NUL. Returns how many bytes of whole lines were read; fewer than all if one was not understood. */
size_t kfd_smi_sscanf(const char *text, size_t length, struct checksum *c)
{
    const char *begin = text, *end = text + length, *newline;

    while ((newline = memchr(begin, '\n', (size_t)(end - begin))) != NULL) {
        if (!line(c, begin, (size_t)(newline - begin)))
            break;
        begin = newline + 1;
    }
    return (size_t)(begin - text);
}
