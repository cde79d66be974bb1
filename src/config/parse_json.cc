// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <limits>

#include <fmt/core.h>
#include <forebay/json.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "config/byte_escapes.h"
#include "config/document.h"
#include "config/json_builder.h"

namespace forebay {

namespace {

/// The text with each `//` comment replaced by blanks and each byte escape by another one, so that offsets do not
/// change.
std::string without_comments(std::string_view text, config::ByteEscapes& escapes) {
  std::string out{text};
  bool in_string = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (in_string) {
      if (out[i] == '\\')
        i += escapes.take(out, i) - 1;
      else if (out[i] == '"')
        in_string = false;
    } else if (out[i] == '"') {
      in_string = true;
    } else if (out.compare(i, 2, "//") == 0) {
      for (; i < out.size() && out[i] != '\n' && out[i] != '\r'; ++i) out[i] = ' ';
    }
  }
  return out;
}

/// Passes the events of the parser to a builder, each with the offset after it.
class Events {
 public:
  Events(rapidjson::MemoryStream& stream, config::JsonBuilder& builder) : stream_{stream}, builder_{builder} {}

  bool Null() { return builder_.scalar(Json{}, stream_.Tell()); }
  bool Bool(bool value) { return builder_.scalar(Json{value}, stream_.Tell()); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return builder_.number(stream_.Tell()); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return builder_.string({text, size}, stream_.Tell());
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) { return builder_.key({text, size}, stream_.Tell()); }
  bool StartObject() { return builder_.open(Json::object()); }
  bool EndObject(rapidjson::SizeType) { return builder_.close(); }
  bool StartArray() { return builder_.open(Json::array()); }
  bool EndArray(rapidjson::SizeType) { return builder_.close(); }
  // The parser delivers numbers as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  rapidjson::MemoryStream& stream_;
  config::JsonBuilder& builder_;
};

bool follows_comma(std::string_view text, std::size_t offset) {
  const std::size_t last = text.substr(0, offset).find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && text[last] == ',';
}

/// The message for a syntax error at `offset`, with advice.
std::string explain(rapidjson::ParseErrorCode code, std::string_view text, std::size_t offset, std::size_t token) {
  const std::string_view rest = text.substr(std::min(offset, text.size()));
  const std::string_view word = text.substr(std::min(token, text.size()));
  for (const std::string_view name : {"NaN", "Infinity", "-NaN", "-Infinity", "nan", "inf", "-inf"}) {
    if (word.starts_with(name))
      return fmt::format("{} is not a JSON value; where a float may be it, \"nan\", \"inf\" and \"-inf\" say it", name);
  }
  if (rest.starts_with("/*")) return "comments are written with // only";
  if (code == rapidjson::kParseErrorDocumentEmpty) return "the document is empty";
  if (code == rapidjson::kParseErrorNumberTooBig) return "the number is too large for a 64-bit float";
  if (code == rapidjson::kParseErrorStringUnicodeSurrogateInvalid) return "half of a surrogate pair in a string";
  if (code == rapidjson::kParseErrorStringMissQuotationMark && rest.empty())
    return "a string that is never closed: missing '\"'";
  // The parser also reports a control character in a string as an unknown escape. A real escape follows a backslash.
  const bool control = !rest.empty() && static_cast<unsigned char>(rest.front()) < 0x20;
  const bool escape = code == rapidjson::kParseErrorStringEscapeInvalid;
  if (escape && !control) return "unknown escape in a string after a backslash";
  if (escape || code == rapidjson::kParseErrorStringInvalidEncoding ||
      code == rapidjson::kParseErrorStringMissQuotationMark) {
    return control ? "a line break or control character inside a string; write it as \\n or \\u000a"
                   : "a string that is not valid UTF-8";
  }
  if (rest.empty()) return "the document ends too early; a bracket, value or quote is missing";
  if ((rest.front() == ']' || rest.front() == '}') && follows_comma(text, offset)) {
    return fmt::format("a trailing comma before '{}' is not JSON", rest.front());
  }
  if (rest.front() == '\'') return "strings and keys are written in double quotes";
  std::string words = rapidjson::GetParseError_En(code);
  if (words.ends_with('.')) words.pop_back();
  if (!words.empty()) words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  const auto found = static_cast<unsigned char>(rest.front());
  return words + (found > 0x20 && found < 0x7f ? fmt::format("; found '{}'", rest.front())
                                               : fmt::format("; found byte 0x{:02x}", found));
}

/// Whether the bytes cannot be text: they look compressed, or like the length of a record.
bool is_binary(std::string_view text) {
  return text.starts_with("\x1f\x8b") || text.substr(0, 12).find('\0') != std::string_view::npos;
}

Error refused(std::string message, Place place) {
  return Error{Code::config, Detail::invalid_argument, std::move(message), std::move(place)};
}

Place beginning(std::string_view file) { return config::Cursor{{}, file}.place(); }

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view file) {
  if (text.size() > max_document_bytes) {
    return refused(fmt::format("the document has {} bytes; at most 64 MiB are allowed", text.size()), beginning(file));
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    return refused("the document starts with a byte order mark (BOM); save it as UTF-8 without one", beginning(file));
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return refused("the document is UTF-16, by its byte order mark (BOM); save it as UTF-8", beginning(file));
  }
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseValidateEncodingFlag;
  config::ByteEscapes escapes;
  const std::string plain = without_comments(text, escapes);
  rapidjson::MemoryStream stream{plain.data(), plain.size()};
  config::JsonBuilder builder{plain, escapes, file};
  Events events{stream, builder};
  rapidjson::Reader reader;
  const rapidjson::ParseResult parsed = reader.Parse<flags>(stream, events);
  if (builder.fault()) return *builder.fault();
  if (parsed.IsError() && is_binary(text)) {
    return refused(
        "this is not JSON but compressed or binary data, such as a record file; `forebay head` shows records",
        beginning(file));
  }
  if (parsed.IsError()) {
    builder.cursor().move_to_token();
    const std::size_t token = builder.cursor().offset();
    config::Cursor at{plain, file};
    at.move_to(parsed.Offset());
    return refused(explain(parsed.Code(), plain, parsed.Offset(), token), at.place());
  }
  if (stream.Tell() < plain.size()) {  // the parser treats a NUL byte as the end
    config::Cursor at{plain, file};
    at.move_to(stream.Tell());
    return refused("a NUL byte after the value", at.place());
  }
  return builder.take();
}

}  // namespace forebay
