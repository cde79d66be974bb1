// SPDX-License-Identifier: Apache-2.0
#include <forebay/infer.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <forebay/messages.h>
#include <forebay/records.h>

#include "columns/wire.h"
#include "engine/requests/open_file.h"
#include "sources/detect.h"

namespace forebay {
namespace {

Json with(const char* key, Json value) {
  Json out = Json::object();
  out.set(key, std::move(value));
  return out;
}

Result<Compression> compression_of(const std::string& path) {
  FOREBAY_TRY(const auto file, engine::open_file(path));
  std::array<std::byte, 16> head{};
  FOREBAY_TRY(const std::size_t size, file->read(head, 0));
  return sources::detect_tfrecord(std::span{head}.first(size));
}

Json compression_name(Compression compression) {
  if (compression == Compression::gzip) return Json{"GZIP"};
  if (compression == Compression::zlib) return Json{"ZLIB"};
  if (compression == Compression::zstd) return Json{"ZSTD"};
  if (compression == Compression::bzip2) return Json{"BZIP2"};
  if (compression == Compression::xz) return Json{"XZ"};
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

/// Collects examples and describes what they have in common.
class ManifestGuess {
 public:
  /// Fails with Code::data for a message that is no Example.
  [[nodiscard]] Result<void> add(std::string_view message);
  /// Fixed features, by name: dtype, shape and how they are stored. `compression` is null, "GZIP", "ZLIB" or "ZSTD".
  [[nodiscard]] InferredManifest result(Json compression) const;
  [[nodiscard]] std::int64_t records() const { return records_; }

 private:
  struct Seen {
    std::string kind;  // int, float, string; empty: none yet
    bool mixed = false;
    std::int64_t records = 0;      // that have values of it
    std::size_t min = 0, max = 0;  // values in a record
  };
  std::map<std::string, Seen> features_;
  std::int64_t records_ = 0;
};

Result<void> ManifestGuess::add(std::string_view message) {
  if (has_feature_lists(message)) {
    return Error{Code::data, Detail::invalid_argument,
                 "the record is a SequenceExample; only manifests of Examples can be inferred"};
  }
  FOREBAY_TRY(const ExampleMap example, decode_example(message));
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
  return {};
}

InferredManifest ManifestGuess::result(Json compression) const {
  InferredManifest out{.manifest = with("compression", std::move(compression)), .left_out = {}, .records = records_};
  std::vector<Json> features;
  for (const auto& [name, seen] : features_) {
    const auto leave_out = [&out, &name = name](const std::string& why) {
      out.left_out.push_back(fmt::format("feature {} is left out: {}", quote(name), why));
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

}  // namespace

bool has_feature_lists(std::string_view record) {
  // The reader may read a few bytes after the end.
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

Result<InferredManifest> infer_manifest(const std::string& path, std::int64_t records,
                                        const std::function<bool()>& stop) {
  FOREBAY_TRY(const Compression compression, compression_of(path));
  ManifestGuess guess;
  std::optional<Error> fault;
  const auto go_on = [&] { return !stop || !stop(); };
  const auto look = [&](const RecordView& record) {
    if (guess.records() == records || !go_on()) return false;
    auto added = guess.add(record.bytes);
    if (added.ok()) return true;
    fault = added.error().at(Place{.file = path, .record = record.number, .offset = record.offset});
    return false;
  };
  auto done = each_record(path, look, {.compression = compression, .go_on = go_on});
  if (!go_on()) return Error{Code::cancelled, fmt::format("interrupted after {} records", guess.records())};
  if (fault) return *fault;
  FOREBAY_DO(done);
  if (guess.records() == 0)
    return Error{Code::data, Detail::invalid_argument, "the file has no records to infer a manifest from",
                 Place{.file = path}};
  return guess.result(compression_name(compression));
}

}  // namespace forebay
