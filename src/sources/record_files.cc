// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>

#include <forebay/records.h>

#include "io/atomic_file.h"
#include "io/deflate.h"
#include "io/file.h"
#include "io/inflate.h"
#include "sources/detect.h"
#include "sources/frame.h"
#include "sources/framing.h"

namespace forebay {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

/// Reads the uncompressed bytes of a file in order.
class Bytes {
 public:
  static Result<Bytes> open(const std::string& path, Compression compression) {
    FOREBAY_TRY(io::File file, io::File::open(path));
    if (compression == Compression::automatic) {
      std::byte head[16];
      FOREBAY_TRY(const std::size_t got, file.read(head, 0));
      compression = sources::detect_tfrecord(std::span{head}.first(got));
    }
    if (compression == Compression::none) return Bytes{std::move(file), std::nullopt};
    FOREBAY_TRY(io::Inflater inflater, io::Inflater::make(compression));
    return Bytes{std::move(file), std::move(inflater)};
  }

  /// Returns the number of bytes read; 0 at the end.
  Result<std::size_t> read(std::span<std::byte> out) {
    if (inflater_) return inflate(out);
    auto got = file_.read(out, offset_);
    if (got.ok()) offset_ += static_cast<std::int64_t>(*got);
    return got;
  }

  [[nodiscard]] const io::File& file() const { return file_; }

 private:
  Result<std::size_t> inflate(std::span<std::byte> out) {
    auto got = inflater_->read(file_, out);
    while (got.ok() && *got == 0 && !inflater_->ended()) got = inflater_->read(file_, out);
    return got;
  }

  Bytes(io::File file, std::optional<io::Inflater> inflater) : file_{std::move(file)}, inflater_{std::move(inflater)} {}
  io::File file_;
  std::optional<io::Inflater> inflater_;
  std::int64_t offset_ = 0;
};

Result<std::vector<std::string>> read_all(Bytes& bytes, const Format& format) {
  std::vector<std::string> records;
  std::vector<std::byte> window;  // bytes that are not yet part of a record
  std::vector<Extent> extents;
  std::int64_t offset = 0;  // offset of the window in the uncompressed file
  for (bool last = false; !last;) {
    // Grows with the bytes that are there, never by the length in a header.
    const std::size_t before = window.size();
    window.resize(before + std::max(piece_bytes, before));
    FOREBAY_TRY(const std::size_t got, bytes.read(std::span{window}.subspan(before)).at(Place{.offset = offset}));
    window.resize(before + got);
    last = got == 0;
    extents.clear();
    auto scanned = format.scan(window, offset, last, window.size(), extents);
    for (const Extent& extent : extents) {
      const Record record = std::span<const std::byte>{window}.subspan(extent.offset, extent.length);
      FOREBAY_DO(format.verify({&record, 1})
                     .at(Place{.record = static_cast<std::int64_t>(records.size()), .offset = offset + extent.offset}));
      records.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
    }
    if (!scanned.ok()) return scanned.error().at(Place{.record = static_cast<std::int64_t>(records.size())});
    window.erase(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(scanned->consumed));
    offset += static_cast<std::int64_t>(scanned->consumed);
  }
  return records;
}

void append(const void* bytes, std::size_t size, std::vector<std::byte>& out) {
  const std::size_t before = out.size();
  out.resize(before + size);
  if (size != 0) std::memcpy(out.data() + before, bytes, size);
}

}  // namespace

Result<std::vector<std::string>> read_records(const std::string& path, Compression compression) {
  FOREBAY_TRY(Bytes bytes, Bytes::open(path, compression));
  auto records = read_all(bytes, *sources::tfrecord_format());
  FOREBAY_DO(bytes.file().unchanged());  // first: if the file changed, a fault in it says nothing
  return std::move(records).at(Place{.file = path});
}

struct RecordWriter::State {
  io::AtomicFile file;
  std::optional<io::Deflater> deflater;
  std::vector<std::byte> framed = {};
  std::vector<std::byte> compressed = {};
};

RecordWriter::RecordWriter(std::unique_ptr<State> state) : state_{std::move(state)} {}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

Result<RecordWriter> RecordWriter::create(const std::string& path, Compression compression) {
  if (compression == Compression::automatic) {
    return Error{Code::config, Detail::invalid_argument, "compression: must be none, gzip, zlib or zstd when writing"};
  }
  std::optional<io::Deflater> deflater;
  if (compression != Compression::none) {
    FOREBAY_TRY(deflater, io::Deflater::make(compression));
  }
  FOREBAY_TRY(io::AtomicFile file, io::AtomicFile::create(path));
  return RecordWriter{std::make_unique<State>(State{std::move(file), std::move(deflater)})};
}

Result<void> RecordWriter::write(std::span<const std::byte> record) {
  auto& [file, deflater, framed, compressed] = *state_;
  const std::uint64_t length = record.size();
  const std::uint32_t header = sources::length_checksum(length);
  const std::uint32_t footer = columns::masked_crc32c(record);
  framed.clear();
  append(&length, sizeof(length), framed);
  append(&header, sizeof(header), framed);
  append(record.data(), record.size(), framed);
  append(&footer, sizeof(footer), framed);
  if (!deflater) return file.write(framed);
  compressed.clear();
  FOREBAY_DO(deflater->write(framed, compressed));
  return file.write(compressed);
}

Result<void> RecordWriter::finish() {
  auto& [file, deflater, framed, compressed] = *state_;
  if (deflater) {
    compressed.clear();
    FOREBAY_DO(deflater->finish(compressed));
    FOREBAY_DO(file.write(compressed));
  }
  return file.commit();
}

Result<void> write_records(const std::string& path, const std::vector<std::string>& records, Compression compression) {
  FOREBAY_TRY(RecordWriter writer, RecordWriter::create(path, compression));
  for (const std::string& record : records) FOREBAY_DO(writer.write(bytes_of(record)));
  return writer.finish();
}

}  // namespace forebay
