// SPDX-License-Identifier: Apache-2.0
#include <forebay/column.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace forebay {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_from = std::size_t{32} << 20;  // from this size on the heap maps memory of its own for it

}  // namespace

Storage::Storage(Storage&& other) noexcept { *this = std::move(other); }

Storage& Storage::operator=(Storage&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  std::swap(reserved_, other.reserved_);
  std::swap(bound_, other.bound_);
  return *this;
}

Storage::~Storage() {
  if (!bound_) std::free(data_);
}

void Storage::bind(std::byte* memory, std::size_t capacity) {
  if (!bound_) std::free(data_);
  data_ = memory;
  size_ = 0;
  capacity_ = reserved_ = capacity;
  bound_ = true;
}

void Storage::grow(std::size_t size) {
  if (bound_) throw std::bad_alloc{};  // a kernel wrote more rows than it was given
  if (size > reserved_) reserve(size);
  if (reserved_ < huge_from) {
    capacity_ = reserved_;
    return;
  }
  // The slow part is that the system provides pages. It happens here, step by step, before one long copy needs them.
  while (capacity_ < size) {
    StopCheck::look(check_);
    const std::size_t end = std::min(reserved_, capacity_ + StopCheck::interval);
    for (; capacity_ < end; capacity_ += std::min(page, end - capacity_)) data_[capacity_] = std::byte{0};
  }
}

void Storage::reserve(std::size_t size) {
  const std::size_t reserved = std::max(size, reserved_ * 2);
  if (reserved < size || reserved > SIZE_MAX - slack) throw std::bad_alloc{};
  void* const grown = std::realloc(data_, reserved + slack);
  if (grown == nullptr) throw std::bad_alloc{};
  data_ = static_cast<std::byte*>(grown);
  reserved_ = reserved;
  if (reserved < huge_from) return;
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(data_) % page;
  madvise(data_ + skipped, reserved - skipped, MADV_HUGEPAGE);
}

Column::Column(const ColumnSpec& spec) : dtype{spec.dtype}, shape{spec.shape} {
  for (const ColumnSpec& part : spec.parts) parts.emplace_back(part);
  clear();
}

std::int64_t Column::elements() const { return fixed() ? rows * shape.count() : row_splits.as<std::int64_t>()[rows]; }

std::size_t Column::row_bytes() const { return static_cast<std::size_t>(shape.count()) * size_of(dtype); }

Shape Column::row_shape(std::int64_t row) const {
  std::vector<std::int64_t> sizes = shape.dims();
  const auto unknown = static_cast<std::int64_t>(shape.unknown());
  const std::int64_t* next = dims.as<std::int64_t>() + row * unknown;
  for (std::int64_t& size : sizes) {
    if (size == unknown_dim) size = *next++;
  }
  return Shape{std::move(sizes)};
}

std::span<const std::byte> Column::string(std::int64_t element) const {
  const std::int64_t* splits = byte_splits.as<std::int64_t>() + element;
  return {bytes.data() + splits[0], static_cast<std::size_t>(splits[1] - splits[0])};
}

void Column::clear() {
  rows = 0;
  values.clear();
  row_splits.clear();
  dims.clear();
  byte_splits.clear();
  bytes.clear();
  if (!fixed()) row_splits.push<std::int64_t>(0);
  if (dtype == DType::string) byte_splits.push<std::int64_t>(0);
  for (Column& part : parts) part.clear();
}

void Column::set_rows(std::int64_t count) {
  rows = count;
  values.resize(static_cast<std::size_t>(count) * row_bytes());
}

void Column::end_row(std::span<const std::int64_t> unknown_sizes) {
  std::int64_t count = shape.count();
  for (const std::int64_t size : unknown_sizes) {
    count *= size;
    dims.push(size);
  }
  row_splits.push(row_splits.as<std::int64_t>()[rows] + count);
  ++rows;
}

void Column::ask(const StopCheck* check) {
  for (Storage* storage : {&values, &row_splits, &dims, &byte_splits, &bytes}) storage->ask(check);
  for (Column& part : parts) part.ask(check);
}

void Column::push_string(std::span<const std::byte> value) {
  if (!value.empty()) std::memcpy(bytes.extend(value.size()), value.data(), value.size());
  byte_splits.push(static_cast<std::int64_t>(bytes.size()));
}

}  // namespace forebay
