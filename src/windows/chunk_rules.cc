// SPDX-License-Identifier: Apache-2.0
#include "windows/chunk_rules.h"

#include <algorithm>

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
    out.whole[i] = length <= 1 && (key.step == 0 || (alike && length != lengths[lead]));
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

}  // namespace

Result<void> count_chunks(const Chunk& options, const std::vector<ChunkKey>& keys, std::size_t lead,
                          std::span<const std::int64_t> lengths, Chunks& out) {
  out.whole.assign(keys.size(), false);
  if (options.rule == ChunkRule::returnn) return count_as_returnn(keys, lead, lengths, out);
  return count_alike(options, keys, lead, lengths, out);
}

}  // namespace forebay::windows
