// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "io/inflate.h"

namespace forebay::io {

/// The output of an inflater, and how it ended.
struct Inflated {
  std::string bytes;  ///< Before the end or the fault.
  std::string fault;  ///< Empty: a clean end.
  bool operator==(const Inflated&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Inflated& inflated) {
  return out << inflated.bytes.size() << " bytes, fault: " << inflated.fault;
}

/// Reads the rest of the inflater in pieces. Expects that a fault has Code::data and repeats.
inline Inflated rest_of(Inflater& inflater, const File& file, std::size_t piece = 1 << 18) {
  constexpr std::size_t endless = std::size_t{1} << 28;
  Inflated out;
  std::string buffer(piece, '\0');
  const auto read = [&] { return inflater.read(file, std::as_writable_bytes(std::span{buffer})); };
  while (out.bytes.size() <= endless) {
    const auto got = read();
    if (!got.ok()) {
      EXPECT_EQ(got.error().code(), Code::data);
      EXPECT_EQ(got.error().detail(), Detail::data_loss);
      EXPECT_EQ(read().error().text(), got.error().text());
      out.fault = got.error().message();
      return out;
    }
    if (*got == 0) return out;
    out.bytes.append(buffer, 0, *got);
  }
  return {"", "it does not end"};
}

/// gzip and zlib, and the window that makes zlib write them.
struct Packing {
  const char* name;
  Compression compression;
  int window;
};
inline std::ostream& operator<<(std::ostream& out, const Packing& compression) { return out << compression.name; }
inline constexpr Packing packings[] = {{"gzip", Compression::gzip, 15 + 16}, {"zlib", Compression::zlib, 15}};

}  // namespace forebay::io
