// SPDX-License-Identifier: Apache-2.0
#include "tools/infer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "columns/wire.h"
#include "config/utf8.h"
#include "io/file.h"
#include "plan/loader/lower.h"
#include "sources/detect.h"

namespace forebay::plan {
namespace {

Json with(const char* key, Json value) {
  Json out = Json::object();
  out.set(key, std::move(value));
  return out;
}

Result<Compression> compression_of(const std::string& path) {
  FOREBAY_TRY(const io::File file, io::File::open(path));
  std::array<std::byte, 16> head{};
  FOREBAY_TRY(const std::size_t size, file.read(head, 0));
  return sources::detect_tfrecord(std::span{head}.first(size));
}

Json compression_name(Compression compression) {
  if (compression == Compression::gzip) return Json{"GZIP"};
  if (compression == Compression::zlib) return Json{"ZLIB"};
  return Json{};
}

std::pair<std::string_view, std::size_t> kind_of(const FeatureValue& value) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return {"int", list->size()};
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return {"float", list->size()};
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return {"string", list->size()};
  return {"", 0};
}

const char* dtype_of(std::string_view kind) {
  if (kind == "int") return "int64";
  return kind == "float" ? "float32" : "string";
}

}  // namespace

Result<Loader> open_records(const std::string& path, std::int64_t count, std::int64_t rows) {
  FOREBAY_TRY(const io::File file, io::File::open(path));  // a better message than that of a pattern without matches
  Json batch = with("size", std::clamp<std::int64_t>(count, 1, rows));
  batch.set("remainder", "keep");
  Json document = with("source", with("tfrecord", with("files", Json::array({Json{literal(path)}}))));
  document.set("decode", with("record", with("name", "record")));
  document.set("steps", Json::array({with("take", with("count", count)), with("batch", std::move(batch))}));
  document.set("epochs", 1);
  return open(document, {.threads = 1, .prefetch = 1});
}

bool has_feature_lists(std::string_view record) {
  // The reader may look behind the end.
  std::string padded{record};
  padded.append(record_slack, '\0');
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(padded.data());
  columns::Wire wire{bytes, bytes + record.size()};
  for (columns::Tag tag = 0; !wire.empty();) {
    if (!columns::read_tag(wire, tag)) return false;
    if (tag == columns::tag_of(2, columns::WireType::bytes)) return true;
    if (!columns::skip_field(wire, tag)) return false;
  }
  return false;
}

void ManifestGuess::add(const ExampleMap& example) {
  ++records_;
  for (const auto& [name, value] : example) {
    Seen& seen = features_[name];
    const auto [kind, size] = kind_of(value);
    if (kind.empty()) continue;
    if (seen.kind.empty()) seen.kind = kind;
    seen.mixed = seen.mixed || seen.kind != kind;
    seen.min = seen.records == 0 ? size : std::min(seen.min, size);
    seen.max = std::max(seen.max, size);
    ++seen.records;
  }
}

Inferred ManifestGuess::result(Json compression) const {
  Inferred out{.manifest = with("compression", std::move(compression)), .left_out = {}, .records = records_};
  std::vector<Json> features;
  for (const auto& [name, seen] : features_) {
    const auto leave_out = [&out, &name = name](const std::string& why) {
      out.left_out.push_back(fmt::format("feature {} is left out: {}", config::quoted(name), why));
    };
    if (seen.records == 0) {
      leave_out("it never has a value");
    } else if (seen.mixed) {
      leave_out("its values are of different kinds");
    } else if (seen.records != records_) {
      leave_out(fmt::format("only {} of {} records have it; a pipeline document can give it a default", seen.records,
                            records_));
    } else if (seen.min != seen.max) {
      leave_out(fmt::format("it has from {} to {} values; a pipeline document can read it with an unknown size",
                            seen.min, seen.max));
    } else {
      Json feature = with("name", name);
      feature.set("dtype", dtype_of(seen.kind));
      feature.set("shape", seen.max == 1 ? Json::array() : Json::array({Json{static_cast<std::int64_t>(seen.max)}}));
      feature.set("deserialize_type", seen.kind);
      features.push_back(std::move(feature));
    }
  }
  out.manifest.set("allow_var_len", false);
  out.manifest.set("features", Json::array(std::move(features)));
  return out;
}

Result<Inferred> infer_manifest(const std::string& path, std::int64_t records, const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds timeout{50};  // how long a wish to stop may go unnoticed
  FOREBAY_TRY(const Compression compression, compression_of(path));
  FOREBAY_TRY(Loader pipeline, open_records(path, records));
  ManifestGuess guess;
  while (true) {
    bool timed_out = false;
    FOREBAY_TRY(const std::optional<Batch> batch, pipeline.next_within(timeout, timed_out));
    if (stop && stop()) return Error{Code::cancelled, fmt::format("interrupted after {} records", guess.records())};
    if (timed_out) continue;
    if (!batch) break;
    const Tensor& bytes = batch->tensor("record");
    for (std::int64_t row = 0; row < batch->valid_rows(); ++row) {
      const Origin origin = batch->origin(row);
      const Place place{.file = path, .record = origin.record, .offset = origin.offset};
      if (has_feature_lists(bytes.string(row))) {
        return Error{Code::data, Detail::invalid_argument,
                     "the record is a SequenceExample; only manifests of Examples can be inferred", place};
      }
      FOREBAY_TRY(const ExampleMap example, decode_example(bytes.string(row)).at(place));
      guess.add(example);
    }
  }
  Inferred out = guess.result(compression_name(compression));
  if (out.records == 0)
    return Error{Code::data, Detail::invalid_argument, "the file has no records to infer a manifest from",
                 Place{.file = path}};
  return out;
}

}  // namespace forebay::plan
