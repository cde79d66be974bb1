// SPDX-License-Identifier: Apache-2.0
// Read this first if you write a decoder; it is the smallest complete one.
#include <forebay/decoders/record.h>
#include <forebay/plugin.h>

namespace forebay::decoders {
namespace {

class NoMemory final : public DecoderMemory {};

/// Copies the bytes of each record into one string column. The plan owns the decoder; any number of workers call it at
/// once, each with its own memory. It never fails.
class BytesDecoder final : public Decoder {
 public:
  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<NoMemory>(); }
  bool copies_only() const override { return true; }

  Result<void> decode(std::span<const Record> records, std::int64_t, ColumnBlock& block,
                      DecoderMemory&) const override {
    Column& out = block[0];
    for (const Record record : records) out.push_string(record);
    out.rows += static_cast<std::int64_t>(records.size());
    return {};
  }
};

// The planner calls it once with no names, which means all columns, and then with the names of the used columns.
Result<Bound<Decoder>> bind(const RecordBytes& options, const std::vector<std::string>&) {
  Schema out;
  out.put({.name = options.name, .dtype = DType::string, .shape = {}});
  return Bound<Decoder>{.op = std::make_unique<BytesDecoder>(), .out = std::move(out)};
}

}  // namespace

DecoderType record() {
  return describe<DecoderType, RecordBytes>("record", "Delivers the bytes of each record as they are, as one string.",
                                            bind)
      .field("name", &RecordBytes::name, "Name of the tensor.")
      .example({.options = R"({"name": "r"})", .in = R"(["abc", ""])", .out = R"({"r": ["abc", ""]})"});
}

}  // namespace forebay::decoders
