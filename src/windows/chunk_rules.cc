// SPDX-License-Identifier: Apache-2.0
#include "windows/chunk_rules.h"

#include <algorithm>

#include "base/draw.h"

namespace forebay::windows {

namespace {

Error bad_lengths(const std::string& message) { return {Code::data, Detail::invalid_argument, message}; }

std::string length_text(const ChunkKey& key, std::int64_t length) {
  return "'" + key.name + "' has the length " + std::to_string(length);
}

/// The number of chunks that begin before the end.
std::int64_t starts_of(const ChunkKey& key, std::int64_t length) {
  return length == 0 ? 0 : (length - 1) / key.step + 1;
}

/// The number of chunks with at least `min_size` frames.
std::int64_t long_chunks(const ChunkKey& key, std::int64_t length) {
  if (key.min_size > key.size || length < key.min_size) return 0;
  if (key.min_size == 0) return starts_of(key, length);
  return (length - key.min_size) / key.step + 1;
}

/// The number of chunks with a frame that the chunk before does not have.
std::int64_t uncovered_chunks(const ChunkKey& key, std::int64_t length) {
  if (length <= key.size) return std::min<std::int64_t>(length, 1);
  return std::min(starts_of(key, length), (length - key.size - 1) / key.step + 2);
}

std::int64_t chunks_of(const Chunk& options, const ChunkKey& key, std::int64_t length) {
  std::int64_t count = long_chunks(key, length);
  if (!options.drop_short && options.rule == ChunkRule::forebay)
    count = std::max(count, std::min<std::int64_t>(length, 1));
  return options.drop_covered_tail ? std::min(count, uncovered_chunks(key, length)) : count;
}

Error count_error(const ChunkKey& a, std::int64_t length_a, std::int64_t count_a, const ChunkKey& b,
                  std::int64_t length_b, std::int64_t count_b) {
  return bad_lengths(length_text(a, length_a) + " and " + std::to_string(count_a) + " chunks, " +
                     length_text(b, length_b) + " and " + std::to_string(count_b) +
                     " chunks; a chunk needs frames of every key");
}

/// Rules `forebay` and `returnn_pipe`: every key that is not whole has the same number of chunks.
Result<void> count_alike(const Chunk& options, const std::vector<ChunkKey>& keys, std::size_t lead,
                         std::span<const std::int64_t> lengths, Chunks& out) {
  const bool pipe = options.rule == ChunkRule::returnn_pipe;
  for (std::size_t i = 0; !pipe && i < keys.size() && lengths[lead] <= 1 && !keys[lead].step_stated; ++i) {
    if (keys[i].step > 0 && lengths[i] > 1) lead = i;  // the key of length 0 or 1 is given whole
  }
  const ChunkKey& leader = keys[lead];
  out.count = chunks_of(options, leader, lengths[lead]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ChunkKey& key = keys[i];
    const bool short_key = lengths[i] <= 1 && lengths[lead] > 1 && !key.step_stated;
    out.whole[i] = !pipe && i != lead && (key.step == 0 || short_key);
    if (out.whole[i] || i == lead) continue;
    if (!pipe && key.step == leader.step && key.size == leader.size && lengths[i] != lengths[lead])
      return bad_lengths(length_text(leader, lengths[lead]) + ", " + length_text(key, lengths[i]) +
                         "; keys with the same chunk size and step have the same length");
    const std::int64_t count = chunks_of(options, key, lengths[i]);
    if (count != out.count) return count_error(leader, lengths[lead], out.count, key, lengths[i], count);
  }
  return {};
}

/// Rule `returnn`: the number of chunks that RETURNN compares before it cuts.
std::int64_t compared_chunks(const ChunkKey& key, std::int64_t length) {
  const std::int64_t rest = length - (key.min_size == 0 ? 1 : key.min_size);
  return (rest >= 0 ? rest / key.step : -((key.step - 1 - rest) / key.step)) + 1;  // rounded down
}

/// Rule `returnn`: the first chunk always, further ones as long as every key has more than `min_size` frames left.
Result<void> count_as_returnn(const std::vector<ChunkKey>& keys, std::size_t lead,
                              std::span<const std::int64_t> lengths, Chunks& out) {
  const ChunkKey& leader = keys[lead];
  out.count = lengths[lead] == 0 ? 0 : starts_of(leader, lengths[lead]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ChunkKey& key = keys[i];
    const std::int64_t length = lengths[i];
    const bool alike = key.step == leader.step;
    out.whole[i] = length <= 1 && !(alike && length == lengths[lead]);
    if (!out.whole[i] && alike && length != lengths[lead])
      return bad_lengths(length_text(leader, lengths[lead]) + ", " + length_text(key, length) +
                         "; keys with the same chunk step have the same length");
    if (!out.whole[i] && key.step == 0)
      return bad_lengths(length_text(key, length) + " and the chunk step 0, which is for lengths of at most 1");
    if (!out.whole[i] && !alike && compared_chunks(key, length) != compared_chunks(leader, lengths[lead]))
      return count_error(leader, lengths[lead], compared_chunks(leader, lengths[lead]), key, length,
                         compared_chunks(key, length));
    std::int64_t more = 0;  // chunks after the first one
    if (length > key.min_size) more = key.step == 0 ? out.count : (length - key.min_size - 1) / key.step;
    out.count = std::min(out.count, more + 1);
  }
  return {};
}

/// At least 1, and frames * factor / 2^32 rounded down: in integers, so that every machine has the same chunks.
std::int64_t shortened(std::int64_t frames, std::uint64_t factor) {
  const UInt128 product = static_cast<UInt128>(static_cast<std::uint64_t>(frames)) * factor;
  return std::max<std::int64_t>(static_cast<std::int64_t>(product >> 32), 1);
}

}  // namespace

void vary(const std::vector<ChunkKey>& keys, double variance, std::uint64_t bits, std::vector<ChunkKey>& out) {
  constexpr std::uint64_t one = std::uint64_t{1} << 32;
  const auto most = static_cast<std::uint64_t>(variance * static_cast<double>(one));
  const std::uint64_t factor = one - (((bits >> 32) * most) >> 32);
  out = keys;
  const ChunkKey* smallest = nullptr;
  for (const ChunkKey& key : keys) {
    if (key.step > 0 && (smallest == nullptr || key.step < smallest->step)) smallest = &key;
  }
  if (smallest == nullptr) return;
  const std::int64_t size = shortened(smallest->size, factor);
  const std::int64_t step = shortened(smallest->step, factor);
  for (ChunkKey& key : out) {
    const bool multiple = key.size % smallest->size == 0 && key.step % smallest->step == 0;
    key.size = multiple ? size * (key.size / smallest->size) : shortened(key.size, factor);
    if (key.step > 0) key.step = multiple ? step * (key.step / smallest->step) : shortened(key.step, factor);
  }
}

Result<void> count_chunks(const Chunk& options, const std::vector<ChunkKey>& keys, std::size_t lead,
                          std::span<const std::int64_t> lengths, Chunks& out) {
  out.whole.assign(keys.size(), false);
  if (options.rule == ChunkRule::returnn) return count_as_returnn(keys, lead, lengths, out);
  return count_alike(options, keys, lead, lengths, out);
}

}  // namespace forebay::windows
