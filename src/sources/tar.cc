// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/tar.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>

#include <forebay/messages.h>

#include "base/tar_members.h"
#include "sources/detect.h"
#include "sources/framing.h"
#include "sources/source_files.h"

namespace forebay::sources {
namespace {

constexpr std::size_t keys_remembered = 65'536;

/// The keys of the last records of a file, as hashes.
class LastKeys {
 public:
  /// Adds a key. False: it is one of the last ones.
  bool add(std::string_view key) {
    const std::size_t hash = std::hash<std::string_view>{}(key);
    if (!known_.insert(hash).second) return false;
    if (ring_.size() < keys_remembered) {
      ring_.push_back(hash);
      return true;
    }
    known_.erase(ring_[next_]);
    ring_[next_] = hash;
    next_ = (next_ + 1) % keys_remembered;
    return true;
  }

 private:
  std::unordered_set<std::size_t> known_;
  std::vector<std::size_t> ring_;
  std::size_t next_ = 0;
};

class TarFormat final : public Format {
 public:
  explicit TarFormat(const Tar& options) : max_{static_cast<std::size_t>(options.max_record_bytes)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    limit = std::min(limit, std::size_t{max_record_bytes});
    std::size_t at = 0;
    while (at < limit && at < bytes.size()) {
      const Run run = next_run(bytes, at);
      if (!run.fault.empty()) return fault(run, offset, bytes);
      if (run.wanted > 0 && !last) return Scanned{.consumed = run.begin, .wanted = run.wanted - run.begin};
      if (run.wanted > 0 && run.torn) return torn(run, offset, bytes);
      if (run.end > run.begin)
        records.push_back({static_cast<std::uint32_t>(run.begin), static_cast<std::uint32_t>(run.end - run.begin)});
      at = run.wanted > 0 ? bytes.size() : run.next;  // the file may end here
    }
    return Scanned{.consumed = std::min(at, bytes.size()), .wanted = at < limit && !last ? tar_block : 0};
  }

  Result<void> verify(std::span<const Record>) const override { return {}; }  // members have no checksums

  [[nodiscard]] bool compares() const override { return true; }
  Result<void> compare(Record record, std::shared_ptr<void>& kept) const override {
    if (!kept) kept = std::make_shared<LastKeys>();
    std::string scratch;
    const TarStep first = tar_member_at(record, 0, scratch);
    if (static_cast<LastKeys*>(kept.get())->add(first.member.key)) return {};
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the key {} comes again after another one; the members of a record must follow one "
                             "another: sort the archive by name",
                             quote(first.member.key))};
  }

 private:
  struct Run {
    std::size_t begin = 0;   ///< Of its first header, or of the place that was reached without one.
    std::size_t end = 0;     ///< After the bytes of its last member; `begin`: no member.
    std::size_t next = 0;    ///< Where the next run begins.
    std::size_t wanted = 0;  ///< Not 0: bytes that must be there to go on.
    bool torn = false;       ///< With `wanted`: the file may not end here.
    std::size_t fault_at = 0;
    std::string fault = {};
  };

  /// The members with one key from `at` on.
  [[nodiscard]] Run next_run(std::span<const std::byte> bytes, std::size_t at) const {
    Run run{.begin = at, .end = at, .next = at};
    std::string key;
    std::string scratch;
    for (bool any = false;; at = run.next) {
      if (at >= bytes.size()) return wanting(run, at + tar_block, at > bytes.size());
      const TarStep step = tar_member_at(bytes, at, scratch);
      const TarMember& member = step.member;
      if (step.what == TarStep::What::zeros) {
        run.next = at + tar_block;
        if (any) return run;
        run.begin = run.end = run.next;
        continue;
      }
      if (step.what == TarStep::What::more) return wanting(run, step.wanted, !only_zeros(bytes.subspan(at)));
      if (step.what == TarStep::What::fault) return broken(run, at, step.fault);
      if (any && member.file && member.key != key) return run;
      const std::uint64_t end = member.data + member.size;
      if (end - run.begin > max_)
        return broken(run, at,
                      fmt::format("record too large: {} bytes, max_record_bytes is {}", end - run.begin, max_));
      run.next = static_cast<std::size_t>(member.next);
      if (end > bytes.size()) return wanting(run, run.next, true);
      if (!any) run.begin = run.end = member.file ? at : run.next;
      if (!member.file) continue;
      if (!any) key = member.key;
      any = true;
      run.end = static_cast<std::size_t>(end);
      if (run.next > bytes.size()) return wanting(run, run.next, false);  // the file may end without the padding
    }
  }

  static Run wanting(Run run, std::size_t wanted, bool torn) {
    run.next = std::max(run.next, run.end);
    run.wanted = wanted;
    run.torn = torn;
    return run;
  }
  static Run broken(Run run, std::size_t at, std::string why) {
    run.fault_at = at;
    run.fault = std::move(why);
    return run;
  }
  static bool only_zeros(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; });
  }

  [[nodiscard]] static Error fault(const Run& run, std::int64_t offset, std::span<const std::byte> bytes) {
    const std::int64_t header = offset + static_cast<std::int64_t>(run.fault_at);
    const Place place{.offset = offset + static_cast<std::int64_t>(run.begin)};
    const std::string_view kind = header == 0 ? file_kind(bytes) : std::string_view{};
    if (!kind.empty())
      return {Code::data, Detail::invalid_argument, fmt::format("not a tar archive, but {}", kind), place};
    return {Code::data, Detail::data_loss, fmt::format("{} (header at byte {})", run.fault, header), place};
  }

  [[nodiscard]] static Error torn(const Run& run, std::int64_t offset, std::span<const std::byte> bytes) {
    const std::string_view kind = offset == 0 && run.begin == 0 ? file_kind(bytes) : std::string_view{};
    if (!kind.empty())
      return {Code::data, Detail::invalid_argument, fmt::format("not a tar archive, but {}", kind), Place{.offset = 0}};
    return {Code::data, Detail::data_loss,
            fmt::format("the file ends at byte {}, inside a member that goes on to byte {}", offset + std::ssize(bytes),
                        offset + static_cast<std::int64_t>(run.wanted)),
            Place{.offset = offset + static_cast<std::int64_t>(run.begin)}};
  }

  const std::size_t max_;
};

Result<Source> bind_tar(const Tar& options, const BindContext& context) {
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context));
  return Source{.files = std::move(files),
                .compression = options.compression,
                .format = std::make_shared<TarFormat>(options),
                .max_decompressed_bytes = options.max_decompressed_bytes,
                .verify_first = options.verify_first,
                .signature = fmt::format("tar max_record_bytes={}", options.max_record_bytes),
                .record_key = options.record_key};
}

}  // namespace

SourceType tar() {
  return describe<SourceType, Tar>("tar", "Reads tar archives: a record is the run of members with one key.", bind_tar)
      .required("files", &Tar::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .field("compression", &Tar::compression,
             "How whole files are compressed; auto knows all but zlib by their first bytes; zlib must be named.")
      .field("max_record_bytes", &Tar::max_record_bytes, "A longer record is an error, before memory is taken.",
             {.min = 1, .max = max_record_bytes})
      .field("max_decompressed_bytes", &Tar::max_decompressed_bytes,
             "A compressed file that holds more than this is an error, once that many bytes were decompressed.",
             {.min = 1})
      .field("verify_first", &Tar::verify_first,
             "Compares the checksums of a compressed file before its first record is delivered, in the first pass of a "
             "run.")
      .field("record_key", &Tar::record_key, record_key_doc)
      .example({.options = R"({"files": ["in.tar"]})", .in = R"([""])", .out = "[]"});
}

}  // namespace forebay::sources
