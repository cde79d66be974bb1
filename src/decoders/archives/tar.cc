// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/tar.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include <fmt/core.h>

#include <forebay/messages.h>
#include <forebay/plugin.h>

#include "base/tar_members.h"

namespace forebay::decoders {
namespace {

constexpr std::size_t few_members = 16;  // are compared with each other; more are put into a set

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& letter : out)
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter + 32);
  return out;
}

/// The members of the record that is decoded. Memory of one worker.
class TarRecord final : public DecoderMemory {
 public:
  struct Part {
    std::string extension;  ///< In lower case.
    Record bytes;
  };

  /// Finds the members. Fails with a message that names the member.
  Result<void> read(Record record) {
    count_ = 0;
    for (std::uint64_t at = 0; at < record.size();) {
      const TarStep step = tar_member_at(record, static_cast<std::size_t>(at), scratch_);
      const TarMember& member = step.member;
      if (step.what != TarStep::What::member || member.data + member.size > record.size())
        return bad("not the members of a tar archive; is the source `tar`?");
      at = member.next;
      if (!member.file) continue;
      if (member.extension.empty()) return bad(fmt::format("the member {} has no extension", quote(member.name)));
      if (count_ == 0) key_ = member.key;
      add(member, record);
    }
    if (count_ == 0) return bad("there is no member");
    return check_twice();
  }

  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const Part* find(std::string_view extension) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (parts_[i].extension == extension) return &parts_[i];
    return nullptr;
  }
  [[nodiscard]] std::string extensions() const {
    std::string out;
    for (std::size_t i = 0; i < std::min(count_, few_members); ++i) out += (i == 0 ? "" : ", ") + parts_[i].extension;
    return out + (count_ > few_members ? ", …" : "");
  }
  static Error bad(std::string why) { return {Code::data, Detail::data_loss, std::move(why)}; }

 private:
  void add(const TarMember& member, Record record) {
    if (count_ == parts_.size()) parts_.emplace_back();
    Part& part = parts_[count_++];
    part.extension.assign(member.extension);
    for (char& letter : part.extension)
      if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter + 32);
    part.bytes = record.subspan(member.data, static_cast<std::size_t>(member.size));
  }

  Result<void> check_twice() const {
    const auto twice = [&](const std::string& extension) {
      return bad(fmt::format("two members of the record {} have the extension {}", quote(key_), quote(extension)));
    };
    if (count_ <= few_members) {
      for (std::size_t i = 1; i < count_; ++i)
        if (find(parts_[i].extension) != &parts_[i]) return twice(parts_[i].extension);
      return {};
    }
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0; i < count_; ++i)
      if (!seen.insert(parts_[i].extension).second) return twice(parts_[i].extension);
    return {};
  }

  std::vector<Part> parts_;
  std::size_t count_ = 0;  // parts_ keeps its strings from record to record
  std::string key_;
  std::string scratch_;
};

struct TarColumn {
  ColumnId id;
  std::string name;
  std::vector<std::string> extensions;  // the first one that is there is taken; in lower case
};

class TarDecoder final : public Decoder {
 public:
  TarDecoder(std::vector<TarColumn> columns, std::optional<ColumnId> key, bool allow_missing)
      : columns_{std::move(columns)}, key_{key}, allow_missing_{allow_missing} {}

  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<TarRecord>(); }

  Result<void> decode(std::span<const Record> records, std::int64_t, ColumnBlock& block,
                      DecoderMemory& memory) const override {
    auto& parts = static_cast<TarRecord&>(memory);
    for (std::size_t row = 0; row < records.size(); ++row) {
      const Place place{.row = static_cast<std::int64_t>(row)};
      FOREBAY_DO(parts.read(records[row]).at(place));
      for (const TarColumn& column : columns_) FOREBAY_DO(take(column, parts, block[column.id]).at(place));
      if (key_) block[*key_].push_string(std::as_bytes(std::span{parts.key()}));
    }
    const auto rows = static_cast<std::int64_t>(records.size());
    for (const TarColumn& column : columns_) block[column.id].rows += rows;
    if (key_) block[*key_].rows += rows;
    return {};
  }

 private:
  [[nodiscard]] Result<void> take(const TarColumn& column, const TarRecord& parts, Column& out) const {
    for (const std::string& extension : column.extensions) {
      if (const auto* part = parts.find(extension)) {
        out.push_string(part->bytes);
        return {};
      }
    }
    if (!allow_missing_) {
      return TarRecord::bad(fmt::format("the record {} has no member with the extension {}; it has {}",
                                        quote(parts.key()), quote(column.extensions.front()), parts.extensions()))
          .at(Place{.feature = column.name});
    }
    out.push_string({});
    return {};
  }

  const std::vector<TarColumn> columns_;
  const std::optional<ColumnId> key_;
  const bool allow_missing_;
};

Result<std::vector<std::string>> alternatives(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string extension = lower(std::string_view{text}.substr(at, end - at));
    if (extension.empty() || extension.find('/') != std::string::npos || extension.front() == '.')
      return Error{Code::config, Detail::invalid_argument,
                   fmt::format("{} is no extension: write it without the first dot, such as \"jpg\" or \"seg.png\"",
                               quote(extension))};
    out.push_back(std::move(extension));
    at = end + 1;
  }
  return out;
}

bool is_wanted(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

Result<Bound<Decoder>> bind_tar_extensions(const TarExtensions& options, const std::vector<std::string>& wanted) {
  Schema out;
  std::vector<TarColumn> columns;
  std::vector<Error> faults;
  const auto name_fault = [&](const std::string& name, const char* why) {
    faults.push_back(Error{Code::config, Detail::invalid_argument, why}.at(Field{"columns", name}));
  };
  for (const auto& [name, text] : options.columns) {
    auto extensions = alternatives(text);
    if (!extensions.ok()) faults.push_back(extensions.error().at(Field{"columns", name}));
    if (name.empty()) name_fault(name, "a name must not be empty");
    if (name == options.key) name_fault(name, "this is the name of the tensor that has the key (option `key`)");
    if (out.find(name).ok()) name_fault(name, "the name is given twice");
    const ColumnId id = out.put({.name = name, .dtype = DType::string, .shape = {}});
    if (extensions.ok() && is_wanted(wanted, name)) columns.push_back({id, name, *std::move(extensions)});
  }
  if (options.key.empty())
    faults.push_back(Error{Code::config, Detail::invalid_argument, "a name must not be empty"}.at(Field{"key"}));
  if (!faults.empty()) return Error::all(std::move(faults));
  const ColumnId key = out.put({.name = options.key, .dtype = DType::string, .shape = {}});
  const std::optional<ColumnId> wanted_key =
      is_wanted(wanted, options.key) ? std::optional<ColumnId>{key} : std::nullopt;
  return Bound<Decoder>{.op = std::make_unique<TarDecoder>(std::move(columns), wanted_key, options.allow_missing),
                        .out = std::move(out)};
}

}  // namespace

DecoderType tar() {
  return describe<DecoderType, TarExtensions>(
             "tar", "Splits a record of the source tar into the bytes of its members, by their extensions.",
             bind_tar_extensions)
      .required("columns", &TarExtensions::columns,
                "The extension of each tensor, such as \"jpg\" or \"seg.png\"; \"jpg;png\" takes the first one that "
                "is there.")
      .field("allow_missing", &TarExtensions::allow_missing,
             "A record without the extension has the empty string; otherwise that is an error.")
      .field("key", &TarExtensions::key, "Name of the tensor that has the key of the record.")
      .example({.options = R"({"columns": {"image": "jpg"}})", .in = "[]", .out = "[]"});
}

}  // namespace forebay::decoders
