// SPDX-License-Identifier: Apache-2.0
// The functions of FileReader that open its file.
#include "engine/read/file_reader.h"
#include "sources/detect.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::size_t plain_head = std::size_t{16} << 20;
constexpr std::int64_t own_requests = 8;  // of a file that is read apart from a run
constexpr std::chrono::milliseconds a_little{20};

}  // namespace

bool FileReader::must_settle() {
  if (opened_ || stores::file_system_of(source_.files[number_]) != nullptr) return false;
  if (!local_) {
    auto file = io::File::open(source_.files[number_]);
    if (!file.ok()) return false;
    local_ = *std::move(file);
  }
  return local_->settles_in().count() > 0;
}

/// Asks for the version of the file, then for its first bytes. False: they have not come.
Result<bool> FileReader::open_requested(FileSystem& system) {
  const std::string& path = source_.files[number_];
  if (!requests_) {
    requests_ = std::make_shared<Requests>(pool_, own_requests);
    needed_ = true;
  }
  if (!version_) version_ = requests_->find(system, path);
  if (!version_->ready()) return false;
  if (!requested_) {
    if (version_->error() && versions_ != nullptr) versions_->failed(number_);
    if (version_->error()) return *version_->error();
    if (versions_ != nullptr) FOREBAY_DO(versions_->opened(number_, version_->version()));
    requested_.emplace(requests_, std::make_shared<const RequestTarget>(RequestTarget{.system = &system,
                                                                                      .path = path,
                                                                                      .version = version_->version(),
                                                                                      .file = number_,
                                                                                      .keeping = Keeping::in_order}));
    if (needed_) requested_->need();
    file_ = &*requested_;
  }
  if (!requested_->ready(0)) requested_->advance(0);
  return requested_->ready(0);
}

Result<void> FileReader::seek(std::int64_t record, const std::shared_ptr<const RecordIndex>& index) {
  if (stores::file_system_of(source_.files[number_]) == nullptr) return skip_to(*index, record);
  start_ = {.index = index, .record = record};
  return {};
}

Result<void> FileReader::open_and_wait() {
  need();
  while (true) {
    pool_->look();
    FOREBAY_DO(open());
    if (opened_) return {};
    wait_a_little();
  }
}

bool FileReader::ready() const {
  if (!version_ || content_) return true;
  if (!requested_) return version_->ready();
  if (inflater_ && !inflater_->hungry()) return true;
  return requested_->ready(next_read()) || requested_->may_ask();
}

void FileReader::need() {
  needed_ = true;
  if (requested_) requested_->need();
}

void FileReader::wait_a_little() const {
  const auto until = std::chrono::steady_clock::now() + a_little;
  if (requested_) {
    requested_->wait(next_read(), until);
  } else if (version_) {
    requests_->wait(*version_, until);
  }
}

/// Opens the file, waits until every later write gives it another identity, and checks its version.
Result<void> FileReader::settle() {
  const bool opened_before = local_.has_value();  // by `must_settle`, so it may have changed
  if (!local_) {
    auto file = io::File::open(source_.files[number_]);
    if (!file.ok() && versions_ != nullptr) versions_->failed(number_);
    FOREBAY_TRY(local_, std::move(file));
  }
  file_ = &*local_;
  FOREBAY_DO(engine::settle(*local_, opened_before));
  return versions_ != nullptr ? versions_->opened(number_, file_->identity()) : Result<void>{};
}

Result<void> FileReader::open() {
  if (FileSystem* const system = stores::file_system_of(source_.files[number_])) {
    FOREBAY_TRY(const bool there, open_requested(*system));
    if (!there) return {};
  } else {
    FOREBAY_DO(settle());
  }
  FOREBAY_TRY(compression_, sources::compression_of(*file_, source_.compression, *source_.format));
  if (compression_ != Compression::none) {
    const bool keep = !finder_ && point_interval_ == 0;
    if (keep) content_ = pass_cache_.content(number_, *file_);
    if (!content_) FOREBAY_DO(open_compressed());
    if (keep && !content_ && pass_cache_.room() > 0) found_.emplace();
  }
  if (local_ && compression_ == Compression::none && !MappedFile::too_many()) {
    auto mapped = pass_cache_.map(number_, *local_);
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

/// gzip files of text may be filled up with zeros, as tape writers do. Records with checksums say themselves whether
/// zeros may follow them.
io::Inflater::Trailing FileReader::trailing() const {
  const std::byte zero{0};
  const bool text = compression_ == Compression::gzip && !source_.format->has_checksums();
  const bool zeros = text || source_.format->padding({&zero, 1}) == 1;
  return zeros ? io::Inflater::Trailing::zeros : io::Inflater::Trailing::nothing;
}

/// Decompresses the whole file to compare its checksums, unless an earlier pass has done so, and begins anew. Streams
/// before one that is corrupt are intact, and are delivered; so is, where corrupt records are skipped, what a file has
/// that ends inside a stream.
Result<void> FileReader::verify_compressed() {
  if (versions_ != nullptr && versions_->is_verified(number_)) return {};
  std::vector<std::byte> unused(std::size_t{512} << 10);
  while (!inflater_->ended()) {
    pool_->look();
    if (requested_) requested_->advance(next_read());
    const auto got = inflater_->read(*file_, unused);
    if (!got.ok() && got.error().code() != Code::data) return got.error();
    if (!got.ok()) {
      if (source_.verify_first || !inflater_->cut()) unverified_ = {inflater_->verified(), got.error()};
      break;
    }
    if (*got == 0 && !inflater_->ended() && !ready()) wait_a_little();
  }
  if (!unverified_ && versions_ != nullptr) versions_->verified(number_);
  FOREBAY_TRY(inflater_, io::Inflater::make(compression_, trailing()));
  inflater_->limit(source_.max_decompressed_bytes);
  if (requested_) requested_->go_to(0);
  return {};
}

Result<void> FileReader::open_compressed() {
  FOREBAY_TRY(inflater_, io::Inflater::make(compression_, trailing()));
  inflater_->limit(source_.max_decompressed_bytes);
  if (point_interval_ > 0) inflater_->collect(point_interval_);
  // Where corrupt records are skipped, a run that goes on must not have delivered them; the checksums of records tell.
  const bool wanted = source_.verify_first || (finder_ && !source_.format->has_checksums());
  if (wanted && point_interval_ == 0 && compression_ != Compression::bzip2) FOREBAY_DO(verify_compressed());
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
