// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The members of tar archives, for the source that finds records and for the decoder that takes them apart: the
/// formats v7 and ustar, the long names of GNU tar, and pax headers. Names are bytes, never paths.
namespace forebay {

inline constexpr std::size_t tar_block = 512;  ///< Headers and the bytes of members begin at multiples of so many.

struct TarMember {
  /// A regular file. Others are passed over: folders, links and devices, which have no bytes, and the files `._name` in
  /// which macOS keeps attributes of the member `name`.
  bool file = false;
  std::string_view name;   ///< Points into the bytes, or into `scratch`.
  std::size_t data = 0;    ///< Where its bytes begin.
  std::uint64_t size = 0;  ///< Their number, below 2^62. They may go on after the bytes that are there.
  std::uint64_t next = 0;  ///< Where the next header begins.
  /// The key of the record that the member belongs to: its name up to the first dot after the last slash. A name
  /// without such a dot, or with nothing before it, is a key of its own.
  std::string_view key;
  std::string_view extension;  ///< What follows that dot; empty: the member has none.
};

/// The result of reading a header.
struct TarStep {
  enum class What : std::uint8_t {
    member,  ///< A header with the long names and pax headers before it.
    zeros,   ///< `at` is a block of zeros: the end of the archive, or padding.
    more,    ///< The header goes on after the bytes that are there, up to `wanted` at least.
    fault,   ///< No header: `fault` says why.
  };
  What what = What::member;
  TarMember member = {};
  std::size_t wanted = 0;
  std::string fault = {};
};

/// Reads the header at `at`, a multiple of the block size. `scratch` keeps a name that is put together.
[[nodiscard]] TarStep tar_member_at(std::span<const std::byte> bytes, std::size_t at, std::string& scratch);

}  // namespace forebay
