// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <forebay/order.h>

#include "engine/blocks/numbered_table.h"

namespace forebay::engine {

/// The Reader of an interleave behind orders and windows: these act within each part, on the records of that part
/// alone.
///
///     part 0: read ─► filter ─► chunk ─┐
///     part 1: read ─► filter ─► chunk ─┼─► interleave ─► orders of all elements
///
/// Owned by InParts, and used on the thread that decides the order.
class PartOrders final : public Reader {
 public:
  /// Makes the orders of part `part` behind its records.
  using Chain = std::function<std::unique_ptr<Handles>(std::unique_ptr<Handles> records, std::uint32_t part)>;

  /// `records` gives the records of the parts, and `elements` is the reader of what the orders give; both outlive this
  /// object.
  PartOrders(Reader& records, Reader& elements, Chain chain)
      : records_{records}, elements_{elements}, chain_{std::move(chain)} {}

  void begin(std::int64_t epoch) { epoch_ = epoch; }  ///< Parts that are opened from now on belong to this pass.

  Stream open(Handle file) override;
  Result<std::size_t> read(Stream stream, std::span<Handle> out) override { return parts_[stream].chain->pull(out); }
  bool ready(Stream stream) override { return records_.ready(parts_[stream].records); }
  void close(Stream stream) override;
  std::int64_t files_ahead() const override { return records_.files_ahead(); }
  void drop(std::span<const Handle> elements) override { elements_.drop(elements); }
  void hold(std::span<const Handle> elements) override { elements_.hold(elements); }
  Result<std::shared_ptr<void>> charge(std::int64_t bytes) override { return elements_.charge(bytes); }
  /// Counts the records that all filters of the plan keep. Shards by file call it, but not in plans with windows.
  Result<std::vector<std::int64_t>> count(std::span<const Handle> files) override { return records_.count(files); }
  // Only an interleave that reads in turn stands behind orders.
  Result<std::vector<std::int64_t>> index(std::span<const Handle>) override { return in_turn(); }
  Result<void> locate(std::span<const RecordName>, std::span<Handle>) override { return in_turn(); }
  Result<bool> fetch(std::span<Handle> handles) override { return elements_.fetch(handles); }
  std::int64_t window() const override { return elements_.window(); }

 private:
  static Error in_turn() { return Error{Code::internal, "orders within parts are read in turn"}; }

  struct Part {
    Stream records = 0;
    std::unique_ptr<Handles> chain;
  };
  Reader& records_;
  Reader& elements_;
  const Chain chain_;
  std::int64_t epoch_ = 0;
  NumberedTable<Part, Stream> parts_;
};

/// An interleave behind orders that act within each part.
class InParts final : public Handles {
 public:
  using Interleave = std::function<std::unique_ptr<Handles>(Reader& parts)>;
  InParts(Reader& records, Reader& elements, PartOrders::Chain chain, const Interleave& interleave)
      : parts_{records, elements, std::move(chain)}, interleave_{interleave(parts_)} {}

  void begin(std::int64_t epoch) override {
    parts_.begin(epoch);
    interleave_->begin(epoch);
  }
  Result<std::size_t> pull(std::span<Handle> out) override { return interleave_->pull(out); }

 private:
  PartOrders parts_;
  const std::unique_ptr<Handles> interleave_;
};

}  // namespace forebay::engine
