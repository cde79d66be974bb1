// SPDX-License-Identifier: Apache-2.0
// The functions of FileReader that open its file.
#include "engine/read/file_reader.h"
#include "sources/detect.h"

namespace forebay::engine {

namespace {

constexpr std::size_t plain_head = std::size_t{16} << 20;

}  // namespace

bool FileReader::must_settle() {
  if (opened_) return false;
  if (!file_) {
    auto file = io::File::open(source_.files[number_]);
    if (!file.ok()) return false;
    file_ = *std::move(file);
  }
  return file_->settles_in().count() > 0;
}

/// Opens the file, waits until every later write gives it another identity, and checks its version.
Result<void> FileReader::settle() {
  const bool opened_before = file_.has_value();  // by `must_settle`, so it may have changed
  if (!file_) {
    auto file = io::File::open(source_.files[number_]);
    if (!file.ok() && versions_ != nullptr) versions_->failed(number_);
    FOREBAY_TRY(file_, std::move(file));
  }
  FOREBAY_DO(engine::settle(*file_, opened_before));
  return versions_ != nullptr ? versions_->opened(number_, file_->identity()) : Result<void>{};
}

Result<void> FileReader::open() {
  FOREBAY_DO(settle());
  FOREBAY_TRY(compression_, sources::compression_of(*file_, source_.compression, *source_.format));
  if (compression_ != Compression::none) {
    const bool keep = !finder_ && point_interval_ == 0;
    if (keep) content_ = pass_cache_.content(number_, *file_);
    if (!content_) FOREBAY_DO(open_compressed());
    if (keep && !content_ && pass_cache_.room() > 0) found_.emplace();
  }
  if (compression_ == Compression::none && !MappedFile::too_many()) {
    auto mapped = pass_cache_.map(number_, *file_);
    mapping_ = std::move(mapped.file);
    if (mapping_ && versions_ != nullptr) versions_->mapped(number_);
    kept_ = mapped.kept;
    fresh_ = mapped.fresh;
    if (!finder_) frames_ = std::move(mapped.frames);
    if (!finder_ && kept_ && !frames_ && pass_cache_.room() > 0) collected_.emplace();
  }
  opened_ = true;
  return {};
}

io::Inflater::Trailing FileReader::trailing() const {
  const std::byte zero{0};
  return source_.format->padding({&zero, 1}) == 1 ? io::Inflater::Trailing::zeros : io::Inflater::Trailing::nothing;
}

Result<void> FileReader::open_compressed() {
  FOREBAY_TRY(inflater_, io::Inflater::make(compression_, trailing()));
  inflater_->limit(source_.max_decompressed_bytes);
  if (point_interval_ > 0) inflater_->collect(point_interval_);
  if (!finder_ || source_.compression != Compression::automatic || !source_.format->has_checksums()) return {};
  // Corrupt first bytes of a plain file may look like those of a compressed one. So the first byte is decompressed; if
  // that fails and an intact record is found in the first 16 MiB, the file is plain.
  carry_.resize(1);
  auto inflated = inflater_->read(*file_, carry_);
  carry_.resize(inflated.ok() ? *inflated : 0);
  if (inflated.ok()) return {};
  if (inflated.error().code() != Code::data) return inflated.error();
  std::vector<std::byte> head(plain_head);
  FOREBAY_TRY(const std::size_t size, file_->read(head, 0));
  std::shared_ptr<void> unused;
  if (!source_.format->resync(std::span{head}.first(size), 0, 1, true, unused).found) return {};
  inflater_.reset();
  compression_ = Compression::none;
  return {};
}

}  // namespace forebay::engine
