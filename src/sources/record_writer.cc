// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include <forebay/output_file.h>
#include <forebay/records.h>

#include "io/atomic_file.h"
#include "io/deflate.h"
#include "sources/frame.h"

namespace forebay {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

void append(const void* bytes, std::size_t size, std::vector<std::byte>& out) {
  const std::size_t before = out.size();
  out.resize(before + size);
  if (size != 0) std::memcpy(out.data() + before, bytes, size);
}

}  // namespace

struct OutputFile::State {
  io::AtomicFile file;
  std::optional<io::Deflater> deflater;
  Compression compression;
  std::vector<std::byte> compressed = {};

  /// Ends the compressed stream.
  Result<void> end_stream() {
    if (!deflater) return {};
    compressed.clear();
    FOREBAY_DO(deflater->finish(compressed));
    return file.write(compressed);
  }
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_{std::move(state)} {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<OutputFile> OutputFile::create(const std::string& path, Compression compression,
                                      std::optional<std::int64_t> level) {
  std::optional<io::Deflater> deflater;
  if (compression != Compression::none && compression != Compression::automatic) {
    FOREBAY_TRY(deflater, io::Deflater::make(compression, level));
  } else if (level) {
    return Error{Code::config, Detail::invalid_argument, "level: without a compression there is none; leave it out"};
  }
  FOREBAY_TRY(io::AtomicFile file, io::AtomicFile::create(path));
  return OutputFile{std::make_unique<State>(State{std::move(file), std::move(deflater), compression})};
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  State& to = *state_;
  if (!to.deflater) return to.file.write(bytes);
  to.compressed.clear();
  FOREBAY_DO(to.deflater->write(bytes, to.compressed));
  return to.file.write(to.compressed);
}

Result<void> OutputFile::flush() {
  if (state_->compression == Compression::zlib) {
    return Error{Code::config, Detail::invalid_argument,
                 "flush: a zlib file is one stream, which ends with the file; take gzip or zstd"};
  }
  FOREBAY_DO(state_->end_stream());
  return state_->file.publish();
}

Result<void> OutputFile::finish(const Check& check) {
  FOREBAY_DO(state_->end_stream());
  FOREBAY_DO(state_->file.flush());
  if (check) FOREBAY_DO(check(state_->file.temporary()));
  return state_->file.commit();
}

struct RecordWriter::State {
  OutputFile file;
  std::vector<std::byte> framed = {};
};

RecordWriter::RecordWriter(std::unique_ptr<State> state) : state_{std::move(state)} {}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

Result<RecordWriter> RecordWriter::create(const std::string& path, Compression compression,
                                          std::optional<std::int64_t> level) {
  if (compression == Compression::automatic) {
    return Error{Code::config, Detail::invalid_argument,
                 "compression: must be none, gzip, zlib, zstd, bzip2 or xz when writing"};
  }
  FOREBAY_TRY(OutputFile file, OutputFile::create(path, compression, level));
  return RecordWriter{std::make_unique<State>(State{std::move(file)})};
}

Result<void> RecordWriter::write(std::span<const std::byte> record) {
  auto& [file, framed] = *state_;
  const std::uint64_t length = record.size();
  const std::uint32_t header = sources::length_checksum(length);
  const std::uint32_t footer = columns::masked_crc32c(record);
  framed.clear();
  append(&length, sizeof(length), framed);
  append(&header, sizeof(header), framed);
  append(record.data(), record.size(), framed);
  append(&footer, sizeof(footer), framed);
  return file.write(framed);
}

Result<void> RecordWriter::flush() { return state_->file.flush(); }

Result<void> RecordWriter::finish() { return state_->file.finish(); }

Result<void> RecordWriter::finish(const std::function<Result<void>(const std::string& path)>& check) {
  return state_->file.finish(check);
}

Result<void> write_records(const std::string& path, const std::vector<std::string>& records, Compression compression) {
  FOREBAY_TRY(RecordWriter writer, RecordWriter::create(path, compression));
  for (const std::string& record : records) FOREBAY_DO(writer.write(bytes_of(record)));
  return writer.finish();
}

}  // namespace forebay
