// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/read/mapped_file.h"

namespace forebay::engine {

/// One attribute of every record of a file, as narrow as its largest value allows. It is held in its stored form, in
/// memory of its own or in the mapping of a store:
///
///     count (8 bytes) │ bits of a value: 1, 8, 16, 32 or 64 (4) │ 0 (4) │ values
///
/// Values of 64 bits are signed, narrower ones are not. Immutable; any thread may read it. A mapped column has values
/// that another process may change; no value leads outside of the column.
class AttributeColumn {
 public:
  AttributeColumn() = default;
  AttributeColumn(AttributeColumn&&) = default;  // the image stays where it is
  AttributeColumn& operator=(AttributeColumn&&) = default;
  /// A column in the stored form, in the mapping `store`. Empty when the image is no column.
  [[nodiscard]] static std::optional<AttributeColumn> parse(std::shared_ptr<const MappedFile> store,
                                                            std::span<const std::byte> image);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The value of a record, which must be from 0 to size() - 1.
  [[nodiscard]] std::int64_t at(std::int64_t record) const;
  [[nodiscard]] std::span<const std::byte> image() const { return image_; }  ///< The bytes to store.
  /// Bytes of memory that counts against a budget: none for a mapped column.
  [[nodiscard]] std::int64_t owned() const { return std::ssize(own_); }
  /// Whether a read has met a page that the store no longer has: values that were read since are 0.
  [[nodiscard]] bool corrupt() const { return store_ && store_->corrupt(); }

 private:
  friend class AttributeBuilder;
  std::shared_ptr<const MappedFile> store_;  // null: `own_` has the image
  std::vector<std::byte> own_;
  std::span<const std::byte> image_;
  const std::byte* values_ = nullptr;
  std::int64_t size_ = 0;
  int bits_ = 1;
};

/// Collects the values of one attribute in the order of the records. One scan owns it, on one thread.
class AttributeBuilder {
 public:
  AttributeBuilder();
  void add(std::int64_t value);
  /// Makes the column; nothing may be added afterwards.
  [[nodiscard]] AttributeColumn finish();

 private:
  void widen(int bits);
  std::vector<std::byte> image_;
  std::int64_t size_ = 0;
  int bits_ = 1;
};

}  // namespace forebay::engine
