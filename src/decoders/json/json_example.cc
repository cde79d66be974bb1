// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/json_example.h>

#include <utility>

#include "decoders/json/json_message.h"
#include "decoders/record_decoder.h"

namespace forebay::decoders {
namespace {

/// What one worker keeps: the messages of the records of one call, and the memory of the decoder of messages.
struct MessagesMemory final : DecoderMemory {
  explicit MessagesMemory(std::unique_ptr<DecoderMemory> decoder) : inner{std::move(decoder)} {}
  std::int64_t bytes() const override { return static_cast<std::int64_t>(text.capacity()) + inner->bytes(); }

  std::unique_ptr<DecoderMemory> inner;
  std::string text;
  std::vector<std::size_t> ends;
  std::vector<Record> messages;
};

/// Turns the text of each record into a message, and gives the messages to the decoder `example`. The plan owns it; any
/// number of workers call it at once, each with its own memory.
class JsonDecoder final : public Decoder {
 public:
  explicit JsonDecoder(FeaturePlan plan) : messages_{std::move(plan), Path::fast} {}
  std::unique_ptr<DecoderMemory> memory() const override {
    return std::make_unique<MessagesMemory>(messages_.memory());
  }

  Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                      DecoderMemory& memory) const override {
    auto& own = static_cast<MessagesMemory&>(memory);
    own.text.clear(), own.ends.clear(), own.messages.clear();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto done = append_example({reinterpret_cast<const char*>(records[i].data()), records[i].size()}, own.text);
      // An earlier record may be one that the decoder of messages refuses.
      if (!done.ok()) return first_fault(done.error(), static_cast<std::int64_t>(i), first_row, block, own);
      own.ends.push_back(own.text.size());
    }
    return decode_messages(first_row, block, own);
  }

 private:
  Result<void> decode_messages(std::int64_t first_row, ColumnBlock& block, MessagesMemory& own) const {
    own.text.append(record_slack, '\0');
    const auto* const bytes = reinterpret_cast<const std::byte*>(own.text.data());
    std::size_t begin = 0;
    for (const std::size_t end : own.ends) own.messages.emplace_back(bytes + begin, end - begin), begin = end;
    return messages_.decode(own.messages, first_row, block, *own.inner);
  }
  Result<void> first_fault(const Error& fault, std::int64_t row, std::int64_t first_row, ColumnBlock& block,
                           MessagesMemory& own) const {
    FOREBAY_DO(decode_messages(first_row, block, own));
    return fault.at(Place{.row = row});
  }

  const ExampleDecoder messages_;
};

Result<Bound<Decoder>> bind(const JsonExampleFeatures& options, const std::vector<std::string>& wanted) {
  std::vector<Error> faults;
  Schema out;
  FeaturePlan plan = plan_features(options.features, Role::example, wanted, out, faults);
  if (options.features.empty()) {
    faults.emplace_back(Code::config, Detail::invalid_argument, "`features` must name at least one feature");
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return Bound<Decoder>{.op = std::make_unique<JsonDecoder>(std::move(plan)), .out = std::move(out)};
}

}  // namespace

DecoderType json_example() {
  return describe<DecoderType, JsonExampleFeatures>(
             "json_example", "Decodes tf.train.Example messages in JSON text, with the options of `example`.", bind)
      .required("features", &JsonExampleFeatures::features,
                "The tensors by name, each with kind, dtype, shape and how it is stored.")
      .example({.options = R"({"features": {"y": {"dtype": "int64", "shape": [2]}}})",
                .in = R"(["{\"features\": {\"feature\": {\"y\": {\"int64List\": {\"value\": [\"7\", 8]}}}}}"])",
                .out = R"({"y": [[7, 8]]})"});
}

}  // namespace forebay::decoders
