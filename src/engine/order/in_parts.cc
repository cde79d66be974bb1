// SPDX-License-Identifier: Apache-2.0
#include "engine/order/in_parts.h"

#include <utility>

namespace forebay::engine {

namespace {

/// The records of one open part.
class PartRecords final : public Handles {
 public:
  PartRecords(Reader& records, Reader::Stream stream) : records_{records}, stream_{stream} {}
  void begin(std::int64_t) override {}
  Result<std::size_t> pull(std::span<Handle> out) override { return records_.read(stream_, out); }

 private:
  Reader& records_;
  const Reader::Stream stream_;
};

}  // namespace

Reader::Stream PartOrders::open(Handle file) {
  const Stream records = records_.open(file);
  auto chain = chain_(std::make_unique<PartRecords>(records_, records), file.block);
  chain->begin(epoch_);
  return parts_.add({.records = records, .chain = std::move(chain)});
}

/// The orders drop what they hold when they begin anew.
void PartOrders::close(Stream stream) {
  const Part part = parts_.take(stream);
  part.chain->begin(epoch_);
  records_.close(part.records);
}

}  // namespace forebay::engine
