// SPDX-License-Identifier: Apache-2.0
// Where the records of a file begin and end. Their fields are read by the decoder, in the tickets.
#include <forebay/sources/csv.h>

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "io/file.h"
#include "sources/csv/header.h"
#include "sources/csv/record_ends.h"
#include "sources/framing.h"
#include "sources/source_files.h"

namespace forebay::sources {
namespace {

constexpr std::size_t records_at_once = 512;

class CsvFormat final : public Format {
 public:
  CsvFormat(const Csv& options, const CsvRules& rules, CsvHeader header)
      : rules_{rules},
        header_{std::move(header)},
        skip_blank_{options.skip_blank_lines},
        max_field_{static_cast<std::size_t>(options.max_field_bytes)},
        max_{static_cast<std::size_t>(options.max_record_bytes)} {}

  Result<Scanned> scan(std::span<const std::byte> bytes, std::int64_t offset, bool last, std::size_t limit,
                       std::vector<Extent>& records) const override {
    Scan scan{.bytes = bytes, .offset = offset, .last = last, .records = records};
    if (offset == 0) {
      FOREBAY_TRY(const std::optional<std::size_t> begin, header_.end(bytes, last));
      if (!begin) return Scanned{.wanted = bytes.size() + 1};
      scan.at = *begin;
    }
    limit = std::min(limit, std::size_t{max_record_bytes});
    const std::size_t reached = std::min(limit, bytes.size());
    while (scan.at < reached) {
      std::array<std::uint32_t, records_at_once> ends;
      const FoundEnds found = find_record_ends(bytes.subspan(scan.at, reached - scan.at), rules_, ends);
      FOREBAY_DO(add(scan, std::span{ends}.first(found.count)));
      if (found.count == ends.size()) continue;
      if (!found.unusual) break;
      FOREBAY_TRY(const bool whole, add_one(scan));
      if (!whole) return Scanned{.consumed = scan.at, .wanted = bytes.size() - scan.at + 1};
    }
    if (scan.at >= limit) return Scanned{.consumed = scan.at};
    FOREBAY_TRY(const bool whole, add_one(scan));
    return whole ? Scanned{.consumed = scan.at} : Scanned{.consumed = scan.at, .wanted = bytes.size() - scan.at + 1};
  }

  bool text() const override { return true; }

  Result<void> verify(std::span<const Record>) const override { return {}; }  // text has no checksums

  /// The next record begins after a line end; nothing is read of a file with a wrong header.
  Resync resync(std::span<const std::byte> bytes, std::int64_t offset, std::size_t from, bool last,
                std::shared_ptr<void>& kept) const override {
    if (offset == 0 && !kept && !header_.end(bytes, last).ok()) kept = std::make_shared<bool>(true);
    if (kept) return {.at = bytes.size(), .wanted = last ? 0 : bytes.size() + 1};
    const auto rest = bytes.subspan(from);
    const auto feed = static_cast<std::size_t>(std::ranges::find(rest, std::byte{'\n'}) - rest.begin());
    const std::size_t next = from + feed + 1;
    if (next < bytes.size()) return {.at = next, .found = true};
    if (last) return {.at = bytes.size()};
    return {.at = from + feed, .wanted = next + 1};  // the line feed, too, stays for the next call
  }

 private:
  struct Scan {
    std::span<const std::byte> bytes;
    std::int64_t offset = 0;
    bool last = false;
    std::vector<Extent>& records;
    std::size_t at = 0;  // where the next record begins

    [[nodiscard]] Error fault(std::string message, std::size_t place) const {
      return {Code::data, Detail::data_loss, std::move(message),
              Place{.offset = offset + static_cast<std::int64_t>(place)}};
    }
  };

  /// Adds the records that begin at the scan's place and end there, counted from it, and moves the place after them.
  Result<void> add(Scan& scan, std::span<const std::uint32_t> ends) const {
    const std::size_t base = scan.at;
    const std::size_t before = scan.records.size();
    scan.records.resize(before + ends.size());
    Extent* out = scan.records.data() + before;
    const auto finish = [&] { scan.records.resize(static_cast<std::size_t>(out - scan.records.data())); };
    for (const std::uint32_t each : ends) {
      const std::size_t end = base + each;
      const bool carriage = end > scan.at && scan.bytes[end - 1] == std::byte{'\r'};
      const std::size_t length = end - scan.at - (carriage ? 1 : 0);
      if (length > max_) [[unlikely]] {
        finish();
        return too_long(scan);
      }
      *out = {static_cast<std::uint32_t>(scan.at), static_cast<std::uint32_t>(length)};
      out += length > 0 || !skip_blank_ ? 1 : 0;
      scan.at = end + 1;
    }
    finish();
    return {};
  }

  /// Adds the record at the scan's place by the exact rules. False: it goes on after the bytes.
  Result<bool> add_one(Scan& scan) const {
    const std::size_t left = scan.bytes.size() - scan.at;
    const std::size_t longest = max_ + 2;  // with its end
    const RecordEnd end = end_of_record(scan.bytes.subspan(scan.at, std::min(left, longest)), rules_);
    const auto length = static_cast<std::uint32_t>(end.at);
    if (end.at < std::min(left, longest)) {
      FOREBAY_DO(add(scan, {&length, 1}));
      return true;
    }
    if (end.quote && end.at - *end.quote > max_field_)
      return scan.fault(
          fmt::format("a quoted field that begins here has more than max_field_bytes, {}: is the quote at "
                      "its end missing?",
                      max_field_),
          scan.at + *end.quote);
    if (left > longest) return too_long(scan);
    if (!scan.last) return false;
    if (end.quote)
      return scan.fault("the file ends in a quoted field that begins here: is the quote at its end missing?",
                        scan.at + *end.quote);
    const bool nothing = left == 0 || (left == 1 && scan.bytes[scan.at] == std::byte{'\r'});
    if (!nothing) FOREBAY_DO(add(scan, {&length, 1}));
    scan.at = scan.bytes.size();
    return true;
  }

  [[nodiscard]] Error too_long(const Scan& scan) const {
    return scan.fault(fmt::format("a record has more than max_record_bytes, {}: is this a file of comma-separated "
                                  "values? Raise max_record_bytes if it is",
                                  max_),
                      scan.at);
  }

  const CsvRules rules_;
  const CsvHeader header_;
  const bool skip_blank_;
  const std::size_t max_field_;
  const std::size_t max_;
};

/// What the decoder must know of the files.
Json decoder_options(const Csv& options, const std::optional<std::vector<std::string>>& names) {
  Json out = Json::object();
  out.set("field_delim", options.field_delim);
  out.set("use_quote_delim", options.use_quote_delim);
  out.set("na_value", options.na_value);
  out.set("select_cols", JsonCodec<decltype(options.select_cols)>::write(options.select_cols));
  out.set("names", JsonCodec<decltype(options.names)>::write(names));
  out.set("max_field_bytes", options.max_field_bytes);
  return out;
}

Result<CsvRules> rules_of(const Csv& options) {
  const std::string& delimiter = options.field_delim;
  const auto refuse = [](std::string_view field, std::string message) {
    return Error{Code::config, Detail::invalid_argument, std::move(message)}.at(Field{std::string{field}});
  };
  if (delimiter.size() != 1) return refuse("field_delim", fmt::format("has 1 character, found {}", delimiter.size()));
  if (delimiter == "\n" || delimiter == "\r" || (delimiter == "\"" && options.use_quote_delim))
    return refuse("field_delim", "is no line end, and no quote unless use_quote_delim is false");
  if (options.header && options.names)
    return refuse("names", "the header row names the fields; leave out names, or skip the row with skip_header_lines");
  if (options.select_cols && (options.header || options.names))
    return refuse("select_cols", "the decoder finds its columns by their names; leave it out");
  return CsvRules{.delimiter = delimiter.front(), .quotes = options.use_quote_delim};
}

/// The names in the header row of a file.
Result<std::vector<std::string>> header_names(const CsvHeader& header, const std::string& path,
                                              const BindContext& context, Compression compression,
                                              const Format& format) {
  FOREBAY_TRY(const auto file, open_to_plan(path, context));
  return header.read(*file, compression, format);
}

Result<Source> bind_csv(const Csv& options, const BindContext& context) {
  FOREBAY_TRY(const CsvRules rules, rules_of(options));
  FOREBAY_TRY(std::vector<std::string> files, source_files(options.files, context));
  CsvHeader header{options, rules};
  auto names = options.names;
  if (options.header && !files.empty()) {
    auto found = header_names(header, files.front(), context, options.compression, CsvFormat{options, rules, header});
    if (!found.ok()) return found.error().at(Place{.file = files.front()}).at("the header row");
    names = *std::move(found);
    header.expect(*names, files.front());
  }
  return Source{.files = std::move(files),
                .compression = options.compression,
                .format = std::make_shared<CsvFormat>(options, rules, std::move(header)),
                .max_decompressed_bytes = options.max_decompressed_bytes,
                .verify_first = options.verify_first,
                .signature = fmt::format("csv {:02x} quotes={} skip_header_lines={} header={} blank={} max={},{}",
                                         static_cast<unsigned char>(rules.delimiter), rules.quotes,
                                         options.skip_header_lines, options.header, !options.skip_blank_lines,
                                         options.max_field_bytes, options.max_record_bytes),
                .decides = {.decoder = "csv", .options = decoder_options(options, names)},
                .record_key = options.record_key};
}

}  // namespace

SourceType csv() {
  return describe<SourceType, Csv>("csv", "Reads the records of files of comma-separated values.", bind_csv)
      .required("files", &Csv::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
      .field("compression", &Csv::compression,
             "How whole files are compressed; auto looks at their first bytes; zlib must be named.")
      .field("field_delim", &Csv::field_delim, "One character between fields.")
      .field("use_quote_delim", &Csv::use_quote_delim,
             "A field may be in quotes, and delimiters and line ends in it are text. False: a quote is text.")
      .field("skip_header_lines", &Csv::skip_header_lines,
             "Lines at the beginning of each file that are left out, before a header row.", {.min = 0})
      .field("header", &Csv::header,
             "The first record of each file has the names of the fields; those of all files must be equal.")
      .field("names", &Csv::names, "Names of all fields of a record, where no header row has them.")
      .field("select_cols", &Csv::select_cols,
             "Numbers of the fields of the decoder's columns, from 0, rising, where fields have no names.", {.min = 0})
      .field("na_value", &Csv::na_value, "A field of this text is an empty one.")
      .field("skip_blank_lines", &Csv::skip_blank_lines,
             "Leave empty lines out; otherwise they are records without fields.")
      .field("max_field_bytes", &Csv::max_field_bytes, "A longer field is an error.",
             {.min = 1, .max = max_record_bytes / 2})
      .field("max_record_bytes", &Csv::max_record_bytes, "A longer record is an error, before memory is taken.",
             {.min = 1, .max = max_record_bytes / 2})
      .field("max_decompressed_bytes", &Csv::max_decompressed_bytes,
             "A compressed file that holds more than this is an error, once that many bytes were decompressed.",
             {.min = 1})
      .field("verify_first", &Csv::verify_first,
             "Compares the checksums of a compressed file before its first record is delivered, in the first pass of a "
             "run.")
      .field("record_key", &Csv::record_key, record_key_doc)
      .example({.options = R"({"files": ["in.csv"]})",
                .in = R"(["1,\"a\nb\"\r\n2,\"\"\"\"\n", "3,c"])",
                .out = R"(["1,\"a\nb\"", "2,\"\"\"\"", "3,c"])"})
      .example({.options = R"({"files": ["in.csv"], "header": true, "skip_blank_lines": true})",
                .in = R"(["x,y\n1,2\n\n3,4\n", "x,y\n"])",
                .out = R"(["1,2", "3,4"])"});
}

}  // namespace forebay::sources
