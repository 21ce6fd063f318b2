// What C++ has for numbers in text since C++17: std::from_chars, over one pointer that moves on.
#include <charconv>
#include <cstring>
#include <system_error>

extern "C" {
#include "checksum.h"
}

namespace {

struct cursor {
    const char *at;
    const char *end;
    bool ok = true;

    template <typename T>
    T number(int base)
    {
        T value{};
        const auto result = std::from_chars(at, end, value, base);
        ok = ok && result.ec == std::errc{};
        at = result.ptr;
        return value;
    }

    void literal(char byte)
    {
        ok = ok && at != end && *at == byte;
        at += at != end;
    }

    char letter()
    {
        ok = ok && at != end;
        return ok ? *at++ : '\0';
    }
};

void time_and_pid(cursor &in, checksum &sum)
{
    add(&sum, TIME, static_cast<uint64_t>(in.number<int64_t>(10)));
    in.literal(' ');
    in.literal('-');
    add_signed(&sum, PID, in.number<int32_t>(10));
    in.literal(' ');
}

void range(cursor &in, checksum &sum)
{
    in.literal('@');
    add(&sum, ADDRESS, in.number<uint64_t>(16));
    in.literal('(');
    add(&sum, SIZE, in.number<uint64_t>(16));
    in.literal(')');
    in.literal(' ');
}

void route(cursor &in, checksum &sum)
{
    add(&sum, FROM, in.number<uint32_t>(16));
    in.literal('-');
    in.literal('>');
    add(&sum, TO, in.number<uint32_t>(16));
    in.literal(' ');
}

void trigger(cursor &in, checksum &sum)
{
    add_signed(&sum, TRIGGER, in.number<int32_t>(10));
}

void text(cursor &in, checksum &sum)
{
    const auto *newline = static_cast<const char *>(std::memchr(in.at, '\n', static_cast<size_t>(in.end - in.at)));
    in.ok = in.ok && newline != nullptr;
    if (in.ok) {
        add_text(&sum, in.at, static_cast<size_t>(newline - in.at));
        in.at = newline;
    }
}

bool next_is(const cursor &in, char byte)
{
    return in.at != in.end && *in.at == byte;
}

bool line(cursor &in, checksum &sum)
{
    const auto id = in.number<uint32_t>(16);
    add(&sum, ID, id);
    in.literal(' ');
    switch (id) {
    case 1:
        add(&sum, PID, in.number<uint32_t>(16));
        in.literal(':');
        text(in, sum);
        break;
    case 2:
        add(&sum, ADDRESS, in.number<uint64_t>(16));
        in.literal(':');
        add(&sum, SIZE, in.number<uint64_t>(16));
        break;
    case 3:
    case 4:
        add(&sum, FROM, in.number<uint32_t>(16));
        if (next_is(in, ' ')) {
            in.literal(' ');
            text(in, sum);
        }
        break;
    case 5:
        time_and_pid(in, sum);
        range(in, sum);
        route(in, sum);
        add(&sum, PREFETCH, in.number<uint32_t>(16));
        in.literal(':');
        add(&sum, PREFERRED, in.number<uint32_t>(16));
        in.literal(' ');
        trigger(in, sum);
        break;
    case 6:
        time_and_pid(in, sum);
        range(in, sum);
        route(in, sum);
        trigger(in, sum);
        if (next_is(in, ' ')) {
            in.literal(' ');
            add_present(&sum, ERROR_CODE, in.number<int32_t>(10));
        }
        break;
    case 7:
    case 8:
        time_and_pid(in, sum);
        in.literal('@');
        add(&sum, ADDRESS, in.number<uint64_t>(16));
        in.literal('(');
        add(&sum, FROM, in.number<uint32_t>(16));
        in.literal(')');
        in.literal(' ');
        add_present(&sum, LETTER, static_cast<unsigned char>(in.letter()));
        break;
    case 9:
        time_and_pid(in, sum);
        add(&sum, FROM, in.number<uint32_t>(16));
        in.literal(' ');
        trigger(in, sum);
        break;
    case 10:
        time_and_pid(in, sum);
        add(&sum, FROM, in.number<uint32_t>(16));
        if (next_is(in, ' ')) {
            in.literal(' ');
            add_present(&sum, LETTER, static_cast<unsigned char>(in.letter()));
        }
        break;
    case 11:
        time_and_pid(in, sum);
        range(in, sum);
        add(&sum, FROM, in.number<uint32_t>(16));
        in.literal(' ');
        trigger(in, sum);
        break;
    case 12:
    case 13:
        add(&sum, PID, in.number<uint32_t>(16));
        in.literal(' ');
        text(in, sum);
        break;
    default:
        return false;
    }
    in.literal('\n');
    end_line(&sum);
    return in.ok;
}

} // namespace

// Returns how many bytes of whole lines were read; fewer than all if one was not understood.
extern "C" size_t kfd_smi_from_chars(const char *text, size_t length, checksum *c)
{
    cursor in{text, text + length};
    // A copy, so that the sum can stay in a register.
    checksum sum = *c;
    while (in.at != in.end && line(in, sum)) {
    }
    *c = sum;
    return in.ok ? static_cast<size_t>(in.at - text) : 0;
}
