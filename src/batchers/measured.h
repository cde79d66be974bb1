// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <forebay/batcher.h>
#include <forebay/field_types.h>

#include "batchers/sequence_counter.h"

namespace forebay::batchers {

/// The columns whose lengths a batcher looks at.
struct LengthKeys {
  std::vector<ColumnId> columns;
  std::vector<std::string> names;
};

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// a * b and a + b of numbers that are not negative; the largest integer when that is too small.
[[nodiscard]] inline std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? no_limit : out;
}
[[nodiscard]] inline std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? no_limit : out;
}

/// The numbers of draws of batchers. Those of steps are lower.
enum BatcherDraw : std::uint64_t {
  seq_drop_draw = std::uint64_t{1} << 62,
  weight_draw,
  random_bucket_draw,
  bucket_draw
};

/// The name of a tensor as an expression quotes it.
[[nodiscard]] std::string quoted_name(const std::string& name);

/// Finds the columns of `names`, or all visible ones whose first size is unknown. Fails when there is none, or when a
/// column has no first axis. `option` is the one that holds the names.
[[nodiscard]] Result<LengthKeys> find_length_keys(const std::vector<TensorName>& names, const Schema& in,
                                                  const std::string& option);

/// The attributes length(key), in the order of the keys.
[[nodiscard]] std::vector<Attribute> length_attributes(const LengthKeys& keys, const std::string& option);

/// The elements of a stream, one after the other, with their lengths.
///
///     in.pull (at most 16) ─► Reader::attributes, once for each key ─► element ─► drop │ take
///
/// A batcher owns it. It pulls only when it holds no element, so all that it holds is of the pass that was pulled last.
class Measured {
 public:
  /// `counts`: the sequences are counted.
  Measured(BatcherContext context, std::size_t keys, bool counts)
      : context_{std::move(context)}, keys_{keys}, counts_{counts}, lengths_(keys), counter_{context_} {}

  /// Makes sure that there is an element; false: the stream has ended. Fails like `in.pull`, and with Code::data when
  /// an endless stream gave no element that was taken in 16 passes. The caller may repeat the call.
  [[nodiscard]] Result<bool> ready(Handles& in, const BatchRows& out);
  [[nodiscard]] std::int64_t length(std::size_t key) const { return lengths_[key][next_]; }
  /// An attribute after those of the keys: a real number.
  [[nodiscard]] double real(std::size_t attribute) const { return std::bit_cast<double>(lengths_[attribute][next_]); }
  /// The pass of the element.
  [[nodiscard]] std::int64_t pass() const { return pass_; }
  /// The number of its sequence in the pass, if the sequences are counted.
  [[nodiscard]] std::int64_t sequence() const { return sequence_; }
  /// At the end of the stream, what a batcher returns that holds nothing.
  [[nodiscard]] Cut end(BatchRows& out) const {
    out.end_pass(counter_.sequences(out.pass()));
    return Cut::end_of_pass;
  }
  /// 64 uniform bits that belong to the element and its pass. `purpose` numbers the decision.
  [[nodiscard]] std::uint64_t draw(std::uint64_t purpose) const;
  /// An error with the place of the element.
  [[nodiscard]] Error fault(const Error& error) const { return context_.at(ahead_[next_], error); }
  /// Gives the element to the caller and goes on with the next one.
  Handle take() {
    taken_ = true;
    counted_ = false;
    return ahead_[next_++];
  }
  /// Releases the element: no batch uses it.
  void drop() {
    counted_ = false;
    context_.reader.drop({&ahead_[next_++], 1});
  }
  /// Releases the element: another shard uses it.
  void drop_dealt() {
    taken_ = true;
    drop();
  }
  /// Releases elements that the caller took.
  void drop(std::span<const Handle> elements) { context_.reader.drop(elements); }

 private:
  static constexpr std::size_t at_once = 16;  // few: records of compressed files stay in memory meanwhile
  static constexpr int max_idle_passes = 16;  // more than one: files may change from pass to pass
  [[nodiscard]] Result<void> refill(Handles& in, const BatchRows& out);

  const BatcherContext context_;
  const std::size_t keys_;
  const bool counts_;
  std::array<Handle, at_once> ahead_;
  std::vector<std::array<std::int64_t, at_once>> lengths_;  // by key
  std::size_t next_ = 0, filled_ = 0;
  std::size_t measured_ = 0;  // keys whose lengths are known
  std::int64_t pass_ = 0;
  bool taken_ = true;    // an element of the present pass
  int idle_passes_ = 0;  // consecutive passes of which no element was taken
  SequenceCounter counter_;
  std::int64_t sequence_ = -1;
  bool counted_ = false;  // `sequence_` is that of the element
};

}  // namespace forebay::batchers
