// SPDX-License-Identifier: Apache-2.0
#include "tools/convert/copy_records.h"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>
#include <forebay/pipeline.h>
#include <forebay/plugins.h>
#include <forebay/records.h>

#include "columns/crc32c.h"

namespace forebay::tools {
namespace {

constexpr std::chrono::milliseconds between_questions{50};
constexpr std::int64_t batch_bytes = 4 << 20;
constexpr std::int64_t max_batch = 4096;

/// Numbers and order of records, as far as a checksum of 32 bits for each tells them apart.
class RecordsDigest {
 public:
  void add(std::string_view record) {
    const auto checksum = std::uint64_t{columns::crc32c(std::as_bytes(std::span{record}))};
    value_ = (value_ ^ (checksum | std::uint64_t{record.size()} << 32)) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
    ++records_;
  }
  bool operator==(const RecordsDigest&) const = default;

 private:
  std::uint64_t value_ = 0;
  std::int64_t records_ = 0;
};

Result<Loader> loader_of(const RecordRange& range, const ConvertRecordsOptions& options, std::int64_t memory) {
  Pipeline pipeline = from(TfRecord{.files = {range.files},
                                    .compression = options.input_compression,
                                    .max_decompressed_bytes = std::int64_t{1} << 40})
                          .decode(RecordBytes{});
  if (options.shuffle) pipeline.then(Shuffle{.global = true}).seed(options.seed);
  if (range.first > 0) pipeline.then(Skip{.count = range.first});
  const std::int64_t size =
      std::clamp(batch_bytes / std::max<std::int64_t>(range.bytes_each, 1), std::int64_t{1}, max_batch);
  return pipeline.then(Take{.count = range.records})
      .then(FixedBatch{.size = size})
      .load({.threads = 1, .memory = memory});
}

Result<void> cancelled() { return Error{Code::cancelled, "interrupted"}; }

Result<RecordsDigest> write_all(Loader& loader, RecordWriter& writer, const CopyWatch& watch) {
  RecordsDigest digest;
  while (true) {
    bool timed_out = false;
    FOREBAY_TRY(const auto batch, loader.next_within(between_questions, timed_out));
    if (!watch(batch ? batch->rows() : 0)) FOREBAY_DO(cancelled());
    if (timed_out) continue;
    if (!batch) return digest;
    const Tensor& records = batch->tensor("record");
    for (std::int64_t row = 0; row < batch->rows(); ++row) {
      const std::string_view record = records.string(row);
      digest.add(record);
      FOREBAY_DO(writer.write(std::as_bytes(std::span{record})));
    }
  }
}

/// Reads a file that was written. A difference is a fault of the disk, the memory or this program.
Result<void> compare_file(const std::string& path, Compression compression, const RecordsDigest& written,
                          const CopyWatch& watch) {
  RecordsDigest found;
  const auto add = [&found](const RecordView& record) { return found.add(record.bytes), true; };
  FOREBAY_DO(each_record(path, add, {.compression = compression, .go_on = [&watch] { return watch(0); }}));
  if (found == written) return {};
  return Error{Code::io, Detail::data_loss, "the file that was written reads back as something else"};
}

}  // namespace

Result<void> copy_records(const RecordRange& range, const std::string& path, const ConvertRecordsOptions& options,
                          std::int64_t memory, const CopyWatch& watch) {
  FOREBAY_TRY(RecordWriter writer, RecordWriter::create(path, options.compression));
  RecordsDigest written;
  if (range.records > 0) {
    FOREBAY_TRY(Loader loader, loader_of(range, options, memory));
    FOREBAY_TRY(written, write_all(loader, writer, watch));
  }
  return writer.finish([&](const std::string& unnamed) -> Result<void> {
    const auto same = compare_file(unnamed, options.compression, written, watch);
    return same.ok() ? same : same.error().at(Place{.file = path});
  });
}

}  // namespace forebay::tools
