// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/index/source_sizes.h"
#include "engine/program/plan_access.h"
#include "tests/engine/order/stream_files.h"

/// Support for tests that save and resume runs.
namespace forebay::testing {

/// Writes five files of different lengths. One is empty, two are compressed.
inline void write_five(const Folder& folder) { write_parts(folder, {60, 0, 151, 7, 88}, {.gzip = 2, .zlib = 4}); }

inline const std::vector<std::string>& orders() {
  static const std::vector<std::string> all{
      R"({"batch": {"size": 12}})",
      R"({"shuffle": {"buffer": 40}}, {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 3}}, {"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 1000}},
                                              {"batch": {"size": 12, "pad": true}})",
      R"({"interleave": {"cycle": 4}}, {"skip": {"count": 5}}, {"take": {"count": 250}},
                                              {"batch": {"size": 12, "remainder": "pad"}})",
      R"({"repeat": {"count": 2}}, {"shuffle": {"buffer": 64}}, {"batch": {"size": 12, "remainder": "repeat"}})",
      R"({"shuffle": {"global": true}}, {"batch": {"size": 12}})",
      R"({"shuffle": {"global": true}}, {"shuffle": {"buffer": 50}}, {"take": {"count": 299}}, {"batch": {"size": 12}})",
      R"({"filter": {"where": "length(tokens) > 3 and id not in [61, 204]"}}, {"shuffle": {"buffer": 40}},
                                              {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 3}}, {"interleave": {"cycle": 3, "block": 2}}, {"shuffle": {"buffer": 60}},
         {"filter": {"where": "id % 3 != 1"}}, {"take": {"count": 150}}, {"batch": {"size": 12, "pad": true}})",
      R"({"shuffle": {"global": true}}, {"filter": {"where": "startswith(name, 'record 1') or id < 60"}},
                                              {"batch": {"size": 12}})",
      R"({"continuous": {"min_window": 3, "max_window": 7, "stride": 5}}, {"interleave": {"cycle": 3}},
         {"shuffle": {"buffer": 60}}, {"batch": {"size": 12, "pad": true}})",
      R"({"shuffle": {"global": true}}, {"chunk": {"size": 4, "step": 3}}, {"context": {"window": 3}},
         {"shuffle": {"buffer": 25}}, {"batch": {"size": 12, "remainder": "drop"}})",
      R"({"filter": {"where": "id % 5 != 0"}}, {"chunk": {"size": 5, "variance": 0.4}},
         {"filter": {"where": "length(tokens) > 2"}}, {"batch": {"size": 12, "remainder": "pad", "pad": true}})",
      R"({"shuffle": {"buffer": 40}}, {"frames": {"batch_size": 130, "max_seqs": 12}})",
      R"({"frames": {"packed_batch_size": 70, "max_seqs": 12, "min_seq_length": 1, "max_total_num_seqs": 200,
                     "pad": false}})",
      R"({"shuffle": {"buffer": 20}}, {"buckets": {"key": "tokens", "boundaries": [1, 6, 11], "sizes": [12, 11, 7, 3],
                                                   "longer": "bucket", "remainder": "drop"}})",
      R"({"buckets": {"key": "tokens", "boundaries": [1, 6], "sizes": [12], "longer": "drop"}})",
      R"({"shuffle": {"global": true}}, {"frames": {"batch_size": 110, "max_seqs": 12}})",
      R"({"shuffle": {"buffer": 40}}, {"token_budget": {"keys": ["tokens"], "tokens": 110, "max_rows": 12}})",
      R"({"shuffle": {"global": true}}, {"chunk": {"size": 9, "step": 7}},
         {"packed": {"length": 24, "rows": 6, "fit": "best", "positions": "at"}})",
      R"({"shuffle": {"buffer": 40}}, {"filter": {"where": "length(tokens) > 0"}}, {"unroll": {"num_unroll": 3}},
         {"stateful": {"batch_size": 12}})",
      R"({"shuffle": {"global": true}}, {"filter": {"where": "length(tokens) > 0"}}, {"unroll": {"num_unroll": 4}},
         {"stateful": {"batch_size": 12, "remainder": "drop"}})",
      R"({"shuffle": {"buffer": 40}}, {"batch": {"size": 12}}, {"shuffle_batches": {"buffer": 7}})",
      R"({"filter": {"where": "id % 3 != 1"}}, {"frames": {"batch_size": 60, "max_seqs": 12}},
                         {"shuffle_batches": {"buffer": 4}}, {"batch_slice": {"index": 1, "count": 2}})",
      R"({"buckets": {"key": "tokens", "boundaries": [4, 12], "sizes": [5, 12], "longer": "drop"}},
         {"batch_slice": {"start": 2, "stop": 31}}, {"shuffle_batches": {"buffer": 3}})",
      R"({"shuffle": {"global": true}}, {"take": {"count": 25}}, {"unbatch": {"number": "number"}},
         {"filter": {"where": "number != 3"}}, {"shuffle": {"buffer": 50}}, {"batch": {"size": 12}})",
      R"({"shuffle": {"buffer": 30}}, {"unbatch": {"number": "number"}},
         {"filter": {"where": "tokens % 3 != 1 and number < 9 and tokens != id"}}, {"shuffle": {"buffer": 50}},
         {"batch": {"size": 12}})",
      R"({"sequence_order": {"mode": "laplace:.30", "by": "length(tokens) % 40", "partition_epoch": 2}},
         {"shuffle": {"buffer": 20}}, {"batch": {"size": 12, "pad": true}})",
      R"({"interleave": {"cycle": 3}}, {"laplace": {"buffer": 25, "by": "length(tokens) % 40"}}, {"chunk": {"size": 5}},
         {"batch": {"size": 12, "remainder": "drop", "pad": true}})"};
  return all;
}

inline const std::vector<std::string>& boundaries() {
  static const std::vector<std::string> all{R"(, "epochs": 3, "seed": 5)",
                                            R"(, "epochs": 3, "seed": 5, "epoch_boundary": "hard")"};
  return all;
}

/// Returns the rest of a run, a line per batch. An error is the last line.
inline std::vector<std::string> rest(Loader& pipeline, std::int64_t batches = -1) {
  std::vector<std::string> out;
  while (batches-- != 0) {
    auto batch = pipeline.next();
    if (!batch.ok()) return out.push_back("error: " + batch.error().text()), out;
    if (!*batch) return out;
    out.push_back(text_of(**batch));
  }
  return out;
}

/// Returns the state after writing it as text and parsing it again, as a trainer does with a file.
inline Json kept(const Loader& pipeline) {
  auto state = pipeline.state();
  EXPECT_TRUE(state.ok()) << (state.ok() ? "" : state.error().text());
  return parse(state->text());
}

/// The text of a state without its progress, which is for display only: a batcher pulls elements ahead, and how many it
/// has when a batch is cut depends on how fast files were read.
inline std::string place(const Json& state) {
  static const std::regex progress{R"re(,"done":[0-9]+|,"check":"[0-9a-f]+")re"};
  return std::regex_replace(state.text(), progress, "");
}

/// A whole run: a line per batch, and the state before each of them and after the last.
struct WholeRun {
  std::vector<std::string> lines;
  std::vector<Json> states;
};

inline WholeRun whole_run(Loader& pipeline) {
  WholeRun out{.lines = {}, .states = {kept(pipeline)}};
  for (auto left = rest(pipeline, 1); !left.empty(); left = rest(pipeline, 1)) {
    out.lines.push_back(left.front());
    if (left.front().starts_with("error: ")) break;  // it repeats
    out.states.push_back(kept(pipeline));
  }
  return out;
}

/// The files of a plan, as a state of a run that begins now has them.
inline engine::SourceSizes sizes_now(const Plan& plan) {
  const Source& source = engine::program_of(plan).source;
  return engine::summary(source.files, engine::ask_sizes(source));
}

inline Result<Loader> resumed(const Json& json, const Json& state, RunOptions options = {}) {
  FOREBAY_TRY(Loader pipeline, load(json, options));
  FOREBAY_DO(pipeline.restore(state));
  return pipeline;
}

}  // namespace forebay::testing
