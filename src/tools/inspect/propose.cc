// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/propose.h"

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/tar_members.h"
#include "config/utf8.h"
#include "tools/inspect/message_look.h"

namespace forebay::tools {

namespace {

constexpr std::int64_t longest_default = 64;  ///< Values of a default that a document still lists.

const char* dtype_of(ValueKind kind) {
  if (kind == ValueKind::integers) return "int64";
  return kind == ValueKind::floats ? "float32" : "string";
}

Json zero_of(ValueKind kind) {
  if (kind == ValueKind::integers) return Json{0};
  return kind == ValueKind::floats ? Json{0.0} : Json{""};
}

Json shape_of(std::int64_t values) { return values == 1 ? Json::array() : Json::array({Json{values}}); }

/// Makes features of what was seen, one for each name of the messages.
class FeatureProposals {
 public:
  FeatureProposals(std::int64_t records, Inspected& out) : records_{records}, out_{out} {}

  /// `part`: "", "context" or "lists".
  [[nodiscard]] Json of(const FeatureTable& table, const std::string& part) {
    Json features = Json::object();
    for (const auto& [key, stats] : table.sorted()) {
      InspectedFeature feature{.name = tensor_name(key), .part = part, .stats = *stats};
      ValueKind kind = ValueKind::none;
      Json options;
      if (!stats->one_kind(kind)) {
        mixed(feature);
      } else if (!config::is_utf8(key)) {
        feature.dtype = dtype_of(kind);
        feature.kind = "none";
        feature.note = "left out of the document: its name is no UTF-8";
      } else {
        feature.dtype = dtype_of(kind);
        options = part == "lists" ? list(kind, feature) : single(kind, feature);
        if (feature.name != key) options.set("key", key);
        features.set(feature.name, std::move(options));
      }
      out_.features.push_back(std::move(feature));
    }
    return features;
  }

 private:
  /// A context and a list may have one name; tensors may not.
  std::string tensor_name(const std::string& key) {
    std::string name = key;
    while (!names_.insert(name).second) name += "_list";
    return name;
  }

  static void mixed(InspectedFeature& feature) {
    const auto& kinds = feature.stats.kinds;
    feature.kind = feature.dtype = "mixed";
    feature.note =
        fmt::format("left out of the document: {} int64, {} float32 and {} string values lists have its name", kinds[0],
                    kinds[1], kinds[2]);
  }

  [[nodiscard]] std::string missing_text(const FeatureStats& stats) const {
    return fmt::format("missing in {} of {} records", records_ - stats.records, records_);
  }

  [[nodiscard]] Json var_len(InspectedFeature& feature) const {
    Json options = Json::object();
    options.set("kind", "var_len");
    options.set("dtype", feature.dtype);
    feature.kind = "var_len";
    feature.shape = "[?]";
    const FeatureStats& stats = feature.stats;
    if (stats.records == 0) {
      feature.note = "never has a value";
    } else if (stats.records < records_) {
      feature.note = missing_text(stats) + ", where it has no values";
    }
    return options;
  }

  [[nodiscard]] Json single(ValueKind kind, InspectedFeature& feature) const {
    const FeatureStats& stats = feature.stats;
    const bool all = stats.records == records_;
    const std::int64_t values = stats.lengths.max;
    const bool fixed = stats.lengths.same() && values > 0;
    if (!fixed || (!all && values > longest_default)) return var_len(feature);
    Json options = Json::object();
    options.set("dtype", feature.dtype);
    if (values != 1) options.set("shape", shape_of(values));
    feature.kind = "fixed_len";
    feature.shape = shape_of(values).text();
    if (all) return options;
    options.set("default", values == 1
                               ? zero_of(kind)
                               : Json::array(std::vector<Json>(static_cast<std::size_t>(values), zero_of(kind))));
    feature.note = fmt::format("{}, where it is {}", missing_text(stats), zero_of(kind).text());
    return options;
  }

  [[nodiscard]] Json list(ValueKind kind, InspectedFeature& feature) const {
    const FeatureStats& stats = feature.stats;
    const bool fixed = stats.step_values.same() && stats.kindless_steps == 0 && stats.step_values.max > 0;
    if (!fixed || kind == ValueKind::none) {
      Json options = var_len(feature);
      feature.shape = "[?,?]";
      return options;
    }
    Json options = Json::object();
    options.set("kind", "fixed_len_sequence");
    options.set("dtype", feature.dtype);
    const std::int64_t values = stats.step_values.max;
    if (values != 1) options.set("shape", shape_of(values));
    feature.kind = "fixed_len_sequence";
    feature.shape = values == 1 ? "[?]" : fmt::format("[?,{}]", values);
    if (stats.records < records_) {
      options.set("allow_missing", true);
      feature.note = missing_text(stats) + ", where it has no steps";
    }
    return options;
  }

  const std::int64_t records_;
  Inspected& out_;
  std::set<std::string> names_;
};

Result<void> look_at_message(MessageLook& messages, std::string_view record, RecordLook& look) {
  look.payloads.add(record);
  switch (messages.add(record, look.features, look.lists)) {
    case MessageLook::Found::malformed:
      ++look.malformed;
      if (!look.first_malformed)
        look.first_malformed = Error{Code::data, Detail::data_loss, "the message is cut short or malformed",
                                     Place{.record = look.records}};
      break;
    case MessageLook::Found::sequence:
      ++look.sequences;
      break;
    case MessageLook::Found::example:
      ++look.examples;
      break;
    case MessageLook::Found::nothing:
      break;
  }
  return {};
}

void note_left_out(const FeatureTable& table, Inspected& out) {
  if (table.left_out() == 0) return;
  out.notes.push_back(fmt::format(
      "features are left out: of the first {} names with at most {} bytes all is known; others came {} times",
      FeatureTable::max_features, FeatureTable::max_name, table.left_out()));
}

Result<void> look_at_members(std::string_view record, RecordLook& look) {
  const auto bytes = std::as_bytes(std::span{record});
  std::string scratch;
  std::set<std::string> seen;
  for (std::size_t at = 0; at + tar_block <= bytes.size();) {
    const TarStep step = tar_member_at(bytes, at, scratch);
    if (step.what != TarStep::What::member) break;
    const TarMember& member = step.member;
    at = static_cast<std::size_t>(std::min<std::uint64_t>(member.next, bytes.size()));
    if (!member.file || member.data > record.size()) continue;
    std::string extension{member.extension};
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    FeatureStats* const stats = look.features.find_or_add(extension);
    if (stats == nullptr || !seen.insert(extension).second) continue;
    const std::string_view content = record.substr(member.data, static_cast<std::size_t>(member.size));
    ++stats->records;
    ++stats->kinds[static_cast<std::size_t>(ValueKind::strings)];
    stats->lengths.add(1);
    stats->strings.add(content);
  }
  return {};
}

}  // namespace

MakeLook message_look() {
  return []() -> LookAtRecord {
    const auto messages = std::make_shared<MessageLook>();
    return [messages](std::string_view record, RecordLook& look) { return look_at_message(*messages, record, look); };
  };
}

MakeLook payload_look() {
  return []() -> LookAtRecord {
    return [](std::string_view record, RecordLook& look) -> Result<void> {
      look.payloads.add(record);
      return {};
    };
  };
}

MakeLook tar_look() {
  return []() -> LookAtRecord { return look_at_members; };
}

void propose_payloads(const RecordLook& look, const std::string& name, Inspected& out) {
  InspectedFeature feature{.name = name, .kind = "bytes"};
  feature.stats.records = look.records;
  feature.stats.strings = look.payloads;
  feature.stats.kinds[static_cast<std::size_t>(ValueKind::strings)] = look.records;
  if (look.records > 0) {
    feature.stats.lengths = {.count = look.records, .sum = look.records, .min = 1, .max = 1};
  }
  out.features.push_back(std::move(feature));
  out.proposal.decoder = "record";
  if (name != "record") out.proposal.decode.set("name", name);
}

void propose_messages(const RecordLook& look, Inspected& out) {
  const std::int64_t messages = look.examples + look.sequences;
  if (messages == 0 || look.malformed > messages) {
    out.what = "records of bytes";
    propose_payloads(look, "record", out);
    return;
  }
  FeatureProposals proposals{look.records - look.malformed, out};
  if (look.sequences > 0) {
    out.what = "tf.train.SequenceExample";
    out.proposal.decoder = "sequence_example";
    Json context = proposals.of(look.features, "context");
    if (!context.members().empty()) out.proposal.decode.set("context", std::move(context));
    out.proposal.decode.set("lists", proposals.of(look.lists, "lists"));
  } else {
    out.what = "tf.train.Example";
    out.proposal.decoder = "example";
    out.proposal.decode.set("features", proposals.of(look.features, ""));
  }
  note_left_out(look.features, out);
  note_left_out(look.lists, out);
  if (look.malformed > 0) {
    out.proposal.skip_records = true;
    out.notes.push_back(fmt::format("{} of {} records are malformed, and the document skips them; the first: {}",
                                    look.malformed, look.records, look.first_malformed->text()));
  }
}

void propose_tar(const RecordLook& look, Inspected& out) {
  out.what = "tar archives";
  Json columns = Json::object();
  bool missing = out.sample;
  for (const auto& [extension, stats] : look.features.sorted()) {
    InspectedFeature feature{.name = extension.empty() ? "no_extension" : extension, .kind = "bytes", .stats = *stats};
    // A semicolon stands between extensions of which one is taken.
    if (extension.empty() || !config::is_utf8(extension) || extension.find(';') != std::string::npos ||
        extension == "__key__") {
      feature.note = "left out of the document: no tensor is made of members with this extension, or with none";
    } else {
      if (stats->records < look.records) {
        missing = true;
        feature.note =
            fmt::format("missing in {} of {} records, where it is \"\"", look.records - stats->records, look.records);
      }
      columns.set(extension, extension);
    }
    out.features.push_back(std::move(feature));
  }
  note_left_out(look.features, out);
  out.proposal.decoder = "tar";
  out.proposal.decode.set("columns", std::move(columns));
  if (missing) out.proposal.decode.set("allow_missing", true);
}

}  // namespace forebay::tools
