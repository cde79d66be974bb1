// SPDX-License-Identifier: Apache-2.0
// Windows that a batcher packs into rows, from the document to the tensors, against plain loops.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <forebay/forebay.h>

#include "tests/engine/order/pack_batcher.h"
#include "tests/engine/order/stream_files.h"
#include "tests/pipeline/tensors_json.h"

namespace forebay {
namespace {

using PackFrames = std::vector<std::int64_t>;
using PackLines = std::vector<std::string>;

constexpr std::int64_t pack_frames = 10, pack_batch_rows = 2;

/// A window as the test cuts it: its frames, 0 where it is padding, and where each frame is from.
struct PackWindow {
  PackFrames x, record, frame;
  std::int64_t number = 0;
};

/// Frame f of record r is 1000 (r + 1) + f; `y` has 500000 more.
std::int64_t frame_value(std::int64_t record, std::int64_t frame) { return 1000 * (record + 1) + frame; }

void add_pack_frames(std::int64_t record, std::int64_t first, std::int64_t end, PackWindow& out) {
  for (std::int64_t frame = first; frame < end; ++frame) {
    out.x.push_back(frame_value(record, frame));
    out.record.push_back(record);
    out.frame.push_back(frame);
  }
}

/// A row of a batch, as the packing batcher fills it.
struct PackRow {
  PackFrames x, segments, positions, starts;
  std::int64_t id = 0, number = -1, start = -1;
};

/// Rows of ten frames, filled with one window after the other; the last batch ends with an empty row.
std::vector<std::vector<PackRow>> pack_rows(const std::vector<PackWindow>& windows) {
  std::vector<std::vector<PackRow>> out;
  for (const PackWindow& window : windows) {
    for (std::size_t from = 0; from < window.x.size();) {
      if (out.empty() || std::ssize(out.back().back().x) == pack_frames) {
        if (out.empty() || std::ssize(out.back()) == pack_batch_rows) out.emplace_back();
        out.back().push_back(
            {.starts = {0}, .id = window.record[from], .number = window.number, .start = window.frame[from]});
      }
      PackRow& row = out.back().back();
      const auto segment = std::ssize(row.starts);
      for (std::int64_t place = 0; from < window.x.size() && std::ssize(row.x) < pack_frames; ++from, ++place) {
        row.x.push_back(window.x[from]);
        row.segments.push_back(segment);
        row.positions.push_back(place);
      }
      row.starts.push_back(std::ssize(row.x));
    }
  }
  if (!out.empty()) out.back().push_back({.starts = {0}});
  return out;
}

/// The rows of one tensor as JSON text, padded with 0.
template <class Get>
std::string padded_text(const std::vector<PackRow>& rows, Get get) {
  std::size_t longest = 0;
  for (const PackRow& row : rows) longest = std::max(longest, get(row).size());
  PackLines lines;
  for (const PackRow& row : rows) {
    PackFrames frames = get(row);
    frames.resize(longest);
    lines.push_back(fmt::format("[{}]", fmt::join(frames, ",")));
  }
  return fmt::format("[{}]", fmt::join(lines, ","));
}

PackLines pack_batches(const std::vector<PackWindow>& windows) {
  PackLines out;
  for (const auto& rows : pack_rows(windows)) {
    PackFrames id, number, start;
    for (const PackRow& row : rows) {
      id.push_back(row.id);
      number.push_back(row.number);
      start.push_back(row.start);
    }
    out.push_back(fmt::format("x {} segments {} positions {} starts {} id [{}] number [{}] start [{}]",
                              padded_text(rows, [](const PackRow& row) { return row.x; }),
                              padded_text(rows, [](const PackRow& row) { return row.segments; }),
                              padded_text(rows, [](const PackRow& row) { return row.positions; }),
                              padded_text(rows, [](const PackRow& row) { return row.starts; }), fmt::join(id, ","),
                              fmt::join(number, ","), fmt::join(start, ",")));
  }
  return out;
}

std::string pack_line(const Batch& batch) {
  PackLines out;
  for (const char* name : {"x", "segments", "positions", "starts", "id", "number", "start"})
    out.push_back(fmt::format("{} {}", name, testing::to_json(*batch.find(name)).text()));
  return fmt::format("{}", fmt::join(out, " "));
}

PackLines pack_lines(Loader& loader) {
  PackLines out;
  for (const Batch& batch : loader.batches()) out.push_back(pack_line(batch));
  if (!loader.status().ok()) out.push_back(loader.status().error().text());
  return out;
}

std::string proto_field(int number, const std::string& payload) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  std::size_t size = payload.size();
  for (; size > 127; size >>= 7) out += static_cast<char>((size & 127) | 128);
  return out + static_cast<char>(size) + payload;
}

/// A list of scalars; the values have two or three bytes as varints.
std::string frame_list(const std::string& name, const PackFrames& frames) {
  std::string steps;
  for (const std::int64_t frame : frames) {
    std::string value;
    auto rest = static_cast<std::uint64_t>(frame);
    for (; rest > 127; rest >>= 7) value += static_cast<char>((rest & 127) | 128);
    steps += proto_field(1, proto_field(3, proto_field(1, value + static_cast<char>(rest))));
  }
  return proto_field(2, proto_field(1, proto_field(1, name) + proto_field(2, steps)));
}

const std::string pack_step = R"({"test_pack": {"key": "x", "with": ["y"], "frames": 10, "rows": 2,
                                              "segment_ids": "segments", "positions": "positions",
                                              "cu_seqlens": "starts"}})";

/// Sequences of the same content as arrays, all of `fixed` frames, and as SequenceExample records of any lengths.
class PackedWindows : public ::testing::Test {
 protected:
  PackedWindows() { testing::register_pack(); }

  void write(const PackFrames& lengths) {
    lengths_ = lengths;
    std::vector<std::string> messages;
    for (std::int64_t r = 0; r < std::ssize(lengths); ++r) {
      PackWindow all;
      add_pack_frames(r, 0, lengths[static_cast<std::size_t>(r)], all);
      PackFrames y = all.x;
      for (std::int64_t& value : y) value += 500000;
      messages.push_back(encode_example({{"id", PackFrames{r}}}) + frame_list("x", all.x) + frame_list("y", y));
    }
    ASSERT_TRUE(write_records(folder_.file("part-0"), messages).ok());
  }

  [[nodiscard]] Json document(const std::string& steps, const std::string& more = "") const {
    return testing::parse(R"({"source": {"tfrecord": {"files": [")" + folder_.file("part-*") + R"("]}},
      "decode": {"sequence_example": {"context": {"id": {"dtype": "int64", "shape": []}},
                                      "lists": {"x": {"kind": "fixed_len_sequence", "dtype": "int64"},
                                                "y": {"kind": "fixed_len_sequence", "dtype": "int64"}}}},
      "steps": [)" + steps +
                          ", " + pack_step + "]" + more + "}");
  }

  /// Checks the batches for 1 and 8 threads, at every restart, and dealt to three shards.
  static void check(const Json& json, const PackLines& expected, const Bindings& bindings = {}) {
    for (const std::int64_t threads : {1, 8}) {
      auto loader = load(json, {.threads = threads}, ".", bindings);
      ASSERT_TRUE(loader.ok()) << loader.error().text();
      ASSERT_EQ(pack_lines(*loader), expected) << threads;
    }
    auto whole = load(json, {}, ".", bindings);
    for (std::size_t at = 0; at <= expected.size(); ++at) {
      auto again = load(json, {.threads = 2}, ".", bindings);
      ASSERT_TRUE(again->restore(*whole->state()).ok());
      ASSERT_EQ(pack_lines(*again), PackLines(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()))
          << at;
      ASSERT_TRUE(whole->next().ok());
    }
  }

  /// The chunks of each record.
  [[nodiscard]] std::vector<PackWindow> chunks(std::int64_t size, std::int64_t step) const {
    std::vector<PackWindow> out;
    for (std::int64_t r = 0; r < std::ssize(lengths_); ++r) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(r)];
      for (std::int64_t at = 0; at < length; at += step) {
        out.push_back({.number = at / step});
        add_pack_frames(r, at, std::min(at + size, length), out.back());
      }
    }
    return out;
  }

  testing::Folder folder_;
  PackFrames lengths_;
};

const PackFrames pack_lengths{4, 0, 13, 1, 25, 6, 3, 3, 9, 2, 17};

TEST_F(PackedWindows, ChunksFillRowsAndGoOnInTheNextOne) {
  write(pack_lengths);
  check(document(R"({"chunk": {"keys": ["x", "y"], "size": 7, "step": 5, "number": "number", "start": "start"}})"),
        pack_batches(chunks(7, 5)));
}

TEST_F(PackedWindows, ContinuousWindowsThatCrossRecordsAreOneSegmentEach) {
  write(pack_lengths);
  PackWindow all;
  for (std::size_t r = 0; r < pack_lengths.size(); ++r) add_pack_frames(std::int64_t(r), 0, pack_lengths[r], all);
  std::vector<PackWindow> windows;
  for (std::int64_t at = 0; at + 8 <= std::ssize(all.x); at += 3) {
    windows.push_back({.number = at / 3});
    for (std::size_t i = static_cast<std::size_t>(at); i < static_cast<std::size_t>(at + 8); ++i)
      add_pack_frames(all.record[i], all.frame[i], all.frame[i] + 1, windows.back());
  }
  check(document(R"({"continuous": {"keys": ["x", "y"], "min_window": 8, "max_window": 8, "stride": 3,
                                    "number": "number", "start": "start"}})"),
        pack_batches(windows));
}

TEST_F(PackedWindows, OfWholeRecordsAreOneSegmentEach) {
  write(pack_lengths);
  std::vector<PackWindow> windows{{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
  for (std::size_t r = 0; r < 10; ++r) add_pack_frames(std::int64_t(r), 0, pack_lengths[r], windows[r / 2]);
  check(document(R"({"discrete": {"min_window": 2, "max_window": 2, "number": "number", "start": "start"}})"),
        pack_batches(windows));
}

TEST_F(PackedWindows, OfArraysAreTakenWhereTheArraysLie) {
  lengths_.assign(9, 7);
  PackFrames x, y, id(9);
  std::iota(id.begin(), id.end(), 0);
  for (std::int64_t r = 0; r < 9; ++r) {
    for (std::int64_t f = 0; f < 7; ++f) {
      x.push_back(frame_value(r, f));
      y.push_back(frame_value(r, f) + 500000);
    }
  }
  const Bindings bindings{{"in", *array_rows({{.name = "x", .dtype = DType::int64, .shape = {9, 7}, .data = x.data()},
                                              {.name = "y", .dtype = DType::int64, .shape = {9, 7}, .data = y.data()},
                                              {.name = "id", .dtype = DType::int64, .shape = {9}, .data = id.data()}},
                                             nullptr)}};
  const auto document = [](const std::string& steps) {
    return testing::parse(R"({"source": {"arrays": {"bind": "in"}}, "steps": [)" + steps + ", " + pack_step + "]}");
  };
  check(document(R"({"chunk": {"keys": ["x", "y"], "size": 3, "step": 2, "number": "number", "start": "start"}})"),
        pack_batches(chunks(3, 2)), bindings);
  std::vector<PackWindow> windows;
  for (std::int64_t at = 0; at + 5 <= 63; at += 5) {
    windows.push_back({.number = at / 5});
    for (std::int64_t i = at; i < at + 5; ++i) add_pack_frames(i / 7, i % 7, i % 7 + 1, windows.back());
  }
  check(document(R"({"continuous": {"keys": ["x", "y"], "min_window": 5, "max_window": 5, "number": "number",
                                    "start": "start"}})"),
        pack_batches(windows), bindings);
}

TEST_F(PackedWindows, AreRestoredAtEveryBatchOfShuffledPasses) {
  write(pack_lengths);
  for (const char* const boundary : {"straddle", "hard"}) {
    const std::string more = fmt::format(R"(, "epochs": 3, "seed": 4, "epoch_boundary": "{}")", boundary);
    const Json json = document(R"({"shuffle": {"buffer": 4}}, {"chunk": {"keys": ["x", "y"], "size": 7, "step": 5,
                                   "number": "number", "start": "start"}}, {"filter": {"where": "number != 1"}},
                                  {"shuffle": {"buffer": 6}})",
                               more);
    auto loader = load(json, {.threads = 2});
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    const PackLines all = pack_lines(*loader);
    EXPECT_GT(all.size(), 10U) << all.back();
    check(json, all);
  }
}

TEST_F(PackedWindows, LargeRowsAreSharedByThreads) {
  constexpr std::int64_t records = 40, frames = 10000, row = 125000;
  PackFrames x(static_cast<std::size_t>(records * frames));
  std::iota(x.begin(), x.end(), 1);
  const Bindings bindings{
      {"in",
       *array_rows({{.name = "x", .dtype = DType::int64, .shape = {records, frames}, .data = x.data()}}, nullptr)}};
  const Json json = testing::parse(
      R"({"source": {"arrays": {"bind": "in"}}, "steps": [{"chunk": {"keys": ["x"], "size": 3000}},
          {"test_pack": {"key": "x", "frames": 125000, "rows": 2, "segment_ids": "segments"}}]})");
  for (const std::int64_t threads : {1, 8}) {
    auto loader = load(json, {.threads = threads}, ".", bindings);
    ASSERT_TRUE(loader.ok()) << loader.error().text();
    PackFrames got;
    std::int64_t segments = 0;
    for (const Batch& batch : loader->batches()) {
      const auto values = batch.tensor("x").as<std::int64_t>();
      const auto ids = batch.tensor("segments").as<std::int32_t>();
      ASSERT_EQ(values.size(), ids.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (ids[i] != 0) got.push_back(values[i]);
        if (ids[i] != 0 && (i % row == 0 || ids[i] != ids[i - 1])) ++segments;
      }
    }
    EXPECT_EQ(got, x) << threads;
    EXPECT_EQ(segments, 40 * 4 + 2) << "two rows end inside a window";
  }
}

/// The rows of all batches, one text for each tensor and row.
PackLines tensor_rows(Loader& loader, const std::string& tensor) {
  PackLines out;
  for (const Batch& batch : loader.batches()) {
    const Json rows = testing::to_json(*batch.find(tensor));
    for (const Json& row : rows.items()) out.push_back(row.text());
    out.emplace_back("--");
  }
  if (!loader.status().ok()) out.push_back(loader.status().error().text());
  return out;
}

TEST_F(PackedWindows, KeepTheirPadding) {
  write({4, 3});
  auto loader =
      load(document(R"({"chunk": {"keys": ["x", "y"], "size": 4}}, {"context": {"window": {"x": 3, "y": 3}}})"));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  EXPECT_EQ(tensor_rows(*loader, "x"), (PackLines{"[0,1000,1001,1002,1003,0,0,2000,2001,2002]", "[0,0,0,0,0,0,0,0,0,0]",
                                                  "[0,0,0,0,0,0,0,0,0,0]", "--"}));
  auto again =
      load(document(R"({"chunk": {"keys": ["x", "y"], "size": 4}}, {"context": {"window": {"x": 3, "y": 3}}})"));
  EXPECT_EQ(tensor_rows(*again, "segments"),
            (PackLines{"[1,1,1,1,1,1,2,2,2,2]", "[1,0,0,0,0,0,0,0,0,0]", "[0,0,0,0,0,0,0,0,0,0]", "--"}));
}

TEST_F(PackedWindows, AreDealtToShards) {
  write(pack_lengths);
  const Json json = document(R"({"chunk": {"keys": ["x", "y"], "size": 7, "step": 5}})");
  for (const char* tensor : {"y", "segments"}) {
    auto whole = load(json);
    const PackLines expected = tensor_rows(*whole, tensor);
    std::vector<PackLines> shards;
    for (std::int64_t index = 0; index < 2; ++index) {
      auto loader = load(json, {.shard_index = index, .shard_count = 2});
      ASSERT_TRUE(loader.ok()) << loader.error().text();
      shards.push_back(tensor_rows(*loader, tensor));
    }
    PackLines together;
    for (std::size_t a = 0, b = 0; a < shards[0].size() && b < shards[1].size(); ++a, ++b) {
      for (; shards[0][a] != "--"; ++a) together.push_back(shards[0][a]);
      for (; shards[1][b] != "--"; ++b) together.push_back(shards[1][b]);
      together.emplace_back("--");
    }
    EXPECT_EQ(together, expected);
  }
}

TEST_F(PackedWindows, SpansNameTheirWindows) {
  write({5, 9});
  auto loader = load(document(R"({"chunk": {"keys": ["x", "y"], "size": 4}})"));
  const auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch);
  PackLines spans;
  for (std::int64_t row = 0; row < 2; ++row) {
    for (const BatchSpan& span : (*batch)->spans(row))
      spans.push_back(fmt::format("{}: record {} window {} from {} + {} at {}", row, span.origin.record,
                                  span.origin.window, span.origin.start, span.length, span.at));
  }
  EXPECT_EQ(spans, (PackLines{"0: record 0 window 0 from 0 + 4 at 0", "0: record 0 window 1 from 4 + 1 at 4",
                              "0: record 1 window 0 from 0 + 4 at 5", "0: record 1 window 1 from 4 + 1 at 9",
                              "1: record 1 window 1 from 5 + 3 at 0", "1: record 1 window 2 from 8 + 1 at 3"}));
}

TEST_F(PackedWindows, FaultsSayWhatIsAllowed) {
  write({3});
  const auto fault = [&](const std::string& steps) {
    const auto loader = load(document(steps));
    return loader.ok() ? std::string{"none"} : loader.error().text();
  };
  EXPECT_THAT(fault(R"({"chunk": {"keys": ["x"], "size": 2}})"),
              ::testing::HasSubstr("the windows do not cut tensor 'y'"));
  EXPECT_EQ(fault(R"({"chunk": {"keys": ["x", "y"], "size": 2}}, {"cast": {"tensor": "x", "dtype": "float32"}})"),
            "none");
  EXPECT_THAT(fault(R"({"rename": {"from": "id", "to": "starts"}}, {"chunk": {"keys": ["x", "y"], "size": 2}})"),
              ::testing::HasSubstr("there is already a tensor 'starts'"));
}

TEST_F(PackedWindows, OfUnequalLengthsAreAFaultOfTheirRecord) {
  write({4});
  const std::string message =
      encode_example({{"id", PackFrames{0}}}) + frame_list("x", {1, 2, 3}) + frame_list("y", {1, 2});
  ASSERT_TRUE(write_records(folder_.file("part-0"), {message}).ok());
  auto loader = load(document(R"({"chunk": {"keys": ["x", "y"], "size": 4, "number": "number", "start": "start"}})"));
  const auto batch = loader->next();
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().text(), ::testing::HasSubstr("part-0, record 0"));
  EXPECT_EQ(batch.error().code(), Code::data);
}

}  // namespace
}  // namespace forebay
