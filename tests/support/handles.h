// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include <forebay/plugin.h>

/// Handles without files, for tests of orders and batchers.
namespace forebay::testing {

/// Returns element n as a handle; `block` distinguishes elements.
[[nodiscard]] inline Handle handle(std::uint32_t n) { return {.block = n}; }

/// An upstream with the same elements in every pass. `pull` returns at most `most` at a time and never fails.
class Numbers final : public Handles {
 public:
  explicit Numbers(std::vector<std::uint32_t> numbers, std::size_t most = 1000)
      : numbers_{std::move(numbers)}, most_{most} {}
  void begin(std::int64_t) override { next_ = 0; }
  Result<std::size_t> pull(std::span<Handle> out) override {
    const std::size_t count = std::min({out.size(), most_, numbers_.size() - next_});
    for (std::size_t i = 0; i < count; ++i) out[i] = handle(numbers_[next_ + i]);
    next_ += count;
    return count;
  }
  [[nodiscard]] std::size_t given() const { return next_; }  ///< In this pass.

 private:
  const std::vector<std::uint32_t> numbers_;
  const std::size_t most_;
  std::size_t next_ = 0;
};

/// A reader of files that are lists of numbers. Counts the dropped records and the open files.
class NumberFiles : public Reader {
 public:
  explicit NumberFiles(std::vector<std::vector<std::uint32_t>> files) : files_{std::move(files)} {}
  Stream open(Handle file) override {
    open_[next_] = {file.block, 0};
    return next_++;
  }
  Result<std::size_t> read(Stream stream, std::span<Handle> out) override {
    auto& [file, at] = open_.at(stream);
    const std::size_t count = std::min(out.size(), files_[file].size() - at);
    for (std::size_t i = 0; i < count; ++i) out[i] = handle(files_[file][at + i]);
    at += count;
    return count;
  }
  Result<std::int64_t> skip(Stream stream, std::int64_t n) override {
    auto& [file, at] = open_.at(stream);
    const std::size_t count = std::min(static_cast<std::size_t>(n), files_[file].size() - at);
    at += count;
    passed += count;
    return static_cast<std::int64_t>(count);
  }
  bool ready(Stream) override { return true; }
  void close(Stream stream) override { open_.erase(stream); }
  void drop(std::span<const Handle> records) override { dropped += records.size(); }
  void hold(std::span<const Handle> records) override { held += records.size(); }
  std::int64_t files_ahead() const override { return 2; }
  Result<std::vector<std::int64_t>> index(std::span<const Handle> files) override {
    std::vector<std::int64_t> counts;
    for (const Handle& file : files) counts.push_back(static_cast<std::int64_t>(files_[file.block].size()));
    return counts;
  }
  Result<std::vector<std::int64_t>> count(std::span<const Handle> files) override { return index(files); }
  Result<void> locate(std::span<const RecordName> names, std::span<Handle> out) override {
    for (std::size_t i = 0; i < names.size(); ++i)
      out[i] = handle(files_[names[i].file][static_cast<std::size_t>(names[i].record)]);
    return {};
  }
  Result<bool> fetch(std::span<Handle>) override { return true; }
  std::int64_t window() const override { return 5; }
  [[nodiscard]] std::size_t open_files() const { return open_.size(); }

  std::size_t dropped = 0;
  std::size_t held = 0;
  std::size_t passed = 0;  ///< By `skip`.

 private:
  const std::vector<std::vector<std::uint32_t>> files_;
  std::map<Stream, std::pair<std::uint32_t, std::size_t>> open_;
  Stream next_ = 0;
};

/// Returns the rest of a pass, pulled `chunk` elements at a time.
[[nodiscard]] inline std::vector<std::uint32_t> drain(Handles& handles, std::size_t chunk = 7) {
  std::vector<std::uint32_t> out;
  std::vector<Handle> pulled(chunk);
  while (true) {
    const auto count = handles.pull(pulled);
    if (!count.ok() || *count == 0) return out;
    for (std::size_t i = 0; i < *count; ++i) out.push_back(pulled[i].block);
  }
}

/// Returns 0, 1, … n - 1.
[[nodiscard]] inline std::vector<std::uint32_t> first(std::uint32_t n) {
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

/// Makes an order of this type over `upstream`.
[[nodiscard]] inline std::unique_ptr<Handles> make_order(const OrderType& type, const Json& options,
                                                         std::unique_ptr<Handles> upstream, Reader* reader = nullptr,
                                                         std::uint64_t seed = 1) {
  auto ordering = type.bind(options);
  return ordering.ok() ? ordering->make({.seed = seed, .purpose = 1, .upstream = std::move(upstream), .reader = reader})
                       : nullptr;
}

}  // namespace forebay::testing
