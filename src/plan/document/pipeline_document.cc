// SPDX-License-Identifier: Apache-2.0
#include "plan/document/pipeline_document.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "plan/document/shard.h"

#include <forebay/messages.h>

namespace forebay {

template <>
struct EnumNames<plan::EpochBoundary> {
  static constexpr std::array<std::string_view, 2> names{"straddle", "hard"};
};

template <>
struct FieldsOf<plan::PipelineDocument> {
  static const Fields<plan::PipelineDocument>& get() {
    using Document = plan::PipelineDocument;
    static const Fields<Document> fields =
        Fields<Document>{}
            .required("source", &Document::source, "Which records: {format: options}.")
            .field("decode", &Document::decode,
                   "How a record becomes tensors: {decoder: options}; left out where rows come ready.")
            .required("steps", &Document::steps,
                      "What happens on the way to a batch, in order: a list of {step, order or batcher: options}.")
            .field("epochs", &Document::epochs, "Passes over the data; null: for ever.",
                   {.min = 0, .max = 1'000'000'000})
            .field("seed", &Document::seed, "Decides every random choice.", {.min = 0})
            .field("epoch_boundary", &Document::epoch_boundary,
                   "straddle: a batch may hold the end of one epoch and the beginning of the next; hard: never.")
            .field("deterministic", &Document::deterministic,
                   "false lets the order, never the content, depend on timing.")
            .field("on_corrupt", &Document::on_corrupt,
                   "What a corrupt record does: \"fail\", \"skip_record\", \"skip_row\", \"skip_file\", or {policy, "
                   "max_count, "
                   "max_fraction, "
                   "max_consecutive}.")
            .field("threads", &Document::threads, "Default of the run; 0: one for every CPU.", {.min = 0, .max = 1024})
            .field("memory", &Document::memory,
                   "Default of the run, in bytes or as \"1GiB\"; 0: a quarter of the machine's.")
            .field("prefetch", &Document::prefetch, "Default of the run: batches made ahead; 0: chosen by their size.",
                   {.min = 0, .max = 1'000'000'000})
            .field("shard", &Document::shard,
                   "Default of the run: the part of every batch that this process takes, as [index, count], "
                   "\"index/count\", \"auto\" (by the launcher's environment variables) or {index, count, by}, where "
                   "by is "
                   "\"row\", \"file\", \"element\" or \"batch\"; or a list of one that is by batch and one that is "
                   "not; null: all.")
            .field("inputs", &Document::inputs, "Tensors in Batch.inputs; null: every tensor that is no target.")
            .field("targets", &Document::targets, "Tensors in Batch.targets; null: none.");
    return fields;
  }
};

namespace plan {
namespace {

/// Returns the bytes of one unit, or 0 for an unknown unit.
double unit_bytes(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 9> units{{{"", 1},
                                                                      {"B", 1},
                                                                      {"kB", 1e3},
                                                                      {"MB", 1e6},
                                                                      {"GB", 1e9},
                                                                      {"TB", 1e12},
                                                                      {"KiB", 1024.0},
                                                                      {"MiB", 1048576.0},
                                                                      {"GiB", 1073741824.0}}};
  for (const auto& [name, bytes] : units) {
    if (name == unit) return bytes;
  }
  return unit == "TiB" ? 1099511627776.0 : 0;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double count = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count, std::chars_format::fixed);
  if (read.ec != std::errc{} || !(count >= 0)) return std::nullopt;
  std::string_view unit{read.ptr, static_cast<std::size_t>(end - read.ptr)};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const double bytes = count * unit_bytes(unit);
  if (unit_bytes(unit) == 0 || !(bytes < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

std::optional<Stage> read_stage(const Json& json, std::string_view what, Faults& faults) {
  if (!json.is(Json::Kind::object)) return fault_type(json, "an object", faults), std::nullopt;
  if (json.members().size() == 1) return Stage{json.members().front().first, &json, &json.members().front().second};
  complain(
      json,
      fmt::format("expected one {} as {{name: options}}, found an object with {} members", what, json.members().size()),
      faults);
  return std::nullopt;
}

std::int64_t read_memory(const Json* json, Faults& faults) {
  if (json == nullptr) return 0;
  if (json->is(Json::Kind::string)) {
    const auto bytes = parse_bytes(json->string());
    if (!bytes)
      fault_value(*json,
                  fmt::format("must be a number of bytes, as 1073741824 or \"1GiB\"; found {}", quote(json->string())),
                  faults);
    return bytes.value_or(0);
  }
  const auto bytes = read_integer(*json, faults);
  if (!bytes || !in_range(*bytes, Range{.min = 0}, "memory", *json, faults)) return 0;
  return *bytes;
}

ReadPipeline read_pipeline(const Json& json, Faults& faults) {
  const std::size_t before = faults.size();
  ReadPipeline out;
  Json own = json;
  std::erase_if(own.members(), [](const Json::Member& member) {  // for editors
    return member.first == "$schema" && member.second.is(Json::Kind::string);
  });
  if (auto document = JsonCodec<PipelineDocument>::read(own, faults)) out.document = *std::move(document);
  static_cast<void>(read_memory(json.find("memory"), faults));
  if (const Json* shard = json.find("shard")) static_cast<void>(read_shard(*shard, faults));
  out.complete = faults.size() == before;
  return out;
}

const std::vector<FieldInfo>& pipeline_infos() { return FieldsOf<PipelineDocument>::get().infos(); }

Json pipeline_schema() { return JsonCodec<PipelineDocument>::schema(); }

}  // namespace plan

Result<std::int64_t> parse_memory(const Json& value) {
  plan::Faults faults;
  const std::int64_t bytes = plan::read_memory(&value, faults);
  if (!faults.empty()) return Error::all(std::move(faults));
  return bytes;
}

}  // namespace forebay
