// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

/// Documents that combine several sources, and the files of these.
namespace forebay::combine_runs {

using testing::Folder;
using testing::parse;
using testing::write_examples;

inline constexpr std::int64_t ids_a_branch = 1000;  // branch n has the ids from n · 1000 on

/// The files of branches, with so many records each.
inline void write_branches(const Folder& folder, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string path = folder.file("branch-" + std::to_string(i));
    const auto first = static_cast<std::int64_t>(i) * ids_a_branch;
    ASSERT_EQ(write_examples(path, first, sizes[i], i == 1 ? Compression::gzip : Compression::none), path);
  }
}

/// A branch over the file of that number; `more` are further members.
inline std::string branch_of(const Folder& folder, std::size_t number, const std::string& more = "") {
  return R"({"source": {"tfrecord": {"files": [")" + folder.file("branch-" + std::to_string(number)) +
         R"("], "compression": "auto"}}, "decode": {"example": {"features": {
             "id": {"dtype": "int64", "shape": []}, "x": {"dtype": "float32", "shape": [4]},
             "tokens": {"kind": "var_len", "dtype": "int32"}, "name": {"dtype": "string", "shape": []}}}})" +
         more + "}";
}

struct Combined {
  std::string kind = "mix";
  std::string options = "";  // `"until": "all", `
  std::string steps = R"({"batch": {"size": 8}})";
  std::string more = "";
};

inline Json document_of(const Combined& asked, const std::vector<std::string>& branches) {
  std::string list;
  for (const std::string& branch : branches) list += (list.empty() ? "" : ", ") + branch;
  return parse(R"({"source": {")" + asked.kind + R"(": {)" + asked.options + R"("branches": [)" + list +
               R"(]}}, "steps": [)" + asked.steps + "]" + asked.more + "}");
}

inline std::string only(const std::string& columns) {
  return R"(, "steps": [{"select": {"tensors": [)" + columns + "]}}]";
}

/// A worked example of a combination.
struct CombinationExample {
  std::string name;
  Example example;
};

/// A combination of branches whose rows are numbers. Side by side, the tensors of the branches have names of their own.
inline Json worked_example(const CombinationExample& at, const Folder& folder) {
  const Json out = parse(at.example.out);
  const bool joined = out.items().front().is(Json::Kind::array);
  std::vector<Json> branches;
  std::int64_t rows = 0;
  const Json in = parse(at.example.in);
  for (const Json& list : in.items()) {
    std::vector<std::string> records;
    for (const Json& number : list.items())
      records.push_back(encode_example({{"n", std::vector<std::int64_t>{number.integer()}}}));
    const std::string file = folder.file("branch-" + std::to_string(branches.size()));
    EXPECT_TRUE(write_records(file, records).ok());
    rows += std::ssize(records);
    branches.push_back(parse(R"({"decode": {"example": {"features": {"n": {"dtype": "int64", "shape": []}}}}})"));
    Json& branch = branches.back();
    branch.set("source", Json::object({{"tfrecord", Json::object({{"files", Json::array({Json{file}})}})}}));
    if (joined)
      branch.set("steps", parse(R"([{"rename": {"from": "n", "to": "n)" + std::to_string(branches.size()) + R"("}}])"));
  }
  Json options = parse(at.example.options);
  options.set("branches", Json::array(std::move(branches)));
  return Json::object({{"source", Json::object({{at.name, options}})},
                       {"steps", Json::array({Json::object({{"batch", Json::object({{"size", 2 * rows}})}})})},
                       {"epoch_boundary", "hard"}});
}

/// The rows of a batch of a combination: the number of each, or the list of those side by side.
inline Json numbers_of(const Batch& batch) {
  std::vector<Json> out;
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    std::vector<Json> numbers;
    for (const std::string& name : batch.names())
      numbers.emplace_back(batch.tensor(name).as<std::int64_t>()[static_cast<std::size_t>(row)]);
    out.push_back(numbers.size() == 1 ? numbers.front() : Json::array(numbers));
  }
  return Json::array(std::move(out));
}

}  // namespace forebay::combine_runs
