// SPDX-License-Identifier: Apache-2.0
// Corrupt TFRecord files: for any bytes and any windows, the search finds the same records as a check of every byte.
#include <algorithm>
#include <cstring>
#include <ostream>

#include "columns/crc32c.h"
#include "engine/read/corruption.h"
#include "fuzz/check.h"
#include "sources/frame.h"
#include "sources/framing.h"

using forebay::Extent;
using forebay::engine::CorruptionFinder;
using forebay::engine::Skip;
using forebay::fuzz::check;
using Bytes = std::vector<std::byte>;

namespace {

constexpr std::size_t most = 3000;

struct Piece {
  char what;  // good, bad, range
  std::size_t begin, end;
  bool operator==(const Piece&) const = default;
};

void put(Bytes& out, const void* from, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(from);
  out.insert(out.end(), begin, begin + size);
}

void put_header(Bytes& out, std::uint64_t length) {
  const std::uint32_t checksum = forebay::sources::length_checksum(length);
  put(out, &length, 8);
  put(out, &checksum, 4);
}

// A fuzzer does not find right checksums, so its bytes describe what to build: frames, corrupt frames, lone headers.
Bytes make_file(std::span<const std::byte> plan) {
  Bytes file;
  while (plan.size() >= 3) {
    const auto kind = std::to_integer<unsigned>(plan[0]) % 8;
    const std::size_t number = std::to_integer<std::size_t>(plan[1]) + 256 * std::to_integer<std::size_t>(plan[2]);
    plan = plan.subspan(3);
    const std::span payload = plan.first(std::min(plan.size(), number % 64));
    if (kind < 5) {
      put_header(file, payload.size());
      put(file, payload.data(), payload.size());
      const std::uint32_t checksum = forebay::columns::masked_crc32c(payload) + (kind == 4 ? 1 : 0);
      put(file, &checksum, 4);
      plan = plan.subspan(payload.size());
    } else if (kind == 5) {
      put_header(file, number);
    } else if (kind == 6) {
      put(file, payload.data(), payload.size());
      plan = plan.subspan(payload.size());
    } else {
      file.resize(file.size() - std::min<std::size_t>(file.size(), number % 40));
    }
  }
  return file;
}

bool header_at(const Bytes& file, std::size_t at) {
  if (at > file.size() || file.size() - at < 12) return false;
  const std::uint64_t length = forebay::sources::length_at(file.data() + at);
  return forebay::sources::length_checksum(length) == forebay::sources::checksum_at(file.data() + at + 8) &&
         length <= most;
}

// The end of the whole frame at a place, whatever its payload; 0 when there is none.
std::size_t frame_end(const Bytes& file, std::size_t at) {
  if (!header_at(file, at)) return 0;
  const std::size_t end = at + 16 + forebay::sources::length_at(file.data() + at);
  return end <= file.size() ? end : 0;
}

bool good_at(const Bytes& file, std::size_t at) {
  const std::size_t end = frame_end(file, at);
  if (end == 0) return false;
  const auto payload = std::span{file}.subspan(at + 12, end - at - 16);
  return forebay::columns::mask(forebay::columns::crc32c_scalar(payload)) ==
         forebay::sources::checksum_at(file.data() + end - 4);
}

// A good frame that begins between `begin` and `end` and ends after `end`; 0 when there is none.
std::size_t straddling(const Bytes& file, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin + 1; at < end;) {
    if (!good_at(file, at)) {
      ++at;
    } else if (frame_end(file, at) > end) {
      return at;
    } else {
      at = frame_end(file, at);
    }
  }
  return 0;
}

std::vector<Piece> byte_by_byte(const Bytes& file) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < file.size();) {
    std::size_t end = frame_end(file, at);
    char what = 'r';
    if (good_at(file, at)) {
      what = 'g';
    } else if (end != 0) {
      const bool follows = end == file.size() || frame_end(file, end) != 0;
      const std::size_t next = follows ? 0 : straddling(file, at, end);
      if (next == 0) what = 'b';
      if (next != 0) end = next;
    } else if (header_at(file, at) || file.size() - at < 12) {
      end = file.size();  // cut
    } else {
      for (end = at + 1; end < file.size() && !good_at(file, end);) ++end;
    }
    pieces.push_back({what, at, end});
    at = end;
  }
  return pieces;
}

// Like FileReader: each window begins where the last one was consumed, and is as large as was requested.
std::vector<Piece> in_windows(const Bytes& file, std::size_t window, std::size_t limit) {
  static const auto format = forebay::sources::tfrecord_format({.max_record_bytes = most});
  CorruptionFinder finder{format};
  std::vector<Piece> pieces;
  std::size_t at = 0;
  for (std::size_t size = window;;) {
    size = std::min(size, file.size() - at);
    const Bytes seen = forebay::fuzz::with_slack(std::span{file}.subspan(at, size));
    std::vector<Extent> records;
    std::vector<Skip> skips;
    const auto offset = static_cast<std::int64_t>(at);
    const bool last = at + size == file.size();
    const auto found = finder.find(
        {.bytes = std::span{seen}.first(size), .offset = offset, .limit = limit, .last = last}, records, skips);
    std::size_t next = 0;
    for (std::size_t i = 0; i <= records.size(); ++i) {
      bool bad = false;
      for (; next < skips.size() && skips[next].index == i; ++next) {
        bad = skips[next].what == Skip::What::record;
        const auto begin = static_cast<std::size_t>(skips[next].offset);
        pieces.push_back({bad ? 'b' : 'r', begin, begin + static_cast<std::size_t>(skips[next].bytes)});
      }
      if (bad || i == records.size()) continue;
      const std::size_t begin = at + records[i].offset - 12;
      pieces.push_back({'g', begin, begin + records[i].length + 16});
    }
    check(next == skips.size(), "every skip has a record, or stands behind the last");
    check(found.consumed <= size, "no more is consumed than there is");
    at += found.consumed;
    if (at == file.size() && last) return pieces;
    check(found.consumed > 0 || (!last && found.wanted > size), "a window makes progress or says what it wants");
    size = std::max(window, found.wanted);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) return 0;
  const auto bytes = forebay::fuzz::bytes_of(data + 2, size - 2);
  const Bytes file = (data[0] & 1) != 0 ? Bytes{bytes.begin(), bytes.end()} : make_file(bytes);
  const std::vector<Piece> expected = byte_by_byte(file);
  check(in_windows(file, file.size(), SIZE_MAX) == expected, "all bytes at once give what every byte gives");
  check(in_windows(file, std::size_t{1} + data[0], SIZE_MAX) == expected, "so do windows of any size");
  check(in_windows(file, file.size(), data[1]) == expected, "and blocks of any size");
  std::size_t end = 0;
  for (const Piece& piece : expected) {
    check(piece.begin == end && piece.end > end, "the pieces are the whole file");
    end = piece.end;
  }
  check(end == file.size(), "to its end");
  return 0;
}
