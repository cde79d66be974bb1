// SPDX-License-Identifier: Apache-2.0
#include "decoders/value_list.h"

#include <cstring>
#include <type_traits>

#include "columns/packed.h"

namespace forebay::decoders {
namespace {

using columns::Tag;
using columns::tag_of;
using columns::Wire;
using columns::WireType;

constexpr Tag bytes_tag = tag_of(1, WireType::bytes);
constexpr std::size_t run_at_once = std::size_t{1} << 20;     // bytes
constexpr std::size_t values_at_once = std::size_t{1} << 20;  // values that have an entry each

bool append_piece(Wire run, std::vector<std::int64_t>& out) {
  const auto& kernels = columns::packed();
  const std::size_t old = out.size();
  const std::size_t count = kernels.count(run.at, run.size());
  out.resize(old + count);
  return kernels.decode(run.at, run.size(), out.data() + old, count);
}

bool append_piece(Wire run, std::vector<float>& out) {
  if (run.size() % sizeof(float) != 0) return false;
  const std::size_t old = out.size();
  out.resize(old + run.size() / sizeof(float));
  if (!run.empty()) std::memcpy(out.data() + old, run.at, run.size());
  return true;
}

void make_room(Wire run, std::vector<std::int64_t>& out) {
  out.reserve(out.size() + columns::packed().count(run.at, run.size()));
}

void make_room(Wire run, std::vector<float>& out) { out.reserve(out.size() + run.size() / sizeof(float)); }

template <class T>
Wire first_values(Wire run) {
  return std::is_same_v<T, float> ? Wire{run.at, run.at + run_at_once} : first_varints(run, run_at_once);
}

template <class T>
bool append_run(Wire run, std::vector<T>& out, const StopCheck* check) {
  if (run.size() > run_at_once) make_room(run, out);
  while (run.size() > run_at_once) {
    StopCheck::look(check);
    const Wire piece = first_values<T>(run);
    if (piece.empty() || !append_piece(piece, out)) return false;
    run.at = piece.end;
  }
  return append_piece(run, out);
}

bool append_one(Wire& list, std::vector<std::int64_t>& out) {
  std::uint64_t value;
  if (!columns::read_varint(list, value)) return false;
  out.push_back(static_cast<std::int64_t>(value));
  return true;
}

bool append_one(Wire& list, std::vector<float>& out) {
  if (list.size() < sizeof(float)) return false;
  float value;
  std::memcpy(&value, list.at, sizeof(value));
  list.at += sizeof(value);
  out.push_back(value);
  return true;
}

/// Appends the values of all pieces. `single` is the tag of one unpacked value. False: the list is malformed. Polls
/// `check` during long lists.
template <class T>
bool read_list(std::span<const Wire> pieces, Tag single, std::vector<T>& out, const StopCheck* check) {
  for (Wire list : pieces) {
    while (!list.empty()) {
      Tag tag;
      if (!columns::read_tag(list, tag)) return false;
      bool good;
      Wire run;
      if (tag == bytes_tag)
        good = columns::read_bytes(list, run) && append_run(run, out, check);
      else if (tag == single)
        good = append_one(list, out);
      else
        good = columns::skip_field(list, tag);
      if (!good) return false;
      if (out.size() % values_at_once == 0) StopCheck::look(check);
    }
  }
  return true;
}

}  // namespace

Wire first_varints(Wire run, std::size_t most) {
  if (run.size() <= most) return run;
  Wire piece{run.at, run.at + most};
  while (!piece.empty() && piece.end[-1] >= 0x80) --piece.end;
  return piece;
}

bool read_ints(std::span<const Wire> list, std::vector<std::int64_t>& out, const StopCheck* check) {
  return read_list(list, tag_of(1, WireType::varint), out, check);
}

bool read_floats(std::span<const Wire> list, std::vector<float>& out, const StopCheck* check) {
  return read_list(list, tag_of(1, WireType::fixed32), out, check);
}

bool read_strings(std::span<const Wire> list, std::vector<Wire>& out, const StopCheck* check) {
  for (Wire piece : list) {
    while (!piece.empty()) {
      Tag tag;
      Wire value;
      if (!columns::read_tag(piece, tag)) return false;
      if (tag != bytes_tag) {
        if (!columns::skip_field(piece, tag)) return false;
      } else {
        if (!columns::read_bytes(piece, value)) return false;
        out.push_back(value);
        if (out.size() % values_at_once == 0) StopCheck::look(check);
      }
    }
  }
  return true;
}

}  // namespace forebay::decoders
