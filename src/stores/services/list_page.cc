// SPDX-License-Identifier: Apache-2.0
#include "stores/services/list_page.h"

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <expat.h>
#include <fmt/core.h>

#include "stores/http/reply.h"

namespace forebay::stores::http {

namespace {

constexpr std::size_t max_text = 4096;  // of one element
constexpr int max_depth = 8;

/// Calls `element(path, text)` at the end of each element, such as "ListBucketResult/Contents/Key". Neither document
/// types nor entities of their own are read. Returns what is wrong with the text.
class Elements {
 public:
  using Ended = std::function<void(const std::string& path, const std::string& text)>;
  explicit Elements(Ended ended) : ended_{std::move(ended)}, parser_{XML_ParserCreate("UTF-8")} {
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(parser_, &Elements::begin, &Elements::end);
    XML_SetCharacterDataHandler(parser_, &Elements::text);
    XML_SetStartDoctypeDeclHandler(parser_, &Elements::document_type);
  }
  ~Elements() { XML_ParserFree(parser_); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  [[nodiscard]] std::string read(std::string_view xml) {
    const bool well = XML_Parse(parser_, xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK;
    if (refused_ != nullptr) return refused_;
    return well ? std::string{} : XML_ErrorString(XML_GetErrorCode(parser_));
  }

 private:
  static void begin(void* self, const char* name, const char**) { static_cast<Elements*>(self)->begin(name); }
  static void end(void* self, const char*) { static_cast<Elements*>(self)->end(); }
  static void text(void* self, const char* bytes, int size) {
    static_cast<Elements*>(self)->add({bytes, static_cast<std::size_t>(size)});
  }
  static void document_type(void* self, const char*, const char*, const char*, int) {
    static_cast<Elements*>(self)->refuse("it has a document type");
  }
  void refuse(const char* why) {
    refused_ = why;
    XML_StopParser(parser_, XML_FALSE);
  }
  void begin(std::string_view name) {
    if (ends_.size() == max_depth) return refuse("its elements are nested too deeply");
    ends_.push_back(path_.size());
    path_ += path_.empty() ? "" : "/";
    path_ += name.substr(0, max_text);
    text_.clear();
  }
  void add(std::string_view bytes) {
    if (text_.size() + bytes.size() > max_text) return refuse("one of its texts is too long");
    text_ += bytes;
  }
  void end() {
    ended_(path_, text_);
    path_.resize(ends_.back());
    ends_.pop_back();
    text_.clear();
  }

  const Ended ended_;
  const XML_Parser parser_;
  std::string path_, text_;
  std::vector<std::size_t> ends_;
  const char* refused_ = nullptr;
};

/// "%C3%A4" is "ä". None: it has a `%` without two digits.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      unsigned byte = 0;
      const char* const begin = text.data() + i + 1;
      if (i + 2 >= text.size() || std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
    }
  }
  return out;
}

}  // namespace

Result<ListPage> ListPage::of(std::string_view xml) {
  ListPage out;
  std::string problem;
  std::string truncated;
  bool is_list = false;
  File file;
  Elements elements{[&](const std::string& path, const std::string& text) {
    if (path == "ListBucketResult") is_list = true;
    if (path == "ListBucketResult/IsTruncated") truncated = text;
    if (path == "ListBucketResult/NextContinuationToken") out.next = text;
    if (path == "ListBucketResult/Contents/ETag") file.etag = text;
    if (path == "ListBucketResult/Contents/Size") file.size = number_in(text).value_or(-1);
    if (path == "ListBucketResult/Contents") out.files.push_back(std::exchange(file, {}));
    if (path != "ListBucketResult/Contents/Key") return;
    if (auto key = decoded(text)) {
      file.key = *std::move(key);
    } else {
      problem = fmt::format("the name '{}' has a broken escape", text);
    }
  }};
  const std::string broken = elements.read(xml);
  if (!broken.empty()) problem = broken;
  if (problem.empty() && !is_list) problem = "it is no ListBucketResult";
  if (problem.empty() && truncated == "true" && out.next.empty())
    problem = "it is not the last page and names no next one";
  if (!problem.empty())
    return Error{Code::io, Detail::none, fmt::format("the list of the bucket cannot be read: {}", problem)};
  if (truncated != "true") out.next.clear();
  return out;
}

ServiceError ServiceError::of(std::string_view xml) {
  ServiceError out;
  Elements elements{[&](const std::string& path, const std::string& text) {
    if (path == "Error/Code") out.code = text;
    if (path == "Error/Message") out.message = text.substr(0, 300);
    if (path == "Error/Region") out.region = text.substr(0, 64);
  }};
  static_cast<void>(elements.read(xml));  // a refusal may be cut short; what came before counts
  return out;
}

}  // namespace forebay::stores::http
