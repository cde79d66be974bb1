// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/csv.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decoders/csv/fields.h"
#include "decoders/csv/values.h"
#include "tests/decoders/decode.h"

namespace forebay::decoders {
DecoderType csv();

namespace {

using testing::decoded;
using ::testing::HasSubstr;

constexpr const char* int_and_text =
    R"({"columns": {"n": {"dtype": "int64"}, "s": {"dtype": "string", "default": "-"}}})";

std::string of(const std::string& options, const std::vector<std::string>& records) {
  return decoded(csv(), options, records);
}

template <class T>
std::optional<T> value(std::string_view text, DType dtype, std::optional<TimeUnit> unit = {}) {
  T out{};
  if (!parse_value(text, {dtype, unit}, reinterpret_cast<std::byte*>(&out))) return std::nullopt;
  return out;
}
std::optional<float> float_of(std::string_view text) { return value<float>(text, DType::float32); }
std::optional<std::int64_t> int_of(std::string_view text) { return value<std::int64_t>(text, DType::int64); }
std::optional<std::int64_t> time_of(std::string_view text, TimeUnit unit = TimeUnit::us) {
  return value<std::int64_t>(text, DType::int64, unit);
}

TEST(CsvFields, QuotesProtectDelimitersAndLineEnds) {  // row 34
  EXPECT_EQ(of(int_and_text, {"1,\"a,\r\nb\"", "2,\"\"\"\"", "\"3\",\"\"", "\r\n4, x \n"}),
            R"({"n":[[1,2,3,4]],"s":[["a,\u000d\nb","\"","-"," x "]]})");
  EXPECT_THAT(of(int_and_text, {"1,a", "1,a\"b"}),
              HasSubstr("row 1: feature 's': field 1: a field that does not begin with a quote"));
  EXPECT_THAT(of(int_and_text, {"1,a\rb"}), HasSubstr("has a quote, a CR or an LF in it"));
  EXPECT_THAT(of(int_and_text, {"1,\"a\"b"}), HasSubstr("field 1: a quote in a quoted field is not followed by"));
  EXPECT_THAT(of(int_and_text, {"1,\"a"}), HasSubstr("field 1: a quoted field has no quote at its end"));
}

TEST(CsvFields, TheNumberOfFieldsMustBeRight) {  // row 35
  EXPECT_THAT(of(int_and_text, {"1"}), HasSubstr("row 0: expected 2 fields, found 1"));
  EXPECT_THAT(of(int_and_text, {"1,2,"}), HasSubstr("expected 2 fields, found 3"));
  EXPECT_THAT(of(int_and_text, {"1,2", ""}), HasSubstr("row 1: expected 2 fields, found 0; skip_blank_lines"));
  EXPECT_THAT(of(int_and_text, {std::string(999'999, ',')}), HasSubstr("expected 2 fields, found 1000000"));
  EXPECT_EQ(of(int_and_text, {std::string{"1,a\0b", 5}}), "{\"n\":[[1]],\"s\":[[\"a\\u0000b\"]]}");
  EXPECT_THAT(of(R"({"columns": {}})", {"1"}), HasSubstr("names no column"));
  std::string many = R"({"columns": {"x": {"dtype": "int64"}}, "names": ["x")";
  for (int i = 0; i < 100'000; ++i) many += ",\"\"";
  EXPECT_THAT(of(many + "]}", {"1"}), HasSubstr("has at most 100000 names, found 100001"));
}

TEST(CsvFields, AFieldThatIsTooLongIsAnError) {
  EXPECT_THAT(of(R"({"columns": {"s": {"dtype": "string"}}, "max_field_bytes": 4})", {"1234", "12345"}),
              HasSubstr("row 1: feature 's': field 0 has 5 bytes, more than max_field_bytes, 4"));
}

TEST(CsvFields, SelectedFieldsEndTheReadingAndNamedOnesDoNot) {
  const std::string columns = R"({"columns": {"b": {"dtype": "int64"}, "d": {"dtype": "int32"}}, )";
  EXPECT_EQ(of(columns + R"("select_cols": [1, 3]})", {"x,1,\"y\",2,z\"z", ",3,,4"}), R"({"b":[[1,3]],"d":[[2,4]]})");
  EXPECT_THAT(of(columns + R"("select_cols": [1, 3]})", {"x,1,y"}),
              HasSubstr("expected 2 fields of select_cols, found 1"));
  EXPECT_EQ(of(columns + R"("names": ["d", "a", "b"]})", {"1,\"\",2"}), R"({"b":[[2]],"d":[[1]]})");
  EXPECT_THAT(of(columns + R"("names": ["d", "a", "bb"]})", {}), HasSubstr("the records have no field 'b'"));
  EXPECT_THAT(of(columns + R"("names": ["d", "b", "b"]})", {}), HasSubstr("two fields have the name 'b'"));
  EXPECT_THAT(of(columns + R"("select_cols": [3, 1]})", {}), HasSubstr("the numbers rise"));
  EXPECT_THAT(of(columns + R"("select_cols": [3]})", {}), HasSubstr("one field for each column"));
}

TEST(CsvFields, AnEmptyFieldTakesTheDefaultOrIsAnError) {  // row 37
  const std::string options = R"({"columns": {"x": {"dtype": "float32", "default": 0.5}, "n": {"dtype": "int64"}},
                                  "na_value": "NA"})";
  EXPECT_EQ(of(options, {",1", "NA,2", "\"NA\",3", "2,4"}), R"({"x":[[0.5,0.5,0.5,2.0]],"n":[[1,2,3,4]]})");
  EXPECT_THAT(of(options, {"1,2", "1,NA"}), HasSubstr("row 1: feature 'n': field 1 is required but missing"));
  EXPECT_THAT(of(options, {"1,"}), HasSubstr("give the column a default"));
}

TEST(CsvFields, ANumberMayStandForAMissingValue) {
  const std::string options = R"({"columns": {"x": {"dtype": "float32", "default": 0.5}, "n": {"dtype": "int64"}},
                                  "na_value": "-1"})";
  EXPECT_EQ(of(options, {"-1,2", "\"-1\",3", "-2,4"}), R"({"x":[[0.5,0.5,-2.0]],"n":[[2,3,4]]})");
  EXPECT_THAT(of(options, {"1,2", "1,-1"}), HasSubstr("row 1: feature 'n': field 1 is required but missing"));
}

TEST(CsvFields, AFaultOfFormComesBeforeAFaultOfValue) {
  EXPECT_THAT(of(int_and_text, {"x,a\"b"}), HasSubstr("does not begin with a quote"));
  EXPECT_THAT(of(int_and_text, {"x,a,b"}), HasSubstr("found 3"));
  EXPECT_THAT(of(int_and_text, {"x,a"}), HasSubstr("feature 'n': field 0 is not a valid int64: 'x'"));
}

TEST(CsvFields, OnlyFieldsThatAreWantedAreRead) {
  EXPECT_THAT(decoded(csv(), int_and_text, {"1,\"b\n\"\"\"", "x,c"}, {"s"}), HasSubstr(R"("s":[["b\n\"","c"]])"));
}

TEST(CsvValues, OfNumbersOutOfRangeAndInOtherForms) {  // row 36
  EXPECT_EQ(float_of("1e999"), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_of("1e-400"), 0.0F);
  EXPECT_TRUE(std::signbit(*float_of("-0")));
  EXPECT_TRUE(std::isnan(*float_of("NaN")));
  EXPECT_EQ(float_of("-Infinity"), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(float_of("\t 0x1p3 "), 8.0F);
  EXPECT_EQ(float_of(".5"), 0.5F);
  EXPECT_EQ(float_of("5."), 5.0F);
  EXPECT_EQ(float_of(std::string(100'000, '9') + "e-99999"), 10.0F);
  for (const char* const text : {"1_000", "1,5", "", ".", "1e", "+-1", "1 5", "1f", "0x", "e5", "- 1"})
    EXPECT_EQ(float_of(text), std::nullopt) << text;
  EXPECT_EQ(int_of(" +7\t"), 7);
  EXPECT_EQ(int_of("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* const text : {"9223372036854775808", "0x10", "1.0", "1e3", "--1", "", "+"})
    EXPECT_EQ(int_of(text), std::nullopt) << text;
  EXPECT_EQ(value<std::uint8_t>("256", DType::uint8), std::nullopt);
  EXPECT_EQ(value<std::int8_t>("-128", DType::int8), -128);
  EXPECT_EQ(value<bool>("TRUE", DType::boolean), true);
  EXPECT_EQ(value<bool>("0", DType::boolean), false);
  EXPECT_EQ(value<bool>("yes", DType::boolean), std::nullopt);
}

TEST(CsvValues, TimestampsCountUnitsSince1970) {
  EXPECT_EQ(time_of("1970-01-01", TimeUnit::s), 0);
  EXPECT_EQ(time_of("2000-03-01 00:00:00.5"), 951868800500000);
  EXPECT_EQ(time_of("2024-02-29T23:59:30.250Z", TimeUnit::ms), 1709251170250);
  EXPECT_EQ(time_of("1969-12-31 23:59:59", TimeUnit::s), -1);
  EXPECT_EQ(time_of("1970-01-01T01:00+01:00", TimeUnit::s), 0);
  EXPECT_EQ(time_of("0001-01-01", TimeUnit::s), -62135596800);
  EXPECT_EQ(time_of("1970-01-01 00:00:00.000000001", TimeUnit::ns), 1);
  for (const char* const text : {"2023-02-29", "2024-13-01", "2024-1-1", "2024-01-01x", "2024-01-01 24:00",
                                 "2024-01-01 00:00:00.0000001", "2024-01-01 10", "10:00", "2024-01-01 00:00+1"})
    EXPECT_EQ(time_of(text), std::nullopt) << text;
  EXPECT_EQ(time_of("9999-12-31", TimeUnit::ns), std::nullopt);
}

/// Numbers that are near to the middle between two floats, and many others.
std::string number_text(std::minstd_rand& random) {
  const auto bits = static_cast<std::uint32_t>(random()) << 8 ^ static_cast<std::uint32_t>(random());
  float near = 0;
  std::memcpy(&near, &bits, sizeof(near));
  switch (random() % 4) {
    case 0:
      return fmt::format("{}{}", random() % 2 == 0 ? "-" : "", random() % 1'000'000'007);
    case 1:
      return fmt::format("{:.{}f}", static_cast<double>(random()) / 1000.0, random() % 8);
    case 2:
      return fmt::format("{}.{:09}", 16777216 + random() % 9, 500'000'000 + random() % 3 - 1);
    default:
      return std::isfinite(near) ? fmt::format("{:.6g}", near) : "nan";
  }
}

TEST(CsvKernels, ReadWhatTheExactRulesRead) {
  std::minstd_rand random{5};
  const std::array kernels{CsvKernel::float32, CsvKernel::float64, CsvKernel::int32, CsvKernel::int64, CsvKernel::skip};
  const std::array types{DType::float32, DType::float64, DType::int32, DType::int64};
  std::size_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = number_text(random);
    const std::string field = round % 5 < 2 ? fmt::format("\"{}\"", text) : text;
    const std::string padded =
        field + (round % 2 == 0 ? ",1" : "") + std::string(record_slack, round % 3 == 0 ? ',' : '7');
    const std::string_view record{padded.data(), padded.size() - record_slack};
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      for (const ReadFields& twin : read_fields_twins()) {
        std::array<std::byte, 8> found{};
        std::array<std::byte, 8> expected{};
        const CsvTarget target{kernels[k], found.data()};
        const CsvPlace place = twin(record, {}, {&target, 1}, 0, {});
        if (place.field == 0) continue;
        ++read;
        EXPECT_EQ(place.at, field.size() + 1) << field;
        if (k == types.size()) continue;
        EXPECT_TRUE(parse_value(text, {types[k], {}}, expected.data())) << text;
        EXPECT_EQ(found, expected) << text << " " << k;
      }
    }
  }
  EXPECT_GT(read, 4000U * 5) << "half of all attempts: many numbers are of the usual form";
}

TEST(CsvKernels, StopWhereTheExactRulesFindAFaultOrQuotesInQuotes) {
  std::minstd_rand random{6};
  constexpr std::string_view letters = "\"\"\",1-.a";
  std::string scratch;
  std::size_t quoted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string padded(1 + random() % 8, ' ');
    for (char& each : padded) each = letters[random() % letters.size()];
    const std::size_t size = padded.size();
    padded.append(record_slack, letters[random() % letters.size()]);
    const std::string_view record{padded.data(), size};
    const CsvField field = read_field(record, 0, {}, scratch);
    for (const CsvKernel kernel : {CsvKernel::float64, CsvKernel::skip}) {
      for (const ReadFields& twin : read_fields_twins()) {
        double found = 0;
        const CsvTarget target{kernel, reinterpret_cast<std::byte*>(&found)};
        const CsvPlace place = twin(record, {}, {&target, 1}, 0, {});
        if (place.field == 0) continue;
        quoted += record[0] == '"' ? 1 : 0;
        EXPECT_EQ(field.fault, CsvFault::none) << record;
        EXPECT_EQ(place.at, field.next) << record;
        if (kernel == CsvKernel::float64) {
          EXPECT_EQ(found, value<double>(field.text, DType::float64)) << record;
        }
      }
    }
  }
  EXPECT_GT(quoted, 1000U);
}

}  // namespace
}  // namespace forebay::decoders
