// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/core.h>

#include "sources/arrow/reader.h"

namespace forebay {
namespace {

/// Something that the interface gave, which is released once.
template <class T>
class Given {
 public:
  Given() = default;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given() {
    if (value.release != nullptr) value.release(&value);
  }
  T value{};
};

/// Record batches in memory. Each use of it reads them through arrays of its own, which share the memory.
class MemoryTable final : public RowTable {
 public:
  MemoryTable(std::shared_ptr<const Given<ArrowSchema>> schema,
              std::vector<std::shared_ptr<const Given<ArrowArray>>> batches, std::string name)
      : schema_{std::move(schema)}, batches_{std::move(batches)}, name_{std::move(name)} {}

  Result<std::shared_ptr<const RowSource>> rows(const Arrow& options) const override {
    FOREBAY_TRY(const auto made, ArrowReader::Plan::make(schema_->value, options, true, false));
    const ArrowReader::Plan& plan = *made;
    std::vector<arrow::Categories> categories(plan.columns.size());
    RowPart part{.name = name_};
    for (const auto& batch : batches_) {
      ArrowArray shared = shared_with(batch);
      auto block = plan.read(shared, categories, part.in_memory());
      // What is wrong with the nulls of a table that is there already is a fault of the document.
      if (!block.ok() && block.error().detail() == Detail::invalid_argument) return fault_of(block.error());
      if (!block.ok()) return block.error();
      add(*std::move(block), part);
    }
    if (!part.rows) {
      FOREBAY_TRY(part.rows, no_rows(plan));
    }
    auto source = std::make_shared<RowSource>();
    source->schema = schema_of(plan, categories);
    source->parts.push_back(std::move(part));
    return std::shared_ptr<const RowSource>{std::move(source)};
  }

 private:
  /// The batch, which stays as long as this view of it.
  static ArrowArray shared_with(const std::shared_ptr<const Given<ArrowArray>>& batch) {
    using Owner = std::shared_ptr<const Given<ArrowArray>>;
    ArrowArray out = batch->value;
    out.private_data = std::make_unique<Owner>(batch).release();
    out.release = [](ArrowArray* array) {
      const std::unique_ptr<Owner> owner{static_cast<Owner*>(array->private_data)};
      array->release = nullptr;
    };
    return out;
  }
  static void add(std::shared_ptr<const RowBlock> block, RowPart& part) {
    if (block->rows == 0) return;
    if (part.rows) {
      part.more.push_back(std::move(block));
    } else {
      part.rows = std::move(block);
    }
  }
  Error fault_of(const Error& error) const {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("row {} of the table: {}", error.place().record, error.message())}
        .at(Place{.feature = error.place().feature});
  }
  /// A block without rows, whose columns point to no memory.
  static Result<std::shared_ptr<const RowBlock>> no_rows(const ArrowReader::Plan& plan) {
    static constexpr std::int64_t zero = 0;
    auto block = std::make_shared<RowBlock>();
    for (const ColumnId id : plan.schema.visible()) {
      const ColumnSpec& spec = plan.schema[id];
      RowColumn column;
      if (!spec.shape.known()) column.row_splits = &zero;
      if (!spec.shape.known()) column.dims = &zero;
      if (spec.dtype == DType::string) column.byte_splits = &zero;
      block->columns.push_back(std::move(column));
    }
    return std::shared_ptr<const RowBlock>{std::move(block)};
  }
  static Schema schema_of(const ArrowReader::Plan& plan, std::span<const arrow::Categories> categories) {
    Schema out;
    std::size_t number = 0;
    for (const ColumnId id : plan.schema.visible()) {
      ColumnSpec spec = plan.schema[id];
      while (number < plan.columns.size() && plan.columns[number].name != spec.name) ++number;
      if (number == plan.columns.size()) number = 0;  // `present(x)`, which is no column
      if (plan.columns[number].name == spec.name && plan.columns[number].as_codes)
        spec.categories = std::make_shared<const std::vector<std::string>>(categories[number].values());
      out.put(std::move(spec));
    }
    return out;
  }

  const std::shared_ptr<const Given<ArrowSchema>> schema_;
  const std::vector<std::shared_ptr<const Given<ArrowArray>>> batches_;
  const std::string name_;
};

Error stream_error(ArrowArrayStream& stream, const char* what) {
  const char* const text = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
  return Error{
      Code::data, Detail::none,
      fmt::format("the stream of record batches gave no {}: {}", what, text == nullptr ? "it does not say why" : text)};
}

}  // namespace

Result<std::shared_ptr<const RowTable>> arrow_table(ArrowArrayStream& given, std::string name) {
  Given<ArrowArrayStream> stream;
  stream.value = std::exchange(given, {});
  if (stream.value.release == nullptr)
    return Error{Code::config, Detail::failed_precondition, "the stream of record batches was read already"};
  const auto schema = std::make_shared<Given<ArrowSchema>>();
  if (stream.value.get_schema(&stream.value, &schema->value) != 0) return stream_error(stream.value, "schema");
  std::vector<std::shared_ptr<const Given<ArrowArray>>> batches;
  while (true) {
    const auto batch = std::make_shared<Given<ArrowArray>>();
    if (stream.value.get_next(&stream.value, &batch->value) != 0) return stream_error(stream.value, "batch");
    if (batch->value.release == nullptr) break;
    batches.push_back(batch);
  }
  return std::shared_ptr<const RowTable>{std::make_shared<MemoryTable>(schema, std::move(batches), std::move(name))};
}

}  // namespace forebay
