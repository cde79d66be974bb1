// SPDX-License-Identifier: Apache-2.0
// Whole runs over a corrupt file between two good ones, under each policy. The cases are all flipped bits, cuts, and
// inserted and missing bytes of files of small records and of one with larger ones, and a sample of them in a file of
// records larger than a block.
#include <algorithm>
#include <array>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"
#include "tests/io/compressed.h"
#include "tests/sources/frames.h"

namespace forebay {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using Records = std::vector<std::string>;

/// What a run delivered, how it ended, and what it counted.
struct Seen {
  Records records;
  std::string error;
  Code code = Code::internal;  // of the error
  std::int64_t skipped_records = 0, skipped_ranges = 0, skipped_files = 0;
  std::vector<std::string> first;
  bool operator==(const Seen&) const = default;
  [[nodiscard]] std::int64_t skips() const { return skipped_records + skipped_ranges + skipped_files; }
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.records.size() << " records, " << seen.skips() << " skips, error: " << seen.error;
}

/// Reads to the end and asks once more: an end stays one, and a fault stays the same.
Seen see(const Plan& plan, std::int64_t threads) {
  Seen out;
  auto pipeline = Loader::start(plan, {.threads = threads, .memory = 64 << 20});
  auto batch = pipeline->next();
  for (; batch.ok() && *batch; batch = pipeline->next())
    for (std::int64_t row = 0; row < (*batch)->rows(); ++row)
      out.records.emplace_back((*batch)->tensor("r").string(row));
  if (!batch.ok()) out.error = batch.error().text(), out.code = batch.error().code();
  const auto again = pipeline->next();
  EXPECT_EQ(again.ok(), batch.ok());
  EXPECT_FALSE(again.ok() && again->has_value()) << "more after the end";
  EXPECT_EQ(again.ok() ? "" : again.error().text(), out.error);
  const Stats stats = pipeline->stats();
  out.skipped_records = stats.skipped_records;
  out.skipped_ranges = stats.skipped_ranges;
  out.skipped_files = stats.skipped_files;
  for (const Error& error : stats.skipped) out.first.push_back(error.text());
  return out;
}

enum class Kind : std::uint8_t { flipped, cut, added, missing };

/// One corruption to a file: to a bit of the byte at `at`, or to the byte.
struct Fault {
  Kind kind;
  std::size_t at;
  std::size_t bit = 0;
  [[nodiscard]] std::string done_to(std::string bytes) const {
    if (kind == Kind::flipped) bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    if (kind == Kind::cut) bytes.resize(at);
    if (kind == Kind::added) bytes.insert(at, 1, 'x');
    if (kind == Kind::missing) bytes.erase(at, 1);
    return bytes;
  }
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  constexpr std::array names{"flipped", "cut", "added", "missing"};
  return out << names[static_cast<std::size_t>(fault.kind)] << " at " << fault.at << " bit " << fault.bit;
}

/// A golden file: its records, and how they are compressed.
struct Golden {
  std::string name;
  Records records;
  int window = 0;  // 0: plain
  [[nodiscard]] std::string bytes() const {
    const std::string framed = tests::framed(records);
    return window == 0 ? framed : tests::compress(framed, window);
  }
  /// Of the frame that the byte lies in, and where it begins.
  [[nodiscard]] std::pair<std::size_t, std::size_t> frame_at(std::size_t byte) const {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::size_t end = begin + records[i].size() + 16;
      if (byte < end) return {i, begin};
      begin = end;
    }
    return {records.size(), begin};
  }
};

// By name, so that a process that runs one test makes no file of the others.
constexpr const char* golden_files[] = {"plain", "gzip", "zlib", "kilobyte", "large"};

Golden golden_file(const std::string& name) {
  if (name == "large") return {name, {tests::some_text(400'000, 4), "small", tests::some_text(300'000, 5)}};
  if (name == "kilobyte") return {name, {tests::some_text(700, 6), "small", tests::some_text(600, 7)}};
  const int window = name == "gzip" ? tests::gzip_window : name == "zlib" ? tests::zlib_window : 0;
  return {name, {tests::some_text(30), "", tests::some_text(12, 2), "end"}, window};
}

/// Where a file may be corrupt: everywhere, or, in a large one, around its frames' edges and here and there.
std::vector<std::size_t> places(const Golden& golden, std::size_t size) {
  std::vector<std::size_t> out;
  if (size < 4096) {
    for (std::size_t at = 0; at < size; ++at) out.push_back(at);
    return out;
  }
  for (std::size_t frame = 0, begin = 0; frame < golden.records.size(); ++frame) {
    const std::size_t end = begin + golden.records[frame].size() + 16;
    for (const std::size_t at :
         {begin, begin + 2, begin + 7, begin + 9, begin + 12, (begin + end) / 2, end - 4, end - 1})
      if (out.empty() || at > out.back()) out.push_back(at);
    begin = end;
  }
  return out;
}

std::vector<Fault> faults_of(const Golden& golden, std::size_t size) {
  std::vector<Fault> out;
  for (const std::size_t at : places(golden, size)) {
    for (std::size_t bit = 0; bit < 8; bit += size < 4096 ? 1 : 5) out.push_back({Kind::flipped, at, bit});
    for (const Kind kind : {Kind::cut, Kind::added, Kind::missing}) out.push_back({kind, at});
  }
  return out;
}

class Corrupt : public ::testing::TestWithParam<const char*> {
 protected:
  static inline const Records before{"before 0", "before 1"};
  static inline const Records behind{"behind"};

  void SetUp() override {
    std::ofstream{folder_.file("a"), std::ios::binary} << tests::framed(before);
    std::ofstream{folder_.file("c"), std::ios::binary} << tests::framed(behind);
    std::ofstream{folder_.file("b"), std::ios::binary};  // planning wants it to be there
  }
  Plan plan(const std::string& policy) const {
    const Json json = testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("a") + R"(", ")" +
                                     folder_.file("b") + R"(", ")" + folder_.file("c") +
                                     R"("]}}, "decode": {"record": {"name": "r"}},
      "steps": [{"batch": {"size": 1}}], "on_corrupt": ")" +
                                     policy + "\"}");
    auto made = Plan::make(json);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return *std::move(made);
  }
  /// Runs every case; each twenty-third with several threads, too, which must make no difference.
  template <class Check>
  void for_every_fault(const std::string& policy, Check check) {
    const Plan planned = plan(policy);
    const std::string good = golden_.bytes();
    const std::vector<Fault> faults = faults_of(golden_, good.size());
    const auto stride = tests::how_much<std::size_t>(1, 5, 97);
    for (std::size_t i = 0; i < faults.size(); i += stride) {
      SCOPED_TRACE(::testing::PrintToString(faults[i]));
      std::filesystem::remove(folder_.file("b"));  // writing over it would wait for the disk
      const std::string bytes = faults[i].done_to(good);
      std::ofstream{folder_.file("b"), std::ios::binary} << bytes;
      const Seen seen = see(planned, 1);
      check(faults[i], unnoticed(faults[i], bytes == good, seen), seen);
      for (const std::int64_t threads : {3, 8}) {
        if (i % 23 != 0) break;
        ASSERT_EQ(see(planned, threads), seen) << threads << " threads";
      }
      if (HasFailure()) return;
    }
  }
  /// The records of the corrupt file that came; those of the others must be there, all of them or as far as it goes.
  Records between(const Seen& seen, bool all) const {
    EXPECT_GE(seen.records.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), seen.records.begin()));
    Records out{seen.records.begin() + 2, seen.records.end()};
    EXPECT_FALSE(all && (out.empty() || out.back() != behind[0])) << "the file behind is missing";
    if (all && !out.empty()) out.pop_back();
    return out;
  }
  Records first(std::size_t count) const {
    const Records& records = golden_.records;
    return {records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  bool plain() const { return golden_.window == 0; }
  /// Whether the corruption lies in one frame for certain: an added byte may be taken for the next one's, say.
  bool exact(const Fault& fault) const { return plain() && (fault.kind == Kind::flipped || fault.kind == Kind::cut); }
  /// What nothing can tell: a cut between two frames leaves a file that is whole, only shorter, and some bits of
  /// compressed files (times, flags, those after the last symbol) do not affect the content.
  bool unnoticed(const Fault& fault, bool same, const Seen& seen) const {
    if (same) return true;
    if (fault.kind == Kind::cut) return plain() ? golden_.frame_at(fault.at).second == fault.at : fault.at == 0;
    return !plain() && seen.error.empty() && seen.skips() == 0 && between(seen, true) == golden_.records;
  }
  void expect_prefix(const Records& got) const {
    const Records& records = golden_.records;
    ASSERT_LE(got.size(), records.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), records.begin())) << "a record that was not there";
  }

  const Golden golden_ = golden_file(GetParam());
  const Folder folder_;
};

TEST_P(Corrupt, FailDeliversWhatIsBeforeTheFaultAndThenTheFaultForEver) {
  for_every_fault("fail", [&](const Fault& fault, bool unnoticed, const Seen& seen) {
    const Records got = between(seen, unnoticed);
    EXPECT_EQ(seen.skips(), 0);
    expect_prefix(got);
    const std::size_t frame = plain() ? golden_.frame_at(fault.at).first : 0;
    EXPECT_GE(got.size(), frame);
    EXPECT_TRUE(got.size() == frame || !exact(fault));
    if (unnoticed) {
      EXPECT_EQ(seen.error, "");
      return;
    }
    EXPECT_THAT(seen.error, HasSubstr(folder_.file("b"))) << "a short run taken for a whole one";
    EXPECT_EQ(seen.code, Code::data);
  });
}

TEST_P(Corrupt, SkipRecordDeliversEveryRecordOutsideTheCorruption) {
  for_every_fault("skip_record", [&](const Fault& fault, bool unnoticed, const Seen& seen) {
    EXPECT_EQ(seen.error, "");
    const Records got = between(seen, true);
    EXPECT_EQ(seen.skips() == 0, unnoticed);
    EXPECT_EQ(seen.first.size(), static_cast<std::size_t>(seen.skips()));
    EXPECT_THAT(seen.first, ::testing::Each(HasSubstr(folder_.file("b") + ", record ")));
    const Records& records = golden_.records;
    if (!plain()) {  // the decompressor may repeat what it had before, but it makes nothing new
      for (const std::string& record : got)
        ASSERT_NE(std::find(records.begin(), records.end(), record), records.end()) << "a record that never was";
      if (fault.kind == Kind::cut) expect_prefix(got);
      return;
    }
    const auto [frame, begin] = golden_.frame_at(fault.at);
    if (fault.kind == Kind::cut) {
      EXPECT_EQ(got, first(frame));
      return;
    }
    // A byte beside its equal may belong to the next frame or to the one before.
    if (fault.kind == Kind::added && got == records) return;
    EXPECT_FALSE(fault.kind == Kind::added && fault.at == begin) << "nothing was corrupt";
    Records rest = records;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(frame));
    EXPECT_EQ(got, rest);
    EXPECT_TRUE(fault.kind != Kind::flipped || seen.skips() == 1);
  });
}

TEST_P(Corrupt, SkipFileDeliversWhatIsBeforeTheCorruptionAndAllOtherFiles) {
  for_every_fault("skip_file", [&](const Fault& fault, bool unnoticed, const Seen& seen) {
    EXPECT_EQ(seen.error, "");
    EXPECT_EQ(seen.skips(), unnoticed ? 0 : 1);
    EXPECT_EQ(seen.skipped_files, seen.skips());
    const Records got = between(seen, true);
    expect_prefix(got);
    const std::size_t frame = plain() ? golden_.frame_at(fault.at).first : 0;
    EXPECT_GE(got.size(), frame);
    EXPECT_TRUE(got.size() == frame || !exact(fault));
  });
}

INSTANTIATE_TEST_SUITE_P(Files, Corrupt, ::testing::ValuesIn(golden_files),
                         [](const auto& each) { return std::string{each.param}; });

}  // namespace
}  // namespace forebay
